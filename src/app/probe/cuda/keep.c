/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.c - the one thread of the probe: flushes, follows the gate, makes room for other tools.
 *
 *	            wanted                      gate closed
 *	WAITING ------------> ON --------------------------------> WAITING
 *	   |  taken           |  asked for room, or robbed of the buffers
 *	   +------> HELD <----+
 *	            |  every few seconds: free again?
 *	            +---------> ON
 *
 * HELD is a range "externally profiled" of this process. Before the thread runs, and
 * after it has ended, InitializeInjection() and the exit do its work: never two at a time.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/cuda/cuda.h"

#define STACK_BYTES  (8u << 20) /* virtual: CUPTI and nvperf run on it */
#define ROBBED       512u       /* launches that no buffer of ours could hold */
#define ROBBED_MS    600000u    /* for a tool whose end cannot be seen */
#define LEAST_RECORD 48u
#define TRIES        3u
#define UNTIMED_OF   1000u /* records of which a quarter without times is no accident */

/* --- sleeping --- */

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, uint32_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &ts, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void keep_pause(uint32_t ms)
{
	_Atomic uint32_t word = 0;

	futex_wait(&word, 0, ms);
}

void keep_doorbell(struct cuda *c)
{
	int saved = errno;

	atomic_fetch_add_explicit(&c->doorbell, 1, memory_order_release);
	futex_wake(&c->doorbell);
	errno = saved;
}

bool cuda_turn_try(_Atomic uint32_t *turn)
{
	return !atomic_exchange_explicit(turn, 1, memory_order_acquire);
}

void cuda_turn_take(_Atomic uint32_t *turn)
{
	/* Pairs with the release in cuda_turn_give(). */
	for (unsigned i = 0; !cuda_turn_try(turn); i++)
		if (i > 100)
			sched_yield();
}

void cuda_turn_give(_Atomic uint32_t *turn)
{
	atomic_store_explicit(turn, 0, memory_order_release);
}

/* --- what happens to us --- */

static uint32_t state(const struct cuda *c)
{
	return atomic_load_explicit(&c->state, memory_order_acquire);
}

static void set_state(struct cuda *c, uint32_t s)
{
	atomic_store_explicit(&c->state, s, memory_order_release);
	futex_wake(&c->state); /* keep_yield() */
}

/* By another thread, which waits until ours has left CUPTI. */
void keep_yield(struct cuda *c, uint32_t ms)
{
	uint64_t until = clock_mono_ns() + ms * 1000000ull;
	uint32_t s;

	/* I: pairs with J: either we see that it opens, or it sees the neighbour. */
	atomic_thread_fence(memory_order_seq_cst);
	while (((s = state(c)) == CUDA_ON || s == CUDA_OPENING) && clock_mono_ns() < until) {
		if (!c->threaded || __atomic_load_n(&c->stopping, __ATOMIC_RELAXED))
			return; /* nobody is there who could leave */
		atomic_store_explicit(&c->yields, 2, memory_order_relaxed);
		keep_doorbell(c);
		futex_wait(&c->state, s, 20);
	}
}

static void tell_on(const struct cuda *c)
{
	struct cuda_text t = { .len = 0 };

	text_add(&t, "CUPTI API ");
	text_num(&t, c->api.version);
	text_add(&t, c->multi ? ", beside other tools" : "");
	text_add(&t, c->sub ? "" : ", records only: another tool has the callbacks");
	text_add(&t, c->hes_on ? ", hardware events" : "");
	text_add(&t, c->conf);
	aon_note("cuda", "on", t.s);
}

static void tell_off(int error, const char *step)
{
	struct cuda_text t = { .len = 0 };

	text_add(&t, session_why(error));
	text_add(&t, " (");
	text_add(&t, step);
	text_add(&t, ", error ");
	text_num(&t, (uint64_t)error);
	text_add(&t, ")");
	aon_note("cuda", "off", t.s);
}

/* Somebody else measures from now on: the interval is in the store, with whom. */
static void external_begin(struct cuda *c, uint32_t wait_ms, const char *who)
{
	struct cuda_text t = { .len = 0 };

	text_add(&t, "externally profiled");
	if (who && *who) {
		text_add(&t, ": ");
		text_add(&t, who);
	}
	if (!c->range)
		c->range = aon_range_start(t.s);
	aon_note("cuda", "waiting", t.s);
	c->retry_ns = clock_mono_ns() + wait_ms * 1000000ull;
	set_state(c, CUDA_HELD);
}

static void external_end(struct cuda *c)
{
	aon_range_end(c->range);
	c->range = 0;
}

static void try_open(struct cuda *c)
{
	uint32_t before = state(c);
	const char *step;
	int err;

	atomic_store_explicit(&c->yields, 0, memory_order_relaxed);
	set_state(c, CUDA_OPENING);
	/* J: pairs with I. */
	atomic_thread_fence(memory_order_seq_cst);
	if (neighbour_busy(c)) {
		set_state(c, before);
		return;
	}
	err = session_open(c, &step);
	if (!err) {
		external_end(c);
		session_want(c, AON_WANT_GPU | (aon_wants_tier(AON_WANT_API) ? AON_WANT_API : 0));
		c->ticked_requests = atomic_load_explicit(&c->requests, memory_order_relaxed);
		c->ticked_launches = atomic_load_explicit(&c->launches, memory_order_relaxed);
		set_state(c, CUDA_ON);
		aon_stays_launch(16 * c->launch_ns);
		tell_on(c);
	} else if (err == CUPTI_TAKEN) {
		external_begin(c, CUDA_RETRY_MS, c->holder);
	} else if ((err == CUPTI_NOT_INITIALIZED || err == CUPTI_UNKNOWN) && c->tries++ < TRIES) {
		c->retry_ns = clock_mono_ns() + CUDA_IDLE_MS * 1000000ull; /* cuInit() goes on */
		set_state(c, CUDA_WAITING);
	} else if (err == CUPTI_NOT_INITIALIZED && load_another(&c->api)) {
		memset(c->stride, 0, sizeof(c->stride));
		neighbour_setup(c);
		c->tries = 0;
		set_state(c, CUDA_WAITING);
	} else {
		external_end(c);
		tell_off(err, step);
		set_state(c, CUDA_OFF);
	}
}

/* --- a tick --- */

/*
 * A tool that never subscribes can still put its own buffers in the place of ours: then launches
 * go on and nobody asks us for memory.
 */
static bool robbed(const struct cuda *c)
{
	uint64_t asked = atomic_load_explicit(&c->requests, memory_order_relaxed);
	uint64_t launches = atomic_load_explicit(&c->launches, memory_order_relaxed);

	return !c->per_thread && asked == c->ticked_requests &&
	       launches - c->ticked_launches > ROBBED + c->buffer_bytes / LEAST_RECORD;
}

/*
 * The tool that took the buffers may be recording: its kinds stay enabled. From 13.2 on CUPTI
 * says when it has ended, because it disables kernels then; before, only time tells.
 */
static bool robber_left(struct cuda *c)
{
	int kinds[CK_MAX];
	uint32_t room = CK_MAX, n = 0;

	if (!c->api.ActivityGetEnabledKinds ||
	    c->api.ActivityGetEnabledKinds(NULL, kinds, &room, &n))
		return clock_mono_ns() >= c->robbed_ns + ROBBED_MS * 1000000ull;
	for (uint32_t i = 0; i < n && i < CK_MAX; i++)
		if (kinds[i] == CK_CONCURRENT_KERNEL)
			return false;
	return true;
}

/* Is nobody in the way any more? */
static bool is_free(struct cuda *c)
{
	if (clock_mono_ns() < c->retry_ns || neighbour_busy(c))
		return false;
	if (!c->robbed_ns)
		return true;
	if (!robber_left(c))
		return false;
	session_close(c);
	return true;
}

static void measure(struct cuda *c)
{
	uint64_t asked = atomic_load_explicit(&c->requests, memory_order_relaxed);

	if (asked != c->ticked_requests) {
		c->ticked_requests = asked;
		c->ticked_launches = atomic_load_explicit(&c->launches, memory_order_relaxed);
	}
}

/*
 * Records without times, many and at once: CUPTI's buffers on the device are used up, and it does
 * not say so. A new session has new ones. Work that had not ended when it was flushed is few.
 */
static bool times_lost(struct cuda *c)
{
	uint64_t records = atomic_load_explicit(&c->records, memory_order_relaxed);
	uint64_t untimed = atomic_load_explicit(&c->untimed, memory_order_relaxed);
	uint64_t came = records - c->ticked_records, lost = untimed - c->ticked_untimed;

	if (came < UNTIMED_OF)
		return false;
	c->ticked_records = records;
	c->ticked_untimed = untimed;
	return lost > came / 4;
}

/* aon yield. */
static bool room_asked(struct cuda *c, uint32_t *ms)
{
	uint32_t number = aon_room(ms);

	if (!number || number == c->room)
		return false;
	c->room = number;
	return true;
}

static void tick_on(struct cuda *c)
{
	uint32_t ms;
	uint32_t broken = atomic_exchange_explicit(&c->broken, 0, memory_order_relaxed);
	uint32_t yields = atomic_exchange_explicit(&c->yields, 0, memory_order_relaxed);
	uint32_t flush = atomic_load_explicit(&c->name_flush, memory_order_relaxed);

	if (broken) {
		session_close(c);
		tell_off((int)broken, "while tracing");
		set_state(c, CUDA_OFF);
	} else if (yields) {
		session_close(c);
		external_begin(c, yields == 2 ? 0 : CUDA_ROOM_MS,
			       yields == 2 ? c->neighbour.who : "asked for room");
	} else if (room_asked(c, &ms)) {
		session_close(c);
		external_begin(c, ms, "aon yield");
	} else if (robbed(c)) {
		c->robbed_ns = clock_mono_ns();
		external_begin(c, CUDA_RETRY_MS, "a tool that took the buffers");
	} else if (!aon_wants_tier(AON_WANT_GPU)) {
		session_close(c);
		set_state(c, CUDA_WAITING);
		aon_note("cuda", "waiting", "not wanted now");
	} else {
		session_want(c, AON_WANT_GPU | (aon_wants_tier(AON_WANT_API) ? AON_WANT_API : 0));
		c->api.ActivityFlushAll(0);
		pm_tick(c);
		range_tick(c);
		measure(c);
		if (times_lost(c)) {
			session_close(c);
			try_open(c);
			aon_note("cuda", "on", "opened anew: CUPTI gave kernels without times");
		}
		if (flush && flush-- == 1)
			atomic_store_explicit(&c->name_flush, 0, memory_order_relaxed);
		else if (flush)
			name_forget(c),
				atomic_store_explicit(&c->name_flush, flush, memory_order_relaxed);
	}
}

void keep_tick(struct cuda *c)
{
	uint32_t ms;

	if (!aon_joined())
		aon_join(0);
	neighbour_look(c);
	switch (state(c)) {
	case CUDA_ON:
		tick_on(c);
		break;
	case CUDA_WAITING:
		if (aon_wants_tier(AON_WANT_GPU) && is_free(c))
			try_open(c);
		break;
	case CUDA_HELD:
		if (room_asked(c, &ms))
			external_begin(c, ms, "aon yield");
		else if (aon_wants_tier(AON_WANT_GPU) && is_free(c))
			try_open(c);
		break;
	default:
		break;
	}
}

/* What the probe took of a CPU, by its own account. */
void keep_cost(struct cuda *c)
{
	uint64_t records = atomic_load_explicit(&c->records, memory_order_relaxed);
	uint64_t ns = atomic_load_explicit(&c->busy_ns, memory_order_relaxed);

	if (c->cost && records)
		aon_counter("aon: ps of CPU a CUDA record", (int64_t)(ns * 1000 / records));
}

/* --- the thread --- */

static void *run(void *arg)
{
	struct cuda *c = arg;

	pthread_setname_np(pthread_self(), "aon-cuda");
	while (state(c) != CUDA_OFF) {
		uint32_t seen = atomic_load_explicit(&c->doorbell, memory_order_acquire);

		/* C: pairs with D: either the exit sees us busy, or we see that it has begun. */
		atomic_store_explicit(&c->busy, 1, memory_order_seq_cst);
		if (__atomic_load_n(&c->stopping, __ATOMIC_SEQ_CST))
			break;
		keep_tick(c);
		atomic_store_explicit(&c->busy, 0, memory_order_seq_cst);
		futex_wake(&c->busy);
		futex_wait(&c->doorbell, seen, state(c) == CUDA_ON ? CUDA_FLUSH_MS : CUDA_IDLE_MS);
	}
	atomic_store_explicit(&c->busy, 0, memory_order_seq_cst);
	futex_wake(&c->busy);
	return NULL;
}

/* Signals are the app's threads' business. */
bool keep_start(struct cuda *c)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	int err;

	if (pthread_attr_init(&attr))
		return false;
	sigfillset(&all);
	pthread_attr_setsigmask_np(&attr, &all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&thread, &attr, run, c);
	pthread_attr_destroy(&attr);
	c->threaded = !err;
	return !err;
}

bool keep_stop(struct cuda *c)
{
	uint64_t until = clock_mono_ns() + CUDA_EXIT_MS * 1000000ull;

	/* D */
	__atomic_store_n(&c->stopping, 1, __ATOMIC_SEQ_CST);
	keep_doorbell(c);
	while (atomic_load_explicit(&c->busy, memory_order_seq_cst) && clock_mono_ns() < until)
		futex_wait(&c->busy, 1, 20);
	return !atomic_load_explicit(&c->busy, memory_order_seq_cst);
}
