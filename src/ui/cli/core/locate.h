/* SPDX-License-Identifier: Apache-2.0 */
/* locate.h - where the daemon and the stores are, and opening one with a word on failure. */
#ifndef AON_LOCATE_H
#define AON_LOCATE_H

#include <limits.h>
#include <sys/types.h>
#include <stdint.h>

#include "cli/core/cli.h"
#include "store/store.h"

#define NODE_STORE "/var/lib/aon/store.db"

/* What aond says about itself; empty or 0 where it did not. */
struct admin_status {
	char version[32];
	char store[PATH_MAX];
	uint64_t pid, uptime_s, sessions;
};

const char *locate_run_dir(void); /* $AON_RUN_DIR or the node's */
/* Where the process was told that its aond is, as by aon run; "" if it was not, or is not ours. */
void locate_run_dir_of(pid_t pid, char dir[PATH_MAX]);

/*
 * Says one word to the aond of `run_dir` and hands every line of its answer to `fn` (NULL
 * allowed). -ENOENT, -ECONNREFUSED: none there; -EACCES: not for this user; -ETIMEDOUT.
 */
typedef void admin_line_fn(void *arg, char *line);
int admin_ask(const char *run_dir, const char *word, int timeout_ms, admin_line_fn *fn, void *arg);
/* The same on a socket that stays open, also for those who may not talk to the admin socket: they
 * are guests. Returns the socket, or -errno as above. */
int ask_open(const char *run_dir, int timeout_ms);
int ask_on(int fd, const char *word, admin_line_fn *fn, void *arg);
int admin_status(const char *run_dir, struct admin_status *out);

/* "FILE: what. What to do." for a store that could not be used. Returns CLI_FAIL. */
int locate_failed(const char *path, int err, const struct store_why *why);

/* Opens `given`, or else the store to read here. CLI_OK, or CLI_FAIL after it said why. */
int locate_open(const char *given, struct store **st, char path[PATH_MAX]);

#endif /* AON_LOCATE_H */
