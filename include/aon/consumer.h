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
	uint32_t lane;     /* aon_consumer_lane() */
	uint8_t kind;      /* aon_consumer_kind() */
	uint8_t flags;
	uint16_t depth;   /* of a range: how many enclose it */
	uint32_t process; /* number of the process in the node's store */
	uint32_t pid;
	uint64_t seq; /* rises by one with each event of all kinds */
};

struct aon_consumer_lane {
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
};

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
/* Events that were lost before the one that came last, of any kind, since it was opened. */
AON_API uint64_t aon_consumer_lost(const struct aon_consumer *c);

/* Names and lanes of events that were seen. A name is asked of aond once, a lane each time: keep it.
 * The text lives as long as the consumer; "?": aond does not say. */
AON_API const char *aon_consumer_name(struct aon_consumer *c, uint32_t id);
AON_API int aon_consumer_lane(struct aon_consumer *c, uint32_t id, struct aon_consumer_lane *out);

/* "kernel", and its number; NULL and 0: there is none such. */
AON_API const char *aon_consumer_kind(uint32_t kind);
AON_API uint32_t aon_consumer_kind_of(const char *word);

#ifdef __cplusplus
}
#endif

#endif /* AON_CONSUMER_H */
