/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - turns timelines of pipeline stages into records of steps. */
#include "import/stages.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/order.h"
#include "base/vec.h"

#define US 1000.0 /* times are microseconds */

enum among { AMONG_NONE, AMONG_PAIR, AMONG_STAGE, AMONG_ENDS, AMONG_ALL };

static const struct op_row {
	const char *name;
	enum step_class class;
	enum step_op op;
	enum among among;
	bool forward, act;
} op_table[] = {
#define WORK(NAME, name, class, forward) \
	{ name, STEP_CLASS_##class, STEP_OP_OTHER, AMONG_NONE, forward, 0 },
#include "import/stages.tbl.h"
#define EXCHANGE(NAME, name, op, among, act) \
	{ name, STEP_CLASS_OTHER, STEP_OP_##op, AMONG_##among, 0, act },
#include "import/stages.tbl.h"
};
#define OPS (sizeof(op_table) / sizeof(*op_table))

struct track {
	uint32_t pid, tid, stage, tensor;
};
struct span {
	uint32_t step, rank, micro;
	uint8_t op;
	double from, dur; /* ns */
};

struct stages {
	struct track *track;
	struct span *span;
	size_t tracks, spans;
	uint32_t stages, replicas, tensors, micro;
};

/* One event of the text, as far as it matters. */
struct raw {
	struct json_tok name, phase, label; /* label: args.name */
	double pid, tid, from, dur, step, micro;
};

bool stages_is(const char *head, size_t len)
{
	static const char word[] = "PP rank ";

	for (size_t i = 0; i + sizeof(word) < len; i++)
		if (!memcmp(head + i, word, sizeof(word) - 1))
			return true;
	for (size_t i = 0; i + 18 < len; i++) /* its events come first */
		if (!memcmp(head + i, "\"backward-compute\"", 18))
			return true;
	return false;
}

static int grow(void *list, size_t n, size_t size)
{
	return n >= STAGES_EVENTS_MAX ? -EFBIG : vec_more(list, n, size);
}

/* --- events --- */

static void args_of(struct raw *r, struct json_tok args, const char *end)
{
	const char *p = args.s + 1;
	struct json_tok key, v;

	if (*args.s != '{')
		return;
	while (json_pair(&p, end, &key, &v)) {
		if (json_tok_is(key, "step"))
			json_tok_real(v, &r->step);
		else if (json_tok_is(key, "mb_id"))
			json_tok_real(v, &r->micro);
		else if (json_tok_is(key, "name"))
			r->label = json_tok_text(v);
	}
}

static bool event_of(struct raw *r, struct json_tok item, const char *end)
{
	const char *p = item.s + 1;
	struct json_tok key, v;

	*r = (struct raw){ .pid = -1, .tid = -1, .from = -1, .dur = -1, .step = -1, .micro = -1 };
	if (*item.s != '{')
		return false;
	while (json_pair(&p, end, &key, &v)) {
		if (json_tok_is(key, "name"))
			r->name = json_tok_text(v);
		else if (json_tok_is(key, "ph"))
			r->phase = json_tok_text(v);
		else if (json_tok_is(key, "pid"))
			json_tok_real(v, &r->pid);
		else if (json_tok_is(key, "tid"))
			json_tok_real(v, &r->tid);
		else if (json_tok_is(key, "ts"))
			json_tok_real(v, &r->from);
		else if (json_tok_is(key, "dur"))
			json_tok_real(v, &r->dur);
		else if (json_tok_is(key, "args"))
			args_of(r, v, end);
	}
	return r->name.s && r->phase.s && r->pid >= 0 && r->pid < STAGES_RANKS_MAX && r->tid >= 0 &&
	       r->tid < UINT32_MAX;
}

static int add_track(struct stages *s, const struct raw *r)
{
	struct track l = { .pid = (uint32_t)r->pid, .tid = (uint32_t)r->tid };
	char text[64];
	int err;

	if (!json_tok_is(r->name, "thread_name") || !r->label.s || r->label.len >= sizeof(text))
		return 0;
	memcpy(text, r->label.s, r->label.len);
	text[r->label.len] = '\0';
	if (sscanf(text, "PP rank %5u, TP rank %5u", &l.stage, &l.tensor) != 2)
		return 0;
	err = grow(&s->track, s->tracks, sizeof(*s->track));
	if (err < 0)
		return err;
	s->track[s->tracks++] = l;
	s->stages = l.stage >= s->stages ? l.stage + 1 : s->stages;
	s->tensors = l.tensor >= s->tensors ? l.tensor + 1 : s->tensors;
	s->replicas = l.pid >= s->replicas ? l.pid + 1 : s->replicas;
	return 0;
}

static int by_track(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	return cmp_num(x->pid, y->pid) ?: cmp_num(x->tid, y->tid);
}

static int add_span(struct stages *s, const struct raw *r)
{
	struct track key = { .pid = (uint32_t)r->pid, .tid = (uint32_t)r->tid };
	const struct track *l =
		s->tracks ? bsearch(&key, s->track, s->tracks, sizeof(key), by_track) : NULL;
	struct span is = { 0 };
	uint8_t op = 0;
	int err;

	while (op < OPS && !json_tok_is(r->name, op_table[op].name))
		op++;
	if (!l || op == OPS || !(r->step >= 0 && r->step < UINT32_MAX) || !(r->from >= 0) ||
	    !(r->dur >= 0) || r->from > 1e15 || r->dur > 1e12)
		return 0;
	err = grow(&s->span, s->spans, sizeof(*s->span));
	if (err < 0)
		return err;
	is.step = (uint32_t)r->step;
	is.rank = (l->stage * s->replicas + l->pid) * s->tensors + l->tensor;
	is.micro = r->micro >= 0 && r->micro < 65535 ? (uint32_t)r->micro + 1 : 0;
	is.op = op;
	is.from = r->from * US;
	is.dur = r->dur * US;
	s->span[s->spans++] = is;
	return 0;
}

/* Threads are named anywhere among the events: once through for them, and once for the rest. */
static int each(struct stages *s, const char *p, const char *end, bool tracks)
{
	struct json_tok item;
	struct raw r;
	int err = 0;

	while (!err && json_item(&p, end, &item)) {
		if (!event_of(&r, item, end))
			continue;
		if (json_tok_is(r.phase, tracks ? "M" : "X"))
			err = tracks ? add_track(s, &r) : add_span(s, &r);
	}
	return err;
}

/* Behind the bracket of the list of events: the text is one, or has it as "traceEvents". */
static const char *events_of(const char *text, const char *end)
{
	const char *p = json_space(text, end);
	struct json_tok key, v;

	if (p < end && *p == '[')
		return p + 1;
	if (p >= end || *p++ != '{')
		return NULL;
	while (json_pair(&p, end, &key, &v))
		if (json_tok_is(key, "traceEvents") && *v.s == '[')
			return v.s + 1;
	return NULL;
}

/* --- records --- */

static int by_step(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return cmp_num(x->step, y->step) ?: cmp_num(x->rank, y->rank) ?: cmp_num(x->from, y->from);
}

static void put_coll(const struct stages *s, struct step_rec *r, const struct span *e, double begin)
{
	const struct op_row *row = &op_table[e->op];
	uint32_t each_stage = s->replicas * s->tensors, stage = r->rank / each_stage;
	bool sends = row->op == STEP_OP_SEND, down = row->act == sends;
	uint32_t peer = down ? r->rank + each_stage : r->rank - each_stage;
	uint32_t is[] = { (uint32_t)row->among, row->act,
			  row->among == AMONG_PAIR    ? sends ? r->rank : peer
			  : row->among == AMONG_STAGE ? stage * s->tensors + r->rank % s->tensors
			  : row->among == AMONG_ENDS  ? r->rank % each_stage
						      : 0 };
	struct step_slot *slot;

	if (row->among == AMONG_PAIR && (down ? stage + 1 >= s->stages : stage == 0))
		return;
	slot = step_rec_slot(r, step_hash(is, sizeof(is), 11), row->op);
	step_slot_add(slot, slot->count + 1, 0, e->from - begin, e->dur);
	slot->members = row->among == AMONG_STAGE ? s->replicas
			: row->among == AMONG_ALL ? each_stage * s->stages
						  : 2;
	slot->peer = row->among == AMONG_PAIR ? peer : UINT32_MAX;
	slot->flags |= STEP_SLOT_FAR;
	if (!sends)
		slot->exposed += (float)e->dur;
	r->t.comm += (float)e->dur;
	r->t.exposed += sends ? 0 : (float)e->dur;
}

static void put_span(const struct stages *s, struct step_rec *r, const struct span *e, double begin)
{
	const struct op_row *row = &op_table[e->op];

	if (row->among != AMONG_NONE) {
		put_coll(s, r, e, begin);
		return;
	}
	r->class[row->class].count++;
	r->class[row->class].sum += (float)e->dur;
	r->t.compute += (float)e->dur;
	r->t.pass += row->forward ? (float)e->dur : 0;
	if (e->micro > r->micro_batches)
		r->micro_batches = (uint16_t)e->micro;
}

/* The step of all ranks lasts from the first event to the end of the last. */
static int tell_step(const struct stages *s, size_t from, size_t to, struct step_rec *rec,
		     stages_step_fn *fn, void *arg)
{
	double begin = INFINITY, end = 0;
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		begin = fmin(begin, s->span[i].from);
		end = fmax(end, s->span[i].from + s->span[i].dur);
	}
	for (size_t i = from; i < to; i++) {
		const struct span *e = &s->span[i];
		struct step_rec *r = &rec[n - 1];

		if (i == from || e->rank != e[-1].rank) {
			r = &rec[n++];
			step_rec_init(r);
			r->rank = r->host = e->rank;
			r->world = s->stages * s->replicas * s->tensors;
			r->step = e->step;
			r->begin_ns = (uint64_t)begin;
			r->t.step = (float)(end - begin);
		}
		put_span(s, r, e, begin);
	}
	for (size_t i = 0; i < n; i++) {
		float busy = rec[i].t.compute + rec[i].t.exposed;

		rec[i].t.idle = rec[i].t.step > busy ? rec[i].t.step - busy : 0;
		step_rec_seal(&rec[i]);
	}
	return fn(arg, rec, n);
}

static int tell(struct stages *s, stages_step_fn *fn, void *arg)
{
	struct step_rec *rec = malloc((size_t)s->stages * s->replicas * s->tensors * sizeof(*rec));
	int err = rec ? 0 : -ENOMEM;

	qsort(s->span, s->spans, sizeof(*s->span), by_step);
	for (size_t i = 0, end; i < s->spans && !err; i = end) {
		for (end = i; end < s->spans && s->span[end].step == s->span[i].step; end++)
			;
		err = tell_step(s, i, end, rec, fn, arg);
	}
	free(rec);
	return err;
}

int stages_read(const char *text, size_t len, uint32_t *world, stages_step_fn *fn, void *arg)
{
	struct stages s = { 0 };
	char *copy = malloc(len + JSON_PAD);
	const char *from;
	int err;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	memset(copy + len, '"', JSON_PAD);
	from = events_of(copy, copy + len);
	err = from ? each(&s, from, copy + len, true) : -EINVAL;
	if (!err && ((uint64_t)s.stages * s.replicas * s.tensors > STAGES_RANKS_MAX || !s.tracks))
		err = -EINVAL;
	if (!err) {
		qsort(s.track, s.tracks, sizeof(*s.track), by_track);
		err = each(&s, from, copy + len, false);
	}
	if (!err && !s.spans)
		err = -EINVAL;
	if (!err) {
		*world = s.stages * s.replicas * s.tensors;
		err = tell(&s, fn, arg);
	}
	free(s.track);
	free(s.span);
	free(copy);
	return err;
}
