/* SPDX-License-Identifier: Apache-2.0 */
/* api.c - the exported calls that are not on the hot path. */
#include <errno.h>
#include <string.h>

#include <aon/aon.h>
#include <aon/provider.h>

#include "abi/trial.h"
#include "base/clock.h"
#include "client/client.h"

static struct client *const c = &aon_client;

AON_API const char *aon_version(void)
{
	return AON_VERSION;
}

AON_API int aon_joined(void)
{
	return atomic_load_explicit(&c->state, memory_order_acquire) == CLIENT_JOINED &&
	       !client_was_forked();
}

static int joined_or_why(void)
{
	switch (atomic_load_explicit(&c->state, memory_order_acquire)) {
	case CLIENT_JOINED:
		return 0;
	case CLIENT_WAITING:
		return -EAGAIN;
	case CLIENT_INERT:
		return c->refused == -EPROTO ? -EPROTO : -EPERM;
	default:
		return c->refused == -EPERM ? -EPERM : -ENOENT;
	}
}

AON_API int aon_join(unsigned wait_ms)
{
	uint64_t until = clock_mono_ms() + wait_ms, now;
	struct detour d = detour_begin();
	bool mine;
	int err;

	if (client_was_forked())
		client_forked();
	do {
		now = clock_mono_ms();
		mine = client_step(aon_tsc(), now < until ? (unsigned)(until - now) : 0);
		err = joined_or_why();
		/* Another thread is joining: the state is not final yet. */
		if (!mine && err == -ENOENT)
			err = -EAGAIN;
		if (!mine && err == -EAGAIN && now < until)
			link_wait(NULL, 1);
	} while (err == -EAGAIN && now < until);
	detour_end(d);
	return err;
}

AON_API uint32_t aon_name(const char *name)
{
	uint32_t len;

	if (!name)
		return 0;
	len = (uint32_t)strnlen(name, AON_NAME_MAX);
	return intern(AON_HEAP_NAME, name, len) / AON_HEAP_ALIGN;
}

AON_API uint32_t aon_track(uint32_t device, uint32_t context, uint64_t stream, const char *name)
{
	struct aon_track track;

	memset(&track, 0, sizeof(track));
	track.device = device;
	track.context = context;
	track.stream = stream;
	track.name = name ? aon_name(name) : 0;
	return intern(AON_HEAP_TRACK, &track, sizeof(track)) / AON_TRACK_ALIGN;
}

AON_API uint32_t aon_track_thread(uint32_t tid)
{
	return aon_track(AON_TRACK_HOST, 0, tid, NULL);
}

AON_API uint32_t aon_geo(const uint32_t grid[3], const uint32_t block[3], uint32_t regs,
			 uint32_t smem_static, uint32_t smem_dynamic)
{
	struct aon_geo g = { { grid[0], grid[1], grid[2] },
			     { block[0], block[1], block[2] },
			     regs,
			     smem_static,
			     smem_dynamic };

	return intern(AON_HEAP_GEO, &g, sizeof(g)) / AON_HEAP_ALIGN;
}

AON_API void aon_counter_at(uint32_t name, uint32_t track, double value, uint64_t ns)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (aon_wants_(AON_WANT_COUNTER))
		aon_emit_(AON_REC_(AON_K_COUNTER, AON_F_FLOAT | AON_F_TRACK | AON_F_AT), name,
			  track, bits, ns);
}

/* The words of the segment that need no drain; NULL when there is none. */
static struct aon_heartbeat *heartbeat(void)
{
	if (!atomic_load_explicit(&c->ready, memory_order_acquire) || client_was_forked())
		return NULL;
	return &c->seg.head->heartbeat;
}

static void set(uint64_t *word, uint64_t v)
{
	__atomic_store_n(word, v, __ATOMIC_RELAXED);
}

static void poll_at(uint64_t tsc)
{
	struct detour d = detour_begin();

	client_poll(tsc);
	detour_end(d);
}

/*
 * A step begins: if it is unsampled, all threads test the other word of the gate from now on.
 * A process that does not watch this session's gate keeps watching what it watches.
 */
static void trial_step(uint64_t number)
{
	const struct aon_gate *g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
	const uint32_t *from, *to;
	uint64_t word;

	if (!g)
		return;
	word = __atomic_load_n(&g->trial, __ATOMIC_ACQUIRE); /* pairs with gate_trial() */
	from = &g->want_off;
	to = &g->want;
	if (word &&
	    aon_trial_at(aon_trial_of(word), __atomic_load_n(&g->seed, __ATOMIC_RELAXED), number)
		    .off) {
		from = &g->want;
		to = &g->want_off;
	}
	__atomic_compare_exchange_n(&aon_gate_, &from, to, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static void heartbeat_step(uint64_t number, uint64_t tsc)
{
	struct aon_heartbeat *p = heartbeat();

	if (p) {
		set(&p->step, number);
		set(&p->step_tsc, tsc);
	}
}

AON_API void aon_step_begin(uint64_t number)
{
	uint64_t tsc = aon_tsc();

	poll_at(tsc);
	trial_step(number);
	if (aon_wants_(AON_WANT_STEP))
		aon_emit_(AON_REC_(AON_K_STEP_BEGIN, 0), 0, 0, number, 0);
	heartbeat_step(number, tsc);
}

AON_API void aon_heartbeat_step(uint64_t number)
{
	uint64_t tsc = aon_tsc();

	poll_at(tsc);
	trial_step(number);
	heartbeat_step(number, tsc);
}

AON_API int aon_wants_tier(uint32_t bits)
{
	const struct aon_gate *g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
	const uint32_t *at = __atomic_load_n(&aon_gate_, __ATOMIC_RELAXED);
	uint32_t want;

	if (!g || client_was_forked() || (at != &g->want && at != &g->want_off))
		return aon_wants_(bits);
	want = __atomic_load_n(&g->want_tier, __ATOMIC_RELAXED);
	if (!want)
		want = __atomic_load_n(&g->want, __ATOMIC_RELAXED);
	return (want & bits) != 0;
}

AON_API uint32_t aon_ops_every(void)
{
	const struct aon_gate *g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);

	if (!g || !aon_wants_(AON_WANT_OP) || client_was_forked())
		return 0;
	return __atomic_load_n(&g->ops_every, __ATOMIC_RELAXED);
}

AON_API uint32_t aon_capture(uint32_t *ms)
{
	const struct aon_gate *g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
	uint32_t number;

	if (!g || client_was_forked())
		return 0;
	number = __atomic_load_n(&g->capture, __ATOMIC_ACQUIRE); /* pairs with gate_capture() */
	*ms = __atomic_load_n(&g->capture_ms, __ATOMIC_RELAXED);
	return number;
}

AON_API uint32_t aon_room(uint32_t *ms)
{
	const struct aon_gate *g;
	uint32_t number;

	/* A probe that makes room emits nothing, so only this poll notices that aond is gone, or back. */
	poll_at(aon_tsc());
	g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);
	if (!g || client_was_forked())
		return 0;
	number = __atomic_load_n(&g->room, __ATOMIC_ACQUIRE); /* pairs with gate_room() */
	*ms = __atomic_load_n(&g->room_ms, __ATOMIC_RELAXED);
	return number;
}

static void (*_Atomic room_fn)(const char *who);

AON_API void aon_room_serve(void (*fn)(const char *who))
{
	atomic_store_explicit(&room_fn, fn, memory_order_release); /* with what it works on */
}

static void room(const char *who)
{
	void (*fn)(const char *who) = atomic_load_explicit(&room_fn, memory_order_acquire);

	if (fn && !client_was_forked())
		fn(who);
}

AON_API void aon_room_begin(const char *who)
{
	room(who ? who : "a profiler");
}

AON_API void aon_room_end(void)
{
	room(NULL);
}

AON_API int aon_counters_leased(void)
{
	const struct aon_gate *g = __atomic_load_n(&c->gate, __ATOMIC_ACQUIRE);

	return g && !client_was_forked() &&
	       (__atomic_load_n(&g->flags, __ATOMIC_RELAXED) & AON_GATE_NO_PM);
}

AON_API void aon_step_end(uint64_t number)
{
	if (aon_wants_(AON_WANT_STEP))
		aon_emit_(AON_REC_(AON_K_STEP_END, 0), 0, 0, number, 0);
}

AON_API void aon_heartbeat_launch(uint32_t corr, uint32_t name)
{
	struct aon_heartbeat *p = heartbeat();

	uint64_t n;

	if (!p)
		return;
	set(&p->launch, (uint64_t)corr << 32 | name);
	/* Two threads may count as one here: the time stamp costs more than everything else. */
	n = __atomic_load_n(&p->launches, __ATOMIC_RELAXED);
	set(&p->launches, n + 1);
	if (n % AON_HEARTBEAT_STAMPS == 0)
		set(&p->launch_tsc, aon_tsc());
}

AON_API void aon_heartbeat_collective(uint64_t communicator, uint64_t sequence)
{
	struct aon_heartbeat *p = heartbeat();

	if (p) {
		set(&p->collective, sequence);
		set(&p->collective_comm, communicator);
		set(&p->collective_tsc, aon_tsc());
	}
}

AON_API void aon_stays(uint64_t ns)
{
	if (heartbeat())
		__atomic_fetch_add(&c->seg.head->residual_ns, ns, __ATOMIC_RELAXED);
}

AON_API void aon_stays_launch(uint32_t sixteenths)
{
	if (heartbeat())
		__atomic_store_n(&c->seg.head->residual_launch, sixteenths, __ATOMIC_RELAXED);
}

#define TABLE_PAD 4u /* behind the entry's head: it is aligned to 8 then */

AON_API void *aon_memory_table(uint32_t bytes)
{
	static _Atomic uint32_t at;
	uint32_t off = atomic_load_explicit(&at, memory_order_relaxed), none = 0;

	if (!heartbeat() || bytes + TABLE_PAD > UINT16_MAX)
		return NULL;
	if (!off) {
		off = intern_room(AON_HEAP_MEMORY, bytes + TABLE_PAD);
		/* The room of a thread that comes second stays unused. */
		if (off && !atomic_compare_exchange_strong_explicit(
				   &at, &none, off, memory_order_relaxed, memory_order_relaxed))
			off = none;
	}
	if (!off || off + sizeof(struct aon_heap_entry) + TABLE_PAD + bytes > c->seg.heap_bytes)
		return NULL;
	set(&c->seg.head->memory_off, off);
	return c->seg.heap + off + sizeof(struct aon_heap_entry) + TABLE_PAD;
}

#define CLAIMS 8u

AON_API int aon_claim(const char *source)
{
	static _Atomic uint32_t claimed[CLAIMS]; /* ids of names */
	uint32_t id = aon_name(source);

	for (uint32_t i = 0; id && i < CLAIMS; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong_explicit(
			    &claimed[i], &none, id, memory_order_relaxed, memory_order_relaxed))
			return 0;
		if (none == id)
			return -EBUSY;
	}
	return id ? -EBUSY : 0; /* names do not work: neither will its records */
}

static void cut(char *out, size_t cap, const char *text)
{
	size_t n = text ? strnlen(text, cap - 1) : 0;

	memcpy(out, text ? text : "", n);
}

AON_API void aon_note(const char *source, const char *state, const char *reason)
{
	struct aon_msg_note n = { .head = { AON_MSG_MAGIC, AON_MSG_NOTE, sizeof(n) } };
	struct detour d;

	cut(n.source, sizeof(n.source), source);
	cut(n.state, sizeof(n.state), state);
	cut(n.reason, sizeof(n.reason), reason);
	d = detour_begin();
	client_note_send(&n);
	detour_end(d);
}

/* The names of version 0.1, for one release: probes that were built for it still load. */
#define OLD_NAME(type, old, new, args) \
	AON_API type old args __attribute__((alias(#new), visibility("default")))
OLD_NAME(uint32_t, aon_lane, aon_track, (uint32_t, uint32_t, uint64_t, const char *));
OLD_NAME(uint32_t, aon_lane_thread, aon_track_thread, (uint32_t));
OLD_NAME(void, aon_pulse_step, aon_heartbeat_step, (uint64_t));
OLD_NAME(void, aon_pulse_launch, aon_heartbeat_launch, (uint32_t, uint32_t));
OLD_NAME(void, aon_pulse_collective, aon_heartbeat_collective, (uint64_t, uint64_t));
