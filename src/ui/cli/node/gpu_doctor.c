/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_doctor.c - see gpu_doctor.h. */
#include "cli/node/gpu_doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/clock.h"
#include "base/num.h"
#include "cli/core/probe.h"
#include "cli/core/temp_daemon.h"
#include "cli/node/gpu_child.h"
#include "read/gather.h"
#include "read/procs.h"
#include "stacks/find.h"

#define LIMIT_S     60u
#define ENV_LIMIT   "AON_GPU_LIMIT_S"
#define ENV_PROBE   "AON_GPU_PROBE"
#define ENV_RUNTIME "AON_GPU_RUNTIME"
#define ENV_COLLECT "AON_GPU_COLLECT"

enum { PLAIN, AOND };
enum { FIRST, LONG };

static const struct row {
	const char *name;
	unsigned when, limits, needs;
	const char *key, *value;
} rows[GPU_CHECKS] = {
#define CHECK(name, when, limits, needs, key, value) { #name, when, limits, needs, key, value },
#include "cli/node/gpu_check.tbl.h"
};

const char *const gpu_check_names[GPU_CHECKS] = {
#define CHECK(name, when, limits, needs, key, value) #name,
#include "cli/node/gpu_check.tbl.h"
};

static void not_made(struct gpu_result *r, const char *why)
{
	memset(r, 0, sizeof(*r));
	r->verdict = GPU_UNKNOWN;
	r->whole = true;
	gpu_result_add(r, why);
}

/* --- with an aond: what the probe recorded is in its store --- */

struct seen {
	int64_t kernels, counters; /* counters: samples of the hardware's */
	char note[160];            /* the last one of a probe */
};

static void add_rows(struct seen *s, const struct gather *g)
{
	for (size_t i = 0; i < g->rows; i++) {
		const struct gather_row *r = &g->row[i];

		if (r->kind == EVENT_KERNEL)
			s->kernels += (int64_t)r->count;
		else if (r->kind == EVENT_COUNTER && !strncmp(gather_name(g, r), "[pm] ", 5))
			s->counters += (int64_t)r->count;
	}
}

/* What the processes in the store did. */
static int see_store(const char *path, struct seen *s)
{
	struct procs_want all = { .id = 0 };
	struct store_why why = { "" };
	struct procs ps = { 0 };
	struct gather g;
	struct store *st;
	int err = store_open_ro(&st, path, &why);

	memset(s, 0, sizeof(*s));
	if (err < 0)
		return err;
	err = procs_load(&ps, st, &all);
	if (!err)
		err = gather_init(&g, st, BY_NAME);
	for (size_t i = 0; !err && i < ps.n; i++) {
		err = gather_process(&g, &ps.p[i], 0, false);
		if (*ps.p[i].note)
			snprintf(s->note, sizeof(s->note), "%s", ps.p[i].note);
	}
	if (!err) {
		add_rows(s, &g);
		gather_fini(&g);
	}
	procs_fini(&ps);
	store_close(st);
	return err;
}

/* Samples, or the probe's reason why there are none. */
static void judge_counters(struct gpu_result *r, const struct seen *s)
{
	char text[200];

	if (s->counters)
		snprintf(text, sizeof(text), "%lld samples of counters", (long long)s->counters);
	else
		snprintf(text, sizeof(text), "%s", *s->note ? s->note : "no samples came");
	r->text[0] = '\0';
	gpu_result_add(r, text);
	r->verdict = s->counters ? GPU_PASS : GPU_UNKNOWN;
}

/* The probe must have recorded what the check says that it could. */
static void judge_store(struct gpu_result *r, const char *path)
{
	const char *least = gpu_result_fact(r, "kernels_least");
	const char *most = gpu_result_fact(r, "kernels_most");
	struct seen s;
	char text[128];
	int64_t n;

	if (r->verdict != GPU_PASS || see_store(path, &s) < 0)
		return;
	if (gpu_result_fact(r, "wants_counters"))
		judge_counters(r, &s);
	if (!least || !most)
		return;
	n = s.kernels;
	snprintf(text, sizeof(text), "aon has %lld kernels of %s to %s", (long long)n, least, most);
	gpu_result_add(r, text);
	if (n >= num_front_i64(least, NULL) && n <= num_front_i64(most, NULL))
		return;
	r->verdict = GPU_FAIL;
	snprintf(r->fix, sizeof(r->fix),
		 "send this report: the probe does not record all that it can see here");
}

static void remove_store(const char *dir)
{
	temp_daemon_remove_dir(dir);
}

static void run_with_aond(struct gpu_doctor *g, unsigned i, const char *program)
{
	char dir[] = "/tmp/aon-doctor-XXXXXX", store[64], conf[64], probe[PATH_MAX];
	struct gpu_result *r = &g->result[i];
	struct temp_daemon aond;
	int err;

	if (probe_find(PROBE_cuda, probe) < 0 || !mkdtemp(dir)) {
		not_made(r, "no libaon-cuda.so beside aon");
		return;
	}
	snprintf(store, sizeof(store), "%s/gpu.db", dir);
	snprintf(conf, sizeof(conf), "%s/none", dir);
	cli_mute(true);
	err = temp_daemon_start(&aond, store, TEMP_UNBOUNDED);
	cli_mute(false);
	if (err < 0) {
		not_made(r, "no aond could be started");
		remove_store(dir);
		return;
	}
	setenv(AON_ENV_RUN_DIR, aond.run_dir, 1);
	setenv(ENV_PROBE, probe, 1);
	setenv(AON_ENV_JOIN_MS, "1000", 1);
	setenv(GPU_CONF_ENV, conf, 1); /* the probe as it is without one */
	gpu_child_run(r, program, rows[i].name, rows[i].limits * g->limit_s);
	unsetenv(AON_ENV_RUN_DIR);
	unsetenv(GPU_CONF_ENV);
	if (temp_daemon_stop(&aond) < 0)
		not_made(r, "aond did not end in time");
	judge_store(r, store);
	remove_store(dir);
}

/* --- one check after the other --- */

static void settle(struct gpu_doctor *g, unsigned i)
{
	struct gpu_result *r = &g->result[i];
	char fix[96];

	if (!r->whole) {
		r->sets = 0;
		snprintf(fix, sizeof(fix), "%s = %s in gpu.conf", rows[i].key, rows[i].value);
		snprintf(r->fix, sizeof(r->fix), "%s", *rows[i].key ? fix : rows[i].value);
		if (*rows[i].key)
			gpu_result_set(r, rows[i].key, rows[i].value);
	}
	for (unsigned k = 0; k < r->sets; k++)
		if (gpu_conf_set(&g->conf, r->set[k].key, r->set[k].value) &&
		    !strcmp(r->set[k].value, "heartbeat") && !strcmp(g->conf.why, "-"))
			gpu_conf_set(&g->conf, "why", rows[i].name);
	g->fails += r->verdict == GPU_FAIL;
	g->unknowns += r->verdict == GPU_UNKNOWN;
}

static void take_versions(struct gpu_doctor *g)
{
	static const char *const keys[] = { "driver", "cuda", "cupti" };
	const struct gpu_result *env = &g->result[GPU_CHECK_env];
	struct tm tm;
	time_t now = time(NULL);

	for (size_t i = 0; i < 3; i++) {
		const char *v = gpu_result_fact(env, keys[i]);

		if (v)
			gpu_conf_set(&g->conf, keys[i], v);
	}
	if (gmtime_r(&now, &tm))
		strftime(g->conf.date, sizeof(g->conf.date), "%Y-%m-%d", &tm);
}

static void progress(const char *name)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s%s", *name ? "checking: " : "", name);
}

/* A finished check on a line of its own, as long as one waits for the others. */
static void tell_one(const char *name, const struct gpu_result *r)
{
	static const char *const word[] = { "PASS", "FAIL", "UNKNOWN" };

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%-10s  %s\n", name, word[r->verdict]);
}

/* The driver and the versions are needed for all others. */
static bool is_wanted(const struct gpu_doctor *g, unsigned i)
{
	if (!g->only->argc)
		return rows[i].when == FIRST || g->with_long;
	for (int k = 0; k < g->only->argc; k++)
		if (!strcmp(g->only->argv[k], rows[i].name))
			return true;
	return i == GPU_CHECK_env;
}

static int check_operands(const struct opts *o)
{
	for (int k = 0; k < o->argc; k++) {
		unsigned i = 0;

		while (i < GPU_CHECKS && strcmp(o->argv[k], rows[i].name) != 0)
			i++;
		if (i == GPU_CHECKS)
			return cli_misuse("there is no check '%s'", o->argv[k]);
	}
	return CLI_OK;
}

static void make_all(struct gpu_doctor *g, const char *program)
{
	char collect[PATH_MAX];

	if (!helper_find(collect, "collect", "aon-collect"))
		setenv(ENV_COLLECT, collect, 1);
	for (unsigned i = 0; i < GPU_CHECKS; i++) {
		const char *gpus;

		if (!is_wanted(g, i))
			continue;
		g->made[i] = true;
		progress(rows[i].name);
		if (g->no_gpu)
			not_made(&g->result[i], "there is no GPU to check");
		else if (rows[i].needs == AOND)
			run_with_aond(g, i, program);
		else
			gpu_child_run(&g->result[i], program, rows[i].name,
				      rows[i].limits * g->limit_s);
		settle(g, i);
		if (!g->no_gpu)
			tell_one(rows[i].name, &g->result[i]);
		gpus = gpu_result_fact(&g->result[i], "gpus");
		if (i == GPU_CHECK_env) {
			const char *runtime = gpu_result_fact(&g->result[i], "runtime_file");

			g->no_gpu = gpus && !strcmp(gpus, "0");
			setenv(ENV_RUNTIME, runtime ? runtime : "", 1);
		}
	}
	progress("");
	take_versions(g);
}

/* --- gpu.conf --- */

static void find_conf(struct gpu_doctor *g, const struct opts *o)
{
	const char *set = getenv(GPU_CONF_ENV), *given = o->val[OPT_WRITECONF];

	snprintf(g->conf_path, sizeof(g->conf_path), "%s",
		 given && *given ? given
		 : set && *set   ? set
				 : GPU_CONF_FILE);
}

/* What is in the file so far. */
static void look_at_conf(struct gpu_doctor *g)
{
	struct gpu_conf had;
	int err = gpu_conf_read(&had, g->conf_path);
	const char *why;

	if (err == -ENOENT)
		return;
	if (err < 0) {
		snprintf(g->had, sizeof(g->had), " was not such a file, and ignored");
		return;
	}
	why = gpu_conf_differs(&had, g->conf.driver, g->conf.cuda, g->conf.cupti);
	snprintf(g->had, sizeof(g->had), ", of %s, was %s%s", had.date,
		 why ? "ignored: " : "in use", why ? why : "");
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Whole or not at all: programs read it at any time. */
static int write_conf(const struct gpu_doctor *g)
{
	static const char head[] = "# By aon doctor --gpu. The CUDA probe uses it with this driver "
				   "and this CUPTI only.\n";
	char text[GPU_CONF_BYTES], temp[PATH_MAX + 8], *slash;
	size_t n = sizeof(head) - 1;
	int fd, err;

	memcpy(text, head, n);
	n += gpu_conf_write(&g->conf, text + n, sizeof(text) - n);
	snprintf(temp, sizeof(temp), "%s", g->conf_path);
	slash = strrchr(temp, '/');
	if (slash && slash != temp) {
		*slash = '\0';
		mkdir(temp, 0755);
	}
	snprintf(temp, sizeof(temp), "%s.XXXXXX", g->conf_path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text, n);
	if (!err && (fchmod(fd, 0644) < 0 || rename(temp, g->conf_path) < 0))
		err = -errno;
	close(fd);
	if (err)
		unlink(temp);
	return err;
}

/* --- the command --- */

static int outcome(const struct gpu_doctor *g)
{
	return g->fails ? CLI_FAIL : g->no_gpu ? CLI_UNSURE : CLI_OK;
}

int gpu_doctor_run(const struct opts *o)
{
	struct gpu_doctor *g = calloc(1, sizeof(*g));
	const char *limit = getenv(ENV_LIMIT);
	char program[PATH_MAX];
	uint64_t begin = clock_mono_ms();
	int rc;

	if (check_operands(o) != CLI_OK) {
		free(g);
		return CLI_USAGE;
	}
	if (!g)
		return cli_say(CLI_FAIL, "no memory");
	if (helper_find(program, "gpucheck", "aon-gpu-check") < 0) {
		free(g);
		return cli_say(CLI_FAIL,
			       "aon-gpu-check is not installed beside aon. Reinstall aon.");
	}
	out_init(&g->out, stdout, o);
	g->with_long = o->val[OPT_LONGER];
	g->full = o->val[OPT_FULL];
	g->only = o;
	g->limit_s = LIMIT_S;
	if (limit)
		num_u32(limit, 1, 3600, &g->limit_s);
	gpu_conf_defaults(&g->conf);
	find_conf(g, o);
	make_all(g, program);
	look_at_conf(g);
	/* Without the versions that it holds for, it would never be used; a few checks prove little. */
	g->conf_err = g->no_gpu || !g->conf.cupti || (o->argc && !o->val[OPT_WRITECONF])
			      ? 1
			      : write_conf(g);
	g->ms = clock_mono_ms() - begin;
	if (o->val[OPT_JSON])
		gpu_tell_json(g);
	else
		gpu_tell_text(g);
	rc = outcome(g);
	free(g);
	return rc;
}
