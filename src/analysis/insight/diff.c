/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - profiles of runs, and the differences between two of them. */
#include "insight/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* Kernels of less than this share of GPU time in common classes: another model. */
#define LIKENESS_LEAST 0.5
#define CHANGE_LEAST   0.001 /* of a step */

/* --- a profile --- */

const char *profile_part(size_t part, const char **word)
{
	static const char *const idle[IDLE_CAUSES] = {
		[IDLE_INPUT] = "idle: next batch",         [IDLE_SYNC] = "idle: waited for GPU",
		[IDLE_HOST] = "idle: host busy",           [IDLE_LAUNCH] = "idle: launching",
		[IDLE_DEPENDENCY] = "idle: dependencies",  [IDLE_OTHER] = "idle: other",
		[IDLE_COMPILE] = "idle: compiling",        [IDLE_CHECKPOINT] = "idle: checkpoints",
		[IDLE_GC] = "idle: garbage collection",    [IDLE_ALLOC] = "idle: allocating",
		[IDLE_CAPTURE] = "idle: capturing graphs", [IDLE_WARM_UP] = "idle: first use",
		[IDLE_PROFILER] = "idle: the profiler",
	};
	static const char *const idle_words[IDLE_CAUSES] = {
		[IDLE_INPUT] = "idle_input",
		[IDLE_SYNC] = "idle_sync",
		[IDLE_HOST] = "idle_host",
		[IDLE_LAUNCH] = "idle_launch",
		[IDLE_DEPENDENCY] = "idle_dependency",
		[IDLE_OTHER] = "idle_other",
		[IDLE_COMPILE] = "idle_compile",
		[IDLE_CHECKPOINT] = "idle_checkpoint",
		[IDLE_GC] = "idle_gc",
		[IDLE_ALLOC] = "idle_alloc",
		[IDLE_CAPTURE] = "idle_graph_capture",
		[IDLE_WARM_UP] = "idle_warm_up",
		[IDLE_PROFILER] = "idle_profiler",
	};
	const char *dummy;

	word = word ? word : &dummy;
	if (part < CLASSES) {
		*word = class_word[part];
		return class_people[part];
	}
	if (part < PART_IDLE) {
		*word = part == PART_COMM_EXPOSED ? "comm_exposed" : "copy_exposed";
		return part == PART_COMM_EXPOSED ? "comm, not hidden" : "copy, not hidden";
	}
	*word = idle_words[part - PART_IDLE];
	return idle[part - PART_IDLE];
}

static bool is_of(const struct profile_of *of, int32_t rank)
{
	return of->rank == TRACE_NO_RANK || of->rank == rank;
}

static bool in_window(const struct profile_of *of, const struct insight_step *s)
{
	return is_of(of, s->rank) && s->number >= of->first && s->number <= of->last;
}

/* Idle causes that the account has, too; what else it has is IDLE_OTHER. */
static const enum account_cause idle_account[IDLE_CAUSES] = {
	[IDLE_INPUT] = ACCOUNT_INPUT,
	[IDLE_SYNC] = ACCOUNT_SYNC,
	[IDLE_HOST] = ACCOUNT_HOST,
	[IDLE_LAUNCH] = ACCOUNT_LAUNCH,
	[IDLE_DEPENDENCY] = ACCOUNT_DEPENDENCY,
	[IDLE_OTHER] = ACCOUNT_UNKNOWN,
	[IDLE_COMPILE] = ACCOUNT_COMPILE,
	[IDLE_CHECKPOINT] = ACCOUNT_CHECKPOINT,
	[IDLE_GC] = ACCOUNT_GC,
	[IDLE_ALLOC] = ACCOUNT_ALLOC,
	[IDLE_CAPTURE] = ACCOUNT_CAPTURE,
	[IDLE_WARM_UP] = ACCOUNT_WARM_UP,
	[IDLE_PROFILER] = ACCOUNT_PROFILER,
};

static void add_idle(struct profile *p, const struct time_account *a)
{
	uint64_t named = 0, all = 0;

	for (size_t c = ACCOUNT_IDLE; c < ACCOUNT_CAUSES; c++)
		all += a->ns[c];
	for (size_t k = 0; k < IDLE_CAUSES; k++) {
		p->part_ns[PART_IDLE + k] += (double)a->ns[idle_account[k]];
		named += a->ns[idle_account[k]];
	}
	p->part_ns[PART_IDLE + IDLE_OTHER] += (double)(all - named);
}

/* All of a run: what `aon why` and reports say. */
static void add_accounts(struct profile *p, const struct insight *in, const struct profile_of *of,
			 double *compute)
{
	double base = 0, n = 0;

	for (size_t i = 0; i < in->devices; i++) {
		const struct time_account *a = &in->device[i].account;

		if (!is_of(of, in->device[i].rank))
			continue;
		base += (double)a->base_ns;
		n += p->steps ? (double)a->steps : 1;
		*compute += (double)a->ns[ACCOUNT_COMPUTE];
		p->part_ns[PART_COMM_EXPOSED] +=
			(double)(a->ns[ACCOUNT_COMM_SEND] + a->ns[ACCOUNT_COMM_WAIT] +
				 a->ns[ACCOUNT_COMM]);
		p->part_ns[PART_COPY_EXPOSED] += (double)a->ns[ACCOUNT_COPY];
		for (size_t c = 0; c < ACCOUNT_IDLE; c++)
			p->busy_ns += (double)a->ns[c];
		add_idle(p, a);
	}
	n = n > 0 ? n : 1;
	p->step_ns = base / n;
	p->busy_ns /= n;
	*compute /= n;
	for (size_t i = PART_COMM_EXPOSED; i < PROFILE_PARTS; i++)
		p->part_ns[i] /= n;
}

static void count_steps(struct profile *p, const struct insight *in, const struct profile_of *of)
{
	double sum = 0, squares = 0, n;

	for (size_t i = 0; i < in->steps; i++) {
		if (!in_window(of, &in->step[i]))
			continue;
		p->steps++;
		sum += (double)in->step[i].dur_ns;
		squares += (double)in->step[i].dur_ns * (double)in->step[i].dur_ns;
	}
	n = (double)p->steps;
	p->step_ns = n > 0 ? sum / n : 0;
	if (p->steps > 1)
		p->sd_ns = sqrt(fmax(0, (squares - sum * sum / n) / (n - 1)));
}

/* The clipped breakdowns of a window of steps. */
static void add_window(struct profile *p, const struct insight *in, const struct profile_of *of,
		       double *idle, double *compute)
{
	double n = p->steps ? (double)p->steps : 1;

	for (size_t i = 0; i < in->steps; i++) {
		const struct insight_step *s = &in->step[i];

		if (!in_window(of, s))
			continue;
		p->busy_ns += (double)s->b.busy_ns / n;
		*compute += (double)s->b.compute_ns / n;
		p->part_ns[PART_COMM_EXPOSED] += (double)s->b.exposed_comm_ns / n;
		p->part_ns[PART_COPY_EXPOSED] += (double)s->b.exposed_copy_ns / n;
		*idle += ((double)s->dur_ns - (double)s->b.busy_ns) / n;
	}
	for (size_t i = 0; i < in->devices; i++)
		if (is_of(of, in->device[i].rank))
			add_idle(p, &in->device[i].account);
}

/* `total` shared out to part[0..n) in the proportion that they have. */
static void share_out(double *part, size_t n, double total, size_t rest)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += part[i];
	for (size_t i = 0; i < n; i++)
		part[i] = sum > 0 ? part[i] / sum * total : 0;
	if (sum <= 0)
		part[rest] = total;
}

static bool is_compute(size_t class)
{
	return class != CLASS_COMM && class != CLASS_COPY && class != CLASS_MEMSET;
}

/* --- kernels, ops and modules by name --- */

/* Of those that share a text, the longest of one run is held against the longest of the other. */
static int by_name(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;

	return strcmp(x->name, y->name) ?: cmp_num(y->ns, x->ns);
}

/* The steps that are meant, by process and start. */
struct span {
	uint32_t process;
	uint64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return cmp_num(x->process, y->process) ?: cmp_num(x->start_ns, y->start_ns);
}

static size_t list_steps(struct span *out, const struct insight *in, const struct profile_of *of)
{
	size_t n = 0;

	for (size_t i = 0; i < in->steps; i++)
		if (in_window(of, &in->step[i]))
			out[n++] = (struct span){ in->step[i].process, in->step[i].start_ns,
						  in->step[i].start_ns + in->step[i].dur_ns };
	qsort(out, n, sizeof(*out), by_start);
	return n;
}

static bool in_step(const struct span *span, size_t n, uint32_t process, uint64_t ns)
{
	size_t next = first_where(i, 0, n,
				  span[i].process > process ||
					  (span[i].process == process && span[i].start_ns > ns));

	return next && span[next - 1].process == process && ns < span[next - 1].end_ns;
}

static void add_event(struct profile *p, const struct insight *in, uint32_t e, double n)
{
	for (enum insight_by by = 0; by < ROLLS; by++) {
		uint32_t name = insight_name(in, by, e);
		struct profile_row *r;

		if (name >= in->t->names)
			continue;
		r = &p->roll[by].row[name];
		r->name = trace_text(in->t, name);
		r->class = insight_class(in, e);
		r->count += 1 / n;
		r->ns += (double)in->t->event[e].dur_ns / n;
	}
}

/* The GPU events of a device that are in the steps that are meant. */
static void add_device(struct profile *p, const struct insight *in, const struct insight_device *d,
		       const struct span *span, size_t spans)
{
	double n = p->steps ? (double)p->steps : p->devices ? (double)p->devices : 1;
	const struct trace *t = in->t;

	for (size_t s = 0; s < d->streams; s++) {
		uint32_t track = in->stream[d->stream_first + s].track;

		for (size_t e = t->track_first[track]; e < t->track_first[track + 1]; e++)
			if (event_is_gpu(&t->event[e]) &&
			    (!p->steps ||
			     in_step(span, spans, t->track[track].process, t->event[e].start_ns)))
				add_event(p, in, (uint32_t)e, n);
	}
}

/* The same of all steps, from the tables. */
static void add_tables(struct profile *p, const struct insight *in, const struct profile_of *of)
{
	double n = p->steps ? (double)p->steps : p->devices ? (double)p->devices : 1;

	for (enum insight_by by = 0; by < ROLLS; by++) {
		for (size_t i = 0; i < in->roll[by].rows; i++) {
			const struct insight_row *from = &in->roll[by].row[i];
			uint64_t count = p->steps ? from->step_count : from->count;
			struct profile_row *r = &p->roll[by].row[from->name];

			if (!count || !is_of(of, from->rank))
				continue;
			r->name = trace_text(in->t, from->name);
			r->class = from->class;
			r->count += (double)count / n;
			r->ns += (double)(p->steps ? from->step_ns : from->total_ns) / n;
		}
	}
}

static bool is_all(const struct profile_of *of)
{
	return of->first == 0 && of->last == UINT64_MAX;
}

static int add_rows(struct profile *p, const struct insight *in, const struct profile_of *of)
{
	bool all = is_all(of);
	struct span *span = calloc(in->steps + 1, sizeof(*span));
	size_t spans;
	int err = span ? 0 : -ENOMEM;

	for (size_t by = 0; by < ROLLS; by++) {
		p->roll[by].row = calloc(in->t->names + 1, sizeof(*p->roll[by].row));
		err = p->roll[by].row ? err : -ENOMEM;
	}
	if (err)
		goto free_span;
	if (in->parted && !all) {
		err = -EINVAL;
		goto free_span;
	}
	spans = list_steps(span, in, of);
	if (all)
		add_tables(p, in, of);
	for (size_t i = 0; i < in->devices && !all; i++)
		if (is_of(of, in->device[i].rank))
			add_device(p, in, &in->device[i], span, spans);
	for (size_t by = 0; by < ROLLS; by++) {
		struct profile_table *x = &p->roll[by];

		for (size_t i = 0; i < in->t->names; i++) /* those by name are now in a row */
			if (x->row[i].name)
				x->row[x->rows++] = x->row[i];
		qsort(x->row, x->rows, sizeof(*x->row), by_name);
	}
	for (size_t i = 0; i < p->roll[ROLL_KERNEL].rows; i++) {
		const struct profile_row *r = &p->roll[ROLL_KERNEL].row[i];

		if (is_compute(r->class))
			p->part_ns[r->class] += r->ns;
	}
free_span:
	free(span);
	return err;
}

int profile_init(struct profile *p, const struct insight *in, const struct findings *fs,
		 struct profile_of of)
{
	double idle = 0, compute = 0;
	int32_t last = TRACE_NO_RANK - 1;
	int err;

	memset(p, 0, sizeof(*p));
	p->fs = fs;
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];
		const char *gpu = trace_text(in->t, in->t->device[d->device].name);

		if (!is_of(&of, d->rank))
			continue;
		p->gpu = !p->devices || (p->gpu && !strcmp(p->gpu, gpu)) ? gpu : NULL;
		p->devices++;
		p->ranks += d->rank != last;
		last = d->rank;
	}
	if (p->gpu && !*p->gpu)
		p->gpu = NULL;
	count_steps(p, in, &of);
	if (is_all(&of) && p->devices)
		add_accounts(p, in, &of, &compute);
	else
		add_window(p, in, &of, &idle, &compute);
	err = add_rows(p, in, &of);
	share_out(p->part_ns, CLASSES, compute, CLASS_OTHER);
	if (!is_all(&of))
		share_out(p->part_ns + PART_IDLE, IDLE_CAUSES, idle, IDLE_OTHER);
	return err;
}

void profile_fini(struct profile *p)
{
	for (size_t by = 0; by < ROLLS; by++)
		free(p->roll[by].row);
	memset(p, 0, sizeof(*p));
}

/* --- two of them --- */

/* Student's t, two-sided 95 %: below 3.5 that of the next lower number, which is never too sure;
 * above, the expansion of Cornish and Fisher, within 0.5 %. */
static double t95(double df)
{
	static const double few[] = { 12.71, 4.303, 3.182 };
	double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	if (df < 3.5)
		return few[df < 2 ? 0 : df < 3 ? 1 : 2];
	return z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * df * df * df);
}

/* Welch: neither as many steps nor the same spread are asked for. */
static void interval(struct diff *d)
{
	double na = (double)d->a->steps, nb = (double)d->b->steps, va, vb, se, df, half;

	if (na < 2 || nb < 2)
		return;
	va = d->a->sd_ns * d->a->sd_ns / na;
	vb = d->b->sd_ns * d->b->sd_ns / nb;
	se = sqrt(va + vb);
	df = se > 0 ? (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1)) : 1e9;
	half = t95(df) * se;
	d->sure = true;
	d->lo_ns = d->delta_ns - half;
	d->hi_ns = d->delta_ns + half;
}

static void compare_parts(struct diff *d)
{
	double total = 0, unnamed = 0, all_a = 0, all_b = 0;

	for (size_t i = 0; i < PROFILE_PARTS; i++) {
		double change = fabs(d->b->part_ns[i] - d->a->part_ns[i]);

		total += change;
		if (i == CLASS_OTHER || i == PART_IDLE + IDLE_OTHER)
			unnamed += change;
	}
	/* A difference that is none needs no name. */
	if (fabs(d->delta_ns) < CHANGE_LEAST * fmax(d->a->step_ns, d->b->step_ns))
		unnamed = 0;
	d->explained = total > 0 ? 1 - unnamed / total : 1;
	for (size_t i = 0; i < CLASSES; i++) {
		all_a += d->a->part_ns[i];
		all_b += d->b->part_ns[i];
	}
	for (size_t i = 0; i < CLASSES && all_a > 0 && all_b > 0; i++)
		d->likeness += fmin(d->a->part_ns[i] / all_a, d->b->part_ns[i] / all_b);
}

static void comparable(struct diff *d)
{
	const struct profile *a = d->a, *b = d->b;
	char *out = d->why_not;
	size_t cap = sizeof(d->why_not);

	if (!a->devices || !b->devices)
		snprintf(out, cap, "%s did nothing on a GPU that was recorded",
			 !a->devices && !b->devices ? "both"
			 : !a->devices              ? "the first"
						    : "the second");
	else if (!a->steps != !b->steps)
		snprintf(out, cap, "only %s has steps", a->steps ? "the first" : "the second");
	else if (a->ranks != b->ranks)
		snprintf(out, cap, "%llu ranks against %llu", (unsigned long long)a->ranks,
			 (unsigned long long)b->ranks);
	else if (a->gpu && b->gpu && strcmp(a->gpu, b->gpu) != 0)
		snprintf(out, cap, "%s against %s", a->gpu, b->gpu);
	else if (d->likeness < LIKENESS_LEAST)
		snprintf(out, cap,
			 "other work: only %.0f %% of compute time is in the same classes",
			 100 * d->likeness);
}

/* --- the same work --- */

struct amount {
	double ratio, weight; /* of b's calls to a's; their time */
};

static int by_ratio(const void *a, const void *b)
{
	const struct amount *x = a, *y = b;

	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* Half of the weight lies below it: what is done once in a run does not count for what is repeated. */
static double median(struct amount *v, size_t n, double weight)
{
	double sum = 0;

	qsort(v, n, sizeof(*v), by_ratio);
	for (size_t i = 0; i < n; i++) {
		sum += v[i].weight;
		if (2 * sum >= weight)
			return v[i].ratio;
	}
	return 1;
}

static int count_work(struct diff *d, enum insight_by by)
{
	const struct profile_table *a = &d->a->roll[by], *b = &d->b->roll[by];
	struct amount *v = calloc(a->rows + 1, sizeof(*v));
	double all = 0, common = 0;
	size_t n = 0, k = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < b->rows; i++)
		all += b->row[i].ns;
	for (size_t i = 0; i < a->rows; i++) {
		const struct profile_row *x = &a->row[i], *y;

		all += x->ns;
		while (k < b->rows && strcmp(b->row[k].name, x->name) < 0)
			k++;
		y = k < b->rows && !strcmp(b->row[k].name, x->name) ? &b->row[k] : NULL;
		if (!y || !(x->count > 0) || !(y->count > 0))
			continue;
		/* By the work, not by how long it took: slow calls do not count more in one run. */
		v[n++] = (struct amount){ y->count / x->count, x->ns + y->ns };
		common += x->ns + y->ns;
	}
	if (n && common / all > d->work_share) {
		d->work_share = common / all;
		d->work_by = by;
		d->work_names = n;
		d->work = median(v, n, common);
	}
	free(v);
	return 0;
}

static void scale(struct profile *p, double by)
{
	p->step_ns /= by;
	p->busy_ns /= by;
	for (size_t i = 0; i < PROFILE_PARTS; i++)
		p->part_ns[i] /= by;
	for (enum insight_by k = 0; k < ROLLS; k++)
		for (size_t i = 0; i < p->roll[k].rows; i++) {
			p->roll[k].row[i].ns /= by;
			p->roll[k].row[i].count /= by;
		}
}

/* Operators count where kernels have other names, as another library or GPU has. */
static int same_work(struct diff *d)
{
	int err;

	d->work = 1;
	if (d->a->steps || d->b->steps)
		return 0;
	err = count_work(d, ROLL_KERNEL);
	if (!err && d->work_share < LIKENESS_LEAST)
		err = count_work(d, ROLL_OP);
	if (!err)
		scale(d->b, d->work);
	return err;
}

static int by_change(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double p = fabs(x->b_ns - x->a_ns), q = fabs(y->b_ns - y->a_ns);

	return (p < q) - (p > q);
}

static int join(struct diff_table *to, const struct profile_table *a, const struct profile_table *b)
{
	size_t i = 0, k = 0;

	to->row = calloc(a->rows + b->rows + 1, sizeof(*to->row));
	if (!to->row)
		return -ENOMEM;
	while (i < a->rows || k < b->rows) {
		struct diff_row *o = &to->row[to->rows++];
		int order = i == a->rows   ? 1
			    : k == b->rows ? -1
					   : strcmp(a->row[i].name, b->row[k].name);

		if (order <= 0) {
			o->name = a->row[i].name;
			o->class = a->row[i].class;
			o->a_ns = a->row[i].ns;
			o->a_count = a->row[i++].count;
		}
		if (order >= 0) {
			o->name = b->row[k].name;
			o->class = b->row[k].class;
			o->b_ns = b->row[k].ns;
			o->b_count = b->row[k++].count;
		}
	}
	qsort(to->row, to->rows, sizeof(*to->row), by_change);
	return 0;
}

int diff_init(struct diff *d, struct profile *a, struct profile *b)
{
	int err = 0;

	memset(d, 0, sizeof(*d));
	d->a = a;
	d->b = b;
	err = same_work(d);
	if (err < 0)
		return err;
	d->delta_ns = b->step_ns - a->step_ns;
	interval(d);
	compare_parts(d);
	comparable(d);
	for (size_t by = 0; by < ROLLS && !err; by++)
		err = join(&d->roll[by], &a->roll[by], &b->roll[by]);
	return err;
}

void diff_fini(struct diff *d)
{
	for (size_t by = 0; by < ROLLS; by++)
		free(d->roll[by].row);
	memset(d, 0, sizeof(*d));
}
