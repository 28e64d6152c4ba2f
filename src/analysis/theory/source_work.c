/* SPDX-License-Identifier: Apache-2.0 */
/* source_work.c - see source_work.h. */
#include "theory/source_work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"

#define TEXTS 4096u /* kept; later ones are not */
#define MEMS  6u
#define AGREE 1.25 /* from the least to the most that texts of one name say */

struct text {
	uint64_t name, all; /* hashes */
	uint32_t next;      /* of that name, + 1 */
	uint32_t type, mems;
	uint64_t flops;
	struct {
		uint32_t ids;
		uint64_t bytes;
	} mem[MEMS];
	bool at_most;
};

struct source_works {
	struct text *text; /* owned */
	size_t n;
	struct map by_name; /* the last text, + 1 */
};

int source_works_new(struct source_works **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void source_works_free(struct source_works *w)
{
	if (w) {
		map_fini(&w->by_name);
		free(w->text);
	}
	free(w);
}

/* --- the text --- */

static const char *word(const char *s, const char *text)
{
	size_t n = strlen(text);

	return s && !strncmp(s, text, n) ? s + n : NULL;
}

static const char *number(const char *s, int base, uint64_t most, uint64_t *out)
{
	s = s ? num_digits(s, base, out) : NULL;
	return s && *out > most ? NULL : s;
}

static const char *memory(const char *s, struct text *t)
{
	uint64_t ids;

	while (s && *s && *s != ' ') {
		if (t->mems == MEMS || !(s = number(s, 16, 63, &ids)) || !(s = word(s, ":")) ||
		    !(s = number(s, 10, UINT64_MAX, &t->mem[t->mems].bytes)))
			return NULL;
		t->mem[t->mems++].ids = (uint32_t)ids;
		if (*s == ',')
			s++;
	}
	return s;
}

static bool parse(struct text *t, const char *s)
{
	size_t n = strcspn(s, " ");
	uint64_t type;

	*t = (struct text){ .name = fnv_bytes(FNV_BASIS, s, n), .all = fnv_text(FNV_BASIS, s) };
	s = number(word(s + n, " flops="), 10, UINT64_MAX, &t->flops);
	s = memory(word(number(word(s, " type="), 10, 255, &type), " mem="), t);
	if (!n || !s || (*s && strcmp(s, " at most") != 0))
		return false;
	t->type = type == 5 ? GPU_FP16 : type == 7 ? GPU_FP64 : GPU_FP32;
	t->at_most = *s;
	return true;
}

int source_works_add(struct source_works *w, const char *text)
{
	const char *s = word(text, SOURCE_WORK_MARK);
	struct text t;
	uint32_t last;

	if (!s || w->n == TEXTS || !parse(&t, s))
		return 0;
	last = (uint32_t)map_get(&w->by_name, t.name);
	for (uint32_t at = last; at; at = w->text[at - 1].next)
		if (w->text[at - 1].all == t.all)
			return 0;
	if (vec_more(&w->text, w->n, sizeof(*w->text)) < 0)
		return -ENOMEM;
	if (map_put(&w->by_name, t.name, w->n + 1) < 0)
		return -ENOMEM;
	t.next = last;
	w->text[w->n++] = t;
	return 1;
}

/* --- the work --- */

/* Groups, then items of one; what the driver chose is in the groups. */
static double values(const struct geo *g, uint32_t id)
{
	uint32_t n = id < 3 ? g->grid[id] : g->block[id - 3];

	return n ? n : 1;
}

static void work_of(struct roof_work *out, const struct text *t, const struct geo *g)
{
	double items = 1;

	for (uint32_t i = 0; i < 6; i++)
		items *= values(g, i);
	*out = (struct roof_work){ .how = WORK_SOURCE,
				   .type = (enum gpu_type)t->type,
				   .flops = (double)t->flops * items,
				   .at_most = t->at_most };
	for (uint32_t m = 0; m < t->mems; m++) {
		double bytes = (double)t->mem[m].bytes;

		for (uint32_t i = 0; i < 6; i++)
			bytes *= t->mem[m].ids >> i & 1 ? values(g, i) : 1;
		out->bytes += bytes;
	}
}

static bool agree(double a, double b)
{
	return fmax(a, b) <= AGREE * fmin(a, b);
}

uint64_t source_kernel(const char *name)
{
	return fnv_text(FNV_BASIS, name);
}

bool source_work(struct roof_work *out, const struct source_works *w, uint64_t kernel,
		 const struct geo *g)
{
	uint32_t at = (uint32_t)map_get(&w->by_name, kernel);
	struct roof_work is, one;

	if (!at)
		return false;
	work_of(&is, &w->text[at - 1], g);
	while ((at = w->text[at - 1].next)) {
		work_of(&one, &w->text[at - 1], g);
		if (!agree(is.flops, one.flops) || !agree(is.bytes, one.bytes))
			return false;
		is.flops = fmax(is.flops, one.flops);
		is.bytes = fmax(is.bytes, one.bytes);
		is.at_most = true;
	}
	*out = is;
	return true;
}
