/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_text.c - a verdict in words. */
#include "diagnose/verdict_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/order.h"
#include "base/vec.h"

const char *const diag_kind_word[DIAG_KINDS] = {
#define KIND(word, what, action) #word,
#include "diagnose/kind.tbl.h"
};
const char *const diag_kind_what[DIAG_KINDS] = {
#define KIND(word, what, action) what,
#include "diagnose/kind.tbl.h"
};
static const char *const kind_action[DIAG_KINDS] = {
#define KIND(word, what, action) action,
#include "diagnose/kind.tbl.h"
};

static const char *const why_what[DIAG_WHYS] = {
#define WHY(NAME, word, what) what,
#include "diagnose/why.tbl.h"
};

#define TIME(ns) fmt_time((char[FMT_LEN]){ 0 }, (ns) > 0 && (ns) < 1e18 ? (uint64_t)(ns) : 0)
#define PCT(x)   fmt_percent((char[FMT_LEN]){ 0 }, x)

__attribute__((format(printf, 2, 3))) static void seen(struct diag_words *w, const char *fmt, ...)
{
	va_list ap;

	for (size_t i = 0; i < DIAG_SEEN; i++) {
		if (*w->seen[i])
			continue;
		va_start(ap, fmt);
		vsnprintf(w->seen[i], sizeof(w->seen[i]), fmt, ap);
		va_end(ap);
		return;
	}
}

/* "Rank 3", "Host 2", "The job". */
static void place(char *out, size_t cap, struct diag_part p, bool first)
{
	static const char *const word[DIAG_LEVELS][2] = { { "rank", "Rank" },
							  { "host", "Host" },
							  { "leaf", "Leaf" },
							  { "the stage of rank",
							    "The stage of rank" },
							  { "the job", "The job" } };

	if (p.level == DIAG_JOB)
		snprintf(out, cap, "%s", word[p.level][first]);
	else
		snprintf(out, cap, "%s %" PRIu32, word[p.level % DIAG_LEVELS][first], p.index);
}

static void title(struct diag_words *w, const struct diag_verdict *v)
{
	const char *what = v->f.kind ? diag_kind_what[v->f.kind] : why_what[v->why];
	char who[64], other[64];

	place(who, sizeof(who), v->f.part[0], true);
	if (v->f.parts > 1) {
		place(other, sizeof(other), v->f.part[1], false);
		snprintf(w->title, sizeof(w->title), "%s%s %s%s: %s", who,
			 v->f.parts > 2 ? "," : " or", other,
			 v->f.parts > 2 ? " or others in the same collectives" : "", what);
		return;
	}
	snprintf(w->title, sizeof(w->title), "%s: %s", who, what);
}

static bool is_hang(enum diag_why why)
{
	return why >= DIAG_WHY_DEAD;
}

static void say_hang(struct diag_words *w, const struct diag_verdict *v)
{
	char line[DIAG_TEXT] = "";
	size_t at = 0;

	if (v->comm)
		seen(w,
		     "number %" PRIu32 " of communicator %016" PRIx64 " (%s, %" PRIu32
		     " members) does not end",
		     v->sequence, v->comm, step_op_word[v->op % STEP_OPS], v->members);
	if (v->ranks)
		seen(w, "%" PRIu32 " of %" PRIu32 " ranks wait for it, directly or indirectly",
		     v->ranks, v->of);
	for (uint32_t i = 0; i < v->cycles && at < sizeof(line) - 24; i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%srank %" PRIu32,
				       i ? " waits for " : "", v->cycle[i]);
	if (v->cycles)
		seen(w, "%s, and so on in a cycle", line);
}

static const char *const drift_word[DRIFTS] = { "", "compute", "waiting for the host",
						"waiting for batches", "exposed communication" };

static void say_slow(struct diag_words *w, const struct diag_verdict *v)
{
	if (v->drift && v->drift < DRIFTS)
		seen(w, "the largest increase is %s", drift_word[v->drift]);
	if (v->seen_ns > 0 && v->usual_ns > 0)
		seen(w, "%s a step, where %s is usual", TIME(v->seen_ns), TIME(v->usual_ns));
	else if (v->seen_ns > 0)
		seen(w, "%s at a time", TIME(v->seen_ns));
	if (v->noise_ns > 0)
		seen(w, "such a time varies by %s from step to step", TIME(v->noise_ns));
	if (v->comm)
		seen(w,
		     "%s of communicator %016" PRIx64 ", %" PRIu32 " members; %" PRIu32
		     " of %" PRIu32 " collectives of this place are longer",
		     step_op_word[v->op % STEP_OPS], v->comm, v->members, v->ranks, v->of);
	else if (v->of > 1)
		seen(w, "seen on %" PRIu32 " of %" PRIu32 " ranks that were compared", v->ranks,
		     v->of);
	if (v->blame > 0.005f)
		seen(w, "%s %% of the waiting traces back to it", PCT(v->blame));
}

static void rule_out(struct diag_words *w, const struct diag_verdict *v)
{
	const char *text = "";

	switch (v->why) {
	case DIAG_WHY_COMPUTE:
	case DIAG_WHY_HOST:
	case DIAG_WHY_INPUT:
		text = "waiting for others: only the rank's own time is compared, with ranks that "
		       "do the same and with its past";
		break;
	case DIAG_WHY_NETWORK:
	case DIAG_WHY_LINK:
		text = "a late rank: the shortest stay in these collectives is longer, so all had "
		       "come";
		break;
	case DIAG_WHY_IMBALANCE:
	case DIAG_WHY_STAGE:
	case DIAG_WHY_EXPERTS:
		text = "a bad machine: its share of the work explains the time";
		break;
	case DIAG_WHY_OVERLAP:
		text = "slower transfers or a late rank: neither has changed";
		break;
	default:
		break;
	}
	snprintf(w->ruled_out, sizeof(w->ruled_out), "%s", text);
}

void diag_words(struct diag_words *w, const struct diag_verdict *v)
{
	*w = (struct diag_words){ 0 };
	title(w, v);
	snprintf(w->seen[0], sizeof(w->seen[0]), "%s, %s step %" PRIu32, why_what[v->why],
		 v->always ? "from the start, known by" : "since", v->since);
	if (is_hang(v->why))
		say_hang(w, v);
	else
		say_slow(w, v);
	rule_out(w, v);
	snprintf(w->action, sizeof(w->action), "%s", kind_action[v->f.kind]);
	if (is_hang(v->why))
		snprintf(w->expect, sizeof(w->expect), "the job continues");
	else
		snprintf(w->expect, sizeof(w->expect), "%s to %s %% of a step of %s less",
			 PCT(v->gain_least), PCT(v->f.gain), TIME(v->step_ns));
}

/* --- as data --- */

void diag_json(struct json *j, const struct diag_verdict *v)
{
	char part[DIAG_PART_LEN], comm[20];
	struct diag_words w;

	diag_words(&w, v);
	json_open(j, "component", '[');
	for (uint32_t i = 0; i < v->f.parts; i++)
		json_str(j, NULL, diag_part_text(part, v->f.part[i]));
	json_close(j);
	json_members(j, J_STR("kind", diag_kind_word[v->f.kind]),
		     J_STR("why", diag_why_word[v->why]), J_BOOL("act", v->f.act),
		     J_DOUBLE("gain", v->f.gain), J_DOUBLE("gain_least", v->gain_least),
		     J_DOUBLE("confidence", v->f.confidence), J_U64("since_step", v->since),
		     J_BOOL("always", v->always), J_DOUBLE("seen_ns", v->seen_ns),
		     J_DOUBLE("usual_ns", v->usual_ns), J_DOUBLE("step_ns", v->step_ns),
		     J_DOUBLE("blame", v->blame), J_DOUBLE("coverage", v->coverage));
	if (v->comm) {
		snprintf(comm, sizeof(comm), "%016" PRIx64, v->comm);
		json_members(j, J_STR("communicator", comm),
			     J_STR("op", step_op_word[v->op % STEP_OPS]),
			     J_U64("members", v->members), J_U64("number", v->sequence));
	}
	json_str(j, "title", w.title);
	json_open(j, "seen", '[');
	for (size_t k = 0; k < DIAG_SEEN && *w.seen[k]; k++)
		json_str(j, NULL, w.seen[k]);
	json_close(j);
	json_members(j, J_STR("not", w.ruled_out), J_STR("do", w.action),
		     J_STR("expect", w.expect));
}

/* --- all of a recording --- */

void diag_cases_hear(void *arg, const struct diag_verdict *v)
{
	struct diag_cases *l = arg;
	struct diag_case *c = NULL;

	if (v->over) /* when it was last seen is known */
		return;
	for (size_t i = 0; i < l->n && !c; i++)
		if (l->c[i].v.why == v->why && diag_part_same(l->c[i].v.f.part[0], v->f.part[0]))
			c = &l->c[i];
	if (!c) {
		if (vec_more(&l->c, l->n, sizeof(*l->c)) < 0) {
			l->err = -ENOMEM;
			return;
		}
		c = &l->c[l->n++];
		*c = (struct diag_case){ .v = *v };
	}
	c->last = v->f.step;
	c->act |= v->f.act;
	if (v->f.gain >= c->most) { /* the word for the largest part */
		uint32_t since = c->v.since;

		c->most = v->f.gain;
		c->v = *v;
		c->v.since = since;
	}
	c->v.f.act = c->act;
}

static int by_cost(const void *a, const void *b)
{
	const struct diag_case *x = a, *y = b;

	return cmp_num(y->act, x->act) ?: cmp_num(y->most, x->most);
}

void diag_cases_sort(struct diag_cases *c)
{
	if (c->n)
		qsort(c->c, c->n, sizeof(*c->c), by_cost);
}

void diag_cases_fini(struct diag_cases *c)
{
	free(c->c);
	*c = (struct diag_cases){ 0 };
}
