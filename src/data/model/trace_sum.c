/* SPDX-License-Identifier: Apache-2.0 */
/* trace_sum.c - sums without times, beside a trace; see trace_sum.h. */
#include "model/trace_sum.h"

#include <errno.h>

#include "base/vec.h"
#include "model/trace_priv.h"

struct trace_sums trace_sums(const struct trace *t)
{
	return t->priv->sums;
}

int trace_sum_add(struct trace *t, const struct trace_sum *s, uint32_t *id)
{
	struct trace_sums *x = &t->priv->sums;

	if (vec_more(&x->sum, x->n, sizeof(*s)) < 0)
		return -ENOMEM;
	x->sum[x->n] = *s;
	*id = (uint32_t)x->n++;
	return 0;
}

void trace_sum_cut(struct trace *t, size_t n)
{
	if (n < t->priv->sums.n)
		t->priv->sums.n = n;
}
