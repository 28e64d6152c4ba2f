/* SPDX-License-Identifier: Apache-2.0 */
/* locate.h - finds the daemon and the stores, and opens one, with a message on failure. */
#pragma once

#include <limits.h>
#include <sys/types.h>
#include <stdint.h>

#include "capture/ask.h"
#include "cli/core/cli.h"
#include "store/store.h"

#define NODE_STORE "/var/lib/aon/store.db"

/* The status of aond; empty or 0 where unknown. */
struct admin_status {
	char version[32];
	char store[PATH_MAX];
	uint64_t pid, uptime_s, sessions, sampled; /* sampled: threads */
	char sampling[256];                        /* why threads are not sampled; "": they are */
};

int admin_status(const char *run_dir, struct admin_status *out);

/* "FILE: what. What to do." for a store that could not be used. Returns CLI_FAIL. */
int locate_failed(const char *path, int err, const struct store_why *why);

/* The same for a store that was open already. */
int locate_broke(const char *path, int err);

/* Opens `given`, or else the store to read here. CLI_OK, or CLI_FAIL after an error message. */
int locate_open(const char *given, struct store **st, char path[PATH_MAX]);
