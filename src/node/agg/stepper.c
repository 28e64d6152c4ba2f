/* SPDX-License-Identifier: Apache-2.0 */
/* stepper.c - collects the events of a step's record, and builds it; see stepper.h. */
#include "agg/stepper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agg/pages.h"
#include "agg/stepper_priv.h"

#define KEY_BYTES (2 * (size_t)STEPPER_KEYS * sizeof(struct sort_key))

int stepper_new(struct stepper **out, const struct step_names *names)
{
	struct stepper *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->names = names;
	*out = s;
	return 0;
}

void stepper_free(struct stepper *s)
{
	if (!s)
		return;
	if (s->key)
		pages_free(s->key, KEY_BYTES);
	free(s->coll);
	free(s->launch);
	free(s);
}

/* --- tracks --- */

struct step_track *stepper_track_get(struct stepper *s, uint32_t id)
{
	for (uint32_t i = 0; i < STEPPER_TRACKS; i++) {
		struct step_track *l = &s->track[(id + i) % STEPPER_TRACKS];

		if (l->id == id)
			return l;
		if (!l->id)
			return NULL;
	}
	return NULL;
}

/* "gloo 0 1/2": all but the rank is the same for all members. NCCL's tracks carry a hash of the rest. */
static void read_group(struct step_track *l, const struct track *of, const char *name)
{
	const char *ranks = strrchr(name, ' ');
	uint32_t rank, members;
	char end;

	if (!ranks || sscanf(ranks, " %u/%u%c", &rank, &members, &end) != 2 || !members)
		return;
	l->rank = rank;
	l->members = members;
	l->words = of->stream;
	l->comm = of->device == TRACK_HOST ? step_hash(name, (size_t)(ranks - name), members)
					   : step_hash(&of->stream, sizeof(of->stream), members);
}

void stepper_track(struct stepper *s, const struct track *l, const char *name)
{
	struct step_track to = { .id = l->id, .device = l->device != TRACK_HOST };
	struct step_track *had = stepper_track_get(s, l->id);
	uint32_t at = l->id % STEPPER_TRACKS;

	read_group(&to, l, name);
	if (!to.device && !to.members)
		return;
	if (had) {
		*had = to;
		return;
	}
	if (s->tracks == STEPPER_TRACKS - 1)
		return;
	while (s->track[at].id)
		at = (at + 1) % STEPPER_TRACKS;
	s->track[at] = to;
	s->tracks++;
	s->devices += to.device && !to.members;
}

/* --- events --- */

/* The older half makes room: a step of more events is recorded with losses. */
static void make_room(struct stepper *s)
{
	size_t cut = STEPPER_KEYS / 2;

	memmove(s->key, s->key + cut, (s->keys - cut) * sizeof(*s->key));
	s->keys -= cut;
	s->forgot += cut;
}

static void stepper_key(struct stepper *s, uint64_t at, uint64_t with)
{
	if (s->keys == STEPPER_KEYS)
		make_room(s);
	s->unsorted |= at < s->last_key;
	s->last_key = at;
	s->key[s->keys++] = (struct sort_key){ at, with };
}

static void put(struct stepper *s, const struct event *e, uint32_t class, enum stepper_part part)
{
	stepper_key(s, e->start_ns, key_with(e->dur_ns, class, part));
}

/* From the end of a launch to the start of its kernel; either may come first, and a kernel may start
 * within the call. */
static void put_issue(struct stepper *s, uint32_t corr, uint64_t ns, bool kernel)
{
	struct step_launch *l;
	uint64_t start, end;

	if (!s->launch && !kernel)
		s->launch = calloc(LAUNCHES, sizeof(*s->launch));
	if (!s->launch || !corr)
		return;
	l = &s->launch[corr % LAUNCHES];
	if (l->corr != corr || l->kernel == kernel) {
		*l = (struct step_launch){ corr, kernel, ns };
		return;
	}
	start = kernel ? ns : l->ns;
	end = kernel ? l->ns : ns;
	stepper_key(s, start, key_with(start > end ? start - end : 0, 0, PART_ISSUE));
	l->corr = 0;
}

static void put_kernel(struct stepper *s, const struct event *e)
{
	const struct step_means *m = means_of(s, e->name);

	if (m->kernel == STEP_KERNEL_COMM) {
		put(s, e, 0, PART_COMM);
		step_coll_kernel(s, e, m);
		return;
	}
	put(s, e, m->kernel, PART_COMPUTE);
	put_issue(s, e->corr, e->start_ns, true);
}

/* In a process with GPUs, collectives of hosts do not count as communication of a GPU. */
static void put_collective(struct stepper *s, const struct event *e)
{
	const struct step_means *m = means_of(s, e->name);
	const struct step_track *l = stepper_track_get(s, e->track);

	if (e->dur_ns && ((l && l->device) || !s->devices))
		put(s, e, 0, PART_COMM);
	step_coll_event(s, e, m);
}

static void put_call(struct stepper *s, const struct event *e)
{
	static const uint8_t part[] = { [STEP_CALL_LAUNCH] = PART_LAUNCH,
					[STEP_CALL_SYNC] = PART_SYNC,
					[STEP_CALL_ALLOC] = PART_ALLOC };
	uint8_t call = means_of(s, e->name)->call;

	if (call == STEP_CALL_NONE)
		return;
	put(s, e, 0, part[call]);
	if (call == STEP_CALL_LAUNCH)
		put_issue(s, e->corr, e->start_ns + e->dur_ns, false);
}

static void put_range(struct stepper *s, const struct event *e)
{
	static const uint8_t part[] = { [STEP_RANGE_INPUT] = PART_INPUT,
					[STEP_RANGE_GC] = PART_GC,
					[STEP_RANGE_CKPT] = PART_CKPT,
					[STEP_RANGE_FORWARD] = PART_FORWARD,
					[STEP_RANGE_COMPILE] = PART_COMPILE };
	uint8_t range = means_of(s, e->name)->range;

	/* A batch is waited for where the steps are: others make it. */
	if (range != STEP_RANGE_NONE && (range != STEP_RANGE_INPUT || e->track == s->step_track))
		put(s, e, 0, part[range]);
}

static void put_count(struct stepper *s, const struct event *e)
{
	uint8_t count = means_of(s, e->name)->count;
	uint64_t v = e->a;
	double f;

	if (count == STEP_COUNT_NONE)
		return;
	if (e->flags & EVENT_FLOAT) {
		memcpy(&f, &e->a, sizeof(f));
		v = f > 0 && f < 0x1p48 ? (uint64_t)(f + 0.5) : 0;
	}
	if ((int64_t)v > 0)
		stepper_key(s, e->start_ns, key_with(v, count, PART_COUNT));
}

static bool on_device(struct stepper *s, const struct event *e)
{
	const struct step_track *l = stepper_track_get(s, e->track);

	return l && l->device;
}

static void put_event(struct stepper *s, const struct event *e)
{
	switch (e->kind) {
	case EVENT_KERNEL:
		put_kernel(s, e);
		break;
	case EVENT_GRAPH:
		if (on_device(s, e))
			put(s, e, STEP_CLASS_OTHER, PART_COMPUTE);
		break;
	case EVENT_COPY: /* within the device: a kernel's work, by another name */
		put(s, e, e->flags >> EVENT_COPY_SHIFT == 3, PART_COPY);
		break;
	case EVENT_MEMSET:
		put(s, e, 1, PART_COPY);
		break;
	case EVENT_COLLECTIVE:
		put_collective(s, e);
		break;
	case EVENT_SYNC:
		if (!on_device(s, e))
			put(s, e, 0, PART_SYNC);
		break;
	case EVENT_API:
		put_call(s, e);
		break;
	case EVENT_RANGE:
		put_range(s, e);
		break;
	case EVENT_COUNTER:
		put_count(s, e);
		break;
	default:
		break;
	}
}

void stepper_events(struct stepper *s, const struct event *ev, size_t n)
{
	if (!s->key)
		return;
	for (size_t i = 0; i < n; i++)
		put_event(s, &ev[i]);
}

void stepper_step(struct stepper *s, const struct event *e, bool unsampled)
{
	uint64_t end = e->start_ns + e->dur_ns;

	if (!s->key) { /* what came before it was not kept */
		s->key = pages_new(KEY_BYTES);
		s->made_ns = end;
		s->step_track = e->track;
		return;
	}
	s->step_track = e->track;
	s->step_ns = s->step_ns ? (15 * s->step_ns + e->dur_ns) / 16 : e->dur_ns;
	if (e->start_ns < s->made_ns || !e->dur_ns ||
	    (s->steps && e->start_ns < s->step[s->steps - 1].end_ns))
		return;
	if (s->steps == STEPPER_STEPS) {
		s->forgot++;
		return;
	}
	s->step[s->steps++] = (struct stepper_span){ e->a, e->start_ns, end, unsampled };
}

void stepper_lost(struct stepper *s, const uint64_t lost[STEP_LOSSES])
{
	memcpy(s->lost, lost, sizeof(s->lost));
}

/* --- records --- */

/* Drops events of steps that are recorded. */
static void drop_told(struct stepper *s)
{
	memmove(s->key, s->key + s->first, (s->keys - s->first) * sizeof(*s->key));
	s->keys -= s->first;
	s->first = 0;
}

static void sort_keys(struct stepper *s)
{
	if (s->unsorted)
		keys_sort(s->key, s->key + STEPPER_KEYS, s->keys);
	s->unsorted = false;
	s->last_key = s->keys ? s->key[s->keys - 1].value : 0;
}

static uint16_t at_most_16(uint64_t v)
{
	return (uint16_t)(v < UINT16_MAX ? v : UINT16_MAX);
}

static void begin_record(struct stepper *s, const struct step_rec *head, uint64_t number,
			 struct step_rec *r)
{
	uint64_t lost[STEP_LOSSES];

	*r = *head;
	r->step = (uint32_t)number;
	memcpy(lost, s->lost, sizeof(lost));
	lost[1] += s->forgot;
	for (uint32_t i = 0; i < STEP_LOSSES; i++) {
		r->lost[i] = at_most_16(lost[i] > s->told[i] ? lost[i] - s->told[i] : 0);
		s->told[i] = lost[i];
	}
}

/* From one begin to the next, but for a pause that is longer than the step. */
static uint64_t end_of_step(const struct stepper *s, uint32_t i)
{
	uint64_t end = s->step[i].end_ns, next = i + 1 < s->steps ? s->step[i + 1].begin_ns : end;

	return next > end && next - end < end - s->step[i].begin_ns ? next : end;
}

/* Every step, or one of as many as make a record a tenth of a second. */
static bool chosen(const struct stepper *s, uint64_t number)
{
	uint64_t apart = 1;

	while (s->step_ns && apart * s->step_ns < STEPPER_APART_NS && apart < 1u << 20)
		apart *= 2;
	/* 60 ms are still one by one: only what is clearly too fast is thinned out. */
	return apart <= 2 || number % (apart / 2) == 0;
}

static void make_one(struct stepper *s, uint32_t i, const struct step_rec *head, stepper_fn *fn,
		     void *arg)
{
	const struct stepper_span *p = &s->step[i];
	uint64_t end = end_of_step(s, i);
	struct step_rec r;

	if (!p->unsampled && chosen(s, p->number)) {
		begin_record(s, head, p->number, &r);
		step_sweep(s, p->begin_ns, end, &r);
		if (s->colls)
			step_spans(s, end + (end - p->begin_ns));
		step_coll_slots(s, p->begin_ns, end, &r);
		step_rec_seal(&r);
		r.begin_ns = p->begin_ns;
		fn(arg, &r, p->begin_ns, end);
	} else {
		struct step_rec none = { 0 };

		step_coll_slots(s, p->begin_ns, end, &none); /* for their numbers */
	}
	step_forget(s, end);
	s->made_ns = end;
}

/* The next one's begin ends a step, so the last waits, unless all is over. */
static uint32_t how_many_due(const struct stepper *s, uint64_t before_ns)
{
	uint32_t due = 0;

	while (due < s->steps && s->step[due].end_ns <= before_ns)
		due++;
	if (due == s->steps && due && before_ns != UINT64_MAX &&
	    s->step[due - 1].end_ns + 2 * s->step_ns > before_ns)
		due--;
	return due;
}

bool stepper_due(const struct stepper *s, uint64_t before_ns)
{
	return how_many_due(s, before_ns) != 0;
}

void stepper_make(struct stepper *s, uint64_t before_ns, const struct step_rec *head,
		  stepper_fn *fn, void *arg)
{
	uint32_t due = how_many_due(s, before_ns), left;

	if (!due)
		return;
	sort_keys(s);
	step_coll_match(s, before_ns);
	for (uint32_t i = 0; i < due; i++)
		make_one(s, i, head, fn, arg);
	drop_told(s);
	left = s->steps - due;
	memmove(s->step, s->step + due, left * sizeof(s->step[0]));
	s->steps = left;
}

/* The step may end after all: what is looked at stays. */
static void put_slots(struct stepper *s, uint64_t begin, uint64_t now_ns, struct step_rec *out)
{
	size_t n = s->colls;
	struct step_coll *had = n ? malloc(n * sizeof(*had)) : NULL;

	if (!had)
		return;
	memcpy(had, s->coll, n * sizeof(*had));
	step_spans(s, UINT64_MAX);
	step_coll_slots(s, begin, now_ns, out);
	memcpy(s->coll, had, n * sizeof(*had));
	s->colls = n;
	free(had);
}

bool stepper_partial(struct stepper *s, uint64_t now_ns, const struct step_words *w,
		     const struct step_rec *head, struct step_rec *out, uint64_t *begin_ns)
{
	uint64_t begin = s->steps ? s->step[s->steps - 1].end_ns : s->made_ns;

	if (!s->key || now_ns <= begin)
		return false;
	sort_keys(s);
	step_coll_match(s, now_ns);
	begin_record(s, head, w->step, out);
	out->flags |= STEP_F_PARTIAL;
	step_sweep(s, begin, now_ns, out);
	put_slots(s, begin, now_ns, out);
	step_coll_stand(s, w, out);
	step_rec_seal(out);
	out->begin_ns = *begin_ns = begin;
	return true;
}
