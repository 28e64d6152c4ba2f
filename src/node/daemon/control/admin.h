/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin.h - the admin socket: a packet asks, one line of text; packets answer, an empty one ends.
 *
 *	ping                  pong
 *	status                JSON: version, counters, memory, sessions
 *	info                  the same in brief, `key value` lines
 *	flush                 "ok" once all that was committed before is in the store
 *	tier PID WORD         what the process is asked for from now on
 *	kineto WORDS          traces of PyTorch processes on demand, see kineto_ask.c
 *	budget                what aon may cost, and does: key, value, unit, used, of what, a line each
 *	set KEY=VALUE         a setting that may change while aond runs, until the next reload
 *	capture PID MS        a trace by the process's own probe
 *	capture WORDS         captures by aond itself, see capture_ask.c
 *	lease WORDS           hardware that one tool has at a time, see lease.h
 *	subscribe             events live, see abi/consume.h: from there on another protocol
 *	reload                settings are read again
 *	stop                  aond ends as by SIGTERM
 *
 * Other users may ask at the socket of processes (AON_MSG_ASK), as guests: only ping, kineto,
 * capture and subscribe are open to everybody.
 *
 * Failures answer "error: why". No client can block the loop: one that does not read is
 * disconnected.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/core/loop.h"

#define ADMIN_CLIENTS 16
#define ADMIN_GUESTS  32
#define ADMIN_PER_UID 8      /* guests of one user */
#define ADMIN_PACKET  65000u /* bytes of an answer's packet: a reader's 64 KiB hold it */

struct aond;

struct admin_client {
	struct watch sock;   /* fd owned; -1: free */
	struct admin *admin; /* borrowed */
	char *out;           /* owned: what is still to be sent */
	size_t len, at;
	uint64_t flush; /* number of the commit that it waits for; 0: none */
	uint64_t id;    /* never used again */
	uid_t uid;      /* as the kernel says, */
	pid_t pid;      /* when it connected */
	bool guest;
};

struct admin {
	struct aond *aond;                                        /* borrowed */
	struct watch listen;                                      /* fd owned */
	struct admin_client client[ADMIN_CLIENTS + ADMIN_GUESTS]; /* guests come last */
	uint64_t ids;
};

/* Owns listen_fd from here on, unless it fails. */
int admin_init(struct admin *a, struct aond *d, int listen_fd);
void admin_fini(struct admin *a);
/* A guest, on a socket that we own from here on, unless there is no room: -EBUSY. */
int admin_guest(struct admin *a, int sock, uid_t uid, pid_t pid);
/* Commits up to `done` are in the store, or err says why not. */
void admin_flushed(struct admin *a, uint64_t done, int err);
