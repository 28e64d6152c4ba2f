/* SPDX-License-Identifier: Apache-2.0 */
/* answer_json.c - see answer_json.h. GPU times are seconds: sums over thousands of GPUs. */
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
	json_object(j, key, J_U64("steps", s->steps), J_REAL("held_s", s->held_ns / 1e9),
		    J_REAL("step_s", s->step_ns / 1e9), J_REAL("busy_s", fleet_busy(s) / 1e9),
		    J_REAL("exposed_s", s->exposed_ns / 1e9), J_REAL("lost_s", s->lost_ns / 1e9),
		    J_REAL("idle_s", s->idle_ns / 1e9),
		    J_REAL("outside_s", fleet_outside(s) / 1e9));
}

static void span_json(struct json *j, struct fleet_span s)
{
	json_object(j, "span", J_DOUBLE("from_s", (double)s.from_ns / 1e9),
		    J_DOUBLE("to_s", (double)s.to_ns / 1e9));
}

/* NULL if it is unknown, or if the viewer may not know it. */
static const char *known(const char *text, bool may)
{
	return may && *text ? text : NULL;
}

/* Of another user's job: its size and its loss, but neither its name nor its owner. */
static void job_members(struct json *j, const struct fleet_job *x, bool may)
{
	json_members(j, J_STR("job", known(x->job, may)), J_STR("user", known(x->user, may)),
		     J_BOOL("withheld", !may), J_U64("gpus", x->gpus), J_U64("hosts", x->hosts),
		     J_U64("world", x->world), J_DOUBLE("begin_s", (double)x->begin_ns / 1e9),
		     J_DOUBLE("end_s", (double)x->end_ns / 1e9), J_BOOL("live", x->live),
		     J_STR("gpu_model", known(x->gpu, true)),
		     J_STR("driver", known(x->driver, may)),
		     J_STR("framework", known(x->framework, may)), J_REAL("step_ns", x->step_ns));
	sum_json(j, "time", &x->sum);
	if (x->slow_rank >= 0 && may)
		json_object(j, "slow", J_I64("rank", x->slow_rank),
			    J_STR("host", known(x->slow_host, true)), J_REAL("over", x->slow_over));
	else
		json_null(j, "slow");
	json_str(j, "finding", known(x->finding, may));
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
	json_object(j, NULL, J_STR("host", n->host), J_STR("rack", known(n->rack, true)),
		    J_U64("leaf", n->leaf), J_STR("version", known(n->version, true)),
		    J_DOUBLE("seen_s", (double)n->seen_ns / 1e9), J_BOOL("silent", n->silent),
		    J_U64("processes", n->processes), J_U64("lost_records", n->lost_records),
		    J_U64("spool_bytes", n->spool_bytes),
		    J_I64_IF("clock_off_us", n->clock_off_us != INT64_MAX, n->clock_off_us),
		    J_REAL("waited_s", n->lost_ns / 1e9),
		    J_STR("job", known(n->job, job_is_mine(o, v, n->job))));
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

		json_object(j, NULL, J_I64_IF("rank", x->rank >= 0, x->rank),
			    J_STR("host", known(x->host, true)),
			    J_STR("rack", known(x->rack, true)), J_U64("leaf", x->leaf),
			    J_U64("steps", x->sum.steps),
			    J_REAL("step_ns", of_step(x->sum.step_ns, &x->sum)),
			    J_REAL("own_ns", x->own_ns),
			    J_REAL("compute_ns", of_step(x->sum.compute_ns, &x->sum)),
			    J_REAL("exposed_ns", of_step(x->sum.exposed_ns, &x->sum)),
			    J_REAL("waits_ns", of_step(x->sum.lost_ns, &x->sum)),
			    J_REAL("idle_ns", of_step(x->sum.idle_ns, &x->sum)),
			    J_REAL("over", x->over));
	}
	json_close(j);
}

static void kernels_json(struct json *j, const struct fleet_report *r)
{
	json_open(j, "kernels", '[');
	for (size_t i = 0; i < r->kernels; i++) {
		const struct fleet_kernel *k = &r->kernel[i];

		json_object(j, NULL, J_STR("name", k->text), J_STR("kind", event_word(k->kind)),
			    J_U64("count", k->count), J_U64("total_ns", k->total_ns),
			    J_REAL("avg_ns", k->count ? (double)k->total_ns / (double)k->count : 0),
			    J_U64("bytes", k->bytes),
			    J_I64_IF("floor_ns", k->floor_ns, (int64_t)k->floor_ns));
	}
	json_close(j);
	json_object(j, "rest", J_U64("kernels", r->more_kernels), J_U64("total_ns", r->more_ns));
}

static void findings_json(struct json *j, const struct fleet_findings *fs)
{
	json_open(j, "findings", '[');
	for (size_t i = 0; i < fs->n; i++) {
		const struct fleet_finding *x = &fs->f[i];

		json_object(j, NULL, J_STR("kind", x->kind), J_STR("level", x->level),
			    J_STR("part", x->part), J_STR("host", known(x->host, true)),
			    J_STR("text", x->text), J_STR("source", x->source),
			    J_DOUBLE("t_s", (double)x->t_ns / 1e9),
			    J_DOUBLE("until_s", (double)x->until_ns / 1e9), J_BOOL("act", x->act),
			    J_REAL("gain", x->gain), J_REAL("confidence", x->confidence));
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
	json_object(j, "since", J_DOUBLE("t_s", (double)s.t_ns / 1e9),
		    J_REAL("before_ns", s.before_ns), J_REAL("after_ns", s.after_ns));
}

void fleet_report_json(struct json *j, const struct fleet_report *r, const struct fleet_viewer *v)
{
	char verdict[256];

	span_json(j, r->span);
	json_str(j, "verdict", fleet_verdict(verdict, sizeof(verdict), r));
	job_members(j, &r->job, fleet_may(v, r->job.user));
	json_members(j, J_U64("steps", r->steps), J_U64("first_step", r->first_step),
		     J_U64("last_step", r->last_step), J_REAL("step_p50_ns", r->p50_ns),
		     J_REAL("step_p99_ns", r->p99_ns));
	json_open(j, "hours", '[');
	for (size_t i = 0; i < r->hours; i++) {
		json_open(j, NULL, '{');
		json_members(j, J_DOUBLE("t_s", (double)r->hour[i].t_ns / 1e9),
			     J_U64("ranks", r->hour[i].ranks));
		sum_json(j, "time", &r->hour[i].sum);
		json_close(j);
	}
	json_close(j);
	since_json(j, r);
	ranks_json(j, r);
	kernels_json(j, r);
	findings_json(j, &r->findings);
	json_object(j, "records", J_U64("emitted", r->emitted), J_U64("stored", r->stored),
		    J_U64("lost", r->lost), J_U64("overwritten", r->overwritten));
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
	json_members(j, J_I64("rank", r->rank), J_STR("host", known(r->host, true)),
		     J_STR("rack", known(r->rack, true)), J_U64("leaf", r->leaf));
}

void fleet_heat_json(struct json *j, const struct fleet_heat *h)
{
	json_members(j, J_U64("ranks_n", h->ranks), J_U64("steps_n", h->steps),
		     J_U64("steps_all", h->all), J_U64("every", h->every));
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

		json_object(j, NULL, J_I64("rank", rank), J_U64("step", s->step),
			    J_DOUBLE("t_s", (double)s->t_ns / 1e9), J_REAL("dur_ns", s->step_ns),
			    J_REAL("compute_ns", s->compute_ns),
			    J_REAL("busy_ns", fmax(0, s->step_ns - s->idle_ns)),
			    J_REAL("comm_ns", s->comm_ns), J_REAL("exposed_comm_ns", s->exposed_ns),
			    J_REAL("idle_ns", s->idle_ns));
	}
	json_close(j);
}

/* --- versions --- */

void fleet_changes_json(struct json *j, const struct fleet_changes *cs)
{
	json_open(j, "changes", '[');
	for (size_t i = 0; i < cs->n; i++) {
		const struct fleet_change *c = &cs->c[i];

		json_object(j, NULL, J_STR("kernel", c->text), J_STR("what", c->what),
			    J_STR("gpu_model", known(c->gpu, true)), J_STR("before", c->before),
			    J_STR("after", c->after), J_REAL("before_ns", c->before_ns),
			    J_REAL("after_ns", c->after_ns), J_U64("before_count", c->before_count),
			    J_U64("after_count", c->after_count),
			    J_U64("before_jobs", c->before_jobs),
			    J_U64("after_jobs", c->after_jobs), J_REAL("cost_s", c->cost_ns / 1e9));
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
	json_members(j, J_STR("job", known(r->job.job, true)), J_U64("ranks", r->job.ranks),
		     J_U64("steps", r->steps), J_REAL("step_ns", r->job.step_ns),
		     J_REAL("step_p50_ns", r->p50_ns),
		     J_REAL("busy_ns", of_step(fleet_busy(&r->job.sum), &r->job.sum)),
		     J_REAL("exposed_ns", of_step(r->job.sum.exposed_ns, &r->job.sum)),
		     J_REAL("waits_ns", of_step(r->job.sum.lost_ns, &r->job.sum)),
		     J_REAL("idle_ns", of_step(r->job.sum.idle_ns, &r->job.sum)),
		     J_STR("driver", known(r->job.driver, true)),
		     J_STR("framework", known(r->job.framework, true)));
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

		json_object(j, NULL, J_STR("name", k->text), J_STR("kind", event_word(k->kind)),
			    J_REAL("a_ns", p[i].a_ns), J_REAL("b_ns", p[i].b_ns),
			    J_U64("a_count", p[i].a ? p[i].a->count : 0),
			    J_U64("b_count", p[i].b ? p[i].b->count : 0));
	}
	json_close(j);
	free(p);
}
