/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.h - what programs of this node do, live, for tools: libaon-consumer.
 *
 *	struct aon_consumer *c;
 *	struct aon_consumer_event e;
 *
 *	if (aon_consumer_open(&c, NULL, NULL) == 0)
 *		while (aon_consumer_next(c, &e, -1) > 0)
 *			printf("%s %s\n", aon_consumer_kind(e.kind), aon_consumer_name(c, e.name));
 *
 * aond writes each event once, into memory that all consumers of a user read: a consumer costs
 * nobody anything, however slow it is. Who is too slow loses events, and knows how many. A user
 * sees events of his own processes, who may talk to aond's admin socket sees all.
 *
 * Calls are 0 or more, or -errno. A consumer belongs to one thread at a time.
 */
#ifndef AON_CONSUMER_H
#define AON_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include <aon/aon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct aon_consumer_event {
	uint64_t start_ns; /* of the node's CLOCK_MONOTONIC */
	uint64_t dur_ns;   /* 0 for a moment */
	uint64_t a, b;     /* of its kind: docs/subscribe.md */
	uint32_t name;     /* aon_consumer_name(); 0: none */
	uint32_t corr;     /* correlation */
	uint32_t track;    /* aon_consumer_track() */
	uint8_t kind;      /* aon_consumer_kind() */
	uint8_t flags;
	uint16_t depth;   /* of a range: how many enclose it */
	uint32_t process; /* number of the process in the node's store */
	uint32_t pid;
	uint64_t seq; /* rises by one with each event that a consumer of this user needs */
};

/* The activity of one name on one track in one second, for consumers that want windows. */
struct aon_consumer_window {
	struct aon_consumer_event
		of; /* start_ns: of the second; dur_ns: all its time; a: calls; b: bytes */
	uint64_t min_ns, max_ns;         /* of a counter: its min and max value, an int64_t */
	uint64_t p50_ns, p95_ns, p99_ns; /* within 0.8 % */
	uint64_t reserved[3];
};

struct aon_consumer_process {
	size_t size; /* of this struct, as the caller knows it */
	uint32_t pid, uid;
	uint32_t rank; /* + 1; 0: it has none */
	uint32_t world;
	uint32_t here;                               /* 0: it has ended */
	char comm[64], job[192], run[64], node[128]; /* may be empty */
};

struct aon_consumer_track {
	size_t size;     /* of this struct, as the caller knows it */
	uint32_t device; /* UINT32_MAX: a thread of the program */
	uint32_t context;
	uint64_t stream; /* or the thread's id */
	uint32_t name;   /* 0: none */
	uint32_t process;
};

struct aon_consumer_opts {
	size_t size;    /* of this struct, so that it can grow at its end */
	uint64_t kinds; /* bit 1 << kind; 0: all */
	const uint32_t *pid;
	size_t pids; /* 0: all */
	/* Added after the first version: */
	uint32_t rate; /* events a second, at most; of more one stands for several:
			      aon_consumer_weight(). 0: all */
	uint32_t
		priority; /* AON_CONSUMER_*: whose events are left out first when there are too many */
	uint32_t flags;
	uint32_t reserved;
};

#define AON_CONSUMER_NORMAL 0u
#define AON_CONSUMER_LOW    1u /* gets nothing while aond is over its budget of CPU */
#define AON_CONSUMER_HIGH   2u /* has a ring apart: what others need does not overtake it */

#define AON_CONSUMER_WINDOWS 0x1u /* aon_consumer_next_window() instead of events */
#define AON_CONSUMER_DETAIL \
	0x2u /* its processes tell all they can meanwhile (tier full), budgets permitting */

struct aon_consumer;

/*
 * From now on. run_dir NULL: $AON_RUN_DIR or the node's. opts NULL: everything. -ENOENT,
 * -ECONNREFUSED: no aond there; -EBUSY: too many consumers, or aond lets nobody; -EPROTO: another
 * version of aond.
 */
AON_API int aon_consumer_open(struct aon_consumer **out, const char *run_dir,
			      const struct aon_consumer_opts *opts);
AON_API void aon_consumer_close(struct aon_consumer *c); /* NULL is allowed */

/* 1: *e is the next event. 0: none came in timeout_ms (-1: waits for ever) or a signal did.
 * -EPIPE: aond has ended, and all that it wrote was read. */
AON_API int aon_consumer_next(struct aon_consumer *c, struct aon_consumer_event *e, int timeout_ms);
/* The same of windows: each second's, some two seconds after its end. */
AON_API int aon_consumer_next_window(struct aon_consumer *c, struct aon_consumer_window *w,
				     int timeout_ms);
/* The weight of the last event: how many events it stands for, with those that `rate` dropped. It
 * was chosen among them at random, so that sums of weight * value are right on average. */
AON_API uint64_t aon_consumer_weight(const struct aon_consumer *c);
/* The consumer's position. A consumer with the same opts, opened later, can continue from there as
 * long as the user has any consumer; events that the ring no longer holds count as lost. -ESTALE:
 * another ring, or no such position; then it continues as before. */
struct aon_consumer_place {
	uint64_t ring, seq;
};
AON_API void aon_consumer_place(const struct aon_consumer *c, struct aon_consumer_place *out);
AON_API int aon_consumer_resume(struct aon_consumer *c, const struct aon_consumer_place *at);
/* Events that were lost before the one that came last, of any kind, since it was opened. */
AON_API uint64_t aon_consumer_lost(const struct aon_consumer *c);

/* Names, tracks and processes of events that were seen. Each is requested from aond once; whether a
 * process has ended (`here`) is requested each time. The text lives as long as the consumer; "?":
 * unknown to aond. */
AON_API const char *aon_consumer_name(struct aon_consumer *c, uint32_t id);
AON_API int aon_consumer_track(struct aon_consumer *c, uint32_t id, struct aon_consumer_track *out);
AON_API int aon_consumer_process(struct aon_consumer *c, uint32_t id,
				 struct aon_consumer_process *out);
/* The first process that is here now with a number from `from` on, for a consumer that comes late
 * before it says anything; 0: none further. */
AON_API int64_t aon_consumer_processes(struct aon_consumer *c, uint32_t from);

/* "kernel", and its number; NULL and 0: there is none such. */
AON_API const char *aon_consumer_kind(uint32_t kind);
AON_API uint32_t aon_consumer_kind_of(const char *word);

#ifdef __cplusplus
}
#endif

#endif /* AON_CONSUMER_H */
