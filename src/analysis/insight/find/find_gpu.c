/* SPDX-License-Identifier: Apache-2.0 */
/* find_gpu.c - rules on the work of a GPU itself: copies, small kernels, compute, memory. */
#include "insight/find/finding.h"

/* --- copies --- */

static const char *const direction[COPY_KINDS] = {
	[0] = "copies",           [1] = "host to device", [2] = "device to host",
	[3] = "device to device", [4] = "host to host",   [5] = "GPU to GPU",
};

static uint64_t copy_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return d->account.ns[ACCOUNT_COPY];
}

static size_t busiest_direction(const struct insight_device *d)
{
	size_t best = 0;

	for (size_t k = 1; k < COPY_KINDS; k++)
		if (d->copy[k].ns > d->copy[best].ns)
			best = k;
	return best;
}

static void copy_action(const struct insight_copy *c, size_t k, struct finding *f)
{
	if (c->pageable_ns > c->ns / 4)
		SAY(action, "pin the host's memory (pin_memory=True), then copy with "
			    "non_blocking=True on a stream of its own");
	else if (k == 1)
		SAY(action, "keep on the GPU what fits there (parameters, optimizer state), or "
			    "copy the next part on another stream while this one computes");
	else if (k == 2)
		SAY(action, "copy less back: keep results on the GPU, or copy on another stream");
	else
		SAY(action, "avoid the copy: work in place, or fuse it into the kernel that "
			    "produces the data");
}

static bool copy_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	size_t k = busiest_direction(d);
	const struct insight_copy *c = &d->copy[k];

	(void)in;
	if (!c->count)
		return false;
	SAY(title, "The GPU waits for copies, mostly %s",
	    direction[k] ? direction[k] : "in an unknown direction");
	finding_seen(f, "copies ran while no kernel did: %s%s (%s %%); kernels: %s", T(f->cost_ns),
		     finding_per(f), P(f->share), T(d->account.ns[ACCOUNT_COMPUTE]));
	finding_seen(f, "%s of them %s: %s in %s, %.1f GB/s", N(c->count),
		     direction[k] ? direction[k] : "", B(c->bytes), D(c->ns),
		     c->ns ? (double)c->bytes / (double)c->ns : 0.0);
	if (c->pageable)
		finding_seen(f, "%s of these from or to memory that is not pinned", N(c->pageable));
	finding_facts(f, FACT_N("exposed_copy_ns", f->cost_ns),
		      FACT_N("kernel_ns", d->b.busy_ns - d->b.exposed_copy_ns),
		      FACT_N("direction", k), FACT_N("copies", c->count), FACT_N("bytes", c->bytes),
		      FACT_N("copy_ns", c->ns), FACT_N("pageable_copies", c->pageable));
	copy_action(c, k, f);
	return true;
}

const struct rule rule_COPY = { copy_cost, copy_fill };

/* --- small kernels --- */

static uint64_t small_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	if (2 * d->small_kernels < d->b.kernels || d->small_ns > d->b.busy_ns)
		return 0;
	return finding_in_base(d->small_ns, d->b.compute_ns, d->account.ns[ACCOUNT_COMPUTE]);
}

static bool small_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	uint64_t fusable = d->class[CLASS_ELEMENTWISE].count + d->class[CLASS_LAYOUT].count +
			   d->class[CLASS_REDUCTION].count + d->class[CLASS_NORM].count;

	(void)in;
	f->most = SURE_LOW; /* what can be fused is not known from times */
	SAY(title, "Many small kernels");
	finding_seen(f, "%s of %s kernels%s run for less than 10 us each: %s together",
		     N(d->small_kernels / f->steps), N(d->b.kernels / f->steps), finding_per(f),
		     T(f->cost_ns));
	finding_seen(f, "%s of all kernels are pointwise, copies, norms or reductions, which fuse",
		     N(fusable / f->steps));
	finding_facts(f, FACT_N("small_kernels", d->small_kernels), FACT_N("small_ns", f->cost_ns),
		      FACT_N("kernels", d->b.kernels), FACT_N("fusable_kernels", fusable));
	SAY(action,
	    "fuse them: torch.compile(model), a fused optimizer, fused norms and activations");
	return true;
}

const struct rule rule_SMALL = { small_cost, small_fill };

/* --- attention that is not fused --- */

static uint64_t unfused_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return finding_in_base(d->scores_ns, d->b.compute_ns, d->account.ns[ACCOUNT_COMPUTE]);
}

static bool unfused_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;

	(void)in;
	if (!d->scores)
		return false;
	SAY(title, "Attention is not fused: its scores go through memory");
	finding_seen(f, "%s times%s a product, a softmax and a product", N(d->scores / f->steps),
		     finding_per(f));
	finding_seen(f, "what reads and writes the scores between: %s%s (%s %%); the products: %s",
		     T(f->cost_ns), finding_per(f), P(f->share), T(d->score_products_ns));
	finding_facts(f, FACT_N("attentions", d->scores), FACT_N("scores_ns", f->cost_ns),
		      FACT_N("products_ns", d->score_products_ns));
	SAY(action, "use a fused attention: torch.nn.functional.scaled_dot_product_attention, "
		    "FlashAttention, attn_implementation=\"sdpa\" of Transformers");
	return true;
}

const struct rule rule_UNFUSED = { unfused_cost, unfused_fill };

/* --- computing --- */

/* Of several GPUs all must compute: one that does while others wait for it is late. */
static uint64_t saturated_cost(const struct insight *in, const struct insight_device *d)
{
	for (size_t i = 0; i < in->devices; i++) {
		const struct time_account *a = &in->device[i].account;

		if (ratio(a->ns[ACCOUNT_COMPUTE], a->base_ns) <
		    family_table[FAMILY_SATURATED].least)
			return 0;
	}
	return d->account.ns[ACCOUNT_COMPUTE];
}

/* What its kernels are limited by, where that is known of most of them. A product that takes what its
 * shape needs is limited by compute, whatever part of the peak that is. */
static void say_limits(const struct insight *in, struct finding *f)
{
	uint64_t ns[ROOF_LIMITS] = { 0 }, known = 0, all = 0, lost = 0, compute, memory;
	double least = 0;

	for (size_t i = 0; i < in->roofs.rows; i++) {
		const struct roof_row *r = &in->roofs.row[i];

		if (r->device != f->on->device || r->class == CLASS_COMM)
			continue;
		all += r->total_ns;
		if (!(r->is.fraction > 0))
			continue;
		known += r->total_ns;
		lost += roof_lost_ns(r);
		ns[roof_as_expected(r) ? ROOF_COMPUTE : r->is.limit] += r->total_ns;
		least += r->is.least_ns * (double)r->count;
	}
	if (2 * known < all || !known)
		return;
	compute = ns[ROOF_COMPUTE];
	memory = ns[ROOF_MEMORY] + ns[ROOF_CACHE];
	finding_seen(f,
		     "compute limits %s %% of the kernels' time, memory %s %%; the same work could "
		     "take %s %% less",
		     P(ratio(compute, known)), P(ratio(memory, known)), P(ratio(lost, known)));
	finding_facts(f, FACT_N("compute_limited_ns", compute), FACT_N("memory_limited_ns", memory),
		      FACT_X("of_roof", least / (double)known));
}

/* What bounds the least time that it can take, and that time. */
static const char *allows(const struct roof_row *r, double *least_ns)
{
	*least_ns = r->is.least_ns;
	if (r->is.memory >= r->is.compute && r->is.memory >= r->is.cache)
		return "memory";
	if (r->is.cache > r->is.compute)
		return "the cache";
	if (!r->product || !(r->model_ns > 0))
		return "compute";
	*least_ns = r->model_ns;
	return "its shape";
}

/* The shape that loses most: it is what to look at. */
static void say_worst(const struct insight *in, struct finding *f)
{
	const struct roof_row *top = NULL;
	const char *by, *what;
	double least, ns, work;

	for (size_t i = 0; i < in->roofs.rows; i++) {
		const struct roof_row *r = &in->roofs.row[i];

		if (r->device == f->on->device && roof_lost_ns(r) &&
		    (!top || roof_lost_ns(r) > roof_lost_ns(top)))
			top = r;
	}
	if (!top)
		return;
	what = roof_called(in, top, (char[CODE_LEN]){ 0 });
	by = allows(top, &least);
	ns = (double)top->total_ns / (double)top->count;
	if (top->product || top->is.compute > top->is.memory) {
		work = top->work.flops / 1e3; /* per nanosecond: TFLOP/s */
		finding_seen(f, "most is lost in %.100s: %.1f TFLOP/s, %s allows %.1f; %s%s", what,
			     work / ns, by, work / least, T(top->total_ns), finding_per(f));
	} else {
		finding_seen(f, "most is lost in %.100s: %.0f GB/s, %s allows %.0f; %s%s", what,
			     top->work.bytes / ns, by, top->work.bytes / least, T(top->total_ns),
			     finding_per(f));
	}
	finding_facts(f, FACT_N("worst_ns", top->total_ns),
		      FACT_N("worst_lost_ns", roof_lost_ns(top)));
}

#define OTHER_MOST 0.1 /* of the kernels' time: beyond it their classes tell little */

/* The longest kernel of no known class. */
static const char *unknown_kernel(const struct insight *in, const struct finding *f)
{
	const struct insight_table *tab = &in->roll[ROLL_KERNEL];
	const struct insight_row *top = NULL;

	for (size_t i = 0; i < tab->rows; i++)
		if (tab->row[i].file == in->t->device[f->on->device].file &&
		    tab->row[i].class == CLASS_OTHER &&
		    (!top || tab->row[i].total_ns > top->total_ns))
			top = &tab->row[i];
	return top ? trace_text(in->t, top->name) : "?";
}

/* What the classes of the kernels do not tell. */
static void say_unclassified(const struct insight *in, struct finding *f, uint64_t all)
{
	const struct insight_device *d = f->on;
	int32_t world = in->t->file[in->t->device[d->device].file].world;

	if (ratio(d->class[CLASS_OTHER].ns, all) > OTHER_MOST) {
		f->most = SURE_MEDIUM;
		finding_seen(f, "kernels of no known kind take %s %% of that time, such as %s",
			     P(ratio(d->class[CLASS_OTHER].ns, all)),
			     finding_name(unknown_kernel(in, f), (char[NAME_LEN]){ 0 }));
	}
	if (world > 1 && !d->class[CLASS_COMM].count) {
		f->most = SURE_MEDIUM;
		finding_seen(f, "the job has %d ranks, and no communication is in this trace",
			     world);
	}
}

static bool saturated_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	uint64_t idle = d->account.base_ns, all = 0;
	enum kclass top = CLASS_OTHER;

	for (enum kclass c = 0; c < CLASS_COMM; c++) {
		all += d->class[c].ns;
		if (d->class[c].ns > d->class[top].ns)
			top = c;
	}
	for (enum account_cause c = 0; c < ACCOUNT_IDLE; c++)
		idle -= d->account.ns[c];
	f->sure = f->share >= 0.85 ? SURE_HIGH : SURE_MEDIUM;
	f->gain_lo_ns = 0;
	f->gain_hi_ns = f->cost_ns;
	SAY(title, "The GPU computes %s of the time", f->share >= 0.85 ? "nearly all" : "most");
	finding_seen(f, "computing %s %% of the time, idle %s %%", P(f->share),
		     P(ratio(idle, d->account.base_ns)));
	finding_seen(f, "mostly %s: %s %% of the kernels' time, %s kernels", class_people[top],
		     P(ratio(d->class[top].ns, all)), N(d->class[top].count));
	say_unclassified(in, f, all);
	say_limits(in, f);
	say_worst(in, f);
	finding_facts(f, FACT_N("compute_ns", f->cost_ns), FACT_N("idle_ns", idle),
		      FACT_N("top_class_ns", d->class[top].ns),
		      FACT_N("top_class_kernels", d->class[top].count));
	SAY(action,
	    "only less work or faster kernels help: lower precision, better kernels for %s, or "
	    "more GPUs",
	    class_people[top]);
	return true;
}

const struct rule rule_SATURATED = { saturated_cost, saturated_fill };

/* --- memory --- */

#define GROWTH_LEAST (16u << 20)

static uint64_t memory_cost(const struct insight *in, const struct insight_device *d)
{
	(void)d;
	return in->memories ? 0 : UINT64_MAX;
}

/* Lows that rise, part after part: what is not freed. Warming up is growth, too, so the first
 * quarter does not count. */
static bool grows(const struct insight_memory *m, uint64_t *from, uint64_t *to)
{
	uint64_t low = UINT64_MAX, next;
	size_t parts = 0, up = 0;

	for (size_t i = MEMORY_PARTS / 4; i < MEMORY_PARTS; i++) {
		next = m->low[i];
		if (next == UINT64_MAX)
			continue;
		if (low == UINT64_MAX)
			*from = next;
		else
			up += next > low;
		parts++;
		low = *to = next;
	}
	return parts >= MEMORY_PARTS / 2 && 4 * up >= 3 * (parts - 1) && *to > *from &&
	       *to - *from >= GROWTH_LEAST && *to - *from >= *from / 20;
}

static bool memory_fill(const struct insight *in, struct finding *f)
{
	const struct insight_memory *m = NULL;
	uint64_t from = 0, to = 0, ns;

	for (size_t i = 0; i < in->memories && !m; i++)
		if (grows(&in->memory[i], &from, &to))
			m = &in->memory[i];
	if (!m)
		return false;
	ns = (m->last_ns - m->first_ns) / 4 * 3;
	f->rank = in->t->file[m->file].rank;
	SAY(title, "Memory grows and is not freed");
	finding_seen(f, "allocated memory rose from %s to %s in %s", B(from), B(to), D(ns));
	finding_seen(f, "the peak is %s, of %s readings of %.40s", B(m->peak), N(m->samples),
		     trace_text(in->t, m->name));
	finding_facts(f, FACT_N("from_bytes", from), FACT_N("to_bytes", to),
		      FACT_N("peak_bytes", m->peak), FACT_N("over_ns", ns));
	SAY(action, "find what keeps tensors alive: losses summed with their graph, lists of "
		    "outputs, caches without a bound");
	SAY(expect, "%s instead of %s at this point of the run", B(from), B(to));
	return true;
}

const struct rule rule_MEMORY = { memory_cost, memory_fill };
