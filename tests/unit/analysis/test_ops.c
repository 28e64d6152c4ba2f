/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and modules on the host: own times, the backward pass, work. */
#include "insight/insight.h"

#include <errno.h>

#include "t.h"
#include "tracekit.h"

static struct kit kit;

static void put(uint64_t a, uint64_t b, uint64_t start, uint64_t dur, const char *name)
{
	struct event e = { .kind = EVENT_RANGE,
			   .a = a,
			   .b = b,
			   .start_ns = start,
			   .dur_ns = dur,
			   .name = kit_name(&kit, name) };

	kit_add(&kit, &e, -1, 1);
}

static void op(bool backward, uint32_t sequence, const char *shapes, uint64_t start, uint64_t dur,
	       const char *name)
{
	put(TRACE_OP, trace_op(backward, sequence, *shapes ? kit_name(&kit, shapes) : 0), start,
	    dur, name);
}

/* A launch, and its kernel. */
static void launch(uint64_t at, uint32_t corr, const char *name)
{
	struct event api = { .kind = EVENT_API,
			     .start_ns = at,
			     .dur_ns = 1,
			     .corr = corr,
			     .name = kit_name(&kit, "cuLaunchKernel") };
	struct event kernel = { .kind = EVENT_KERNEL,
				.start_ns = at + 5,
				.dur_ns = 10,
				.corr = corr,
				.name = kit_name(&kit, name) };

	kit_add(&kit, &api, -1, 1);
	kit_add(&kit, &kernel, 0, 7);
}

/* forward 0..1000: Model { fc { linear { t, addmm } }, act { relu } }, backward 2000..3000 */
static void model(void)
{
	put(TRACE_MODULE, 0, 0, 1000, "Model");
	put(TRACE_MODULE, 0, 100, 300, "fc");
	op(false, 5, "", 110, 280, "aten::linear");
	op(false, 5, "", 120, 50, "aten::t");
	op(false, 6, "[32]t6 [8,16]t6 [16,32]t6 > [8,32]t6", 200, 100, "aten::addmm");
	op(false, 0, "[8,32]t6 [32]t6 > [8,32]t6", 210, 20, "aten::copy_"); /* inside of addmm */
	launch(220, 1, "gemm");
	op(false, 7, "", 500, 50, "aten::detach"); /* makes no node: looks at the number only */
	put(TRACE_MODULE, 0, 600, 200, "act");
	op(false, 7, "[8,32]t6 > [8,32]t6", 610, 150, "aten::relu");
	op(false, 0, "", 2000, 100, "autograd::engine::evaluate_function: ReluBackward0");
	op(true, 7, "", 2010, 60, "ReluBackward0");
	launch(2085, 2, "sum"); /* the engine's, beside the node */
	op(false, 0, "", 2200, 300, "autograd::engine::evaluate_function: AddmmBackward0");
	op(true, 6, "", 2210, 280, "AddmmBackward0");
	op(false, 0, "[32,8]t6 [8,16]t6 > [32,16]t6", 2300, 100, "aten::mm");
	launch(2310, 3, "gemm_back");
	op(true, 99, "", 2600, 10, "OfAnotherStep");
	op(true, 0, "", 2700, 50, "torch::autograd::AccumulateGrad");
}

static const struct insight_host_row *row(const struct insight *in, enum insight_host_by by,
					  const char *name)
{
	static const struct insight_host_row none;

	for (size_t i = 0; i < in->on_host[by].rows; i++)
		if (!strcmp(trace_text(in->t, in->on_host[by].row[i].name), name))
			return &in->on_host[by].row[i];
	return &none;
}

static const char *module_of(const struct insight *in, uint32_t corr)
{
	for (size_t i = 0; i < in->t->events; i++) {
		uint32_t m;

		if (in->t->event[i].kind != EVENT_KERNEL || in->t->event[i].corr != corr)
			continue;
		m = insight_module(in, (uint32_t)i);
		return m == NO_EVENT ? "none" : trace_text(in->t, in->t->event[m].name);
	}
	return "?";
}

static void check(const struct insight *in)
{
	const struct insight_host_row *r = row(in, HOST_OP, "aten::linear");

	T_OK(r->count == 1 && r->total_ns == 280 && r->self_ns == 130,
	     "an operator's own time is without those inside it");
	r = row(in, HOST_OP, "aten::addmm");
	T_OK(r->flops == 2 * 8 * 16 * 32 && r->work_ns == 100, "an operator's work is known");
	T_OK(!row(in, HOST_OP, "aten::copy_")->bytes, "what is inside of it is not counted again");
	T_OK(!row(in, HOST_OP, "aten::t")->work_ns, "without shapes there is none");
	r = row(in, HOST_MODULE, "Model");
	T_OK(r->total_ns == 1000 && r->self_ns == 500 && !r->backward_ns,
	     "a module's own time is without its parts");
	r = row(in, HOST_MODULE, "fc");
	T_OK(r->backward_ns == 300, "a node of the backward pass is of its operator's module");
	T_OK(r->flops == 2 * (2 * 8 * 16 * 32) && r->work_ns == 200,
	     "a module's work is of both passes");
	T_OK(row(in, HOST_MODULE, "act")->backward_ns == 100,
	     "the last operator with the number is the one");
	T_OK(!strcmp(module_of(in, 1), "fc"), "a kernel of the forward pass has its module");
	T_OK(!strcmp(module_of(in, 3), "fc"), "a kernel of the backward pass has its module");
	T_OK(!strcmp(module_of(in, 2), "act"),
	     "what the engine launches for a node has its module");
	T_OK(in->on_host[HOST_MODULE].rows == 3, "nothing else is a module");
}

int main(void)
{
	struct insight *in;

	kit_must(trace_new(&kit.t) == 0, "new");
	kit_file(&kit, 0);
	model();
	kit_must(trace_seal(kit.t) == 0, "seal");
	kit_must(insight_new(&in, kit.t) == 0, "insight");
	check(in);
	insight_free(in);
	trace_free(kit.t);
	return t_done();
}
