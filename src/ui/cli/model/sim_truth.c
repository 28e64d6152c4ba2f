/* SPDX-License-Identifier: Apache-2.0 */
/* sim_truth.c - the ground truth of a simulated run, as JSON. */
#include "cli/model/sim_truth.h"

#include <stdlib.h>

#include "base/json.h"
#include "sim/telemetry.h"

const char *const sim_scope_word[] = {
	[SCOPE_RANK] = "rank",
	[SCOPE_NODE] = "node",
	[SCOPE_ALL] = "job",
	[SCOPE_LAST] = "stage",
};

const char *sim_unit(const struct fault_row *f)
{
	if (f->part == PART_NONE || f->part > PART_SWITCHES)
		return "switch";
	return f->part > PART_PAUSES ? "ms" : "factor";
}

void sim_truth_free(struct sim_truth *t)
{
	free(t->run.end_ns);
	free(t->healthy.end_ns);
	for (uint32_t i = 0; i < JOB_FAULTS_MAX; i++)
		free(t->without[i].end_ns);
}

int64_t sim_times_span(const struct sim_times *t, uint32_t steps)
{
	return steps ? t->end_ns[steps - 1] : 0;
}

int64_t sim_truth_cost(const struct sim_truth *t, uint32_t fault)
{
	const struct sim_times *twin = t->job->faults == 1 ? &t->healthy : &t->without[fault];
	uint32_t steps = t->run.steps < twin->steps ? t->run.steps : twin->steps;

	return sim_times_span(&t->run, steps) - sim_times_span(twin, steps);
}

static void put_times(struct json *j, const char *key, const struct sim_times *t)
{
	int64_t before = 0;

	json_open(j, key, '[');
	for (uint32_t i = 0; i < t->steps; i++) {
		json_i64(j, NULL, t->end_ns[i] - before);
		before = t->end_ns[i];
	}
	json_close(j);
}

static void put_fault(struct json *j, const struct sim_truth *t, uint32_t i)
{
	const struct job *job = t->job;
	const struct fault *f = &job->fault[i];
	const struct fault_row *row = &fault_table[f->kind];
	uint32_t first, last, onset = fault_onset(f, job);
	bool seen = onset < t->run.steps + (t->run.hung ? 1u : 0u);

	fault_ranks(f, job, &first, &last);
	json_open(j, NULL, '{');
	json_members(j, J_STR("kind", row->word), J_STR("code", row->code),
		     J_STR("what", row->what), J_U64("first_rank", first), J_U64("last_rank", last),
		     J_U64("first_node", job_node(job, first)),
		     J_U64("last_node", job_node(job, last)),
		     J_STR("scope", sim_scope_word[row->scope]), J_U64("from_step", f->from),
		     J_U64_IF("steps", f->steps != UINT32_MAX, f->steps));
	if (seen) { /* what comes and goes may come later than it might have */
		json_members(j, J_U64("onset_step", onset),
			     J_I64("onset_ns", sim_times_span(&t->run, onset)));
	} else {
		json_null(j, "onset_step");
		json_null(j, "onset_ns");
	}
	json_members(j, J_STR("course", course_word[f->course]), J_U64("every", f->every),
		     J_DOUBLE("by", f->by), J_STR("unit", sim_unit(row)),
		     J_STR("how", sim_how_word(f->kind, f->how)),
		     J_STR("cause", sim_how_cause(f->kind, f->how)),
		     J_I64("cost_ns", sim_truth_cost(t, i)));
	json_close(j);
}

static void put_job(struct json *j, const struct sim_truth *t)
{
	const struct job *job = t->job;

	json_open(j, "job", '{');
	json_members(j, J_STR("model", t->model), J_STR("device", job->gpu->key),
		     J_U64("ranks", job_ranks(job)), J_U64("seed", job->seed));
#define COUNT(name, def, least, most, what) json_u64(j, #name, job->name);
#define REAL(name, def, least, most, what)  json_double(j, #name, job->name);
#include "sim/job.tbl.h"
	json_close(j);
}

void sim_truth_json(struct json *j, const struct sim_truth *t)
{
	uint32_t steps = t->run.steps < t->healthy.steps ? t->run.steps : t->healthy.steps;

	put_job(j, t);
	json_members(j, J_BOOL("hung", t->run.hung), J_U64("steps", t->run.steps),
		     J_I64("span_ns", sim_times_span(&t->run, steps)),
		     J_I64("healthy_span_ns", sim_times_span(&t->healthy, steps)),
		     J_I64("cost_ns",
			   sim_times_span(&t->run, steps) - sim_times_span(&t->healthy, steps)));
	json_open(j, "faults", '[');
	for (uint32_t i = 0; i < t->job->faults; i++)
		put_fault(j, t, i);
	json_close(j);
	json_open(j, "slow_ranks", '[');
	for (uint32_t r = 0; r < job_ranks(t->job); r++)
		if (play_always(t->job, r) > 1 + SLOW_FOR_GOOD)
			json_u64(j, NULL, r);
	json_close(j);
	put_times(j, "step_ns", &t->run);
	put_times(j, "healthy_step_ns", &t->healthy);
}
