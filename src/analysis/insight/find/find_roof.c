/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_roof.c - the rule on kernels that are far below what the GPU can do.
 *
 * The expected time of a matrix product is its model's; that of any other kernel is the time at
 * which it would be near its roofline bound (ROOF_NEAR). The time beyond is the cost. Kernels whose
 * time the launch explains are small kernels, which have a rule of their own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "insight/find/finding.h"
#include "names/code.h"

#define MODEL_TRUST 0.8 /* nearer than that to what the model says is as expected */

/* A product that takes what the model of products expects for its shape. */
bool roof_as_expected(const struct roof_row *r)
{
	return r->product && r->model_ns > 0 && roof_row_model(r) >= MODEL_TRUST;
}

uint64_t roof_lost_ns(const struct roof_row *r)
{
	double should = r->is.least_ns / ROOF_NEAR, all = (double)r->total_ns;

	if (!(r->is.fraction > 0) || r->is.limit == ROOF_LAUNCH || r->class == CLASS_COMM)
		return 0;
	if (r->product && r->model_ns > 0)
		should = roof_as_expected(r) ? all : r->model_ns;
	should *= (double)r->count;
	return should < all ? (uint64_t)(all - should) : 0;
}

static const struct roof_row *worst(const struct insight *in, uint32_t device, uint64_t *sum,
				    uint64_t *known)
{
	const struct roof_row *top = NULL;

	*sum = *known = 0;
	for (size_t i = 0; i < in->roofs.rows; i++) {
		const struct roof_row *r = &in->roofs.row[i];
		uint64_t lost = roof_lost_ns(r);

		if (r->device != device)
			continue;
		*known += r->is.fraction > 0 ? r->total_ns : 0;
		*sum += lost;
		if (lost && (!top || lost > roof_lost_ns(top)))
			top = r;
	}
	return top;
}

static uint64_t roof_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t sum, known;

	worst(in, d->device, &sum, &known);
	if (!known)
		return UINT64_MAX;
	sum = sum < d->b.compute_ns ? sum : d->b.compute_ns;
	return finding_in_base(sum, d->b.compute_ns, d->account.ns[ACCOUNT_COMPUTE]);
}

/* "mm 8944x2816x1024 (bf16)", or the kernel's name. */
char *roof_called(const struct insight *in, const struct roof_row *r, char out[CODE_LEN])
{
	const char *op = trace_text(in->t, r->op), *colon = strrchr(op, ':');

	if (r->product)
		snprintf(out, CODE_LEN, "%.20s %" PRIu64 "x%" PRIu64 "x%" PRIu64 " (%s)",
			 colon ? colon + 1 : op, r->gemm.m, r->gemm.n, r->gemm.k,
			 gpu_type_word[r->work.type]);
	else if (r->op)
		finding_name(colon ? colon + 1 : op, out);
	else
		finding_code_name(in, r->name, out);
	return out;
}

static void say_waves(struct finding *f, const struct roof_row *r)
{
	if (r->waves > 0 && r->tail < 1)
		finding_seen(f, "its blocks are %.1f waves, the last one %s %% full%s%s", r->waves,
			     P(r->tail), r->occupancy_by ? "; an SM is filled by " : "",
			     r->occupancy_by ? r->occupancy_by : "");
	if (r->waves > 0) {
		finding_facts(f, FACT_X("waves", r->waves), FACT_X("tail", r->tail));
	}
}

static void roof_action(const struct insight *in, const struct roof_row *r, struct finding *f)
{
	char ops[CODE_OPS];
	const char *what = "use a specialized kernel, or torch.compile(model) to fuse it with what "
			   "is around it";

	if (r->product && !r->work.tensor && r->work.type == GPU_FP32)
		what = "let tensor cores do it: torch.set_float32_matmul_precision('high'), or "
		       "bf16";
	else if (r->product && r->waves > 0 && r->waves < 1)
		what = "it is too small for the GPU: do more work per launch (a larger batch, "
		       "products put together)";
	else if (r->product && r->waves < 8 && r->tail < 0.5)
		what = "choose sizes that fill the last wave, or let "
		       "torch.compile(mode=\"max-autotune\") choose another tile";
	else if (r->product)
		what = "torch.compile(mode=\"max-autotune\") tries other kernels; sizes that are "
		       "multiples of 64 and a newer cuBLAS help";
	else if (r->class == CLASS_ATTENTION)
		what = "use a newer attention: cuDNN's or FlashAttention 3 where the GPU has it";
	if (!r->product && code_fused(trace_text(in->t, r->name), ops, sizeof(ops)))
		SAY(action,
		    "torch.compile made it of %s: mode=\"max-autotune\" tries other tiles, fewer "
		    "and smaller tensors there help",
		    ops);
	else
		SAY(action, "%s", what);
}

static void show_calls(const struct insight *in, const struct roof_row *r, struct finding *f)
{
	for (size_t i = 0; i < in->t->events && !in->parted && f->events < 3; i++) {
		const struct event *e = &in->t->event[i];

		if (e->kind == EVENT_KERNEL && e->name == r->name && e->a == r->geo &&
		    in->t->track[e->track].device == r->device)
			finding_event(f, e);
	}
}

static bool roof_fill(const struct insight *in, struct finding *f)
{
	uint64_t sum, known;
	const struct roof_row *r = worst(in, f->on->device, &sum, &known);
	double model;
	char what[CODE_LEN];

	if (!r)
		return false;
	model = roof_row_model(r);
	roof_called(in, r, what);
	f->most = r->product && r->model_fitted ? SURE_MEDIUM : SURE_LOW;
	if (r->product && model > 0)
		SAY(title, "Slow kernels: %.60s at %s %% of what this shape should reach", what,
		    P(model));
	else
		SAY(title, "Slow kernels: %.60s at %s %% of its limit", what, P(r->is.fraction));
	finding_seen(
		f,
		"%.90s: %s calls of %s each, %.1f TFLOP/s, %.0f GB/s, %s %% of the roofline bound",
		what, N(r->count), D(r->total_ns / r->count), roof_row_flops(r) / 1e12,
		roof_row_Bps(r) / 1e9, P(r->is.fraction));
	if (model > 0)
		finding_seen(f, "the model of products expects %s", D((uint64_t)r->model_ns));
	say_waves(f, r);
	finding_seen(f, "of %s whose work is known (%s), %s could be saved", T(known),
		     work_how_word[r->work.how], T(f->cost_ns));
	finding_facts(f, FACT_N("slow_ns", f->cost_ns), FACT_N("known_ns", known),
		      FACT_N("top_ns", r->total_ns), FACT_N("top_calls", r->count),
		      FACT_X("of_roof", r->is.fraction));
	if (model > 0)
		finding_facts(f, FACT_X("of_model", model));
	roof_action(in, r, f);
	show_calls(in, r, f);
	return true;
}

const struct rule rule_ROOF = { roof_cost, roof_fill };
