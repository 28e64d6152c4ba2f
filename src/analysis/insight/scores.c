/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scores.c - attention that is not fused: on one stream a product, then a softmax, then a product,
 * with nothing but pointwise kernels and copies between. What lies between the two products reads
 * and writes the scores, a number for each query and key, which a fused kernel never stores.
 */
#include <string.h>

#include "insight/state.h"

/* A score is cast, scaled, biased, masked, dropped out, and copied: at most so many kernels. */
#define BETWEEN_MOST 8u

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n >= k && !strcmp(name + n - k, end);
}

/* The product of a layer with its weights is none of attention: its operator has no batch of matrices. */
static bool is_of_weights(const struct insight *in, uint32_t event)
{
	uint32_t op = insight_op(in, event);
	const char *name = op == NO_EVENT ? "" : trace_text(in->t, in->t->event[op].name);

	return ends_with(name, "::mm") || ends_with(name, "::addmm") || ends_with(name, "linear") ||
	       strstr(name, "conv") != NULL;
}

static void product(struct insight *in, struct insight_device *d, struct state_scores *s,
		    uint32_t event)
{
	const struct event *e = &in->t->event[event];
	bool other = is_of_weights(in, event);

	if (s->at == SCORES_WEIGHED && !other) {
		d->scores++;
		d->scores_ns += s->between_ns;
		d->score_products_ns += s->product_ns + e->dur_ns;
	}
	*s = (struct state_scores){ .at = other ? SCORES_NONE : SCORES_MADE,
				    .product_ns = e->dur_ns };
}

void scores_add(struct insight *in, struct insight_device *d, struct state_scores *s,
		uint32_t event)
{
	const struct event *e = &in->t->event[event];

	if (e->kind != EVENT_KERNEL)
		return;
	switch (names_kernel(in->names, e->name)) {
	case CLASS_GEMM:
		product(in, d, s, event);
		return;
	case CLASS_SOFTMAX: /* a second one is of a loss */
		s->at = s->at == SCORES_MADE ? SCORES_WEIGHED : SCORES_NONE;
		break;
	case CLASS_ELEMENTWISE:
	case CLASS_LAYOUT:
	case CLASS_RANDOM:
		break;
	default:
		s->at = SCORES_NONE;
	}
	s->between_ns += e->dur_ns;
	if (++s->between > BETWEEN_MOST)
		s->at = SCORES_NONE;
}
