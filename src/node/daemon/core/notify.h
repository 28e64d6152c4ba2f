/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - the service manager: sockets that it passes to aond, and messages to it. */
#pragma once

#include <stdint.h>

/* A listening socket called `name` (FileDescriptorName=), or bound to a path that ends in
 * `/base`. Returns it, to be owned by the caller, or -ENOENT. */
int notify_listen_fd(const char *name, const char *base);

/* "READY=1" and such; nothing happens without a manager. */
void notify(const char *state);
void notify_reloading(void);

/* How often the manager wants a sign of life, in ns; 0: never. */
uint64_t notify_watchdog_ns(void);
