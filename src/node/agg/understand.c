/* SPDX-License-Identifier: Apache-2.0 */
/*
 * understand.c - turns records into events.
 *
 * Activities are nearly all of the traffic, and each becomes an event immediately: the ids of the
 * session's heap index arrays of the store's ids, which are filled on first use. Records that begin
 * or end something go through open.c. Every record is counted once: in an event, in lost[], or
 * among the open ones.
 */
#include "agg/understand.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agg/open.h"
#include "agg/pages.h"

#define TRACKS 65536u
#define BAD    (-(int)AON_LOSS_INVALID)

#define COPY_DIR 0x0fu

#define EV_HOST(NAME) EVENT_NONE
#define EV_ACT(NAME)  EVENT_##NAME

static const struct {
	uint8_t form;  /* enum aon_form */
	uint8_t event; /* ACT: enum event_kind */
} kinds[AON_K_MAX] = {
#define KIND(num, NAME, word, form, want) [num] = { AON_FORM_##form, EV_##form(NAME) },
#include "abi/kind.tbl.h"
};

typedef uint32_t find_fn(void *arg, uint32_t heap_id);

/* Store ids by heap id; 0: not asked for yet. */
struct cache {
	uint32_t *id; /* owned */
	uint32_t max;
	find_fn *find;
};

struct understand {
	struct cache name, geo, track;
	find_fn *thread;
	void (*text)(void *arg, const struct understand_text *piece);
	void *arg;
	struct open *open; /* owned */
};

/* What all HOST records of a run share. */
struct run {
	const struct clock_map *clk;
	uint64_t tsc_hi;
	uint32_t tid;
	struct open_thread *thread; /* NULL until one is needed */
};

static int cache_init(struct cache *c, uint32_t max, find_fn *find)
{
	*c = (struct cache){ pages_new((size_t)max * sizeof(*c->id)), max, find };
	return c->id ? 0 : -ENOMEM;
}

static void cache_fini(struct cache *c)
{
	pages_free(c->id, (size_t)c->max * sizeof(*c->id));
}

/* What the heap does not hold is not remembered: it may be there next time. */
__attribute__((cold, noinline)) static bool cache_miss(const struct cache *c, void *arg,
						       uint32_t heap_id, uint32_t *id)
{
	if (heap_id >= c->max)
		return false;
	*id = c->id[heap_id] = c->find(arg, heap_id);
	return *id != 0;
}

/* Heap id 0 is "none" and gives 0. */
static inline bool cache_get(const struct cache *c, void *arg, uint32_t heap_id, uint32_t *id)
{
	*id = heap_id < c->max ? c->id[heap_id] : 0;
	if (__builtin_expect(*id != 0 || heap_id == 0, 1))
		return true;
	return cache_miss(c, arg, heap_id, id);
}

int understand_new(struct understand **out, const struct understand_ops *ops, void *arg,
		   uint32_t heap_bytes)
{
	struct understand *u;
	uint32_t ids = heap_bytes / AON_HEAP_ALIGN;
	int err;

	if (ids == 0 || heap_bytes > AON_HEAP_BYTES_MAX)
		return -EINVAL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->thread = ops->thread;
	u->text = ops->text;
	u->arg = arg;
	err = cache_init(&u->name, ids, ops->name);
	err = err ? err : cache_init(&u->geo, ids, ops->geo);
	err = err ? err : cache_init(&u->track, TRACKS, ops->track);
	err = err ? err : open_new(&u->open);
	if (err) {
		understand_free(u);
		return err;
	}
	*out = u;
	return 0;
}

void understand_free(struct understand *u)
{
	if (!u)
		return;
	open_free(u->open);
	cache_fini(&u->track);
	cache_fini(&u->geo);
	cache_fini(&u->name);
	free(u);
}

/* The second unit of an activity. Of a kernel, `arg` is a geometry, which always fits the first. */
static int extend(const union aon_rec *r, struct event *e)
{
	struct aon_ext ext;

	if (!(r->act.flags & AON_F_EXT) || r->act.len < 2)
		return BAD;
	memcpy(&ext, r + 1, sizeof(ext));
	if (r->act.flags & AON_F_LONG) {
		e->dur_ns = ext.dur_ns;
		if (r->act.kind != AON_K_KERNEL)
			e->a = ext.arg;
	}
	e->b = r->act.kind == AON_K_COLLECTIVE ? ext.sequence : ext.group;
	return 0;
}

static inline int act(const struct understand *u, const union aon_rec *rec, struct event *e)
{
	const struct aon_rec_act *r = &rec->act;
	uint32_t name, track, geo;
	uint64_t end;

	if (!cache_get(&u->name, u->arg, r->name, &name) ||
	    !cache_get(&u->track, u->arg, r->track, &track))
		return BAD;
	*e = (struct event){
		.start_ns = r->start,
		.dur_ns = r->dur,
		.a = r->arg,
		.name = name,
		.corr = r->corr,
		.track = track,
		.kind = kinds[r->kind].event,
	};
	if (r->kind == AON_K_KERNEL) {
		if (!cache_get(&u->geo, u->arg, r->arg, &geo))
			return BAD;
		e->a = geo;
	} else if (r->kind == AON_K_COPY || r->kind == AON_K_ALLOC) {
		e->flags = (uint8_t)((r->flags & COPY_DIR) << EVENT_COPY_SHIFT);
	} else if (r->kind == AON_K_STEP) {
		e->flags = EVENT_ONE;
	}
	if (__builtin_expect(r->flags & (AON_F_EXT | AON_F_LONG), 0) && extend(rec, e))
		return BAD;
	if (r->kind == AON_K_OP) {
		uint32_t shapes;

		if (!cache_get(&u->name, u->arg, r->arg, &shapes))
			return BAD;
		e->a = (uint64_t)shapes << 1 | (r->flags & 1);
	}
	if (__builtin_add_overflow(e->start_ns, e->dur_ns, &end) || end > INT64_MAX || !r->start)
		return BAD;
	return 1;
}

static struct open_thread *thread_of(struct understand *u, struct run *run)
{
	if (!run->thread) {
		run->thread = open_thread(u->open, run->tid);
		if (!run->thread->track)
			run->thread->track = u->thread(u->arg, run->tid);
	}
	return run->thread;
}

/* An event of another track than the thread's: asking for the track makes its name known. */
static int on_track(const struct understand *u, const struct aon_rec_host *r, struct event *e,
		    struct event *out)
{
	bool mark = r->kind == AON_K_MARK;
	uint64_t track = mark ? r->a : r->x;

	if (!track || track >= TRACKS || !cache_get(&u->track, u->arg, (uint32_t)track, &e->track))
		return BAD;
	e->corr = mark ? r->x : 0;
	e->a = mark ? 0 : r->a;
	e->b = r->b;
	if (!mark && r->flags & AON_F_AT) { /* its time is known, as an activity's */
		if (!r->b || r->b > INT64_MAX)
			return BAD;
		e->start_ns = r->b;
		e->b = 0;
	}
	*out = *e;
	return 1;
}

/* A piece is stored as a mark without its bytes: every record is in an event. */
static int text(const struct understand *u, uint32_t tid, const struct aon_rec_host *r,
		struct event *e)
{
	struct understand_text p = { .ns = e->start_ns, .tid = tid, .bytes = r + 1 };

	if (r->len < 2 || r->a > AON_TEXT_MAX || r->x >= r->a)
		return BAD;
	p.type = r->b <= UINT32_MAX ? (uint32_t)r->b : 0;
	p.off = r->x;
	p.total = (uint32_t)r->a;
	p.len = (r->len - 1) * AON_UNIT;
	if (p.len > p.total - p.off)
		p.len = p.total - p.off;
	if (u->text)
		u->text(u->arg, &p);
	e->kind = EVENT_MARK;
	return 0;
}

static int host(struct understand *u, struct run *run, const struct aon_rec_host *r,
		struct event *out)
{
	struct open_thread *t = thread_of(u, run);
	uint64_t now = clock_map_ns(run->clk, run->tsc_hi << 32 | r->t);
	struct event e = { .start_ns = now, .track = t->track };
	bool ok = now != 0 && now <= INT64_MAX && cache_get(&u->name, u->arg, r->name, &e.name);

	if (!ok && r->kind != AON_K_RANGE_PUSH)
		return BAD;
	t->last_ns = now;
	switch (r->kind) {
	case AON_K_RANGE_PUSH:
		e.kind = ok ? EVENT_RANGE : EVENT_NONE;
		e.b = r->x;
		return open_push(u->open, t, &e);
	case AON_K_RANGE_POP:
		return open_pop(u->open, t, e.name ? open_above(u->open, t, e.name) : r->x, now,
				out);
	case AON_K_RANGE_START:
		e.kind = EVENT_RANGE;
		e.a = r->a;
		e.b = r->x;
		return open_start(u->open, &e, out);
	case AON_K_RANGE_END:
		return open_end(u->open, r->a, now, out);
	case AON_K_STEP_BEGIN:
		e.kind = EVENT_STEP;
		e.a = r->a;
		return open_step_begin(u->open, run->tid, &e, out);
	case AON_K_STEP_END:
		return open_step_end(u->open, run->tid, r->a, now, out);
	case AON_K_COUNTER:
		e.kind = EVENT_COUNTER;
		e.flags = r->flags & AON_F_FLOAT ? EVENT_FLOAT : 0;
		if (r->flags & AON_F_TRACK)
			return on_track(u, r, &e, out);
		break;
	case AON_K_FLOW:
		e.kind = EVENT_FLOW;
		break;
	case AON_K_TEXT:
		if (text(u, run->tid, r, &e))
			return BAD;
		break;
	case AON_K_MARK:
		e.kind = EVENT_MARK;
		if (r->flags & AON_F_TRACK)
			return on_track(u, r, &e, out);
		break;
	default:
		return -(int)AON_LOSS_UNKNOWN;
	}
	e.corr = r->x;
	e.a = r->a;
	e.b = r->b;
	*out = e;
	return 1;
}

/* Any kind but an activity. */
__attribute__((noinline)) static int other(struct understand *u, struct run *run,
					   const union aon_rec *r, struct event *out)
{
	if (r->host.kind == AON_K_INVALID)
		return BAD;
	if (r->host.kind >= AON_K_MAX || kinds[r->host.kind].form != AON_FORM_HOST)
		return -(int)AON_LOSS_UNKNOWN;
	return host(u, run, &r->host, out);
}

size_t understand_records(struct understand *u, const struct clock_map *clk, uint32_t tid,
			  uint32_t tsc_hi, const union aon_rec *rec, size_t units,
			  struct event *out, uint64_t *records, uint64_t lost[AON_LOSS_MAX])
{
	struct run run = { .clk = clk, .tsc_hi = tsc_hi, .tid = tid };
	uint64_t seen = 0;
	size_t n = 0, i = 0;
	int got;

	while (i < units) {
		const union aon_rec *r = &rec[i];

		seen++;
		if (r->act.len == 0 || r->act.len > units - i) {
			lost[AON_LOSS_INVALID]++;
			break;
		}
		if (r->act.kind < AON_K_MAX && kinds[r->act.kind].form == AON_FORM_ACT)
			got = act(u, r, &out[n]);
		else
			got = other(u, &run, r, &out[n]);
		if (__builtin_expect(got < 0, 0))
			lost[-got]++;
		else
			n += (size_t)got;
		i += r->act.len;
	}
	*records = seen;
	lost[AON_LOSS_UNMATCHED] += open_given_up(u->open);
	return n + open_flush(u->open, out + n, units - n);
}

uint64_t understand_open(const struct understand *u)
{
	return open_count(u->open);
}

bool understand_any_open(const struct understand *u, bool (*is)(void *arg, uint32_t name),
			 void *arg)
{
	return open_any(u->open, is, arg);
}

size_t understand_close(struct understand *u, uint64_t end_ns, struct event *out, size_t max,
			uint64_t lost[AON_LOSS_MAX])
{
	size_t n = open_close(u->open, end_ns, out, max);

	lost[AON_LOSS_UNMATCHED] += open_given_up(u->open);
	return n;
}
