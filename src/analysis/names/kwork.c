/* SPDX-License-Identifier: Apache-2.0 */
/* kwork.c - see kwork.h. */
#include "names/kwork.h"

static bool is_matrix(const struct kernel_name *k)
{
	return k->class == CLASS_GEMM || k->class == CLASS_ATTENTION || k->class == CLASS_CONV;
}

void kwork_of_op(struct roof_work *out, const struct kernel_name *k, const struct op_known *o)
{
	const struct kname *n = &k->says;
	const struct op_gemm *g = &o->gemm;

	*out = (struct roof_work){ .how = o->counted ? WORK_HLO : WORK_SHAPES,
				   .type = kname_type(n, o->scalar),
				   .flops = (double)o->work.flops,
				   .bytes = (double)o->work.bytes };
	out->tensor = kname_on_tensor_cores(n, o->product || is_matrix(k), out->type);
	/* Each tile of the result reads its rows and columns once through the cache. */
	if (o->product && n->tile_m && n->tile_n)
		out->l2_bytes = (double)g->m * (double)g->n * (double)g->k * (double)g->batch *
				type_bytes(out->type) * (1.0 / n->tile_m + 1.0 / n->tile_n);
}

void kwork_of_launch(struct roof_work *out, const struct kernel_name *k,
		     const struct source_works *texts, const struct geo *g)
{
	const struct kname *n = &k->says;

	*out = (struct roof_work){ .how = WORK_NONE };
	if (g && source_work(out, texts, k->text, g))
		out->tensor = n->tensor == 1;
	else if (g && kname_work(out, n, g))
		out->tensor = kname_on_tensor_cores(n, is_matrix(k), out->type);
	else
		*out = (struct roof_work){ .type = n->type, .tensor = n->tensor == 1 };
}
