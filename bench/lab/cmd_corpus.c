/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_corpus.c - aon-lab corpus: jobs with known faults, as records and truths, into a folder. */
#include "lab/lab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/fmt.h"
#include "base/json.h"
#include "theory/devices.h"

#define PATH_MAX_BYTES 4096u
#define CASES          100u
#define CASES_MAX      9999u

/* --- what is asked for --- */

static int kind_bits(const char *text, uint64_t *out)
{
	for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',') {
		int k = fault_kind_of(p, strcspn(p, ","));

		if (k < 0)
			return lab_say(
				LAB_USAGE,
				"--kinds: '%.*s' is no kind of fault (aon sim --list-faults)",
				(int)strcspn(p, ","), p);
		*out |= 1ull << k;
	}
	return LAB_OK;
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
			return lab_say(LAB_USAGE,
				       "--layouts: '%.*s' is none (aon-lab --list-layouts)",
				       (int)len, p);
		*out |= 1ull << i;
	}
	return LAB_OK;
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
		return lab_say(LAB_USAGE, "--ranks takes N or N-N here, not '%s'", text);
	c->ranks = (uint32_t)a;
	c->max_ranks = (uint32_t)b;
	return LAB_OK;
}

/* Devices of one's own, if $AON_DEVICES names a file. */
static int devices_given(void)
{
	const char *path = getenv("AON_DEVICES");
	struct devices_why why;
	char *text;
	size_t len;
	int err;

	if (!path || !*path)
		return LAB_OK;
	err = file_read(&text, &len, path, DEVICES_BYTES);
	if (err < 0)
		return lab_say(LAB_FAIL, "%s: %s", path, strerror(-err));
	err = devices_add(text, len, &why);
	free(text);
	return err < 0 ? lab_say(LAB_FAIL, "%s:%zu: %s", path, why.line, why.text) : LAB_OK;
}

int lab_corpus_given(const struct lab_opts *o, struct corpus_opts *c, uint32_t *cases)
{
	const char *key = o->val[LAB_DEVICE] ? o->val[LAB_DEVICE] : "H100_SXM";
	uint32_t seed = 1;
	int rc = devices_given();

	corpus_opts_init(c);
	*cases = CASES;
	rc = rc != LAB_OK ? rc : lab_u32(o, LAB_SEED, &seed);
	rc = rc != LAB_OK ? rc : lab_u32(o, LAB_CASES, cases);
	rc = rc != LAB_OK ? rc : lab_u32(o, LAB_STEPS, &c->steps);
	rc = rc != LAB_OK ? rc : lab_number(o, LAB_MISSING, 0, 1, &c->missing);
	rc = rc != LAB_OK ? rc : lab_number(o, LAB_CLEAN, 0, 1, &c->clean);
	rc = rc != LAB_OK ? rc : lab_number(o, LAB_PACKED, 0, 4, &c->packed);
	if (rc == LAB_OK && o->val[LAB_RANKS])
		rc = ranks_range(o->val[LAB_RANKS], c);
	if (rc == LAB_OK && o->val[LAB_KINDS])
		rc = kind_bits(o->val[LAB_KINDS], &c->kinds);
	if (rc == LAB_OK && o->val[LAB_LAYOUTS])
		rc = layout_bits(o->val[LAB_LAYOUTS], &c->layouts);
	c->seed = seed;
	c->gpu = gpu_find(key);
	if (rc != LAB_OK)
		return rc;
	if (!c->gpu)
		return lab_say(LAB_USAGE, "no device '%s'. See: aon roofline devices", key);
	if (!*cases || *cases > CASES_MAX)
		return lab_say(LAB_USAGE, "--cases is from 1 to %u", CASES_MAX);
	if (c->steps < 32 || c->steps > 1u << 20)
		return lab_say(LAB_USAGE, "--steps is from 32 to 1048576 here");
	return LAB_OK;
}

static int list_layouts(const struct lab_opts *o)
{
	const char *what, *word;
	struct json j;

	for (size_t i = 0; !o->val[LAB_JSON] && (word = corpus_layout_at(i, &what)); i++)
		printf("%-14s %s\n", word, what);
	if (!o->val[LAB_JSON])
		return LAB_OK;
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
	return LAB_OK;
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
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

static int close_all(FILE *f, const char *path)
{
	bool bad = ferror(f);

	if (fclose(f) || bad)
		return lab_say(LAB_FAIL, "%s: %s", path, strerror(errno ? errno : EIO));
	return LAB_OK;
}

static int write_truth(const char *dir, const struct corpus_case *c, const struct corpus_truth *t)
{
	char path[PATH_MAX_BYTES];
	FILE *f = open_in(dir, c->name, LAB_TRUTH_NAME, path);
	struct json j;

	if (!f)
		return lab_say(LAB_FAIL, "%s: %s", path, strerror(errno));
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
	FILE *f = open_in(dir, c->name, LAB_STEPS_NAME, path);
	int err, rc;

	if (!f)
		return lab_say(LAB_FAIL, "%s: %s", path, strerror(errno));
	err = corpus_play(c, write_step, f, &t);
	told->bytes += (uint64_t)ftell(f);
	rc = close_all(f, path);
	if (err < 0)
		return rc != LAB_OK ? rc : lab_say(LAB_FAIL, "%s: %s", c->name, strerror(-err));
	told->cases++;
	told->events += t.events;
	for (uint32_t i = 0; i < t.events; i++)
		told->counted += t.event[i].gain >= 0.01;
	told->records += (uint64_t)t.world * (t.steps + t.hung);
	rc = rc != LAB_OK ? rc : write_truth(dir, c, &t);
	corpus_truth_fini(&t);
	return rc;
}

static void say(const struct lab_opts *o, const char *dir, const struct told *t)
{
	char n[FMT_LEN], b[FMT_LEN];
	struct json j;

	if (o->val[LAB_JSON]) {
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
	printf("%" PRIu32 " cases, %" PRIu32 " faults, %" PRIu32 " of them cost 1 %% or more\n",
	       t->cases, t->events, t->counted);
	printf("  %s records, %s\n\nnext  aon-lab score %s\n", fmt_count(n, t->records),
	       fmt_bytes(b, t->bytes), dir);
}

int lab_corpus(const struct lab_opts *o)
{
	const char *dir = o->val[LAB_OUTPUT];
	struct told told = { 0 };
	struct corpus_opts c;
	struct corpus_case one;
	uint32_t cases;
	int rc;

	if (o->val[LAB_LAYOUTLIST])
		return list_layouts(o);
	rc = lab_corpus_given(o, &c, &cases);
	if (rc != LAB_OK)
		return rc;
	if (!dir)
		return lab_say(LAB_USAGE, "where to? -o FOLDER");
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return lab_say(LAB_FAIL, "%s: %s", dir, strerror(errno));
	for (uint32_t i = 0; i < cases && rc == LAB_OK; i++) {
		if (corpus_case(&one, &c, i) < 0)
			return lab_say(LAB_USAGE, "no layout is of so many ranks");
		rc = write_case(dir, &one, &told);
		lab_progress(one.name, i + 1, cases);
	}
	if (rc == LAB_OK)
		say(o, dir, &told);
	return rc;
}
