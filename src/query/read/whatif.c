/* SPDX-License-Identifier: Apache-2.0 */
/* whatif.c - see whatif.h. */
#include "read/whatif.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "names/class.h"
#include "sim/whatif.h"

enum side { WORK, HOST, SIDES }; /* of devices, of threads */

struct building {
	const struct trace *t;
	struct names *names;
	struct sim_graph *g;
	bool *is_comm;
	uint8_t *side; /* by name: the sides on which it occurs, bits 1 << enum side */
	float *scale[SIDES];
	struct sim_change change;
	struct whatif *out;
	char *why;
};

/* --- the change --- */

/*
 * A shell pattern if it has wildcards, otherwise a case-insensitive part of the name, or the word
 * of a class.
 */
static bool meets(const struct building *w, uint32_t name, const char *pattern, enum side side)
{
	const char *text = trace_text(w->t, name);

	if (!(w->side[name] & 1u << side))
		return false;
	if (strpbrk(pattern, "*?[") && fnmatch(pattern, text, FNM_CASEFOLD) == 0)
		return true;
	if (side == WORK && strcmp(pattern, class_word[names_kernel(w->names, name)]) == 0)
		return true;
	return strcasestr(text, pattern) != NULL;
}

static int scale_one(struct building *w, const char *pattern, double by, enum side side)
{
	size_t met = 0;

	for (uint32_t i = 0; i < w->t->names; i++)
		if (meets(w, i, pattern, side)) {
			w->scale[side][i] = (float)by;
			met++;
		}
	w->out->scaled += met;
	if (met)
		return 0;
	snprintf(w->why, WHATIF_WHY, "no %s matches '%.150s'",
		 side == WORK ? "kernel, copy or class of kernels" : "range or call", pattern);
	return -ENOENT;
}

/*
 * Parses "gemm=0.5,Memcpy HtoD*=0": since names may contain commas, only a comma behind a factor
 * separates.
 */
static int scale_all(struct building *w, const char *spec, enum side side)
{
	char pattern[2048];
	const char *end;
	int err = 0;

	while (*spec && !err) {
		const char *eq = spec;
		double by = -1;

		while ((eq = strchr(eq, '='))) {
			by = num_front_real(++eq, &end);
			if (end != eq && (*end == ',' || !*end))
				break;
		}
		if (!eq || by < 0 || by > 1000 || eq - 1 == spec)
			goto wrong;
		snprintf(pattern, sizeof(pattern), "%.*s", (int)(eq - 1 - spec), spec);
		err = scale_one(w, pattern, by, side);
		spec = *end ? end + 1 : end;
	}
	return err;
wrong:
	snprintf(w->why, WHATIF_WHY,
		 "scale takes NAME=FACTOR[,...], factors 0 to 1000, not '%.150s'", spec);
	return -EINVAL;
}

static int read_change(struct building *w, const struct whatif_ask *a)
{
	int err = 0;

	w->change.no_sync = a->no_sync;
	w->change.free_host = a->free_host;
	w->change.free_launch = a->free_launch;
	w->change.overlap_comm = a->overlap_comm;
	for (enum side side = WORK; side < SIDES && !err; side++) {
		const char *spec = side == WORK ? a->scale : a->scale_host;

		if (!spec)
			continue;
		for (size_t i = 0; i < w->t->names; i++)
			w->scale[side][i] = 1.0f;
		err = scale_all(w, spec, side);
	}
	w->change.work_scale = a->scale ? w->scale[WORK] : NULL;
	w->change.host_scale = a->scale_host ? w->scale[HOST] : NULL;
	return err;
}

/* --- the run --- */

static int run(struct building *w)
{
	const struct sim_graph *g = w->g;
	int64_t *lag = malloc((g->edges + 1) * sizeof(*lag));
	int64_t *time = malloc((2 * g->tasks + 1) * sizeof(*time));
	int err = -ENOMEM;

	if (!lag || !time)
		goto done;
	sim_run(g, NULL, time);
	w->out->replay_ns = sim_span(g, time);
	err = sim_change_lags(g, &w->change, lag);
	if (err < 0)
		goto done;
	sim_run(g, lag, time);
	err = sim_path_new(&w->out->before, g, NULL, NULL);
	err = err ? err : sim_path_new(&w->out->after, g, lag, time);
done:
	free(lag);
	free(time);
	return err;
}

static int prepare(struct building *w)
{
	int err;

	w->is_comm = calloc(w->t->names + 1, sizeof(*w->is_comm));
	w->side = calloc(w->t->names + 1, sizeof(*w->side));
	for (enum side side = WORK; side < SIDES; side++)
		w->scale[side] = calloc(w->t->names + 1, sizeof(float));
	if (!w->is_comm || !w->side || !w->scale[WORK] || !w->scale[HOST])
		return -ENOMEM;
	for (size_t i = 0; i < w->t->events; i++) {
		bool host = w->t->track[w->t->event[i].track].device == TRACK_HOST;

		w->side[w->t->event[i].name] |= (uint8_t)(1u << (host ? HOST : WORK));
	}
	err = names_new(&w->names, w->t);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < w->t->names; i++)
		w->is_comm[i] = names_kernel(w->names, i) == CLASS_COMM;
	return sim_graph_new(&w->g, w->t, w->is_comm);
}

static int build(struct building *b, const struct whatif_ask *ask)
{
	int err = prepare(b);

	err = err ? err : read_change(b, ask);
	err = err ? err : run(b);
	if (!err) {
		b->out->files = b->t->files;
		b->out->steps = b->g->steps;
		b->out->meetings = b->g->meetings;
	}
	sim_graph_free(b->g);
	names_free(b->names);
	free(b->is_comm);
	free(b->side);
	free(b->scale[WORK]);
	free(b->scale[HOST]);
	return err;
}

int whatif_new(struct whatif **out, const struct trace *t, const struct whatif_ask *ask,
	       char why[WHATIF_WHY])
{
	struct building b = { .t = t, .out = calloc(1, sizeof(*b.out)), .why = why };
	int err;

	if (!b.out)
		return -ENOMEM;
	err = build(&b, ask);
	if (err < 0) {
		whatif_free(b.out);
		return err;
	}
	*out = b.out;
	return 0;
}

void whatif_free(struct whatif *w)
{
	if (!w)
		return;
	sim_path_free(w->before);
	sim_path_free(w->after);
	free(w);
}

static void path_json(struct json *j, const char *key, const struct sim_path *p)
{
	json_open(j, key, '{');
	json_i64(j, "span_ns", p->span_ns);
	json_open(j, "by_kind", '{');
	for (int k = 0; k < SIM_KINDS; k++)
		json_i64(j, sim_kind_word[k], p->by_kind[k]);
	json_close(j);
	json_u64(j, "tasks", p->tasks);
	json_close(j);
}

void whatif_json(struct json *j, const struct whatif *w)
{
	json_members(j, J_U64("files", w->files), J_U64("steps", w->steps),
		     J_U64("collectives_matched", w->meetings),
		     J_I64("measured_ns", w->before->span_ns), J_I64("replayed_ns", w->replay_ns),
		     J_I64("predicted_ns", w->after->span_ns), J_U64("names_scaled", w->scaled));
	path_json(j, "critical_path", w->before);
	path_json(j, "critical_path_after", w->after);
}
