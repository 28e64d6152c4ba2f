/* SPDX-License-Identifier: Apache-2.0 */
/* sim_corpus.c - aon sim corpus: jobs with known faults, as records and truths, into a folder. */
#include "cli/model/sim_corpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/model/devices.h"
#include "cli/store/import_store.h"
#include "cli/core/inputs.h"
#include "cli/core/out.h"

#define PATH_MAX_BYTES 4096u
#define CASES          100u
#define CASES_MAX      9999u

/* --- what is asked for --- */

static int kind_bits(const char *text, uint64_t *out)
{
	for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',') {
		int k = fault_kind_of(p, strcspn(p, ","));

		if (k < 0)
			return cli_misuse(
				"--kinds: '%.*s' is no kind of fault (aon sim --list-faults)",
				(int)strcspn(p, ","), p);
		*out |= 1ull << k;
	}
	return CLI_OK;
}

static int layout_bits(const char *text, uint64_t *out)
{
	for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t len = strcspn(p, ","), i = 0;
		const char *word;

		while ((word = corpus_layout_at(i, NULL)) &&
		       (strlen(word) != len || memcmp(word, p, len)))
			i++;
		if (!word)
			return cli_misuse(
				"--layouts: '%.*s' is none (aon sim corpus --list-layouts)",
				(int)len, p);
		*out |= 1ull << i;
	}
	return CLI_OK;
}

/* "64" or "8-512". */
static int ranks_range(const char *text, struct corpus_opts *c)
{
	char *end;
	unsigned long a, b;

	a = b = strtoul(text, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		b = strtoul(end + 1, &end, 10);
	if (*end || *text < '0' || *text > '9' || a > b || !b || b > JOB_RANKS_MAX)
		return cli_misuse("--ranks takes N or N-N here, not '%s'", text);
	c->ranks = (uint32_t)a;
	c->max_ranks = (uint32_t)b;
	return CLI_OK;
}

int sim_corpus_given(const struct opts *o, struct corpus_opts *c, uint32_t *cases)
{
	const char *key = o->val[OPT_DEVICE] ? o->val[OPT_DEVICE] : "H100_SXM";
	uint32_t seed = 1;
	int rc = devices_load();

	corpus_opts_init(c);
	*cases = CASES;
	rc = rc != CLI_OK ? rc : opt_u32(o, OPT_SEED, &seed);
	rc = rc != CLI_OK ? rc : opt_u32(o, OPT_CASES, cases);
	rc = rc != CLI_OK ? rc : opt_u32(o, OPT_SIMSTEPS, &c->steps);
	rc = rc != CLI_OK ? rc : opt_number(o, OPT_MISSING, 0, 1, &c->missing);
	rc = rc != CLI_OK ? rc : opt_number(o, OPT_CLEANSHARE, 0, 1, &c->clean);
	rc = rc != CLI_OK ? rc : opt_number(o, OPT_PACKED, 0, 4, &c->packed);
	if (rc == CLI_OK && o->val[OPT_RANKCOUNT])
		rc = ranks_range(o->val[OPT_RANKCOUNT], c);
	if (rc == CLI_OK && o->val[OPT_SIMKINDS])
		rc = kind_bits(o->val[OPT_SIMKINDS], &c->kinds);
	if (rc == CLI_OK && o->val[OPT_LAYOUTS])
		rc = layout_bits(o->val[OPT_LAYOUTS], &c->layouts);
	c->seed = seed;
	c->gpu = gpu_find(key);
	if (rc != CLI_OK)
		return rc;
	if (!c->gpu)
		return cli_misuse("no device '%s'. See: aon roofline devices", key);
	if (!*cases || *cases > CASES_MAX)
		return cli_misuse("--cases is from 1 to %u", CASES_MAX);
	if (c->steps < 32 || c->steps > 1u << 20)
		return cli_misuse("--steps is from 32 to 1048576 here");
	return CLI_OK;
}

static int list_layouts(const struct opts *o)
{
	static const struct col col[] = { { "LAYOUT", COL_LEFT, 0 },
					  { "WHAT", COL_LEFT | COL_FLEX, 0 } };
	const char *what, *word;
	struct table t;
	struct out out;
	struct json j;

	if (o->val[OPT_JSON]) {
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.sim.layouts/1");
		json_open(&j, "layouts", '[');
		for (size_t i = 0; (word = corpus_layout_at(i, &what)); i++) {
			json_open(&j, NULL, '{');
			json_str(&j, "name", word);
			json_str(&j, "what", what);
			json_close(&j);
		}
		json_end(&j);
		return CLI_OK;
	}
	out_init(&out, stdout, o);
	table_init(&t, col, sizeof(col) / sizeof(*col));
	for (size_t i = 0; (word = corpus_layout_at(i, &what)); i++) {
		table_add(&t, "%s", word);
		table_add(&t, "%s", what);
	}
	table_print(&t, &out, 0);
	table_fini(&t);
	return CLI_OK;
}

/* --- the folder --- */

static FILE *open_in(const char *dir, const char *name, const char *tail, char path[PATH_MAX_BYTES])
{
	snprintf(path, PATH_MAX_BYTES, "%s/%s%s", dir, name, tail);
	return fopen(path, "wx");
}

static int write_step(void *arg, uint32_t step, const void *data, size_t len)
{
	(void)step;
	if (import_stopped())
		return -ECANCELED;
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

static int close_all(FILE *f, const char *path)
{
	bool bad = ferror(f);

	if (fclose(f) || bad)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno ? errno : EIO));
	return CLI_OK;
}

static int write_truth(const char *dir, const struct corpus_case *c, const struct corpus_truth *t)
{
	char path[PATH_MAX_BYTES];
	FILE *f = open_in(dir, c->name, SIM_TRUTH_NAME, path);
	struct json j;

	if (!f)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
	json_init(&j, f);
	json_open(&j, NULL, '{');
	corpus_truth_json(&j, c, t);
	json_end(&j);
	return close_all(f, path);
}

struct told {
	uint32_t cases, events, counted;
	uint64_t records, bytes;
};

static int write_case(const char *dir, const struct corpus_case *c, struct told *told)
{
	char path[PATH_MAX_BYTES];
	struct corpus_truth t;
	FILE *f = open_in(dir, c->name, SIM_STEPS_NAME, path);
	int err, rc;

	if (!f)
		return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
	err = corpus_play(c, write_step, f, &t);
	told->bytes += (uint64_t)ftell(f);
	rc = close_all(f, path);
	if (err < 0)
		return rc != CLI_OK ? rc : cli_say(CLI_FAIL, "%s: %s", c->name, strerror(-err));
	told->cases++;
	told->events += t.events;
	for (uint32_t i = 0; i < t.events; i++)
		told->counted += t.event[i].gain >= 0.01;
	told->records += (uint64_t)t.world * (t.steps + t.hung);
	rc = rc != CLI_OK ? rc : write_truth(dir, c, &t);
	corpus_truth_fini(&t);
	return rc;
}

static void say(const struct opts *o, const char *dir, const struct told *t)
{
	char n[FMT_LEN], b[FMT_LEN];
	struct out out;
	struct json j;

	if (o->val[OPT_JSON]) {
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.sim.corpus/1");
		json_str(&j, "output", dir);
		json_u64(&j, "cases", t->cases);
		json_u64(&j, "events", t->events);
		json_u64(&j, "counted", t->counted);
		json_u64(&j, "records", t->records);
		json_u64(&j, "bytes", t->bytes);
		json_end(&j);
		return;
	}
	out_init(&out, stdout, o);
	out_line(&out, OUT_BOLD,
		 "%" PRIu32 " cases, %" PRIu32 " faults, %" PRIu32 " of them cost 1 %% or more",
		 t->cases, t->events, t->counted);
	out_line(&out, OUT_PLAIN, "  %s records, %s", fmt_count(n, t->records),
		 fmt_bytes(b, t->bytes));
	fprintf(out.f, "\nnext  %saon sim score %s%s\n", out_style(&out, OUT_COPY), dir,
		out_style(&out, OUT_PLAIN));
}

int sim_corpus(const struct opts *o)
{
	const char *dir = o->val[OPT_OUTPUT];
	struct told told = { 0 };
	struct corpus_opts c;
	struct corpus_case one;
	uint32_t cases;
	int rc;

	if (o->val[OPT_LISTLAYOUTS])
		return list_layouts(o);
	rc = sim_corpus_given(o, &c, &cases);
	if (rc != CLI_OK)
		return rc;
	if (!dir)
		return cli_misuse("where to? -o FOLDER");
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return cli_say(CLI_FAIL, "%s: %s", dir, strerror(errno));
	for (uint32_t i = 0; i < cases && rc == CLI_OK; i++) {
		if (corpus_case(&one, &c, i) < 0)
			return cli_misuse("no layout is of so many ranks");
		rc = write_case(dir, &one, &told);
		inputs_progress((void *)(uintptr_t)o, one.name, i + 1, cases);
	}
	inputs_progress_end();
	if (rc == CLI_OK)
		say(o, dir, &told);
	return rc;
}
