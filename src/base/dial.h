/* SPDX-License-Identifier: Apache-2.0 */
/* dial.h - a connection to one of aond's sockets. */
#pragma once

/* A SOCK_SEQPACKET socket whose calls end after timeout_ms. -ENOENT, -ECONNREFUSED: no aond;
 * -EACCES: not for this user; -ETIMEDOUT; -errno. */
int dial(const char *run_dir, const char *name, int timeout_ms);
