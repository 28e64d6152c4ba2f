/* SPDX-License-Identifier: Apache-2.0 */
/* canary.h - makes this process a recorded program, for /health. */
#pragma once

#include <sys/types.h>

/* Sets the environment that libaon reads when it is loaded. Call it before starting threads. */
void canary_begin(void);

/* Emits a record through libaon, as any program does. -ENOENT: there is no libaon; -ENOTCONN: no
 * aond has a session for this process. */
int canary_send(void);

/* The aond at the node's socket; 0: none answers. */
pid_t canary_daemon(void);
