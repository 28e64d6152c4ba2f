/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - truths and records of a corpus, from files. */
#include "lab/folder.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/text.h"

static int event_kind(const struct text *x, struct json_tok v, enum fault_kind *out)
{
	struct json_tok t = json_tok_text(v);
	int k = fault_kind_of(t.s, t.len);

	if (k < 0)
		return text_wrong(x, v.s, "\"code\" is none of the kinds of faults");
	*out = (enum fault_kind)k;
	return 0;
}

/* Numbers of places, as many as the job has ranks at most. */
static int places(const struct text *x, struct json_tok v, uint32_t **list, uint32_t *n,
		  uint32_t world, const char *name)
{
	const char *p = v.s + 1;
	struct json_tok item;
	double d;

	if (*v.s != '[')
		return text_wrong(x, v.s, "\"%s\" must be a list", name);
	free(*list);
	*n = 0;
	*list = calloc(world + 1u, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	while (json_item(&p, x->end, &item)) {
		if (*n > world || text_number(x, item, world, &d, name) < 0)
			return text_wrong(x, item.s, "\"%s\" has numbers of places", name);
		(*list)[(*n)++] = (uint32_t)d;
	}
	return 0;
}

static int event_pair(const struct text *x, struct corpus_event *e, struct json_tok key,
		      struct json_tok v, uint32_t world)
{
	struct json_tok t = json_tok_text(v);
	double d = 0;
	int err;

	if (json_tok_is(key, "code"))
		return event_kind(x, v, &e->kind);
	if (json_tok_is(key, "component"))
		return text_place(&e->part, t.s, t.len)
			       ? 0
			       : text_wrong(x, v.s, "\"component\" is no place, as rank:3");
	if (json_tok_is(key, "alike"))
		return places(x, v, &e->alike, &e->alikes, world, "alike");
	if (json_tok_is(key, "stops")) {
		e->stops = json_tok_is(v, "true");
		return 0;
	}
#define NUMBER(name, most, to)                           \
	if (json_tok_is(key, name)) {                    \
		err = text_number(x, v, most, &d, name); \
		if (!err)                                \
			to;                              \
		return err;                              \
	}
	NUMBER("first_rank", world - 1.0, e->first = (uint32_t)d)
	NUMBER("last_rank", world - 1.0, e->last = (uint32_t)d)
	NUMBER("from_step", 1e9, e->from = (uint32_t)d)
	NUMBER("end_step", 1e9, e->end = (uint32_t)d)
	NUMBER("onset_ns", 1e18, e->from_ns = (int64_t)d)
	NUMBER("end_ns", 1e18, e->end_ns = (int64_t)d)
	NUMBER("by", 1e9, e->by = d)
#undef NUMBER
	if (json_tok_is(key, "gain") && (!json_tok_real(v, &e->gain) || !isfinite(e->gain)))
		return text_wrong(x, v.s, "\"gain\" must be a number");
	return 0;
}

static int events(const struct text *x, struct corpus_truth *t, struct json_tok v)
{
	const char *p = v.s + 1;
	struct json_tok item, key, value;
	int err = 0;

	if (*v.s != '[')
		return text_wrong(x, v.s, "\"events\" must be a list");
	while (!err && json_item(&p, x->end, &item)) {
		const char *q = item.s + 1;

		if (*item.s != '{' || t->events == CORPUS_FAULTS_MAX)
			return text_wrong(x, item.s, "\"events\" has up to %u objects",
					  CORPUS_FAULTS_MAX);
		t->events++;
		while (!err && json_pair(&q, x->end, &key, &value))
			err = event_pair(x, &t->event[t->events - 1], key, value, t->world);
	}
	return err;
}

static int ends(const struct text *x, struct corpus_truth *t, struct json_tok v)
{
	uint32_t n = 0, most = t->steps + t->hung;
	const char *p = v.s + 1;
	struct json_tok item;
	double d;

	if (*v.s != '[')
		return text_wrong(x, v.s, "\"end_ns\" must be a list");
	free(t->end_ns);
	t->end_ns = calloc(most + 1u, sizeof(*t->end_ns));
	if (!t->end_ns)
		return -ENOMEM;
	while (json_item(&p, x->end, &item)) {
		if (n == most || text_number(x, item, 1e18, &d, "end_ns") < 0)
			return text_wrong(x, item.s, "\"end_ns\" has one time for each step");
		t->end_ns[n++] = (int64_t)d;
	}
	return n == most ? 0 : text_wrong(x, v.s, "\"end_ns\" has too few times");
}

/* What others are counted by stands before them. */
static int pair(const struct text *x, struct corpus_truth *t, struct json_tok key,
		struct json_tok v)
{
	static const struct {
		const char *name;
		size_t at;
	} count[] = { { "ranks_per_host", offsetof(struct corpus_truth, ranks_per_host) },
		      { "hosts_per_leaf", offsetof(struct corpus_truth, hosts_per_leaf) },
		      { "stage_ranks", offsetof(struct corpus_truth, stage_ranks) },
		      { "steps", offsetof(struct corpus_truth, steps) } };
	const char *p = v.s + 1;
	struct json_tok k, w;
	double d;
	int err = 0;

	for (size_t i = 0; i < sizeof(count) / sizeof(*count); i++)
		if (json_tok_is(key, count[i].name)) {
			err = text_number(x, v, 1 << 20, &d, count[i].name);
			if (!err)
				*(uint32_t *)(void *)((char *)t + count[i].at) = (uint32_t)d;
			return err;
		}
	if (json_tok_is(key, "case"))
		return text_string(x, v, t->name, sizeof(t->name), "case");
	if (json_tok_is(key, "hung"))
		t->hung = json_tok_is(v, "true");
	if (json_tok_is(key, "packed"))
		t->packed = json_tok_is(v, "true");
	if (json_tok_is(key, "routed"))
		t->routed = json_tok_is(v, "true");
	while (json_tok_is(key, "job") && *v.s == '{' && !err && json_pair(&p, x->end, &k, &w))
		if (json_tok_is(k, "ranks")) {
			err = text_number(x, w, JOB_RANKS_MAX, &d, "ranks");
			t->world = err ? 0 : (uint32_t)d;
		}
	if (!err && json_tok_is(key, "slow_ranks"))
		return places(x, v, &t->slow, &t->slows, t->world, "slow_ranks");
	if (!err && json_tok_is(key, "events"))
		return t->world ? events(x, t, v)
				: text_wrong(x, v.s, "\"job\" with \"ranks\" is missing");
	return !err && json_tok_is(key, "end_ns") ? ends(x, t, v) : err;
}

static int sense(const struct text *x, const struct corpus_truth *t)
{
	if (!t->world || !t->ranks_per_host || !t->hosts_per_leaf || !t->stage_ranks || !t->end_ns)
		return text_wrong(x, x->text, "it is no truth of a case (aon.sim.case/1)");
	for (uint32_t i = 0; i < t->events; i++) {
		const struct corpus_event *e = &t->event[i];

		if (e->from > t->steps + t->hung || e->end > t->steps + t->hung ||
		    e->first > e->last || e->part.level >= DIAG_LEVELS)
			return text_wrong(x, x->text, "an event is not within the job");
	}
	return 0;
}

int folder_truth(struct corpus_truth *out, const char *text, size_t len, struct folder_why *why)
{
	struct corpus_truth t = { 0 };
	struct text x;
	struct json_tok key, value;
	const char *p;
	int err = text_init(&x, text, len, why);

	if (err < 0)
		return err;
	p = json_space(x.text, x.end);
	if (p >= x.end || *p++ != '{')
		err = text_wrong(&x, x.text, "it is no JSON object");
	while (!err && json_pair(&p, x.end, &key, &value))
		err = pair(&x, &t, key, value);
	err = err ? err : sense(&x, &t);
	text_fini(&x);
	if (err < 0)
		corpus_truth_fini(&t);
	else
		*out = t;
	return err;
}
