/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_truth.c - simulates a case with and without each of its faults: the ground truth of the
 * case. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "lab/corpus.h"
#include "sim/noise.h"
#include "lab/record.h"

/* --- whose fault it is --- */

static struct diag_part part_of(const struct fault *f, const struct job *j)
{
	uint32_t first, last;

	fault_ranks(f, j, &first, &last);
	if (f->kind == FAULT_SWITCH)
		return (struct diag_part){ DIAG_LEAF, f->first / j->leaf + 1 };
	switch (fault_table[f->kind].scope) {
	case SCOPE_RANK:
		return (struct diag_part){ DIAG_RANK, first };
	case SCOPE_NODE:
		return (struct diag_part){ DIAG_HOST, f->first };
	case SCOPE_LAST:
		return (struct diag_part){ DIAG_STAGE, first };
	default:
		return (struct diag_part){ DIAG_JOB, 0 };
	}
}

bool corpus_is_in(const struct corpus_truth *t, struct diag_part p, uint32_t rank)
{
	uint32_t host = rank / t->ranks_per_host;

	switch (p.level) {
	case DIAG_RANK:
		return rank == p.index;
	case DIAG_HOST:
		return host == p.index;
	case DIAG_LEAF:
		return host / t->hosts_per_leaf + 1 == p.index;
	case DIAG_STAGE:
		return rank - rank % t->stage_ranks == p.index;
	default:
		return true;
	}
}

/* The exchanges of a rank that leave its node, as one number: the durations of exchanges do not
 * distinguish ranks with the same. */
static uint64_t far_of(const struct job *j, uint32_t rank)
{
	uint64_t h = 1;

	for (int g = 0; g < GROUP_PP; g++) {
		struct job_team t = job_team(j, (enum job_group)g, rank);
		uint32_t is[] = { (uint32_t)g, t.first };

		if (t.per_node < t.size && !(g == GROUP_DP && j->infer))
			h = step_hash(is, sizeof(is), h);
	}
	for (int way = -1; way <= 1 && j->pp > 1; way += 2) {
		uint32_t each = j->dp * j->tp, stage = job_stage(j, rank);
		uint32_t peer = (stage + j->pp + (uint32_t)way) % j->pp * each + rank % each;
		bool wraps = way < 0 ? stage == 0 : stage == j->pp - 1;
		uint32_t is[] = { GROUP_PP, rank < peer ? rank : peer, rank < peer ? peer : rank };

		if (job_node(j, rank) != job_node(j, peer) && (!wraps || j->chunks > 1))
			h = step_hash(is, sizeof(is), h);
	}
	return h;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of all ranks of a place together: a set, whatever their number. `room` is for the world. */
static uint64_t far_of_part(const struct corpus_truth *t, const struct job *j, struct diag_part p,
			    uint64_t *room)
{
	size_t n = 0, kept = 0;

	for (uint32_t r = 0; r < t->world; r++)
		if (corpus_is_in(t, p, r))
			room[n++] = far_of(j, r);
	qsort(room, n, sizeof(*room), by_value);
	for (size_t i = 0; i < n; i++)
		if (!i || room[i] != room[i - 1])
			room[kept++] = room[i];
	return step_hash(room, kept * sizeof(*room), 0);
}

static bool is_net(const struct fault *f)
{
	enum fault_part part = fault_table[f->kind].part;

	return part == PART_NET || part == PART_NET_ADD;
}

/* A transport that is stuck is stuck in the group that meets first: any member may be to blame. Of
 * a stage that is not the first, that is what it gets from the one before. */
static bool stuck_with(const struct job *j, const struct fault *f, uint32_t rank)
{
	enum job_group g = j->tp > 1 ? GROUP_TP : j->ep > 1 && j->zero < 3 ? GROUP_EP : GROUP_DP;

	if (job_stage(j, f->first) > 0)
		return rank == f->first || rank + j->dp * j->tp == f->first;
	return job_team(j, g, rank).first == job_team(j, g, f->first).first;
}

static uint32_t places_of(const struct corpus_truth *t, enum diag_level level)
{
	uint32_t hosts = (t->world - 1) / t->ranks_per_host + 1;

	return level == DIAG_RANK   ? t->world
	       : level == DIAG_HOST ? hosts
	       : level == DIAG_LEAF ? (hosts - 1) / t->hosts_per_leaf + 1
				    : 1;
}

static int find_alike(struct corpus_truth *t, struct corpus_event *e, const struct job *j,
		      const struct fault *f)
{
	uint32_t places = places_of(t, (enum diag_level)e->part.level);
	uint64_t far, *room = malloc(t->world * sizeof(*room));

	e->alike = malloc(places * sizeof(*e->alike));
	if (!e->alike || !room) {
		free(room);
		return -ENOMEM;
	}
	far = far_of_part(t, j, e->part, room);
	for (uint32_t i = 0; i < places; i++) {
		struct diag_part p = { e->part.level, i + (e->part.level == DIAG_LEAF) };
		bool same = diag_part_same(p, e->part);

		if (e->part.level > DIAG_LEAF)
			same = true, p = e->part;
		else if (is_net(f))
			same = same || far_of_part(t, j, p, room) == far;
		else if (f->kind == FAULT_TRANSPORT)
			same = stuck_with(j, f, i);
		if (same)
			e->alike[e->alikes++] = p.index;
	}
	free(room);
	return 0;
}

/* --- runs --- */

struct run {
	const struct corpus_case *c;
	corpus_step_fn *fn;
	void *arg;
	uint8_t *buf; /* of a step's records */
	struct corpus_truth *t;
};

static bool is_missing(const struct corpus_case *c, uint32_t rank, uint32_t step)
{
	return c->missing > 0 &&
	       noise_uniform(noise_bits(c->job.seed, NOISE_OF_CASE, rank, step, 1)) < c->missing;
}

static int tell(struct run *r, struct recorder *rec, const struct play *p)
{
	struct step_rec s;
	size_t len = 0;

	recorder_step(rec);
	for (uint32_t i = 0; i < p->ranks; i++) {
		int n;

		if (is_missing(r->c, i, p->step))
			continue;
		recorder_rank(rec, i, &s);
		n = step_rec_encode(r->buf + len, STEP_MAX, &s);
		if (n < 0)
			return n;
		len += (size_t)n;
	}
	return r->fn ? r->fn(r->arg, p->step, r->buf, len) : 0;
}

/* A point of a simulation to go back to. All 0: its begin. */
struct play_mark {
	int64_t *time; /* owned */
	double common;
	uint32_t step;
	bool is;
};

static int play_mark(const struct play *p, struct play_mark *m)
{
	size_t bytes = 2 * p->net->tasks * sizeof(*m->time);

	m->time = malloc(bytes);
	if (!m->time)
		return -ENOMEM;
	memcpy(m->time, p->time, bytes);
	m->common = p->common;
	m->step = p->step;
	m->is = true;
	return 0;
}

/* Goes back there, and continues with other faults disabled. */
static void play_back(struct play *p, const struct play_mark *m, uint32_t without)
{
	if (m->is) {
		memcpy(p->time, m->time, 2 * p->net->tasks * sizeof(*m->time));
	} else {
		free(p->time);
		p->time = NULL;
	}
	p->common = m->common;
	p->step = m->step;
	p->without = without;
	p->hung = false;
}

static int play_main(struct run *r, struct play *p, struct play_mark *mark, uint32_t mark_at)
{
	struct corpus_truth *t = r->t;
	struct recorder *rec;
	int err = recorder_new(&rec, p);

	while (!err) {
		if (!mark->is && p->step + 1 == mark_at && p->time)
			err = play_mark(p, mark);
		err = err ? err : play_step(p);
		err = err ? err : tell(r, rec, p);
		if (err)
			break;
		t->end_ns[p->step] = p->hung ? recorder_sight(rec) : p->end_ns;
		t->hung = p->hung;
		t->steps += !p->hung;
	}
	recorder_free(rec);
	return err == -ENODATA ? 0 : err;
}

/* When the step ended, from the job's begin. */
static int64_t ended(const int64_t *end_ns, uint32_t step)
{
	return step ? end_ns[step - 1] : 0;
}

static int play_twin(struct run *r, struct play *p, const struct play_mark *mark, uint32_t i)
{
	struct corpus_event *e = &r->t->event[i];
	int64_t with = ended(r->t->end_ns, e->end) - ended(r->t->end_ns, e->from), without;
	int err = 0;

	play_back(p, mark, 1u << i);
	while (!err && (!p->time || p->step + 1 < e->end))
		err = play_step(p);
	without = p->end_ns - ended(r->t->end_ns, e->from);
	/* Where another fault came first, it is the same in both. */
	e->gain = with > 0 ? 1 - (double)without / (double)with : 0;
	return err;
}

static int make_event(struct run *r, uint32_t i)
{
	const struct job *j = &r->c->job;
	const struct fault *f = &j->fault[i];
	struct corpus_event *e = &r->t->event[i];

	*e = (struct corpus_event){ .kind = f->kind,
				    .part = part_of(f, j),
				    .from = fault_onset(f, j),
				    .by = f->by,
				    .course = f->course,
				    .stops = fault_table[f->kind].part > PART_SERIAL };
	fault_ranks(f, j, &e->first, &e->last);
	e->end = f->steps < j->steps - f->from ? f->from + f->steps : j->steps;
	e->from = e->from < e->end ? e->from : e->end;
	r->t->events++;
	return find_alike(r->t, e, j, f);
}

/* One rank in some hundred is slower than its like for no reason (noise.h). To name it is true. */
static int find_slow(struct corpus_truth *t, const struct play *p)
{
	t->slow = malloc((p->ranks + 1) * sizeof(*t->slow));
	if (!t->slow)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->ranks; i++)
		if (p->always[i] > 1 + SLOW_FOR_GOOD)
			t->slow[t->slows++] = i;
	return 0;
}

static int play_case(struct run *r, struct play *p)
{
	const struct job *j = &r->c->job;
	struct corpus_truth *t = r->t;
	struct play_mark mark = { 0 };
	uint32_t first = UINT32_MAX;
	int err = find_slow(t, p);

	for (uint32_t i = 0; i < j->faults && !err; i++) {
		err = make_event(r, i);
		first = t->event[i].from < first ? t->event[i].from : first;
	}
	err = err ? err : play_main(r, p, &mark, first);
	for (uint32_t i = 0; i < t->events && !err; i++) {
		struct corpus_event *e = &t->event[i];

		if (e->stops)
			e->gain = t->hung, e->end = t->steps + t->hung;
		else if (e->from < e->end)
			err = play_twin(r, p, &mark, i);
		e->from_ns = ended(t->end_ns, e->from < j->steps ? e->from : j->steps - 1);
		e->end_ns = ended(t->end_ns, e->end);
	}
	free(mark.time);
	return err;
}

int corpus_play(const struct corpus_case *c, corpus_step_fn *fn, void *arg,
		struct corpus_truth *out)
{
	const struct job *j = &c->job;
	struct run r = { .c = c, .fn = fn, .arg = arg, .t = out };
	struct play *p = NULL;
	int err;

	*out = (struct corpus_truth){ .world = job_ranks(j),
				      .ranks_per_host = j->ranks_per_node,
				      .hosts_per_leaf = j->leaf,
				      .stage_ranks = j->dp * j->tp,
				      .packed = j->packed > 0,
				      .routed = j->routing > 0 };
	memcpy(out->name, c->name, sizeof(out->name));
	out->end_ns = calloc(j->steps + 1, sizeof(*out->end_ns));
	r.buf = malloc((size_t)job_ranks(j) * STEP_MAX);
	err = out->end_ns && r.buf ? play_new(&p, j, 0) : -ENOMEM;
	if (!err)
		err = play_case(&r, p);
	play_free(p);
	free(r.buf);
	if (err < 0)
		corpus_truth_fini(out);
	return err;
}

void corpus_truth_fini(struct corpus_truth *t)
{
	free(t->end_ns);
	free(t->slow);
	for (uint32_t i = 0; i < t->events; i++)
		free(t->event[i].alike);
	*t = (struct corpus_truth){ 0 };
}

/* --- in words --- */

static void put_event(struct json *j, const struct corpus_event *e)
{
	char part[DIAG_PART_LEN];

	json_open(j, NULL, '{');
	json_str(j, "code", fault_table[e->kind].code);
	json_str(j, "kind", fault_table[e->kind].word);
	json_str(j, "component", diag_part_text(part, e->part));
	json_open(j, "alike", '[');
	for (uint32_t i = 0; i < e->alikes; i++)
		json_u64(j, NULL, e->alike[i]);
	json_close(j);
	json_u64(j, "first_rank", e->first);
	json_u64(j, "last_rank", e->last);
	json_u64(j, "from_step", e->from);
	json_u64(j, "end_step", e->end);
	json_i64(j, "onset_ns", e->from_ns);
	json_i64(j, "end_ns", e->end_ns);
	json_str(j, "course", course_word[e->course]);
	json_double(j, "by", e->by);
	json_double(j, "gain", e->gain);
	json_bool(j, "stops", e->stops);
	json_close(j);
}

void corpus_truth_json(struct json *j, const struct corpus_case *c, const struct corpus_truth *t)
{
	json_str(j, "schema", "aon.sim.case/1");
	json_str(j, "case", t->name);
	json_str(j, "layout", c->layout);
	json_open(j, "job", '{');
	json_u64(j, "ranks", t->world);
	json_str(j, "device", c->job.gpu->key);
	/* As text: all 64 bits, which a reader's doubles would not keep. */
	json_u64(j, "seed_high", c->job.seed >> 32);
	json_u64(j, "seed_low", c->job.seed & UINT32_MAX);
#define COUNT(name, def, least, most, what) json_u64(j, #name, c->job.name);
#define REAL(name, def, least, most, what)  json_double(j, #name, c->job.name);
#include "sim/job.tbl.h"
	json_close(j);
	json_double(j, "missing", c->missing);
	json_u64(j, "ranks_per_host", t->ranks_per_host);
	json_u64(j, "hosts_per_leaf", t->hosts_per_leaf);
	json_u64(j, "stage_ranks", t->stage_ranks);
	json_bool(j, "packed", t->packed);
	json_bool(j, "routed", t->routed);
	json_open(j, "slow_ranks", '[');
	for (uint32_t i = 0; i < t->slows; i++)
		json_u64(j, NULL, t->slow[i]);
	json_close(j);
	json_bool(j, "hung", t->hung);
	json_u64(j, "steps", t->steps);
	json_open(j, "events", '[');
	for (uint32_t i = 0; i < t->events; i++)
		put_event(j, &t->event[i]);
	json_close(j);
	json_open(j, "end_ns", '[');
	for (uint32_t i = 0; i < t->steps + t->hung; i++)
		json_i64(j, NULL, t->end_ns[i]);
	json_close(j);
}
