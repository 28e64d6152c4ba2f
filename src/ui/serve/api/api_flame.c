/* SPDX-License-Identifier: Apache-2.0 */
/* api_flame.c - GPU time by the code that launched it: selects the part of the tree to send. */
#include <errno.h>
#include <stdlib.h>

#include "read/json.h"
#include "serve/analysis.h"

#define NODES_OUT 5000u

struct telling {
	struct flame *t;
	struct json *j;
	enum flame_weight by;
	uint64_t least, folded_total;
	uint32_t *order; /* owned: the nodes to send, parents first */
	uint32_t n, folded;
};

/* One pass in order is enough: parents have lower indices than their children. */
static void choose(struct telling *x)
{
	for (uint32_t i = 1; i < x->t->n; i++) {
		struct flame_node *n = &x->t->node[i];
		bool parent = !n->parent || x->t->node[n->parent].id;

		n->id = 0;

		if (parent && n->total[x->by] >= x->least && n->total[x->by] && x->n < NODES_OUT) {
			x->order[x->n++] = i;
			n->id = x->n;
		} else {
			x->folded++;
			x->folded_total += n->self[x->by];
		}
	}
}

static void nodes_json(struct telling *x)
{
	struct json *j = x->j;

	json_open(j, "names", '[');
	for (uint32_t i = 0; i < x->n; i++)
		json_str(j, NULL, x->t->node[x->order[i]].name);
	json_close(j);
	json_open(j, "nodes", '[');
	for (uint32_t i = 0; i < x->n; i++) {
		const struct flame_node *n = &x->t->node[x->order[i]];

		json_open(j, NULL, '[');
		json_u64(j, NULL, i);
		json_i64(j, NULL, n->parent ? (int64_t)x->t->node[n->parent].id - 1 : -1);
		json_u64(j, NULL, n->self[x->by]);
		json_u64(j, NULL, n->total[x->by]);
		json_i64(j, NULL, n->class);
		json_close(j);
	}
	json_close(j);
}

static int tell(struct flame *t, struct json *j, enum flame_weight by, double share,
		const char *weight, const char *(*word)(int class), int classes)
{
	struct telling x = { .t = t, .j = j, .by = by };

	x.least = (uint64_t)(share * (double)t->node[0].total[by]);
	x.order = calloc(t->n + 1, sizeof(*x.order));
	if (!x.order)
		return -ENOMEM;
	choose(&x);
	json_members(j, J_STR("weight", weight), J_U64("total", t->node[0].total[by]));
	nodes_json(&x);
	json_open(j, "classes", '[');
	for (int c = 0; c < classes; c++)
		json_str(j, NULL, word(c));
	json_close(j);
	json_object(j, "folded", J_U64("n", x.folded), J_U64("total", x.folded_total));
	free(x.order);
	return 0;
}

static const char *class_of(int class)
{
	return class_word[class];
}

static const char *state_of(int state)
{
	return sample_state_word((enum sample_state)state);
}

int api_flame(struct ask *q, struct json *j)
{
	int weight = ask_choice(q, "weight", "gpu|launches"), err;
	double least = 0.001;
	struct analysis *an;

	if (weight < 0 || ask_real(q, "min", 0, 1, &least) < 0)
		return -EINVAL;
	err = analysis_begin(q, j, &an);
	err = err ? err : analysis_flame(an);
	return err ? err
		   : tell(&an->flame, j, (enum flame_weight)weight, least,
			  weight == FLAME_LAUNCHES ? "launches" : "gpu", class_of, CLASSES);
}

/* Which gaps count: those of one cause, all, or (no gap requested) none. */
static int gap_wanted(struct ask *q, uint32_t *causes)
{
	int gap = ask_choice(q, "gap", "no|any|input|sync|host|launch|dependency|other");

	if (gap > 0)
		*causes = gap == 1 ? SAMPLES_IN_GAPS : 1u << (gap - 2);
	return gap;
}

int api_stacks(struct ask *q, struct json *j)
{
	int weight = ask_choice(q, "weight", "time|samples");
	int part = ask_choice(q, "part",
			      "all|data|forward|backward|optimizer|collective|checkpoint|"
			      "evaluation|logging|compile|gc|rest|outside");
	struct samples_want w = { SAMPLES_ALL, SAMPLES_ALL, 0, 0 };
	double least = 0.001;
	struct analysis *an;
	struct flame f;
	int err;

	if (weight < 0 || part < 0 || gap_wanted(q, &w.causes) < 0 ||
	    ask_real(q, "min", 0, 1, &least) < 0)
		return -EINVAL;
	w.parts = part ? 1u << (part - 1) : 0;
	err = analysis_begin(q, j, &an);
	err = err ? err : flame_init(&f);
	if (err)
		return err;
	err = flame_samples(&f, an->in, &w);
	json_u64(j, "samples", f.node[0].total[FLAME_LAUNCHES]);
	json_bool(j, "enough", f.node[0].total[FLAME_LAUNCHES] >= SAMPLES_ENOUGH);
	err = err ? err
		  : tell(&f, j, (enum flame_weight)weight, least, weight ? "samples" : "time",
			 state_of, SAMPLE_STATES);
	flame_fini(&f);
	return err;
}
