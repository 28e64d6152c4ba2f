/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - requests to an aond, at its sockets. */
#pragma once

#include <limits.h>
#include <sys/types.h>

const char *locate_run_dir(void); /* $AON_RUN_DIR or the node's */
/* The run directory that `aon run` gave the process; "": none, or it is another user's. */
void locate_run_dir_of(pid_t pid, char dir[PATH_MAX]);

/*
 * Sends a request to the aond of `run_dir` and passes every line of its answer to `fn` (NULL
 * allowed). -ENOENT, -ECONNREFUSED: no aond; -EACCES: not for this user; -ETIMEDOUT.
 */
typedef void admin_line_fn(void *arg, char *line);
int admin_ask(const char *run_dir, const char *word, int timeout_ms, admin_line_fn *fn, void *arg);
/* The same on a socket that stays open, also for users who may not use the admin socket: they are
 * guests. Returns the socket, or -errno as above. */
int ask_open(const char *run_dir, int timeout_ms);
int ask_on(int fd, const char *word, admin_line_fn *fn, void *arg);
