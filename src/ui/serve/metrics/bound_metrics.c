/* SPDX-License-Identifier: Apache-2.0 */
/* bound_metrics.c - see bound_metrics.h. */
#include "serve/metrics/bound_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "names/class.h"
#include "model/event.h"
#include "store/store.h"

#define NAMES_MAX (1u << 20)

const char *const limit_class[LIMIT_CLASSES] = {
	"other",       "gemm",      "attention", "convolution", "normalisation",
	"elementwise", "reduction", "optimizer", "copy",
};

void limit_names_fini(struct limit_names *n)
{
	free(n->of);
}

static uint8_t class_of(const struct names *names, struct store *st, const struct rollup *r)
{
	const char *word =
		class_word[names_work_text(names, r->kind, store_name_text(st, r->name))];

	for (uint8_t i = 0; i < LIMIT_CLASSES; i++)
		if (!strcmp(word, limit_class[i]))
			return i;
	return 0;
}

/* Looks up the class of a name once. */
static uint8_t known_class(struct limit_names *k, const struct names *names, struct store *st,
			   const struct rollup *r)
{
	if (r->name >= NAMES_MAX || vec_room0(&k->of, &k->n, (size_t)r->name + 1, 1) < 0)
		return 0;
	if (!k->of[r->name])
		k->of[r->name] = (uint8_t)(class_of(names, st, r) + 1);
	return (uint8_t)(k->of[r->name] - 1);
}

void limits_add(struct bound_limits *l, struct limit_names *known, const struct names *names,
		struct store *st, const struct rollup *r)
{
	uint32_t limit = rollup_limit(r->verdict);
	double s = (double)r->total_ns / 1e9;
	uint8_t class;

	if (r->kind != EVENT_KERNEL && !(r->kind == EVENT_COPY && r->verdict))
		return;
	limit = limit < ROOF_LIMITS ? limit : ROOF_UNKNOWN;
	class = known_class(known, names, st, r);
	l->s[class][limit] += s;
	l->roof_s[class][limit] += rollup_fraction(r->verdict) * s;
	l->judged |= limit != ROOF_UNKNOWN;
}
