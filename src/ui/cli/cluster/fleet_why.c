/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_why.c - aon why --cluster: which rank or node makes a job of many ranks slow. It reads the
 * records of the newest steps from the cluster and diagnoses them here; findings of nodes and of
 * aon diagnose follow.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/out.h"
#include "diagnose/diagnose.h"
#include "fleet/answer_json.h"

#define RECORDS 400000u /* that are looked at, of the newest steps */
#define HEARD   64u

struct heard {
	struct diag_verdict v; /* as it was last said */
	uint32_t first, last, times;
};

struct why {
	const struct opts *o;
	struct out out;
	struct fleet_report r;
	struct diag *d;
	struct heard heard[HEARD];
	size_t n;
	uint32_t step, steps; /* that is being looked at; that were */
};

static const char *const what[DIAG_WHYS] = {
#define WHY(NAME, word, text) [DIAG_WHY_##NAME] = text,
#include "diagnose/why.tbl.h"
};

static void hear(void *arg, const struct diag_verdict *v)
{
	struct why *w = arg;
	struct heard *h = NULL;

	if (v->over)
		return;
	for (size_t i = 0; i < w->n && !h; i++)
		if (w->heard[i].v.why == v->why &&
		    diag_part_same(w->heard[i].v.f.part[0], v->f.part[0]))
			h = &w->heard[i];
	if (!h && w->n < HEARD) {
		h = &w->heard[w->n++];
		h->first = w->step;
	}
	if (!h)
		return;
	h->v = *v;
	h->last = w->step;
	h->times++;
}

static int on_step(void *arg, const struct step_rec *rec, size_t n)
{
	struct why *w = arg;

	w->step = rec[0].step;
	w->steps++;
	return diag_step(w->d, rec, n, hear, w);
}

/* Those to act on first, then by what they cost. */
static int by_gain(const void *a, const void *b)
{
	const struct diag_finding *x = &((const struct heard *)a)->v.f,
				  *y = &((const struct heard *)b)->v.f;

	return cmp_num(y->act, x->act) ?: cmp_num(y->gain, x->gain);
}

/* Findings at the end still hold; earlier ones have passed. */
static void keep_what_holds(struct why *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->heard[i].last == w->step || w->o->val[OPT_ALL])
			w->heard[kept++] = w->heard[i];
	w->n = kept;
	if (kept)
		qsort(w->heard, kept, sizeof(*w->heard), by_gain);
}

static const char *host_of(const struct why *w, uint32_t rank)
{
	for (size_t i = 0; i < w->r.ranks; i++)
		if (w->r.rank[i].rank == (int32_t)rank)
			return w->r.rank[i].host;
	return "";
}

/* "rank 37 on node0004", "host 4 (node0004)", "the job". */
static char *place(const struct why *w, struct diag_part p, char *buf, size_t cap)
{
	char part[DIAG_PART_LEN], host[FLEET_WORD];

	if (p.level == DIAG_JOB)
		snprintf(buf, cap, "the job");
	else if (p.level == DIAG_RANK)
		snprintf(buf, cap, "rank %u on %s", p.index,
			 fmt_clean(host, sizeof(host), host_of(w, p.index), w->out.ascii));
	else
		snprintf(buf, cap, "%s", diag_part_text(part, p));
	return buf;
}

static void finding_text(const struct why *w, size_t i)
{
	const struct diag_verdict *v = &w->heard[i].v;
	char where[256], left[512], right[96], a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], pct[FMT_LEN];
	const struct out *out = &w->out;

	place(w, v->f.part[0], where, sizeof(where));
	snprintf(left, sizeof(left), "%zu  %s: %s", i + 1, where, what[v->why]);
	snprintf(right, sizeof(right), "%s a step (%s %%)   %s",
		 out_time(out, a, sizeof(a), (uint64_t)fmax(0, v->f.gain * v->step_ns)),
		 fmt_percent(pct, v->f.gain),
		 v->f.confidence >= 0.9f   ? "high"
		 : v->f.confidence >= 0.6f ? "medium"
					   : "low");
	out_ends(out, v->f.act ? OUT_WARN : OUT_PLAIN, left, right);
	if (v->seen_ns > 0 || v->usual_ns > 0)
		out_line(out, OUT_PLAIN, "   seen     %s a step, %s usually; it varies by %s",
			 out_time(out, a, sizeof(a), (uint64_t)fmax(0, v->seen_ns)),
			 out_time(out, b, sizeof(b), (uint64_t)fmax(0, v->usual_ns)),
			 out_time(out, c, sizeof(c), (uint64_t)fmax(0, v->noise_ns)));
	out_line(out, OUT_PLAIN, "   since    step %u; %u of %u ranks that were compared show it",
		 v->since, v->ranks, v->of);
	if (v->f.gain > 0)
		out_line(out, OUT_PLAIN, "   expect   %s to %s a step, now %s",
			 out_time(out, a, sizeof(a), (uint64_t)((1 - v->f.gain) * v->step_ns)),
			 out_time(out, b, sizeof(b), (uint64_t)((1 - v->gain_least) * v->step_ns)),
			 out_time(out, c, sizeof(c), (uint64_t)v->step_ns));
	fputc('\n', out->f);
}

static void told_text(const struct why *w)
{
	char clean[512];

	for (size_t i = 0; i < w->r.findings.n && (w->out.all || i < 5); i++)
		out_line(&w->out, OUT_PLAIN, "  reported by %s: %s", w->r.findings.f[i].source,
			 fmt_clean(clean, sizeof(clean), w->r.findings.f[i].text, w->out.ascii));
}

static int text(const struct why *w)
{
	char verdict[256], n[FMT_LEN];

	out_line(&w->out, OUT_BOLD, "  %s\n", fleet_verdict(verdict, sizeof(verdict), &w->r));
	for (size_t i = 0; i < w->n; i++)
		finding_text(w, i);
	if (!w->steps)
		out_line(&w->out, OUT_PLAIN,
			 "  No record of a step is there to look into: nodes with an older aon "
			 "send none.");
	else if (!w->n)
		out_line(&w->out, OUT_PLAIN, "  Nothing that stands out in the last %s steps.",
			 fmt_count(n, w->steps));
	else
		out_line(&w->out, OUT_DIM, "  Of the last %s steps.", fmt_count(n, w->steps));
	told_text(w);
	return w->steps ? CLI_OK : CLI_UNSURE;
}

static void finding_json(struct json *j, const struct heard *h)
{
	const struct diag_verdict *v = &h->v;
	char part[DIAG_PART_LEN], kind[8];

	json_open(j, NULL, '{');
	snprintf(kind, sizeof(kind), "F%u", v->f.kind);
	json_members(j, J_STR("kind", v->f.kind ? kind : NULL), J_STR("why", diag_why_word[v->why]),
		     J_STR("text", what[v->why]));
	json_open(j, "parts", '[');
	for (uint32_t i = 0; i < v->f.parts; i++)
		json_str(j, NULL, diag_part_text(part, v->f.part[i]));
	json_close(j);
	json_members(j, J_BOOL("act", v->f.act), J_REAL("gain", v->f.gain),
		     J_REAL("gain_least", v->gain_least), J_REAL("confidence", v->f.confidence),
		     J_U64("since", v->since), J_U64("last", h->last),
		     J_REAL("seen_ns", v->seen_ns), J_REAL("usual_ns", v->usual_ns),
		     J_REAL("noise_ns", v->noise_ns), J_REAL("step_ns", v->step_ns),
		     J_U64("ranks", v->ranks), J_U64("of", v->of));
	json_close(j);
}

static void print_json(const struct why *w, const struct fleet *f)
{
	char verdict[256];
	struct json j;

	json_begin(&j, stdout, "aon.diagnosis/1");
	json_members(&j, J_STR("cluster", fleet_shown(f)), J_STR("job", w->r.job.job),
		     J_STR("verdict", fleet_verdict(verdict, sizeof(verdict), &w->r)),
		     J_U64("steps", w->steps));
	json_open(&j, "findings", '[');
	for (size_t i = 0; i < w->n; i++)
		finding_json(&j, &w->heard[i]);
	json_end(&j);
}

static int diagnose(struct why *w, struct fleet *f)
{
	uint32_t ranks = w->r.ranks ? (uint32_t)w->r.ranks : 1;
	uint64_t most = RECORDS / ranks ? RECORDS / ranks : 1, first = w->r.first_step;
	struct store_why why = { "" };
	int err;

	if (!w->r.steps)
		return CLI_OK;
	if (w->r.last_step - first >= most)
		first = w->r.last_step - most + 1;
	err = diag_new(&w->d, w->r.job.world > ranks ? w->r.job.world : ranks);
	err = err ? err
		  : fleet_records(f, w->r.job.job, ranks, first, w->r.last_step, on_step, w, &why);
	diag_free(w->d);
	if (err)
		return fleet_ask_failed(f, err, &why);
	keep_what_holds(w);
	return CLI_OK;
}

int fleet_why_cmd(const struct opts *o)
{
	struct store_why reason = { "" };
	struct fleet_span span;
	struct fleet *f;
	struct why *w;
	int rc = fleet_ask_span(o, &span), err;

	if (rc == CLI_OK && !o->val[OPT_OF_JOB])
		return cli_misuse("which job? --job J; aon fleet lists them");
	if (rc == CLI_OK)
		rc = fleet_ask_open(&f, o);
	if (rc != CLI_OK)
		return rc;
	w = calloc(1, sizeof(*w));
	err = w ? fleet_report(&w->r, f, o->val[OPT_OF_JOB], span, &reason) : -ENOMEM;
	if (err) {
		rc = fleet_ask_failed(f, err, &reason);
	} else {
		w->o = o;
		out_init(&w->out, stdout, o);
		rc = diagnose(w, f);
		if (rc == CLI_OK && o->val[OPT_JSON])
			print_json(w, f);
		else if (rc == CLI_OK)
			rc = text(w);
		fleet_report_fini(&w->r);
	}
	free(w);
	fleet_close(f);
	return rc;
}
