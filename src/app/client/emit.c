/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.c - the hot path, and the slow paths behind it.
 *
 * The header's inline test reads *aon_gate_; it calls here only if that is not 0. The
 * fast path is: own TLS pointer, busy word, write pointer, stamp, four stores, commit. Both
 * slow paths are tail calls with the same arguments, so that the fast path saves no register.
 */
#include <string.h>

#include <aon/aon.h>
#include <aon/provider.h>

#include "client/client.h"

static const uint32_t gate_off = 0;
static const uint32_t gate_slow = AON_WANT_ALL;

const uint32_t *aon_gate_ = &gate_off;

void client_gate_watch(const uint32_t *word)
{
	__atomic_store_n(&aon_gate_, word, __ATOMIC_RELEASE);
}

void client_gate_off(void)
{
	client_gate_watch(&gate_off);
}

void client_gate_slow(void)
{
	client_gate_watch(&gate_slow);
}

const struct aon_thread aon_unattached = { .busy = AON_UNATTACHED };
const struct aon_thread aon_dead = { .busy = AON_DEAD };

/* The cast drops const: nobody stores through a pointer whose busy word is not AON_IDLE. */
AON_API AON_TLS struct aon_thread *aon_self = (struct aon_thread *)(uintptr_t)&aon_unattached;

static void lose_many(struct aon_thread *t, enum aon_loss why, uint64_t n)
{
	if (atomic_load_explicit(&aon_client.ready, memory_order_acquire) && !client_was_forked()) {
		aon_lose(&aon_client.seg, t->tid, why, n);
		return;
	}
	/* X: before the load of ready, as S in client_use() is before the exchange: one of the
	 * two threads sees that the count must go into the segment. */
	atomic_fetch_add_explicit(&aon_client.early, n, memory_order_seq_cst);
	if (atomic_load_explicit(&aon_client.ready, memory_order_seq_cst) && !client_was_forked())
		client_settle();
}

static void lose(struct aon_thread *t, enum aon_loss why)
{
	lose_many(t, why, 1);
}

AON_API void aon_lost(uint32_t why, uint64_t n)
{
	if (why < AON_LOSS_APP_MAX && n)
		lose_many(aon_self, (enum aon_loss)why, n);
}

/*
 * Not attached, dead, or inside another emit of this thread. True: the thread now has its own
 * end, emit again.
 */
static bool odd(struct aon_thread *t)
{
	uint32_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
	uint64_t tsc = aon_tsc();

	if (busy != AON_UNATTACHED) {
		lose(t, busy == AON_DEAD ? AON_LOSS_LATE : AON_LOSS_NESTED);
		return false;
	}
	if (!client_was_forked() || client_forked()) {
		if (!atomic_load_explicit(&aon_client.ready, memory_order_acquire))
			client_try_join(tsc);
		if (atomic_load_explicit(&aon_client.ready, memory_order_acquire) &&
		    thread_attach())
			return true;
	}
	lose(t, AON_LOSS_JOINING);
	return false;
}

/* The thread's chunk has no room for `units`, is stale, or is none. busy is held. */
static bool refill(struct aon_thread *t, uint64_t tsc, uint32_t units)
{
	const struct aon_seg *seg = &aon_client.seg;
	uint32_t used;

	if (aon_unlikely(units > seg->chunk_bytes / AON_UNIT - 1)) {
		lose(t, AON_LOSS_TOO_BIG);
		return false;
	}
	aon_chunk_give(t);
	client_look(tsc);
	used = aon_chunk_take(seg, t, tsc);
	if (!used) {
		t->skip = 63;
		lose(t, AON_LOSS_POOL_FULL);
		client_doorbell();
		client_full();
		thread_sweep();
		return false;
	}
	if (used * 2 >= seg->chunk_count)
		client_doorbell();
	return true;
}

/*
 * There was no chunk a moment ago: drop this record without another search. This costs no more
 * than a successful emit, because an app must not slow down when aond does. busy is held.
 */
static inline bool skipped(struct aon_thread *t)
{
	if (aon_likely(!t->skip))
		return false;
	t->skip--;
	aon_lose(&aon_client.seg, t->tid, AON_LOSS_POOL_FULL, 1);
	aon_set_busy(t, AON_IDLE);
	return true;
}

/* After fork() the thread's end is all zeros: start anew in the child. */
static bool wiped(struct aon_thread *t)
{
	if (aon_likely(t->tid))
		return false;
	aon_self = (struct aon_thread *)(uintptr_t)&aon_unattached;
	return true;
}

static __attribute__((cold, noinline)) void emit_odd(uint32_t kind, uint32_t name, uint32_t x,
						     uint64_t a, uint64_t b)
{
	struct detour d = detour_begin();
	bool again = odd(aon_self);

	detour_end(d);
	if (again)
		aon_emit_(kind, name, x, a, b);
}

static __attribute__((cold, noinline)) void emit_refill(uint32_t kind, uint32_t name, uint32_t x,
							uint64_t a, uint64_t b)
{
	struct aon_thread *t = aon_self;
	struct detour d;
	uint64_t tsc;

	if (skipped(t))
		return;
	if (wiped(t)) {
		aon_emit_(kind, name, x, a, b);
		return;
	}
	d = detour_begin();
	tsc = aon_tsc();
	if (refill(t, tsc, 1)) {
		aon_fill(t->p, kind, name, x, a, b);
		aon_stamp(t, t->p, (uint32_t)tsc);
	}
	aon_set_busy(t, AON_IDLE);
	detour_end(d);
}

/* The chunk is of another epoch of the counter. The record was written, but not committed yet. */
static __attribute__((cold, noinline)) void emit_stale(void)
{
	union aon_rec r = *aon_self->p;

	emit_refill(r.half[1], r.half[2], r.half[3], r.word[2], r.word[3]);
}

AON_API void aon_emit_(uint32_t kind, uint32_t name, uint32_t x, uint64_t a, uint64_t b)
{
	struct aon_thread *t = aon_self;
	union aon_rec *p;
	uint32_t lo, hi;

	if (aon_unlikely(atomic_load_explicit(&t->busy, memory_order_relaxed))) {
		emit_odd(kind, name, x, a, b);
		return;
	}
	aon_set_busy(t, AON_EMITTING);
	p = t->p;
	if (aon_unlikely(p == t->end)) {
		emit_refill(kind, name, x, a, b);
		return;
	}
	aon_fill(p, kind, name, x, a, b);
	lo = aon_tsc_split(&hi);
	if (aon_unlikely(hi != t->tsc_hi)) {
		emit_stale();
		return;
	}
	aon_stamp(t, p, lo);
	aon_set_busy(t, AON_IDLE);
}

AON_API uint64_t aon_range_start_(uint32_t name)
{
	uint64_t id = 1 + atomic_fetch_add_explicit(&aon_client.range_ids, 1, memory_order_relaxed);

	aon_emit_(AON_REC_(AON_K_RANGE_START, 0), name, 0, id, 0);
	return id;
}

/* --- activities: their times are known, no stamp is taken --- */

static inline uint32_t act_arg(const struct aon_act *a)
{
	return a->kind == AON_ACT_KERNEL ? a->geo : (uint32_t)a->bytes;
}

/* Two units only for what does not fit one. */
static inline bool act_is_long(const struct aon_act *a)
{
	return a->end_ns - a->start_ns > UINT32_MAX || a->bytes > UINT32_MAX || a->group ||
	       a->sequence;
}

static void act_fill(struct aon_thread *t, const struct aon_act *a, bool ext)
{
	union aon_rec *p = t->p;
	uint64_t dur = a->end_ns > a->start_ns ? a->end_ns - a->start_ns : 0;

	p->act.dur = dur > UINT32_MAX ? UINT32_MAX : (uint32_t)dur;
	p->act.kind = (uint16_t)a->kind;
	p->act.len = ext ? 2 : 1;
	p->act.flags = (uint8_t)((a->dir & 0x0fu) | (ext ? AON_F_EXT | AON_F_LONG : 0));
	p->act.name = a->name;
	p->act.arg = act_arg(a);
	p->act.start = a->start_ns;
	p->act.corr = a->corr;
	p->act.track = (uint16_t)a->track;
	p->act.reserved = 0;
	if (ext) {
		struct aon_ext *e = (struct aon_ext *)(void *)(p + 1);

		e->dur_ns = dur;
		e->arg = a->kind == AON_ACT_KERNEL ? a->geo : a->bytes;
		e->group = a->group;
		e->sequence = a->sequence;
	}
	aon_commit(t, p, ext ? 2 : 1);
}

static __attribute__((cold, noinline)) void act_odd(const struct aon_act *a)
{
	struct detour d = detour_begin();
	bool again = odd(aon_self);

	detour_end(d);
	if (again)
		aon_act_emit(a);
}

static __attribute__((cold, noinline)) void act_refill(const struct aon_act *a, bool ext)
{
	struct aon_thread *t = aon_self;
	struct detour d;

	if (skipped(t))
		return;
	if (wiped(t)) {
		aon_act_emit(a);
		return;
	}
	d = detour_begin();
	if (refill(t, aon_tsc(), ext ? 2 : 1))
		act_fill(t, a, ext);
	aon_set_busy(t, AON_IDLE);
	detour_end(d);
}

AON_API void aon_act_emit(const struct aon_act *a)
{
	struct aon_thread *t = aon_self;
	bool ext = act_is_long(a);

	if (aon_unlikely(atomic_load_explicit(&t->busy, memory_order_relaxed))) {
		act_odd(a);
		return;
	}
	aon_set_busy(t, AON_EMITTING);
	if (aon_unlikely(t->end - t->p < (ptrdiff_t)(ext ? 2 : 1))) {
		act_refill(a, ext);
		return;
	}
	act_fill(t, a, ext);
	aon_set_busy(t, AON_IDLE);
}

/* --- long texts: as many records as it takes, in order --- */

#define PIECE_LEAST 8u   /* units: less room is not worth a record */
#define PIECE_MOST  255u /* what a record's length holds */

/* Bytes of the text from `off` on that went into one record; 0: the pool is full. busy is held. */
static uint32_t text_piece(struct aon_thread *t, uint32_t name, uint32_t type, const char *text,
			   uint32_t len, uint32_t off)
{
	uint32_t units = 1 + (len - off + AON_UNIT - 1) / AON_UNIT, room, bytes;
	uint64_t tsc = aon_tsc();

	room = (uint32_t)(t->end - t->p);
	if ((room < units && room < PIECE_LEAST) || t->tsc_hi != (uint32_t)(tsc >> 32)) {
		if (!refill(t, tsc, units < PIECE_LEAST ? units : PIECE_LEAST))
			return 0;
		room = (uint32_t)(t->end - t->p);
	}
	units = units < room ? units : room;
	units = units < PIECE_MOST ? units : PIECE_MOST;
	bytes = (units - 1) * AON_UNIT;
	bytes = bytes < len - off ? bytes : len - off;
	memset(t->p + units - 1, 0, AON_UNIT); /* the last unit may not be full */
	memcpy(t->p + 1, text + off, bytes);
	t->p->host = (struct aon_rec_host){ .t = (uint32_t)tsc,
					    .kind = AON_K_TEXT,
					    .len = (uint8_t)units,
					    .name = name,
					    .x = off,
					    .a = len,
					    .b = type };
	aon_commit(t, t->p, units);
	return bytes;
}

static int text_emit(uint32_t name, uint32_t type, const char *text, uint32_t len)
{
	uint32_t off = 0, n = 1;
	struct aon_thread *t;

	if (!len || len > AON_TEXT_MAX)
		return -EINVAL;
	if (!atomic_load_explicit(&aon_client.ready, memory_order_acquire) || client_was_forked())
		return -EAGAIN;
	if (!(atomic_load_explicit(&aon_client.features, memory_order_relaxed) & AON_FEATURE_TEXT))
		return -ENOTSUP;
	if (atomic_load_explicit(&aon_self->busy, memory_order_relaxed) && !odd(aon_self))
		return -EAGAIN;
	t = aon_self;
	aon_set_busy(t, AON_EMITTING);
	while (off < len && (n = text_piece(t, name, type, text, len, off)))
		off += n;
	aon_set_busy(t, AON_IDLE);
	return n ? 0 : -ENOBUFS;
}

AON_API int aon_text_emit(uint32_t name, uint32_t type, const char *text, uint32_t len)
{
	struct detour d = detour_begin();
	int err = text_emit(name, type, text, len);

	detour_end(d);
	return err;
}
