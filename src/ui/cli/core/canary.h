/* SPDX-License-Identifier: Apache-2.0 */
/* canary.h - makes this process a recorded program, for /health. */
#pragma once

#include <sys/types.h>

/* Before there are threads: what libaon is to know of us when it is loaded. */
void canary_begin(void);

/* Hands a record over, through libaon as any program does. -ENOENT: there is no libaon;
 * -ENOTCONN: no aond has a session for us. */
int canary_send(void);

/* The aond at the node's socket; 0: none answers. */
pid_t canary_daemon(void);
