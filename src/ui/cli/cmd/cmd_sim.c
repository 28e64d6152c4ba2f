/* SPDX-License-Identifier: Apache-2.0 */
/* aon sim - a job that never ran, into a store, with its ground truth beside it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/model/devices.h"
#include "cli/store/import_store.h"
#include "cli/core/inputs.h"
#include "cli/store/into_store.h"
#include "cli/core/out.h"
#include "cli/model/sim_truth.h"
#include "model/trace.h"
#include "sim/engine.h"
#include "sim/telemetry.h"
#include "store/store.h"

#define METERED 512u /* ranks: telemetry of more is no use in one store */

/* --- lists --- */

static int faults_json(void)
{
	struct json j;

	json_begin(&j, stdout, "aon.sim.faults/1");
	json_open(&j, "faults", '[');
	for (int k = 0; k < FAULTS; k++) {
		const struct fault_row *f = &fault_table[k];

		json_object(&j, NULL, J_STR("kind", f->word), J_STR("code", f->code),
			    J_STR("scope", sim_scope_word[f->scope]), J_STR("unit", sim_unit(f)),
			    J_DOUBLE("by", f->by), J_DOUBLE("least", f->least),
			    J_DOUBLE("most", f->most), J_STR("course", course_word[f->course]),
			    J_U64("every", f->every), J_STR("what", f->what));
	}
	json_end(&j);
	return CLI_OK;
}

static int list_faults(const struct opts *o)
{
	static const struct col col[] = { COL_TEXT("KIND", 0),   COL_TEXT("CODE", 0),
					  COL_TEXT("WHERE", 0),  COL_NUM("BY", 0),
					  COL_TEXT("COURSE", 1), COL_NAME("WHAT", 0) };
	static const char *const where[] = { [SCOPE_RANK] = "rank=",
					     [SCOPE_NODE] = "node=",
					     [SCOPE_ALL] = "-",
					     [SCOPE_LAST] = "-" };
	struct table t;
	struct out out;

	if (o->val[OPT_JSON])
		return faults_json();
	out_init(&out, stdout, o);
	table_init(&t, col, sizeof(col) / sizeof(*col));
	for (int k = 0; k < FAULTS; k++) {
		const struct fault_row *f = &fault_table[k];

		table_add(&t, "%s", f->word);
		table_add(&t, "%s", f->code);
		table_add(&t, "%s", where[f->scope]);
		if (f->part > PART_SWITCHES || f->part == PART_NONE)
			table_add(&t, "-");
		else
			table_add(&t, "%g%s", f->by, f->part > PART_PAUSES ? " ms" : " x");
		table_add(&t, "%s", course_word[f->course]);
		table_add(&t, "%s", f->what);
	}
	table_done(&t, &out, 0);
	return CLI_OK;
}

static int params_json(void)
{
	struct json j;

	json_begin(&j, stdout, "aon.sim.set/1");
	json_open(&j, "set", '[');
	for (const struct job_param *p = job_param; p->name; p++) {
		json_open(&j, NULL, '{');
		json_members(&j, J_STR("name", p->name), J_DOUBLE("default", p->def));
		json_double(&j, "unless_told", p->def); /* the key until 0.1 */
		json_members(&j, J_DOUBLE("least", p->least), J_DOUBLE("most", p->most),
			     J_STR("what", p->what));
		json_close(&j);
	}
	json_close(&j);
	json_open(&j, "models", '[');
	for (size_t i = 0; job_model_at(i); i++)
		json_str(&j, NULL, job_model_at(i));
	json_end(&j);
	return CLI_OK;
}

static int list_params(const struct opts *o)
{
	static const struct col col[] = { COL_TEXT("NAME", 0), COL_NUM("DEFAULT", 0),
					  COL_NAME("WHAT", 0) };
	struct table t;
	struct out out;

	if (o->val[OPT_JSON])
		return params_json();
	out_init(&out, stdout, o);
	table_init(&t, col, sizeof(col) / sizeof(*col));
	for (const struct job_param *p = job_param; p->name; p++) {
		table_add(&t, "%s", p->name);
		table_add(&t, "%g", p->def);
		table_add(&t, "%s", p->what);
	}
	table_done(&t, &out, 0);
	fprintf(out.f, "\nModels:");
	for (size_t i = 0; job_model_at(i); i++)
		fprintf(out.f, " %s", job_model_at(i));
	fputc('\n', out.f);
	return CLI_OK;
}

/* --- the job --- */

static int ranks_given(const struct opts *o, struct job *j)
{
	uint32_t ranks = 0, each = j->tp * j->pp;
	int rc = opt_u32(o, OPT_RANKCOUNT, &ranks);

	if (rc != CLI_OK || !o->val[OPT_RANKCOUNT])
		return rc;
	if (o->val[OPT_LAYOUT] && strstr(o->val[OPT_LAYOUT], "dp=") && ranks != each * j->dp)
		return cli_misuse("--ranks %" PRIu32 " is not dp * tp * pp", ranks);
	if (!ranks || ranks % each)
		return cli_misuse("--ranks %" PRIu32 " is not a multiple of tp * pp, %" PRIu32,
				  ranks, each);
	j->dp = ranks / each;
	return CLI_OK;
}

static int device_given(const struct opts *o, struct job *j)
{
	const char *key = o->val[OPT_DEVICE] ? o->val[OPT_DEVICE] : "H100_SXM";
	int rc = devices_load();

	if (rc != CLI_OK)
		return rc;
	j->gpu = gpu_find(key);
	return j->gpu ? CLI_OK
		      : cli_say(CLI_USAGE, "no device '%s'. See: aon roofline devices", key);
}

static int job_given(const struct opts *o, struct job *j)
{
	const char *model = o->val[OPT_SIMMODEL] ? o->val[OPT_SIMMODEL] : "small";
	char why[JOB_WHY] = "";
	uint32_t seed = 1;
	int rc;

	job_init(j);
	if (job_model(j, model, why) < 0 ||
	    (o->val[OPT_LAYOUT] && job_set(j, o->val[OPT_LAYOUT], why) < 0) ||
	    (o->val[OPT_SET] && job_set(j, o->val[OPT_SET], why) < 0))
		return cli_misuse("%s", why);
	rc = opt_u32(o, OPT_SIMSTEPS, &j->steps);
	rc = rc != CLI_OK ? rc : opt_u32(o, OPT_SEED, &seed);
	j->seed = seed;
	rc = rc != CLI_OK ? rc : ranks_given(o, j);
	rc = rc != CLI_OK ? rc : device_given(o, j);
	if (rc != CLI_OK)
		return rc;
	if (!j->steps || j->steps > 1u << 20)
		return cli_misuse("--steps is from 1 to 1048576");
	if (job_check(j, why) < 0 ||
	    (o->val[OPT_FAULT] && job_fault(j, o->val[OPT_FAULT], why) < 0))
		return cli_misuse("%s", why);
	return CLI_OK;
}

/* --- runs --- */

struct run {
	const struct opts *o;
	const struct job *j;
	struct sim_times *times;
	struct play_out *out;    /* NULL: times alone */
	struct sim_meter *meter; /* the same */
	const char *what;
};

static int play_all(struct run *r, struct play *p)
{
	int err;

	r->times->end_ns = calloc(r->j->steps, sizeof(*r->times->end_ns));
	if (!r->times->end_ns)
		return -ENOMEM;
	while (!(err = play_step(p))) {
		if (r->out)
			err = play_out_step(r->out, p);
		if (r->meter && !err && !p->hung)
			err = sim_meter_step(r->meter, p);
		if (err)
			break;
		r->times->hung = p->hung;
		if (!p->hung)
			r->times->end_ns[r->times->steps++] = p->end_ns;
		if (import_stopped())
			return -ECANCELED;
		inputs_progress((void *)(uintptr_t)r->o, r->what, p->step + 1, r->j->steps);
	}
	return err == -ENODATA ? 0 : err;
}

static int failed(int err)
{
	inputs_progress_end();
	switch (err) {
	case 0:
		return CLI_OK;
	case -EFBIG:
		return cli_say(CLI_FAIL, "a step of this job is too large: fewer ranks, layers or "
					 "micro-batches");
	case -ENOTSUP:
		return cli_say(
			CLI_FAIL,
			"the models know too little of this device: its arithmetic or its links");
	default:
		return cli_say(CLI_FAIL, "%s", strerror(-err));
	}
}

static int play_once(struct run *r, uint32_t without)
{
	struct play *p;
	int err = play_new(&p, r->j, without);

	if (err < 0)
		return err;
	err = play_all(r, p);
	play_free(p);
	return err;
}

static int put_series(void *arg, const struct series *s, uint32_t *id)
{
	*id = 0;
	return store_series(arg, s, id);
}

static int put_block(void *arg, const struct telemetry_block *b)
{
	return store_telemetry(arg, b, true);
}

/* The run itself, as an import with a file for each rank. */
static int fill(void *arg, struct trace *t, struct into_store *into)
{
	struct run *r = arg;
	struct sim_meter_to to = { put_series, put_block, into_store_to(into) };
	int err = play_out_new(&r->out, r->j, t);

	if (!err && r->j->telemetry && job_ranks(r->j) <= METERED)
		err = sim_meter_new(&r->meter, r->j, &to);
	err = err ? err : play_once(r, 0);
	err = err || !r->meter ? err : sim_meter_end(r->meter);
	err = err ? err : into_store_file_done(into);
	play_out_free(r->out);
	sim_meter_free(r->meter);
	r->out = NULL;
	r->meter = NULL;
	return failed(err);
}

/* The same job without its faults, and without each of them. */
static int twins(const struct opts *o, struct sim_truth *truth)
{
	const struct job *j = truth->job;
	struct run r = { .o = o, .j = j, .times = &truth->healthy, .what = "without faults" };
	size_t bytes = truth->run.steps * sizeof(*truth->run.end_ns);
	int err;

	if (!j->faults) { /* it is its own twin */
		truth->healthy = truth->run;
		truth->healthy.end_ns = malloc(bytes);
		if (!truth->healthy.end_ns)
			return failed(-ENOMEM);
		memcpy(truth->healthy.end_ns, truth->run.end_ns, bytes);
		return CLI_OK;
	}
	err = play_once(&r, UINT32_MAX);

	for (uint32_t i = 0; i < j->faults && j->faults > 1 && !err; i++) {
		r.times = &truth->without[i];
		r.what = fault_table[j->fault[i].kind].word;
		err = play_once(&r, 1u << i);
	}
	return failed(err);
}

/* --- output --- */

static void truth_json(FILE *f, const struct sim_truth *t, const char *to)
{
	struct json j;

	json_begin(&j, f, "aon.sim/1");
	json_str(&j, "output", to);
	sim_truth_json(&j, t);
	json_end(&j);
}

static int write_truth(const struct sim_truth *t, const char *to)
{
	char path[IMPORT_STORE_PATH + 16];
	FILE *f;
	bool bad;

	snprintf(path, sizeof(path), "%s.truth.json", to);
	f = fopen(path, "w");
	if (!f)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
	truth_json(f, t, to);
	bad = ferror(f);
	if (fclose(f) || bad)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
	return CLI_OK;
}

static void say_fault(const struct out *out, const struct sim_truth *t, uint32_t i)
{
	const struct fault *f = &t->job->fault[i];
	int64_t cost = sim_truth_cost(t, i);
	uint32_t first, last;
	char who[48] = "", ms[FMT_LEN];

	fault_ranks(f, t->job, &first, &last);
	if (first == last)
		snprintf(who, sizeof(who), " on rank %" PRIu32, first);
	else if (last - first + 1 < job_ranks(t->job))
		snprintf(who, sizeof(who), " on ranks %" PRIu32 "-%" PRIu32, first, last);
	if (fault_table[f->kind].part > PART_SERIAL) { /* stops all: no time to tell */
		out_line(out, OUT_PLAIN, "  %s%s in step %" PRIu32, fault_table[f->kind].word, who,
			 f->from);
		return;
	}
	out_line(out, OUT_PLAIN, "  %s%s from step %" PRIu32 ": costs %s%s",
		 fault_table[f->kind].word, who, f->from, cost < 0 ? "-" : "",
		 out_time(out, ms, sizeof(ms), (uint64_t)(cost < 0 ? -cost : cost)));
}

static void say_text(const struct opts *o, const struct sim_truth *t, const char *to)
{
	const struct job *j = t->job;
	uint32_t steps = t->run.steps < t->healthy.steps ? t->run.steps : t->healthy.steps;
	char a[FMT_LEN], b[FMT_LEN], twin[FMT_LEN + 32] = "";
	struct out out;

	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN,
		 "%s on %" PRIu32 " %s: dp %" PRIu32 ", tp %" PRIu32 ", pp %" PRIu32
		 ", ep %" PRIu32,
		 t->model, job_ranks(j), j->gpu->key, j->dp, j->tp, j->pp, j->ep);
	if (steps && j->faults)
		snprintf(twin, sizeof(twin), "; without faults %s",
			 out_time(&out, b, sizeof(b),
				  (uint64_t)sim_times_span(&t->healthy, steps) / steps));
	if (steps)
		out_line(&out, OUT_BOLD, "  %" PRIu32 " %s of %s%s", t->run.steps,
			 t->run.steps == 1 ? "step" : "steps",
			 out_time(&out, a, sizeof(a),
				  (uint64_t)sim_times_span(&t->run, steps) / steps),
			 twin);
	if (t->run.hung)
		out_line(&out, OUT_WARN, "  step %" PRIu32 " never ends", t->run.steps);
	for (uint32_t i = 0; i < j->faults; i++)
		say_fault(&out, t, i);
	fprintf(out.f, "\ntruth %s.truth.json\nnext  %saon why %s%s\n", to,
		out_style(&out, OUT_COPY), to, out_style(&out, OUT_PLAIN));
}

static int simulate(const struct opts *o, struct sim_truth *truth, const char *to)
{
	struct run r = { .o = o, .j = truth->job, .times = &truth->run, .what = "simulating" };
	struct trace *t;
	int rc;

	if (trace_new(&t) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	rc = import_store_by(t, to, fill, &r);
	trace_free(t);
	rc = rc != CLI_OK ? rc : twins(o, truth);
	return rc != CLI_OK ? rc : write_truth(truth, to);
}

int cmd_sim(const struct opts *o)
{
	struct sim_truth truth = { .model = o->val[OPT_SIMMODEL] ? o->val[OPT_SIMMODEL] : "small" };
	const char *to = o->val[OPT_OUTPUT];
	struct job j;
	int rc;

	if (o->val[OPT_LISTFAULTS])
		return list_faults(o);
	if (o->val[OPT_LISTPARAMS])
		return list_params(o);
	if (o->argc)
		return cli_misuse("'%s' is no option", o->argv[0]);
	rc = job_given(o, &j);
	if (rc != CLI_OK)
		return rc;
	if (!to)
		return cli_misuse("where to? -o STORE");
	if (strlen(to) >= IMPORT_STORE_PATH)
		return cli_misuse("the name of the store is too long");
	truth.job = &j;
	rc = simulate(o, &truth, to);
	if (rc == CLI_OK && o->val[OPT_JSON])
		truth_json(stdout, &truth, to);
	else if (rc == CLI_OK)
		say_text(o, &truth, to);
	sim_truth_free(&truth);
	return rc;
}
