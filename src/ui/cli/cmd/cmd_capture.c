/* SPDX-License-Identifier: Apache-2.0 */
/* aon capture - a detailed trace of running processes, now; into files and a store. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "base/proc.h"
#include "cli/capture/capture.h"
#include "cli/capture/capture_cluster.h"
#include "cli/capture/capture_node.h"
#include "cli/capture/fabric.h"
#include "cli/capture/flight.h"
#include "cli/store/import_store.h"
#include "cli/core/inputs.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "detect/trigger.h"
#include "read/procs.h"
#include "model/trace.h"

#define ASK_MS     5000
#define STEPS_MAX  100000
#define MS_MAX     600000.0
#define DEFAULT_MS 500u

/* Of a trigger. */
#define DAY_MS       86400000.0
#define KEEP_COOL_MS 600000u /* as of alarms */

/* --- what is wanted --- */

/* "500ms", "2s"; long ones also "30m" and "8h". */
static int duration(const struct opts *o, enum opt_id id, double max_ms, uint64_t *ms)
{
	const char *text = o->val[id];
	double v;

	if (!text)
		return CLI_OK;
	if (num_unit(text, "ms", 1, max_ms, &v) < 0)
		return cli_misuse("--%s takes a time from 1ms to %s, not '%s'", opt_table[id].name,
				  max_ms > MS_MAX ? "24h, as 90s or 30m" : "600s, as 500ms or 2s",
				  text);
	*ms = (uint64_t)v;
	return CLI_OK;
}

static int read_want(const struct opts *o, struct profiler_want *w)
{
	double steps = 0, timeout = NODE_TIMEOUT_MS / 1e3;
	int rc = opt_number(o, OPT_STEPCOUNT, 1, STEPS_MAX, &steps);

	if (rc == CLI_OK)
		rc = opt_number(o, OPT_PATIENCE, 1, 86400, &timeout);
	if (rc == CLI_OK)
		rc = duration(o, OPT_DURATION, MS_MAX, &w->ms);
	if (rc == CLI_OK && steps > 0 && w->ms)
		rc = cli_misuse("--steps or --duration, not both");
	w->steps = (uint64_t)steps;
	if (!w->steps && !w->ms)
		w->ms = DEFAULT_MS;
	w->timeout_ms = (uint64_t)(timeout * 1000);
	if (!o->val[OPT_PATIENCE])
		w->timeout_ms += w->ms;
	return rc;
}

/* --- where it goes --- */

/* Without -o: where aon report looks without a word. */
static void name_store(const struct profiler_capture *c, char to[IMPORT_STORE_PATH])
{
	const struct target *t = &c->target[0];

	if (c->o->val[OPT_OUTPUT_TRACE])
		snprintf(to, IMPORT_STORE_PATH, "%s", c->o->val[OPT_OUTPUT_TRACE]);
	else if (c->n > 1 && strcmp(t->job, "-"))
		snprintf(to, IMPORT_STORE_PATH, "aon-%s-%s.db", c->framework, t->job);
	else
		snprintf(to, IMPORT_STORE_PATH, "aon-%s-%d.db", c->framework, (int)t->pid);
}

/* Whether a rank names one process, and each has one. They are sorted by it. */
static bool has_ranks(const struct profiler_capture *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->target[i].rank < 0 || (i && c->target[i].rank == c->target[i - 1].rank))
			return false;
	return true;
}

/* Beside the store: "run.db" gives "run.pt.trace.json", or "run.rank0.pt.trace.json", which an
 * import understands, for each; "run.41.pt.trace.json" where ranks are not known. */
static void name_trace(const struct profiler_capture *c, const struct target *t, const char *store,
		       char to[PATH_MAX])
{
	size_t len = strlen(store);
	char who[24] = "";

	if (len > 3 && !strcmp(store + len - 3, ".db"))
		len -= 3;
	if (has_ranks(c))
		snprintf(who, sizeof(who), ".rank%d", t->rank);
	else if (c->n > 1)
		snprintf(who, sizeof(who), ".%d", (int)t->pid);
	snprintf(to, PATH_MAX, "%.*s%s.%s", (int)len, store, who, c->ending);
}

/* Before anything is captured: what is there already is never written over. */
static int check_places(const struct profiler_capture *c, const char *store)
{
	char path[PATH_MAX];

	if (!*store)
		return cli_misuse("--output needs the name of a file");
	if (access(store, F_OK) == 0)
		return cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", store);
	for (size_t i = 0; i < c->n; i++) {
		name_trace(c, &c->target[i], store, path);
		if (access(path, F_OK) == 0)
			return cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", path);
	}
	return CLI_OK;
}

static size_t fetch_all(struct profiler_capture *c, const char *store, char **path)
{
	char to[PATH_MAX];
	size_t n = 0;
	int err;

	for (size_t i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		if (t->state != CAPTURE_DONE)
			continue;
		name_trace(c, t, store, to);
		err = capture_fetch(c, t, to);
		if (!err) {
			path[n++] = t->file;
		} else {
			t->state = CAPTURE_FAILED;
			snprintf(t->why, sizeof(t->why), "its trace could not be kept: %s",
				 strerror(-err));
		}
	}
	return n;
}

/* Whether there is a moment that all traces hold: they were to begin together. */
static bool are_together(const char *store, size_t files)
{
	struct procs_want want = { 0 };
	int64_t begin = INT64_MIN, end = INT64_MAX;
	struct procs ps = { 0 };
	struct store *st;

	if (files < 2 || store_open_ro(&st, store, NULL) < 0)
		return true;
	if (procs_load(&ps, st, &want) < 0)
		ps.n = 0;
	for (size_t i = 0; i < ps.n; i++) {
		const struct process *p = &ps.p[i];
		int64_t from = (int64_t)p->first_ns + p->wall_offset_ns;
		int64_t to = (int64_t)p->last_ns + p->wall_offset_ns;

		if (!p->last_ns)
			continue; /* it has no event */
		begin = from > begin ? from : begin;
		end = to < end ? to : end;
	}
	procs_fini(&ps);
	store_close(st);
	return begin <= end;
}

/* --- output --- */

static void put_rank(struct json *j, const struct target *t)
{
	json_members(j, J_I64_IF("rank", t->rank >= 0, t->rank),
		     J_STR("job", strcmp(t->job, "-") ? t->job : NULL));
}

static void say_json(const struct profiler_capture *c, const struct trace *t, const char *store,
		     bool together)
{
	struct json j;
	size_t file = 0;

	json_begin(&j, stdout, "aon.capture/1");
	json_str(&j, "output", t->files ? store : NULL);
	if (c->want.steps)
		json_u64(&j, "steps", c->want.steps);
	else
		json_u64(&j, "duration_ms", c->want.ms);
	json_bool(&j, "together", together);
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct target *g = &c->target[i];
		bool done = g->state == CAPTURE_DONE && file < t->files;

		json_open(&j, NULL, '{');
		json_i64(&j, "pid", g->pid);
		put_rank(&j, g);
		json_members(&j, J_BOOL("captured", done), J_STR("trace", done ? g->file : NULL));
		if (done)
			json_members(&j, J_U64("bytes", g->bytes),
				     J_U64("events", t->file[file++].imported));
		json_str(&j, "why", done ? NULL : g->why);
		json_close(&j);
	}
	json_end(&j);
}

static void say_text(const struct profiler_capture *c, const struct trace *t, const char *store)
{
	static const struct col col[] = { COL_NUM("PID", 0), COL_NUM("RANK", 1),
					  COL_NUM("EVENTS", 0), COL_NUM("SIZE", 2),
					  COL_NAME("TRACE", 0) };
	struct table table;
	struct out out;
	char n[FMT_LEN];
	size_t file = 0;

	if (!t->files)
		return;
	out_init(&out, stdout, c->o);
	table_init(&table, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < c->n; i++) {
		const struct target *g = &c->target[i];

		if (g->state != CAPTURE_DONE || file == t->files)
			continue;
		table_add(&table, "%d", (int)g->pid);
		if (t->file[file].rank == TRACE_NO_RANK)
			table_add(&table, "-");
		else
			table_add(&table, "%d", t->file[file].rank);
		table_add(&table, "%s", fmt_exact(n, t->file[file++].imported));
		table_add(&table, "%s", fmt_bytes(n, g->bytes));
		table_add_text(&table, &out, g->file);
	}
	table_done(&table, &out, 0);
	out_next(&out, "aon report %s", store);
}

/* What the options could choose from. */
static int list(const struct profiler_capture *c)
{
	static const struct col col[] = { COL_NUM("PID", 0), COL_NUM("USER", 1), COL_TEXT("JOB", 0),
					  COL_NUM("RANK", 0), COL_NAME("COMMAND", 0) };
	struct table table;
	struct out out;
	struct json j;
	char comm[32];

	if (c->o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.capture/1");
		json_open(&j, "processes", '[');
		for (size_t i = 0; i < c->n; i++) {
			json_open(&j, NULL, '{');
			json_members(&j, J_I64("pid", c->target[i].pid),
				     J_U64("uid", c->target[i].uid));
			put_rank(&j, &c->target[i]);
			json_close(&j);
		}
		json_end(&j);
		return CLI_OK;
	}
	if (!c->n)
		return cli_say(CLI_OK, "no process is running with --kineto. Start one with: "
				       "aon run --kineto -- CMD");
	out_init(&out, stdout, c->o);
	table_init(&table, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < c->n; i++) {
		const struct target *t = &c->target[i];

		table_add(&table, "%d", (int)t->pid);
		table_add(&table, "%u", t->uid);
		table_add_text(&table, &out, t->job);
		if (t->rank < 0)
			table_add(&table, "-");
		else
			table_add(&table, "%d", t->rank);
		proc_comm(t->pid, comm, sizeof(comm));
		table_add_text(&table, &out, comm);
	}
	table_done(&table, &out, 0);
	return CLI_OK;
}

/* --- the command --- */

/* The traces into the store; each process that gave none is named, and makes it exit 1. */
static int conclude(struct profiler_capture *c, const char *store)
{
	char **path = calloc(c->n, sizeof(*path));
	struct trace *t = NULL;
	int rc = CLI_OK;
	bool together;
	size_t n;

	if (!path || trace_new(&t) < 0) {
		free(path);
		return cli_say(CLI_FAIL, "out of memory");
	}
	n = fetch_all(c, store, path);
	if (n)
		rc = import_store(c->o, t, path, (int)n, store);
	together = rc == CLI_OK && are_together(store, n);
	if (rc == CLI_OK && c->o->val[OPT_JSON])
		say_json(c, t, store, together);
	else if (rc == CLI_OK)
		say_text(c, t, store);
	fflush(stdout);
	if (rc == CLI_OK && !together)
		cli_say(0,
			"the processes were not traced at the same time: they began at different "
			"steps, or moments. Capture again.");
	if (rc == CLI_OK && n) {
		inputs_say_damage(t);
		rc = inputs_exit(t);
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->target[i].state != CAPTURE_DONE)
			rc = cli_say(CLI_FAIL, "pid %d: %s", (int)c->target[i].pid,
				     c->target[i].why);
	trace_free(t);
	free(path);
	return rc;
}

static int open_aond(struct profiler_capture *c)
{
	char run_dir[PATH_MAX];
	int err = fabric_run_dir(run_dir);

	if (!err) {
		c->ask = ask_open(run_dir, ASK_MS);
		err = c->ask < 0 ? c->ask : 0;
		if (err == -ECONNREFUSED)
			err = -ENOENT;
	}
	return err ? cli_say(CLI_FAIL, "%s", fabric_trouble(err)) : CLI_OK;
}

/* Where it goes wrong is shown below it. */
static int check_trigger(const struct opts *o)
{
	struct trigger_why why;
	struct trigger t;

	if (trigger_parse(&t, o->val[OPT_TRIGGER], &why) == 0)
		return CLI_OK;
	cli_say(0, "--trigger: %s", why.text);
	fprintf(stderr, "  %s\n  %*s^\n", o->val[OPT_TRIGGER], (int)why.at, "");
	return CLI_USAGE;
}

static int read_limits(const struct opts *o, struct node_want *w)
{
	uint64_t expires = 1000u * NODE_EXPIRES_S, cool = 1000u * NODE_COOL_S;
	double count = 1;
	int rc;

	w->keep = o->val[OPT_STAND];
	if (w->keep) {
		expires = 0;
		cool = KEEP_COOL_MS;
	}
	if (!o->val[OPT_TRIGGER])
		return w->keep || o->val[OPT_EXPIRES] || o->val[OPT_TIMES] || o->val[OPT_COOLDOWN]
			       ? cli_misuse("--keep, --expires, --count and --cooldown go with "
					    "--trigger")
			       : CLI_OK;
	rc = check_trigger(o);
	if (rc == CLI_OK)
		rc = duration(o, OPT_EXPIRES, DAY_MS, &expires);
	if (rc == CLI_OK)
		rc = duration(o, OPT_COOLDOWN, DAY_MS, &cool);
	if (rc == CLI_OK)
		rc = opt_number(o, OPT_TIMES, 1, 1000, &count);
	w->expires_s = (expires + 999) / 1000;
	w->cool_s = (cool + 999) / 1000;
	w->count = (uint32_t)count;
	if (!o->val[OPT_BEFORE])
		w->before_ms = NODE_BEFORE_MS;
	return rc;
}

/* By aond itself: what it has already, and what comes. */
static int by_aond(const struct opts *o)
{
	struct node_want w = { .count = 1,
			       .pids = o->val[OPT_PIDS],
			       .ranks = o->val[OPT_RANK],
			       .job = o->val[OPT_JOB],
			       .trigger = o->val[OPT_TRIGGER] };
	struct profiler_want c = { 0 };
	double from = 0;
	int rc = duration(o, OPT_BEFORE, MS_MAX, &w.before_ms);

	if (rc == CLI_OK)
		rc = opt_number(o, OPT_FROMSTEP, 1, 1e15, &from);
	w.from = (uint64_t)from;
	if (rc == CLI_OK && from > 0 && !o->val[OPT_STEPCOUNT])
		rc = cli_misuse("--from-step goes with --steps");

	if (rc == CLI_OK)
		rc = capture_check(o);
	if (rc == CLI_OK)
		rc = read_want(o, &c);
	if (rc == CLI_OK)
		rc = read_limits(o, &w);
	if (rc != CLI_OK)
		return rc;
	w.steps = c.steps;
	w.ms = c.ms;
	w.timeout_ms = c.timeout_ms;
	if (o->val[OPT_BEFORE] && !o->val[OPT_STEPCOUNT] && !o->val[OPT_DURATION] &&
	    !o->val[OPT_TRIGGER])
		w.ms = 0;
	if (o->val[OPT_STORE] && (w.ms || w.steps))
		return cli_misuse("--store is of the past: it goes with --before alone");
	if (w.keep && (o->val[OPT_PIDS] || o->val[OPT_TIMES] || o->val[OPT_OUTPUT_TRACE]))
		return cli_misuse("--keep is of a job, of ranks or of all, and writes no file: "
				  "--pid, --count and -o do not go with it");
	return w.keep ? capture_node_keep(o, &w) : capture_node(o, &w);
}

/* On every node of the job. */
static int by_relay(const struct opts *o)
{
	static const enum opt_id not [] = { OPT_KINETO, OPT_JAX,    OPT_FLIGHT,   OPT_BEFORE,
					    OPT_CANCEL, OPT_RAISED, OPT_TRIGGER,  OPT_PIDS,
					    OPT_STORE,  OPT_LIST,   OPT_FROMSTEP, OPT_STAND };
	struct profiler_want w = { 0 };
	int rc = read_want(o, &w);

	if (rc == CLI_OK)
		rc = capture_check(o);
	for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
		if (o->val[not [i]])
			return cli_misuse("--cluster and --%s do not go together",
					  opt_table[not [i]].name);
	return rc == CLI_OK ? capture_cluster(o, &w) : rc;
}

int cmd_capture(const struct opts *o)
{
	struct profiler_capture c = { .o = o, .ask = -1 };
	bool jax = o->val[OPT_JAX];
	char store[IMPORT_STORE_PATH];
	int rc;

	if (o->argc)
		return cli_misuse("takes no operand, not '%s'", o->argv[0]);
	if (!!o->val[OPT_KINETO] + jax + !!o->val[OPT_FLIGHT] + !!o->val[OPT_BEFORE] +
		    !!o->val[OPT_CANCEL] + !!o->val[OPT_RAISED] >
	    1)
		return cli_misuse(
			"one of --kineto, --jax, --flight-recorder, --before, --raised and "
			"--cancel");
	if (o->val[OPT_RELAY])
		return by_relay(o);
	if (o->val[OPT_RAISED])
		return capture_raised(o);
	if (o->val[OPT_CANCEL])
		return capture_node_cancel(o);
	if (o->val[OPT_FLIGHT])
		return flight_capture(o);
	if (o->val[OPT_TRIGGER] && (o->val[OPT_KINETO] || jax))
		return cli_misuse("--trigger is of captures by aond, not by a profiler");
	if (!o->val[OPT_KINETO] && !jax)
		return o->val[OPT_LIST] ? capture_node_list(o) : by_aond(o);
	c.framework = jax ? "jax" : "kineto";
	c.ending = jax ? "xplane.pb" : "pt.trace.json";
	rc = read_want(o, &c.want);
	if (rc == CLI_OK && !jax)
		rc = open_aond(&c);
	if (rc == CLI_OK)
		rc = jax ? capture_jax_choose(&c) : profiler_choose(&c);
	if (rc == CLI_OK && o->val[OPT_LIST]) {
		rc = list(&c);
	} else if (rc == CLI_OK) {
		name_store(&c, store);
		rc = check_places(&c, store);
		if (rc == CLI_OK)
			rc = jax ? capture_jax_run(&c) : capture_run(&c);
		if (rc == CLI_OK)
			rc = conclude(&c, store);
	}
	capture_fini(&c);
	return rc;
}
