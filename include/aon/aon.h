/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aon.h - annotate a program for the always-on profiler.
 *
 * Every call is safe without a daemon, and then costs a load and a branch. No call blocks,
 * prints, allocates from the heap, takes a lock, starts a thread or ends the process; only the
 * first event of a process may wait a millisecond for the daemon's answer. What cannot be
 * recorded is dropped and counted. All calls but aon_join() may be made from signal handlers,
 * from any thread, before and after fork().
 *
 * A program that finds no daemon joins one that starts later by itself, and joins again after
 * a daemon's restart.
 */
#ifndef AON_AON_H
#define AON_AON_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AON_API __attribute__((visibility("default")))

#define AON_VERSION_MAJOR 0
#define AON_VERSION_MINOR 1
#define AON_VERSION_PATCH 0

/* What the daemon wants now: bits of the gate word. */
#define AON_WANT_RANGE   0x01u
#define AON_WANT_MARK    0x02u
#define AON_WANT_COUNTER 0x04u
#define AON_WANT_STEP    0x08u
#define AON_WANT_FLOW    0x10u
#define AON_WANT_GPU     0x20u
#define AON_WANT_API     0x40u
#define AON_WANT_OP      0x80u
#define AON_WANT_ALL     0xffu

/* --- joining: optional, the first event does it --- */

/*
 * Join now, waiting at most `wait_ms` for the daemon's answer. Returns 0 when joined, or
 *   -ENOENT  no daemon answers            -EPERM   the daemon refused this process
 *   -EAGAIN  it has not answered yet      -EPROTO  it speaks another version
 * Not for signal handlers.
 *
 * A program that is going to filter its system calls calls this before: without a session it
 * stays without one, with one libaon makes no further calls. Strict mode (SECCOMP_SET_MODE_STRICT)
 * forbids to read the CPU's counter, too: emit nothing in the two seconds after entering it.
 */
AON_API int aon_join(unsigned wait_ms);

/* 1 if this process has a session now. */
AON_API int aon_joined(void);

AON_API const char *aon_version(void);

/* --- names --- */

/*
 * The id of a name, for the *_id calls. Valid for the life of the process and in its forks;
 * equal texts have equal ids; cut at 2,047 bytes. 0, which reads "(other)", when the table of
 * names is full. Costs a hash of the text: keep the id, or use the macros below.
 */
AON_API uint32_t aon_name(const char *name);

/* --- the ABI behind the inline calls: use those --- */

extern AON_API const uint32_t *aon_gate_;
AON_API void aon_emit_(uint32_t kind, uint32_t name, uint32_t x, uint64_t a, uint64_t b);
AON_API uint64_t aon_range_start_(uint32_t name);

/* kind | length in units of 32 bytes << 16 | flags << 24, as in the record */
#define AON_REC_(kind, flags) ((uint32_t)(kind) | 1u << 16 | (uint32_t)(flags) << 24)
#define AON_PUSH_             AON_REC_(1, 0)
#define AON_POP_              AON_REC_(2, 0)
#define AON_END_              AON_REC_(4, 0)
#define AON_MARK_             AON_REC_(5, 0)
#define AON_COUNT_I_          AON_REC_(6, 0)
#define AON_COUNT_F_          AON_REC_(6, 1)
#define AON_FLOW_             AON_REC_(9, 0)

static inline int aon_wants_(uint32_t bits)
{
	const uint32_t *gate = __atomic_load_n(&aon_gate_, __ATOMIC_RELAXED);

	return __builtin_expect((__atomic_load_n(gate, __ATOMIC_RELAXED) & bits) != 0, 0);
}

/* --- ranges: nested on one thread --- */

static inline void aon_range_push_id(uint32_t name)
{
	if (aon_wants_(AON_WANT_RANGE))
		aon_emit_(AON_PUSH_, name, 0, 0, 0);
}

static inline void aon_range_push(const char *name)
{
	if (aon_wants_(AON_WANT_RANGE))
		aon_emit_(AON_PUSH_, aon_name(name), 0, 0, 0);
}

static inline void aon_range_pop(void)
{
	if (aon_wants_(AON_WANT_RANGE))
		aon_emit_(AON_POP_, 0, 0, 0, 0);
}

/* --- ranges that may end on another thread --- */

/* Returns an id for aon_range_end(), 0 when nothing is recorded. */
static inline uint64_t aon_range_start(const char *name)
{
	return aon_wants_(AON_WANT_RANGE) ? aon_range_start_(aon_name(name)) : 0;
}

static inline void aon_range_end(uint64_t id)
{
	if (id && aon_wants_(AON_WANT_RANGE))
		aon_emit_(AON_END_, 0, 0, id, 0);
}

/* --- moments and values --- */

static inline void aon_mark_id(uint32_t name, uint32_t x, uint64_t a, uint64_t b)
{
	if (aon_wants_(AON_WANT_MARK))
		aon_emit_(AON_MARK_, name, x, a, b);
}

static inline void aon_mark(const char *name)
{
	if (aon_wants_(AON_WANT_MARK))
		aon_emit_(AON_MARK_, aon_name(name), 0, 0, 0);
}

static inline void aon_counter_id(uint32_t name, int64_t value)
{
	if (aon_wants_(AON_WANT_COUNTER))
		aon_emit_(AON_COUNT_I_, name, 0, (uint64_t)value, 0);
}

static inline void aon_counter(const char *name, int64_t value)
{
	if (aon_wants_(AON_WANT_COUNTER))
		aon_emit_(AON_COUNT_I_, aon_name(name), 0, (uint64_t)value, 0);
}

static inline void aon_counter_f64(const char *name, double value)
{
	if (aon_wants_(AON_WANT_COUNTER)) {
		uint64_t bits;

		__builtin_memcpy(&bits, &value, sizeof(bits));
		aon_emit_(AON_COUNT_F_, aon_name(name), 0, bits, 0);
	}
}

/* A link between two ids: of started ranges, or correlation ids of a probe. */
static inline void aon_flow(uint64_t from, uint64_t to)
{
	if (aon_wants_(AON_WANT_FLOW))
		aon_emit_(AON_FLOW_, 0, 0, from, to);
}

/* --- steps: one training iteration, or one batch of requests --- */

/* Any number; rising ones let ranks be aligned. A step also gives libaon a moment to join a
 * daemon that started since. */
AON_API void aon_step_begin(uint64_t number);
AON_API void aon_step_end(uint64_t number);

/*
 * For literal names: the id is looked up once a call site.
 *
 *	AON_PUSH("load");  ...  AON_POP();
 *	AON_MARK("epoch", x, a, b);
 *	AON_COUNTER("loss_ppm", value);
 */
#define AON_SITE_(bits, literal, call)                                                    \
	do {                                                                              \
		if (aon_wants_(bits)) {                                                   \
			static uint32_t aon_site_;                                        \
			uint32_t aon_id_ = __atomic_load_n(&aon_site_, __ATOMIC_RELAXED); \
			if (__builtin_expect(aon_id_ == 0, 0)) {                          \
				aon_id_ = aon_name("" literal);                           \
				__atomic_store_n(&aon_site_, aon_id_, __ATOMIC_RELAXED);  \
			}                                                                 \
			call;                                                             \
		}                                                                         \
	} while (0)

#define AON_PUSH(literal) AON_SITE_(AON_WANT_RANGE, literal, aon_emit_(AON_PUSH_, aon_id_, 0, 0, 0))
#define AON_POP()         aon_range_pop()
#define AON_MARK(literal, x, a, b)        \
	AON_SITE_(AON_WANT_MARK, literal, \
		  aon_emit_(AON_MARK_, aon_id_, (uint32_t)(x), (uint64_t)(a), (uint64_t)(b)))
#define AON_COUNTER(literal, value)          \
	AON_SITE_(AON_WANT_COUNTER, literal, \
		  aon_emit_(AON_COUNT_I_, aon_id_, 0, (uint64_t)(int64_t)(value), 0))

#ifdef __cplusplus
}

namespace aon
{
/* The range lasts as long as the object. */
class range
{
      public:
	explicit range(const char *name)
	{
		aon_range_push(name);
	}
	~range()
	{
		aon_range_pop();
	}
	range(const range &) = delete;
	range &operator=(const range &) = delete;
};
} // namespace aon
#endif

#endif /* AON_AON_H */
