/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.h - traces on demand from PyTorch processes that poll for orders (abi/fabric.h).
 *
 * A process that runs with KINETO_USE_DAEMON=1 polls every 5 s. The kernel identifies it. An order
 * waits here until its process polls, is handed out once, and is dropped when the client that gave
 * it leaves. The process writes the trace into a file; aond never opens it.
 *
 * A thread of its own answers, because Kineto waits only 90 ms and the loop may take longer. The
 * thread touches no disk, and takes one lock that is held only for a look at the table.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/fabric.h"

#define KINETO_PROCS   1024u /* processes that are known at a time */
#define KINETO_PER_UID 256u
#define KINETO_CONFIG  768u           /* bytes of an order, at most */
#define KINETO_PACKET  4096u          /* bytes of a datagram, at most */
#define KINETO_GONE_NS 20000000000ull /* silent for so long: gone */

/* --- messages: bytes of others --- */

enum fabric_kind { FABRIC_REQ, FABRIC_CTXT, FABRIC_WHO };

struct fabric_msg {
	enum fabric_kind kind;
	bool ready; /* REQ: it can take an order */
	int64_t job;
};

/* Copies the known part of a datagram. -EPROTO: not a message, or not as long as it says; -ENOMSG:
 * an unknown kind. */
int fabric_check(struct fabric_msg *out, const void *data, size_t len);
/* An answer of that kind into buf; its length. The body is cut at what fits. */
size_t fabric_answer(void *buf, size_t cap, enum fabric_kind kind, const void *body, size_t len);

/* --- orders --- */

/* The length of a trace: steps, or milliseconds; the other one is 0. */
struct kineto_what {
	uint64_t steps, start, round, ms, at;
	const char *dir; /* borrowed from what was parsed */
};

/* Parses "KEY=VALUE ...", see kineto_ask.c. -EINVAL: wrong syntax. Any bytes are allowed as input:
 * everybody can ask. */
int kineto_parse(struct kineto_what *out, char *text);
void kineto_config(char config[KINETO_CONFIG], const struct kineto_what *o);

/* --- the table --- */

enum kineto_state { KINETO_FREE, KINETO_WAITS, KINETO_GIVEN };

struct kineto_proc {
	pid_t pid; /* these as the kernel says; pid 0: no entry */
	uid_t uid;
	int64_t job;
	uint64_t last_ns;
	bool ready; /* when it last asked */
	enum kineto_state state;
	uint64_t owner; /* who gave the order */
	int pidfd;      /* owned while there is an order; -1: none */
	char config[KINETO_CONFIG];
};

struct kineto {
	pthread_mutex_t lock;     /* guards proc[] */
	struct kineto_proc *proc; /* owned, KINETO_PROCS of them */
	unsigned top;             /* those from here on were never used, nor touched */
	int sock[2];              /* owned: abstract, in the directory; -1: none */
	int dir;                  /* owned; -1: none */
	int wake;                 /* owned eventfd: end */
	pthread_t thread;
	bool runs;
	int nice;
	char path[88];          /* of the directory */
	char run_dir[88];       /* the answer to a FABRIC_WHO */
	uint64_t second, heard; /* messages in this second; the thread's own */
};

/* Binds the names that are free. 0 also when none is: then no process can be traced, and the log
 * says why. `dir` "": no directory. */
int kineto_init(struct kineto *k, const char *run_dir, const char *dir, int nice);
void kineto_fini(struct kineto *k); /* also after a failed init, and on zeroes */

struct kineto_row {
	pid_t pid;
	uid_t uid;
	int64_t job;
	bool ready;
	enum kineto_state state;
};

/* Those that `uid` may trace: root all, others their own. Returns how many were put into `row`. */
size_t kineto_list(struct kineto *k, uid_t uid, uint64_t now_ns, struct kineto_row *row,
		   size_t max);

/* -ESRCH: it has not asked, or is gone; -EPERM: of another user; -EBUSY: it has an order. */
int kineto_order(struct kineto *k, pid_t pid, uid_t uid, uint64_t owner, const char *config);

struct kineto_order {
	pid_t pid;
	enum kineto_state state;
	bool gone; /* its process has ended */
};

size_t kineto_orders(struct kineto *k, uint64_t owner, struct kineto_order *out, size_t max);
void kineto_forget(struct kineto *k, uint64_t owner); /* all its orders */

/* For tests, and the thread: a message of that process; what to answer is put into `config`. */
int kineto_heard(struct kineto *k, const struct fabric_msg *m, pid_t pid, uid_t uid,
		 uint64_t now_ns, char config[KINETO_CONFIG]);
