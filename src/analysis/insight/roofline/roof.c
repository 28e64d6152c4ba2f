/* SPDX-License-Identifier: Apache-2.0 */
/* roof.c - see roof.h. Events are added to rows; the end attributes the work and judges. */
#include "insight/roofline/roof.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "names/kwork.h"
#include "insight/state.h"
#include "theory/gemm.h"
#include "theory/occupancy.h"

#define SEVERAL UINT32_MAX
#define PM_SURE 0.8 /* of its samples a kernel must have had for itself */

/* --- adding events --- */

static bool is_op(const struct event *e)
{
	return e->kind == EVENT_RANGE && (e->a == TRACE_OP || e->a == TRACE_DEVICE_OP);
}

/* The innermost operator around a launch whose work is known, + 1; or the one that it names. */
static uint32_t op_of(struct insight *in, size_t event, const struct op_work **w)
{
	uint32_t up = in->link[event];

	for (; up; up = in->link[up - 1]) {
		const struct event *e = &in->t->event[up - 1];

		*w = is_op(e) ? insight_op_work(in, e) : NULL;
		if (*w)
			return up;
	}
	up = in->own_op ? in->own_op[event] : 0;
	*w = up && is_op(&in->t->event[up - 1]) ? insight_op_work(in, &in->t->event[up - 1]) : NULL;
	return *w ? up : 0;
}

/* Whether an operator had no work yet: of one that began before the stretch, also not there. */
static bool is_first(struct state_roofs *x, const struct event *op)
{
	uint64_t key = hash_mix(op->start_ns, op->track);

	if (map_get(&x->seen, key) || (op->flags & TRACE_SEEN && map_get(&x->before, key)))
		return false;
	map_put(&x->seen, key, 1);
	return true;
}

static int add_op(struct insight *in, const struct event *e, const struct op_work *w, uint64_t ns)
{
	struct state_roofs *x = &in->x->roofs;
	struct roofs *rs = &in->roofs;
	const struct trace *t = in->t;
	uint32_t file = t->process[t->track[e->track].process].file;
	uint32_t of = map_number(&x->of, (uint64_t)e->name << 32 | trace_op_shapes(e));
	uint32_t at = of ? map_number(&x->op, (uint64_t)file << 32 | of) : 0;
	struct roof_op *r;

	if (!at || (at > rs->ops && vec_more(&rs->op, rs->ops, sizeof(*r)) < 0))
		return -ENOMEM;
	r = &rs->op[at - 1];
	if (at > rs->ops) {
		rs->ops = at;
		*r = (struct roof_op){ .rank = t->file[file].rank,
				       .file = file,
				       .name = e->name,
				       .shapes = trace_op_shapes(e),
				       .once = e->a == TRACE_DEVICE_OP,
				       .work = *w };
	}
	r->count += is_first(x, e);
	r->total_ns += ns;
	return 0;
}

static struct roof_row *row_of(struct insight *in, const struct event *e, const struct event *op)
{
	struct state_roofs *x = &in->x->roofs;
	const struct trace *t = in->t;
	uint32_t device = t->track[e->track].device, of = 0, at;
	uint32_t launch = map_number(&x->launch, (uint64_t)e->name << 32 | (uint32_t)e->a);
	uint32_t place = map_number(&x->place, (uint64_t)device << 32 | launch);
	struct roof_row *r;

	if (op)
		of = map_number(&x->of, (uint64_t)op->name << 32 | trace_op_shapes(op));
	at = map_number(&x->row, (uint64_t)of << 32 | place);
	if (!launch || !place || !at || (op && !of))
		return NULL;
	if (at <= in->roofs.rows)
		return &in->roofs.row[at - 1];
	if (vec_more(&in->roofs.row, in->roofs.rows, sizeof(*r)) < 0)
		return NULL;
	r = &in->roofs.row[at - 1];
	in->roofs.rows = at;
	*r = (struct roof_row){ .rank = t->file[t->device[device].file].rank,
				.file = t->device[device].file,
				.device = device,
				.name = e->name,
				.geo = (uint32_t)e->a,
				.op = op ? op->name : 0,
				.shapes = op ? trace_op_shapes(op) : 0 };
	return r;
}

static int add_event(struct insight *in, size_t event)
{
	const struct event *e = &in->t->event[event], *op;
	const struct op_work *w = NULL;
	uint32_t up = op_of(in, event, &w);
	struct roof_row *r;
	int err = 0;

	op = up ? &in->t->event[up - 1] : NULL;
	if (op)
		err = add_op(in, op, w, e->dur_ns);
	if (err || e->kind != EVENT_KERNEL)
		return err;
	r = row_of(in, e, op);
	if (!r)
		return -ENOMEM;
	r->class = insight_class(in, event);
	r->count++;
	r->total_ns += e->dur_ns;
	return 0;
}

int insight_roofs(struct insight *in)
{
	struct state_roofs *x = &in->x->roofs;
	const struct trace *t = in->t;
	int err = 0;

	map_fini(&x->before);
	x->before = x->seen;
	x->seen = (struct map){ 0 };
	for (uint32_t l = 0; l < t->tracks; l++)
		for (size_t i = t->track_first[l];
		     t->track[l].device != TRACK_HOST && i < t->track_first[l + 1] && !err; i++)
			if (event_is_gpu(&t->event[i]) && event_counts(&t->event[i]))
				err = add_event(in, i);
	return err;
}

/* --- the end: whose the work is --- */

static int by_op_and_mean(const void *a, const void *b)
{
	const struct roof_row *x = a, *y = b;
	double dx = (double)x->total_ns / (double)x->count;
	double dy = (double)y->total_ns / (double)y->count;

	return cmp_num(x->file, y->file) ?: cmp_num(x->op, y->op) ?: cmp_num(x->shapes, y->shapes) ?:
	       cmp_num(dy, dx) ?: cmp_num(x->name, y->name);
}

/* Each call of an operator has one kernel that does its work: the longest ones, as many as there were
 * calls. The rest helps them. Where calls were not recorded, it is the longest one on every device. */
static void find_helpers(struct insight *in)
{
	struct state_roofs *x = &in->x->roofs;
	struct roofs *rs = &in->roofs;
	const struct roof_row *first = NULL;
	uint64_t calls = 0, used = 0;
	struct roof_op *o = NULL;

	if (rs->rows)
		qsort(rs->row, rs->rows, sizeof(*rs->row), by_op_and_mean);
	for (size_t i = 0; i < rs->rows; i++) {
		struct roof_row *r = &rs->row[i];
		uint32_t of, op;

		if (!r->op)
			continue;
		if (!i || r->file != r[-1].file || r->op != r[-1].op || r->shapes != r[-1].shapes) {
			of = map_get(&x->of, (uint64_t)r->op << 32 | r->shapes);
			op = map_get(&x->op, (uint64_t)r->file << 32 | of);
			o = op ? &rs->op[op - 1] : NULL;
			calls = o ? o->count : 0;
			used = 0;
			first = r;
		}
		if (o && o->once)
			r->helps = r->name != first->name || r->geo != first->geo;
		else
			r->helps = used && used + r->count > calls;
		used += r->helps ? 0 : r->count;
		if (o && o->once)
			o->count = used;
	}
}

/* What was launched outside of operators is as the same kernel inside of one. */
static int lend(struct insight *in)
{
	struct state_roofs *x = &in->x->roofs;
	struct roofs *rs = &in->roofs;
	struct map shaped = { 0 }; /* by place: the row + 1 that has work, or SEVERAL */
	size_t n = 0;
	int err = 0;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < rs->rows && !err; i++) {
			struct roof_row *r = &rs->row[i];
			uint32_t launch = map_get(&x->launch, (uint64_t)r->name << 32 | r->geo);
			uint32_t place = map_get(&x->place, (uint64_t)r->device << 32 | launch);
			uint32_t to = map_get(&shaped, place);

			if (!turn && r->op && !r->helps) {
				err = map_put(&shaped, place, to ? SEVERAL : (uint32_t)i + 1);
			} else if (turn && !r->op && to && to != SEVERAL) {
				rs->row[to - 1].count += r->count;
				rs->row[to - 1].total_ns += r->total_ns;
				r->count = 0;
			}
		}
	for (size_t i = 0; i < rs->rows; i++)
		if (rs->row[i].count)
			rs->row[n++] = rs->row[i];
	rs->rows = n;
	map_fini(&shaped);
	return err;
}

/* --- what a row's work is --- */

static void work_by_shapes(struct insight *in, struct roof_row *r, const struct kernel_name *k)
{
	struct op_known o;

	if (op_known(&o, trace_text(in->t, r->op), trace_text(in->t, r->shapes)))
		return;
	r->product = o.product;
	r->gemm = o.gemm;
	kwork_of_op(&r->work, k, &o);
}

/* A kernel whose tiles are known has a block for each, whatever its grid says: some take several
 * tiles a block, and some drivers count threads. */
static bool waves_by_tile(struct roof_row *r, const struct kname *n, const struct gpu *g)
{
	double tiles, last;

	if (!r->product || !n->tile_m || !n->tile_n || !g || !g->sms)
		return false;
	tiles = ceil((double)r->gemm.m / n->tile_m) * ceil((double)r->gemm.n / n->tile_n) *
		(double)r->gemm.batch;
	r->waves = tiles / g->sms;
	last = r->waves - floor(r->waves);
	r->tail = last > 0 ? last : 1;
	return tiles > 0;
}

static void model_of(struct insight *in, struct roof_row *r)
{
	const struct gpu *g = in->roofs.gpu[r->device];
	struct gemm x = { r->gemm.m,    r->gemm.n,    r->gemm.k, r->gemm.batch,
			  r->work.type, r->work.type, false };
	struct gemm_time t;

	if (!r->product || !g || gemm_time(&t, g, &x))
		return;
	r->model_ns = t.ns;
	r->model_fitted = t.fitted;
	if (!(r->waves > 0)) { /* as the model would cut it */
		r->waves = t.waves;
		r->tail = t.waves > floor(t.waves) ? t.waves - floor(t.waves) : 1;
	}
}

static void waves_of(struct insight *in, struct roof_row *r, const struct kname *n)
{
	const struct gpu *g = in->roofs.gpu[r->device];
	const struct geo *geo = r->geo < in->t->geos ? &in->t->geo[r->geo] : NULL;
	struct occupancy o;
	struct launch l;

	if (!g)
		return;
	if (geo) {
		l = (struct launch){ .regs = geo->regs,
				     .shared = geo->smem_static + geo->smem_dynamic };
		for (size_t i = 0; i < 3; i++) {
			l.grid[i] = geo->grid[i];
			l.block[i] = geo->block[i];
		}
		if (!occupancy(&o, g, &l)) {
			r->occupancy = o.fraction;
			r->occupancy_by = o.limiter;
			r->waves = o.waves;
			r->tail = o.tail;
		}
	}
	waves_by_tile(r, n, g);
}

/* For unknown work: the device's own counters while it ran. */
static void judge_by_counters(const struct insight *in, struct roof_row *r)
{
	const struct pm_use *u = pm_of_name(&in->pm, r->name);
	double compute, memory;

	if (!u || u->alone < PM_SURE || u->mean[PM_SM_ISSUE] < 0 || u->mean[PM_DRAM] < 0)
		return;
	compute = fmin(u->mean[PM_SM_ISSUE] / 100, 1);
	memory = fmin(u->mean[PM_DRAM] / 100, 1);
	r->work.how = WORK_COUNTER;
	r->work.tensor = u->mean[PM_TENSOR] > 0;
	r->work.bytes = u->dram_bytes; /* that came and went, not that had to */
	r->is = (struct roof){ .limit = roof_limit(compute, memory, 0),
			       .compute = compute,
			       .memory = memory,
			       .fraction = fmax(compute, memory) };
	r->is.least_ns = (double)r->total_ns / (double)r->count * r->is.fraction;
}

/* What tells the work of kernels. */
struct told {
	struct knames *names;
	struct source_works *texts;
};

static void told_fini(struct told *by)
{
	knames_free(by->names);
	source_works_free(by->texts);
}

static int told_init(struct told *by, const struct trace *t)
{
	int err = knames_new(&by->names);

	err = err ? err : source_works_new(&by->texts);
	for (size_t i = 0; i < t->names && err >= 0; i++)
		err = source_works_add(by->texts, trace_text(t, (uint32_t)i));
	return err < 0 ? err : 0;
}

static int judge(struct insight *in, const struct told *by, struct roof_row *r)
{
	const struct trace *t = in->t;
	struct kernel_name k = { .class = r->class, .text = source_kernel(trace_text(t, r->name)) };
	int err;

	kname_of(&k.says, by->names, trace_text(t, r->name));
	if (r->op && !r->helps)
		work_by_shapes(in, r, &k);
	else
		kwork_of_launch(&r->work, &k, by->texts, r->geo < t->geos ? &t->geo[r->geo] : NULL);
	waves_of(in, r, &k.says);
	model_of(in, r);
	err = roof_of(&r->is, in->roofs.gpu[r->device], &r->work,
		      (double)r->total_ns / (double)r->count);
	if (r->is.limit == ROOF_UNKNOWN && r->count)
		judge_by_counters(in, r);
	return err == -EINVAL ? 0 : err; /* no time: nothing to say */
}

/* --- sums and order --- */

static int add_name(struct roofs *rs, const struct roof_row *r)
{
	uint32_t at = map_number(&rs->by_name, (uint64_t)r->name + 1);
	struct roof_name *n;

	if (!at)
		return -ENOMEM;
	rs->sums = at > rs->sums ? at : rs->sums;
	n = &rs->sum[at - 1];
	n->total_ns += r->total_ns;
	n->by_limit[r->is.limit] += r->total_ns + 1;
	n->by_how[r->work.how] += r->total_ns + 1;
	if (r->is.fraction > 0) {
		n->known_ns += r->total_ns;
		n->least_ns += r->is.least_ns * (double)r->count;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct roof_row *x = a, *y = b;

	return cmp_num(y->total_ns, x->total_ns) ?: cmp_num(x->name, y->name);
}

static int op_by_time(const void *a, const void *b)
{
	const struct roof_op *x = a, *y = b;

	return cmp_num(y->total_ns, x->total_ns) ?: cmp_num(x->name, y->name);
}

static void find_devices(struct insight *in)
{
	const struct trace *t = in->t;

	for (size_t i = 0; i < t->devices; i++) {
		const struct gpu **g = &in->roofs.gpu[i];

		*g = t->device[i].name ? gpu_find(trace_text(t, t->device[i].name))
				       : gpu_by_size(t->device[i].sms, t->device[i].memory_bytes);
		*g = *g ? *g : gpu_assumed();
	}
}

int insight_roofs_end(struct insight *in)
{
	struct roofs *rs = &in->roofs;
	struct told by = { 0 };
	int err;

	rs->gpu = calloc(in->t->devices + 1, sizeof(*rs->gpu));
	rs->sum = calloc(rs->rows + 1, sizeof(*rs->sum));
	err = rs->gpu && rs->sum ? told_init(&by, in->t) : -ENOMEM;
	if (err) {
		told_fini(&by);
		return err;
	}
	find_devices(in);
	find_helpers(in);
	err = lend(in);
	for (size_t i = 0; i < rs->rows && !err; i++) {
		err = judge(in, &by, &rs->row[i]);
		err = err ? err : add_name(rs, &rs->row[i]);
	}
	told_fini(&by);
	if (rs->rows)
		qsort(rs->row, rs->rows, sizeof(*rs->row), by_time);
	if (rs->ops)
		qsort(rs->op, rs->ops, sizeof(*rs->op), op_by_time);
	return err;
}

void roofs_fini(struct roofs *r)
{
	free(r->row);
	free(r->op);
	free(r->sum);
	free(r->gpu);
	map_fini(&r->by_name);
}

/* --- for readers --- */

const struct roof_name *roofs_name(const struct roofs *r, uint32_t name)
{
	uint32_t at = r->sums ? map_get(&r->by_name, (uint64_t)name + 1) : 0;

	return at ? &r->sum[at - 1] : NULL;
}

enum roof_limit roof_name_limit(const struct roof_name *n)
{
	enum roof_limit best = ROOF_UNKNOWN;

	for (enum roof_limit l = 1; l < ROOF_LIMITS; l++)
		if (n->by_limit[l] > n->by_limit[best])
			best = l;
	return best;
}

enum work_how roof_name_how(const struct roof_name *n)
{
	enum work_how best = WORK_NONE;

	for (enum work_how h = 1; h < WORK_HOWS; h++)
		if (n->by_how[h] > n->by_how[best])
			best = h;
	return best;
}

double roof_name_fraction(const struct roof_name *n)
{
	return n->known_ns ? n->least_ns / (double)n->known_ns : 0;
}

double roof_row_flops(const struct roof_row *r)
{
	return r->total_ns ? r->work.flops * (double)r->count * 1e9 / (double)r->total_ns : 0;
}

double roof_row_Bps(const struct roof_row *r)
{
	return r->total_ns ? r->work.bytes * (double)r->count * 1e9 / (double)r->total_ns : 0;
}

double roof_row_model(const struct roof_row *r)
{
	return r->total_ns ? r->model_ns * (double)r->count / (double)r->total_ns : 0;
}
