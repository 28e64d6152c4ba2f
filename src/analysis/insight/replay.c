/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - runs the simulator for each finding whose cause it can remove. */
#include "insight/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/path.h"
#include "sim/whatif.h"

/* Factors by name: 0 for what a finding is about, 1 for all else. */
struct scales {
	float *input, *copy;
};

static int scales_init(struct scales *s, const struct trace *t, struct names *n)
{
	s->input = malloc((t->names + 1) * sizeof(float));
	s->copy = malloc((t->names + 1) * sizeof(float));
	if (!s->input || !s->copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->names; i++) {
		s->input[i] = names_range(n, i) == RANGE_INPUT ? 0.0f : 1.0f;
		s->copy[i] = 1.0f;
	}
	for (size_t i = 0; i < t->events; i++)
		if (t->event[i].kind == EVENT_COPY || t->event[i].kind == EVENT_MEMSET)
			s->copy[t->event[i].name] = 0.0f;
	return 0;
}

const char *const replay_word[FAMILIES] = {
	[FAMILY_INPUT] = "with input that is always there",
	[FAMILY_LAUNCH] = "with a host that takes no time",
	[FAMILY_CPU] = "with a host that takes no time",
	[FAMILY_SYNC] = "with a host that never waits",
	[FAMILY_COMM] = "with communication that nothing waits for",
	[FAMILY_COPY] = "with copies that take no time",
};

/* False: the simulator has no such change. */
static bool change_for(enum family k, const struct scales *s, struct sim_change *c)
{
	*c = (struct sim_change){ 0 };
	switch (k) {
	case FAMILY_INPUT:
		c->host_scale = s->input;
		return true;
	case FAMILY_LAUNCH:
	case FAMILY_CPU:
		c->free_launch = c->free_host = true;
		return true;
	case FAMILY_SYNC:
		c->no_sync = true;
		return true;
	case FAMILY_COMM:
		c->overlap_comm = true;
		return true;
	case FAMILY_COPY:
		c->work_scale = s->copy;
		return true;
	default:
		return false;
	}
}

static int walk_path(struct replay *r, const struct sim_graph *g)
{
	struct sim_path *p;
	int err = sim_path_new(&p, g, NULL, NULL);

	if (err < 0)
		return err;
	r->span_ns = p->span_ns;
	r->tasks = p->tasks;
	for (size_t k = 0; k < SIM_KINDS; k++)
		r->by_kind[k] = p->by_kind[k];
	sim_path_free(p);
	return 0;
}

static int run_all(struct replay *r, const struct trace *t, struct names *n,
		   const struct findings *fs, const struct sim_graph *g)
{
	struct scales s = { NULL, NULL };
	int err = scales_init(&s, t, n);

	for (size_t i = 0; i < fs->n && !err; i++) {
		enum family k = fs->f[i].family;
		struct sim_change c;

		if (change_for(k, &s, &c))
			err = sim_whatif(g, &c, &r->with_ns[k]);
	}
	free(s.input);
	free(s.copy);
	return err;
}

int replay_new(struct replay **out, const struct trace *t, const struct findings *fs)
{
	bool *is_comm = calloc(t->names + 1, sizeof(*is_comm));
	struct replay *r = calloc(1, sizeof(*r));
	struct sim_graph *g = NULL;
	struct names *n = NULL;
	int err = -ENOMEM;

	if (!is_comm || !r || names_new(&n, t) < 0)
		goto done;
	for (uint32_t i = 0; i < t->names; i++)
		is_comm[i] = names_kernel(n, i) == CLASS_COMM;
	for (size_t k = 0; k < FAMILIES; k++)
		r->with_ns[k] = REPLAY_NONE;
	err = sim_graph_new(&g, t, is_comm);
	if (err < 0)
		goto done;
	r->steps = g->steps;
	r->meetings = g->meetings;
	err = walk_path(r, g);
	err = err ? err : run_all(r, t, n, fs, g);
done:
	sim_graph_free(g);
	names_free(n);
	free(is_comm);
	if (err < 0) {
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void replay_free(struct replay *r)
{
	free(r);
}
