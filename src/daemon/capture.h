/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - captures that users ask for: processes rise to tier full, for so many steps or so long,
 * all ranks of a job at the same steps.
 *
 *	begin -> runs -> settles -> stores -> done        the asker reads the store, and closes
 *
 * The gates rise at once; then the pulses say where each rank is, and the first step that none of them
 * had begun by then is where the capture begins. So every rank shows it whole, and nobody waits for
 * anybody. A process is lowered again as soon as it is through. The store is the trace: what was
 * recorded before is in it already, and nothing is copied or joined.
 *
 * A capture is its asker's: when that closes its socket, whatever ends it, the capture is gone.
 */
#ifndef AON_DAEMON_CAPTURE_H
#define AON_DAEMON_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/loop.h"
#include "model/process.h"

#define CAPTURES        32u  /* at a time */
#define CAPTURES_OF_UID 8u   /* of these, of one user */
#define CAPTURE_LIST    400u /* bytes of a list of pids or ranks */
#define CAPTURE_USERS   64u  /* users that share a count, by their number */

/* What somebody asks for. */
struct capture_want {
	uint64_t steps, ms; /* both 0: the past alone */
	uint64_t before_ms;
	uint64_t timeout_ms;                                   /* for all of the steps */
	char pids[CAPTURE_LIST], ranks[CAPTURE_LIST], job[48]; /* "": any */
};

/* "steps=5 before=10000 pids=41,42": words in any order. -EINVAL: *why says what was expected. */
int capture_parse(struct capture_want *out, char *text, const char **why);

enum capture_state {
	CAPTURE_FREE,
	CAPTURE_RUNS,
	CAPTURE_SETTLES, /* what the probes hold back comes */
	CAPTURE_STORES,
	CAPTURE_DONE,
};

enum capture_end { CAPTURE_GOES_ON, CAPTURE_THROUGH, CAPTURE_LEFT, CAPTURE_LATE };

struct capture_proc {
	uint64_t sess;        /* its id */
	uint32_t pid, id;     /* id: of the store */
	uint32_t rank;        /* + 1; 0: not known */
	uint64_t first, last; /* steps; 0: by time */
	uint64_t step;        /* that it has begun */
	uint64_t end_ns;
	enum capture_end end;
	struct account was, is; /* when it began, and ended */
};

struct capture {
	enum capture_state state;
	uint64_t id, asker;
	uid_t uid;
	struct capture_want want;
	struct capture_proc *proc; /* owned; sorted by sess, falling as the roster is */
	size_t n;
	uint64_t begin_ns, settle_ns, commit;
	int err; /* of the store */
};

struct aond;
struct sess;

struct captures {
	struct aond *aond;  /* borrowed */
	struct watch timer; /* fd owned: while one of them runs */
	struct capture c[CAPTURES];
	uint64_t ids, day;
	uint32_t count[CAPTURE_USERS]; /* begun on that day */
};

int captures_init(struct captures *cs, struct aond *d);
void captures_fini(struct captures *cs);
/* Commits up to `done` are in the store, or err says why not. */
void captures_flushed(struct captures *cs, uint64_t done, int err);
void captures_forget(struct captures *cs, uint64_t asker);

/* A capture begins, for that asker. *why is set on failure. */
int capture_begin(struct captures *cs, struct capture **out, uint64_t asker, uid_t uid,
		  const struct capture_want *w, const char **why);
void capture_end(struct captures *cs, struct capture *c); /* whatever its state */

/* A request (admin.h); the answer is the caller's to free. NULL: no memory. */
char *capture_ask(struct captures *cs, uint64_t asker, uid_t uid, char *request, size_t *len);

#endif /* AON_DAEMON_CAPTURE_H */
