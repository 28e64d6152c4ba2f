/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_json.c - see answer_json.h. GPU times are in seconds here: they are sums over thousands of
 * GPUs.
 */
#include "fleet/answer_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "model/event.h"

#define MILLE 1000.0

bool fleet_may(const struct fleet_viewer *v, const char *user)
{
	return !v || !v->may || v->may(v->arg, user);
}

static void sum_json(struct json *j, const char *key, const struct fleet_sum *s)
{
	json_open(j, key, '{');
	json_u64(j, "steps", s->steps);
	json_real(j, "held_s", s->held_ns / 1e9);
	json_real(j, "step_s", s->step_ns / 1e9);
	json_real(j, "busy_s", fleet_busy(s) / 1e9);
	json_real(j, "exposed_s", s->exposed_ns / 1e9);
	json_real(j, "lost_s", s->lost_ns / 1e9);
	json_real(j, "idle_s", s->idle_ns / 1e9);
	json_real(j, "outside_s", fleet_outside(s) / 1e9);
	json_close(j);
}

static void span_json(struct json *j, struct fleet_span s)
{
	json_open(j, "span", '{');
	json_double(j, "from_s", (double)s.from_ns / 1e9);
	json_double(j, "to_s", (double)s.to_ns / 1e9);
	json_close(j);
}

static void or_null(struct json *j, const char *key, const char *text, bool known)
{
	json_str(j, key, known && *text ? text : NULL);
}

/* Of a job that is somebody else's: how large it is and what it lost, not whose and what it is. */
static void job_members(struct json *j, const struct fleet_job *x, bool may)
{
	or_null(j, "job", x->job, may);
	or_null(j, "user", x->user, may);
	json_bool(j, "withheld", !may);
	json_u64(j, "gpus", x->gpus);
	json_u64(j, "hosts", x->hosts);
	json_u64(j, "world", x->world);
	json_double(j, "begin_s", (double)x->begin_ns / 1e9);
	json_double(j, "end_s", (double)x->end_ns / 1e9);
	json_bool(j, "live", x->live);
	or_null(j, "gpu_model", x->gpu, true);
	or_null(j, "driver", x->driver, may);
	or_null(j, "framework", x->framework, may);
	json_real(j, "step_ns", x->step_ns);
	sum_json(j, "time", &x->sum);
	if (x->slow_rank >= 0 && may) {
		json_open(j, "slow", '{');
		json_i64(j, "rank", x->slow_rank);
		or_null(j, "host", x->slow_host, true);
		json_real(j, "over", x->slow_over);
		json_close(j);
	} else {
		json_null(j, "slow");
	}
	or_null(j, "finding", x->finding, may);
}

static bool job_is_mine(const struct fleet_overview *o, const struct fleet_viewer *v,
			const char *job)
{
	for (size_t i = 0; i < o->jobs; i++)
		if (!strcmp(o->job[i].job, job))
			return fleet_may(v, o->job[i].user);
	return fleet_may(v, "");
}

static void node_json(struct json *j, const struct fleet_overview *o, const struct fleet_node *n,
		      const struct fleet_viewer *v)
{
	json_open(j, NULL, '{');
	json_str(j, "host", n->host);
	or_null(j, "rack", n->rack, true);
	json_u64(j, "leaf", n->leaf);
	or_null(j, "version", n->version, true);
	json_double(j, "seen_s", (double)n->seen_ns / 1e9);
	json_bool(j, "silent", n->silent);
	json_u64(j, "processes", n->processes);
	json_u64(j, "lost_records", n->lost_records);
	json_u64(j, "spool_bytes", n->spool_bytes);
	json_maybe(j, "clock_off_us", n->clock_off_us != INT64_MAX, n->clock_off_us);
	json_real(j, "waited_s", n->lost_ns / 1e9);
	or_null(j, "job", n->job, job_is_mine(o, v, n->job));
	json_close(j);
}

void fleet_overview_json(struct json *j, const struct fleet_overview *o,
			 const struct fleet_viewer *v)
{
	span_json(j, o->span);
	json_u64(j, "gpus", o->gpus);
	sum_json(j, "time", &o->sum);
	json_u64(j, "dropped_rows", o->drops);
	json_open(j, "jobs", '[');
	for (size_t i = 0; i < o->jobs; i++) {
		json_open(j, NULL, '{');
		job_members(j, &o->job[i], fleet_may(v, o->job[i].user));
		json_u64(j, "ranks", o->job[i].ranks);
		json_close(j);
	}
	json_close(j);
	json_u64(j, "silent_nodes", o->silent);
	json_open(j, "nodes", '[');
	for (size_t i = 0; i < o->nodes; i++)
		node_json(j, o, &o->node[i], v);
	json_close(j);
}

/* --- a job --- */

static double of_step(double ns, const struct fleet_sum *s)
{
	return s->steps ? ns / (double)s->steps : 0;
}

static void ranks_json(struct json *j, const struct fleet_report *r)
{
	json_open(j, "ranks", '[');
	for (size_t i = 0; i < r->ranks; i++) {
		const struct fleet_rank *x = &r->rank[i];

		json_open(j, NULL, '{');
		json_maybe(j, "rank", x->rank >= 0, x->rank);
		or_null(j, "host", x->host, true);
		or_null(j, "rack", x->rack, true);
		json_u64(j, "leaf", x->leaf);
		json_u64(j, "steps", x->sum.steps);
		json_real(j, "step_ns", of_step(x->sum.step_ns, &x->sum));
		json_real(j, "own_ns", x->own_ns);
		json_real(j, "compute_ns", of_step(x->sum.compute_ns, &x->sum));
		json_real(j, "exposed_ns", of_step(x->sum.exposed_ns, &x->sum));
		json_real(j, "waits_ns", of_step(x->sum.lost_ns, &x->sum));
		json_real(j, "idle_ns", of_step(x->sum.idle_ns, &x->sum));
		json_real(j, "over", x->over);
		json_close(j);
	}
	json_close(j);
}

static const char *kind_word(uint32_t kind)
{
	static const char *const word[EVENT_MAX] = {
#define EVENT(num, NAME, text, has) [num] = text,
#include "model/event.tbl.h"

	};

	return kind < EVENT_MAX && word[kind] ? word[kind] : "?";
}

static void kernels_json(struct json *j, const struct fleet_report *r)
{
	json_open(j, "kernels", '[');
	for (size_t i = 0; i < r->kernels; i++) {
		const struct fleet_kernel *k = &r->kernel[i];

		json_open(j, NULL, '{');
		json_str(j, "name", k->text);
		json_str(j, "kind", kind_word(k->kind));
		json_u64(j, "count", k->count);
		json_u64(j, "total_ns", k->total_ns);
		json_real(j, "avg_ns", k->count ? (double)k->total_ns / (double)k->count : 0);
		json_u64(j, "bytes", k->bytes);
		json_maybe(j, "floor_ns", k->floor_ns, (int64_t)k->floor_ns);
		json_close(j);
	}
	json_close(j);
	json_open(j, "rest", '{');
	json_u64(j, "kernels", r->more_kernels);
	json_u64(j, "total_ns", r->more_ns);
	json_close(j);
}

static void findings_json(struct json *j, const struct fleet_findings *fs)
{
	json_open(j, "findings", '[');
	for (size_t i = 0; i < fs->n; i++) {
		const struct fleet_finding *x = &fs->f[i];

		json_open(j, NULL, '{');
		json_str(j, "kind", x->kind);
		json_str(j, "level", x->level);
		json_str(j, "part", x->part);
		or_null(j, "host", x->host, true);
		json_str(j, "text", x->text);
		json_str(j, "source", x->source);
		json_double(j, "t_s", (double)x->t_ns / 1e9);
		json_double(j, "until_s", (double)x->until_ns / 1e9);
		json_bool(j, "act", x->act);
		json_real(j, "gain", x->gain);
		json_real(j, "confidence", x->confidence);
		json_close(j);
	}
	json_close(j);
}

static void since_json(struct json *j, const struct fleet_report *r)
{
	struct fleet_since s;

	if (!fleet_since(r, &s)) {
		json_null(j, "since");
		return;
	}
	json_open(j, "since", '{');
	json_double(j, "t_s", (double)s.t_ns / 1e9);
	json_real(j, "before_ns", s.before_ns);
	json_real(j, "after_ns", s.after_ns);
	json_close(j);
}

void fleet_report_json(struct json *j, const struct fleet_report *r, const struct fleet_viewer *v)
{
	char verdict[256];

	span_json(j, r->span);
	json_str(j, "verdict", fleet_verdict(verdict, sizeof(verdict), r));
	job_members(j, &r->job, fleet_may(v, r->job.user));
	json_u64(j, "steps", r->steps);
	json_u64(j, "first_step", r->first_step);
	json_u64(j, "last_step", r->last_step);
	json_real(j, "step_p50_ns", r->p50_ns);
	json_real(j, "step_p99_ns", r->p99_ns);
	json_open(j, "hours", '[');
	for (size_t i = 0; i < r->hours; i++) {
		json_open(j, NULL, '{');
		json_double(j, "t_s", (double)r->hour[i].t_ns / 1e9);
		json_u64(j, "ranks", r->hour[i].ranks);
		sum_json(j, "time", &r->hour[i].sum);
		json_close(j);
	}
	json_close(j);
	since_json(j, r);
	ranks_json(j, r);
	kernels_json(j, r);
	findings_json(j, &r->findings);
	json_open(j, "records", '{');
	json_u64(j, "emitted", r->emitted);
	json_u64(j, "stored", r->stored);
	json_u64(j, "lost", r->lost);
	json_u64(j, "overwritten", r->overwritten);
	json_close(j);
}

char *fleet_verdict(char *out, size_t cap, const struct fleet_report *r)
{
	const struct fleet_rank *slow = fleet_slow_rank(r);
	const struct fleet_sum *s = &r->job.sum;
	double step = of_step(s->step_ns, s), lost = of_step(s->lost_ns, s),
	       bare = of_step(s->exposed_ns, s) - lost, idle = of_step(s->idle_ns, s);
	char a[FMT_LEN], b[FMT_LEN], pct[FMT_LEN], host[FLEET_WORD + 8];

	fmt_time(b, (uint64_t)step);
	if (!s->steps) {
		snprintf(out, cap, "No step of this job was seen in that time.");
	} else if (slow && lost > FLEET_OVER * step) {
		snprintf(out, cap, "The others wait for rank %d on %s: %s of a step of %s (%s %%).",
			 slow->rank,
			 *slow->host ? fmt_clean(host, sizeof(host), slow->host, false) : "?",
			 fmt_time(a, (uint64_t)lost), b, fmt_percent(pct, lost / step));
	} else if (fmax(fmax(lost, bare), idle) < 0.05 * step) {
		snprintf(out, cap, "GPUs are at work in %s %% of a step of %s.",
			 fmt_percent(pct, fleet_busy(s) / s->step_ns), b);
	} else if (idle >= bare && idle >= lost) {
		snprintf(out, cap, "GPUs are idle in %s of a step of %s (%s %%).",
			 fmt_time(a, (uint64_t)idle), b, fmt_percent(pct, idle / step));
	} else if (lost > bare) {
		snprintf(
			out, cap,
			"Ranks wait for each other in %s of a step of %s (%s %%), for none of them "
			"more than for others.",
			fmt_time(a, (uint64_t)lost), b, fmt_percent(pct, lost / step));
	} else {
		snprintf(out, cap,
			 "Communication that nothing hides is %s of a step of %s (%s %%).",
			 fmt_time(a, (uint64_t)bare), b, fmt_percent(pct, bare / step));
	}
	return out;
}

/* --- ranks x steps --- */

enum cell_part { CELL_WORST, CELL_MEAN, CELL_WHO, CELL_WHEN, CELL_US };

static int64_t cell_part(const struct fleet_cell *c, enum cell_part part)
{
	switch (part) {
	case CELL_WORST:
		return lrint(fmin(1e6, MILLE * (double)c->worst));
	case CELL_MEAN:
		return lrint(fmin(1e6, MILLE * (double)c->mean));
	case CELL_WHO:
		return c->rank;
	case CELL_WHEN:
		return c->step;
	case CELL_US:
		break;
	}
	return lrint(fmax(0, fmin(1e15, c->ns / 1e3)));
}

static void cells_json(struct json *j, const char *key, const struct fleet_heat *h,
		       enum cell_part part)
{
	const struct fleet_cell *c = h->cell;

	json_open(j, key, '[');
	for (uint32_t r = 0; r < h->rows; r++) {
		json_open(j, NULL, '[');
		for (uint32_t i = 0; i < h->columns; i++, c++)
			json_maybe(j, NULL, isfinite(c->worst), cell_part(c, part));
		json_close(j);
	}
	json_close(j);
}

static void place_json(struct json *j, const struct fleet_rank *r)
{
	json_i64(j, "rank", r->rank);
	or_null(j, "host", r->host, true);
	or_null(j, "rack", r->rack, true);
	json_u64(j, "leaf", r->leaf);
}

void fleet_heat_json(struct json *j, const struct fleet_heat *h)
{
	json_u64(j, "ranks_n", h->ranks);
	json_u64(j, "steps_n", h->steps);
	json_u64(j, "steps_all", h->all);
	json_u64(j, "every", h->every);
	json_open(j, "ranks", '[');
	for (uint32_t i = 0; i < h->rows; i++)
		json_i64(j, NULL, h->rank[h->row[i]].rank);
	json_close(j);
	json_open(j, "rows", '[');
	for (uint32_t i = 0; i < h->rows; i++) {
		json_open(j, NULL, '{');
		place_json(j, &h->rank[h->row[i]]);
		json_u64(j, "ranks", h->row[i + 1] - h->row[i]);
		json_close(j);
	}
	json_close(j);
	json_open(j, "steps", '[');
	for (uint32_t i = 0; i < h->columns; i++)
		json_u64(j, NULL, h->step[i]);
	json_close(j);
	json_u64(j, "last_step", h->last);
	cells_json(j, "worst", h, CELL_WORST);
	cells_json(j, "mean", h, CELL_MEAN);
	cells_json(j, "who", h, CELL_WHO);
	cells_json(j, "when", h, CELL_WHEN);
	cells_json(j, "us", h, CELL_US);
	json_open(j, "slowest", '[');
	for (size_t i = 0; i < h->slows && h->ranks > 1; i++) {
		json_open(j, NULL, '{');
		place_json(j, &h->slow[i]);
		json_i64(j, "over", lrint(fmin(1e6, MILLE * h->slow[i].over)));
		json_close(j);
	}
	json_close(j);
}

void fleet_steps_json(struct json *j, int32_t rank, const struct fleet_steps *x)
{
	json_i64(j, "rank", rank);
	json_open(j, "steps", '[');
	for (size_t i = x->n; i-- > 0;) { /* in order */
		const struct fleet_step *s = &x->s[i];

		json_open(j, NULL, '{');
		json_i64(j, "rank", rank);
		json_u64(j, "step", s->step);
		json_double(j, "t_s", (double)s->t_ns / 1e9);
		json_real(j, "dur_ns", s->step_ns);
		json_real(j, "compute_ns", s->compute_ns);
		json_real(j, "busy_ns", fmax(0, s->step_ns - s->idle_ns));
		json_real(j, "comm_ns", s->comm_ns);
		json_real(j, "exposed_comm_ns", s->exposed_ns);
		json_real(j, "idle_ns", s->idle_ns);
		json_close(j);
	}
	json_close(j);
}

/* --- versions --- */

void fleet_changes_json(struct json *j, const struct fleet_changes *cs)
{
	json_open(j, "changes", '[');
	for (size_t i = 0; i < cs->n; i++) {
		const struct fleet_change *c = &cs->c[i];

		json_open(j, NULL, '{');
		json_str(j, "kernel", c->text);
		json_str(j, "what", c->what);
		or_null(j, "gpu_model", c->gpu, true);
		json_str(j, "before", c->before);
		json_str(j, "after", c->after);
		json_real(j, "before_ns", c->before_ns);
		json_real(j, "after_ns", c->after_ns);
		json_u64(j, "before_count", c->before_count);
		json_u64(j, "after_count", c->after_count);
		json_u64(j, "before_jobs", c->before_jobs);
		json_u64(j, "after_jobs", c->after_jobs);
		json_real(j, "cost_s", c->cost_ns / 1e9);
		json_close(j);
	}
	json_close(j);
}

/* --- two jobs --- */

static const struct fleet_kernel *kernel_of(const struct fleet_report *r,
					    const struct fleet_kernel *k)
{
	for (size_t i = 0; i < r->kernels; i++)
		if (r->kernel[i].name == k->name && r->kernel[i].kind == k->kind)
			return &r->kernel[i];
	return NULL;
}

static double kernel_step(const struct fleet_report *r, const struct fleet_kernel *k)
{
	return k ? of_step((double)k->total_ns, &r->job.sum) : 0;
}

static int by_change(const void *a, const void *b)
{
	const struct fleet_pair *x = a, *y = b;
	double p = fabs(x->b_ns - x->a_ns), q = fabs(y->b_ns - y->a_ns);

	return (p < q) - (p > q);
}

struct fleet_pair *fleet_pairs(const struct fleet_report *a, const struct fleet_report *b,
			       size_t *n)
{
	struct fleet_pair *p = calloc(a->kernels + b->kernels + 1, sizeof(*p));
	size_t at = 0;

	if (!p)
		return NULL;
	for (size_t i = 0; i < a->kernels; i++, at++)
		p[at] = (struct fleet_pair){ .a = &a->kernel[i], .b = kernel_of(b, &a->kernel[i]) };
	for (size_t i = 0; i < b->kernels; i++)
		if (!kernel_of(a, &b->kernel[i]))
			p[at++].b = &b->kernel[i];
	for (size_t i = 0; i < at; i++) {
		p[i].a_ns = kernel_step(a, p[i].a);
		p[i].b_ns = kernel_step(b, p[i].b);
	}
	if (at)
		qsort(p, at, sizeof(*p), by_change);
	*n = at;
	return p;
}

static void side_json(struct json *j, const char *key, const struct fleet_report *r)
{
	json_open(j, key, '{');
	span_json(j, r->span);
	or_null(j, "job", r->job.job, true);
	json_u64(j, "ranks", r->job.ranks);
	json_u64(j, "steps", r->steps);
	json_real(j, "step_ns", r->job.step_ns);
	json_real(j, "step_p50_ns", r->p50_ns);
	json_real(j, "busy_ns", of_step(fleet_busy(&r->job.sum), &r->job.sum));
	json_real(j, "exposed_ns", of_step(r->job.sum.exposed_ns, &r->job.sum));
	json_real(j, "waits_ns", of_step(r->job.sum.lost_ns, &r->job.sum));
	json_real(j, "idle_ns", of_step(r->job.sum.idle_ns, &r->job.sum));
	or_null(j, "driver", r->job.driver, true);
	or_null(j, "framework", r->job.framework, true);
	json_close(j);
}

void fleet_compare_json(struct json *j, const struct fleet_report *a, const struct fleet_report *b)
{
	size_t n = 0;
	struct fleet_pair *p = fleet_pairs(a, b, &n);

	side_json(j, "a", a);
	side_json(j, "b", b);
	json_open(j, "kernels", '[');
	for (size_t i = 0; p && i < n; i++) {
		const struct fleet_kernel *k = p[i].a ? p[i].a : p[i].b;

		json_open(j, NULL, '{');
		json_str(j, "name", k->text);
		json_str(j, "kind", kind_word(k->kind));
		json_real(j, "a_ns", p[i].a_ns);
		json_real(j, "b_ns", p[i].b_ns);
		json_u64(j, "a_count", p[i].a ? p[i].a->count : 0);
		json_u64(j, "b_count", p[i].b ? p[i].b->count : 0);
		json_close(j);
	}
	json_close(j);
	free(p);
}
