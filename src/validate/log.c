/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - one reader for each tool's log; the first whose words are in it reads it. */
#include "validate/log.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"

#define LINE 4096u

/* The next line into `out`, cut; false at the end. */
static bool next_line(const char **p, const char *end, char out[LINE])
{
	const char *from = *p, *nl;
	size_t n;

	if (from >= end)
		return false;
	nl = memchr(from, '\n', (size_t)(end - from));
	n = (size_t)((nl ? nl : end) - from);
	*p = nl ? nl + 1 : end;
	n = n < LINE - 1 ? n : LINE - 1;
	memcpy(out, from, n);
	out[n] = '\0';
	return true;
}

static bool has(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

static void set_number(struct facts *f, const char *key, double v)
{
	if (isfinite(v) && fabs(v) < 1e18)
		facts_set(f, key, "%.6g", v);
}

/* --- nccl-tests --- */

/* "size count type redop [root] time algbw busbw error time algbw busbw error": bus bandwidth of the largest. */
static void nccl(struct facts *f, const char *p, const char *end)
{
	double best = 0, largest = -1, at_largest = 0, avg;
	char line[LINE], *at;

	while (next_line(&p, end, line)) {
		char *word[16], *rest = line, *w;
		size_t n = 0;

		if ((at = strstr(line, "Avg bus bandwidth")) && (at = strchr(at, ':')) &&
		    (avg = strtod(at + 1, NULL)) > 0)
			set_number(f, "log/nccl/busbw_avg_GBps", avg);
		if ((at = strstr(line, "Out of bounds values")) && (at = strchr(at, ':')))
			set_number(f, "log/nccl/wrong", strtod(at + 1, NULL));
		if (*line == '#')
			continue;
		while (n < 16 && (w = strsep(&rest, " \t")))
			if (*w)
				word[n++] = w;
		/* The last eight are two times time, algbw, busbw, error; before them words. */
		if (n < 11 || !isdigit((unsigned char)*word[0]) ||
		    !isdigit((unsigned char)*word[1]) || !isalpha((unsigned char)*word[2]))
			continue;
		best = fmax(best, fmax(atof(word[n - 6]), atof(word[n - 2])));
		if (atof(word[0]) > largest) {
			largest = atof(word[0]);
			at_largest = fmax(atof(word[n - 6]), atof(word[n - 2]));
		}
	}
	if (largest >= 0) {
		set_number(f, "log/nccl/busbw_GBps", at_largest);
		set_number(f, "log/nccl/busbw_best_GBps", best);
		set_number(f, "log/nccl/largest_bytes", largest);
	}
}

/* --- gpu-burn --- */

static void burn(struct facts *f, const char *p, const char *end)
{
	unsigned tested = 0, faulty = 0;
	double errors = 0, temp = 0;
	char line[LINE];

	while (next_line(&p, end, line)) {
		char *at = strstr(line, "errors:"), *temps = strstr(line, "temps:");
		unsigned gpu;
		char state[16];

		if (sscanf(line, " GPU %u: %15s", &gpu, state) == 2 &&
		    (!strcmp(state, "OK") || !strcmp(state, "FAULTY"))) {
			tested++;
			faulty += !strcmp(state, "FAULTY");
		}
		for (at = at ? at + 7 : NULL; at && *at && strncmp(at, "temps", 5); at++)
			if (isdigit((unsigned char)*at)) {
				errors = fmax(errors, strtod(at, &at));
				at--;
			}
		for (at = temps ? temps + 6 : NULL; at && *at; at++)
			if (isdigit((unsigned char)*at)) {
				double t = strtod(at, &at);

				temp = t < 200 ? fmax(temp, t) : temp;
				at--;
			}
	}
	if (!tested)
		return;
	set_number(f, "log/gpu_burn/gpus", tested);
	set_number(f, "log/gpu_burn/faulty", faulty);
	set_number(f, "log/gpu_burn/errors", fmax(errors, faulty));
	if (temp > 0)
		set_number(f, "log/gpu_burn/temp_max", temp);
}

/* --- STREAM --- */

static void stream(struct facts *f, const char *p, const char *end)
{
	char line[LINE], name[16], key[64];
	double rate;

	while (next_line(&p, end, line))
		if (sscanf(line, "%15[A-Za-z]: %lf", name, &rate) == 2 &&
		    (!strcmp(name, "Copy") || !strcmp(name, "Scale") || !strcmp(name, "Add") ||
		     !strcmp(name, "Triad"))) {
			snprintf(key, sizeof(key), "log/stream/%s_MBps", name);
			set_number(f, key, rate);
		}
}

/* --- perftest of InfiniBand --- */

static void perftest(struct facts *f, const char *p, const char *end)
{
	double bytes, iterations, peak, average, largest = -1;
	char line[LINE], device[48] = "", *at;
	char key[128];

	while (next_line(&p, end, line)) {
		if ((at = strstr(line, "Device")) && (at = strchr(at, ':')))
			sscanf(at + 1, " %40[A-Za-z0-9_.-]", device);
		if (sscanf(line, " %lf %lf %lf %lf", &bytes, &iterations, &peak, &average) != 4 ||
		    bytes < largest || bytes < 1)
			continue;
		largest = bytes;
		snprintf(key, sizeof(key), "log/ib/%s/average_MBps", *device ? device : "port");
		set_number(f, key, average);
	}
}

/* --- fio --- */

static void fio_side(struct facts *f, const char *job, const char *side, struct json_tok object)
{
	const char *p = object.s + 1, *end = object.s + object.len;
	struct json_tok key, value;
	char name[FACT_KEY];
	double v;

	while (json_pair(&p, end, &key, &value)) {
		if (!json_tok_real(value, &v) || v <= 0)
			continue;
		if (json_tok_is(key, "bw_bytes")) {
			snprintf(name, sizeof(name), "log/fio/%.48s/%s_MBps", job, side);
			set_number(f, name, v / 1e6);
		} else if (json_tok_is(key, "iops")) {
			snprintf(name, sizeof(name), "log/fio/%.48s/%s_iops", job, side);
			set_number(f, name, v);
		}
	}
}

static void fio_job(struct facts *f, struct json_tok job)
{
	const char *p = job.s + 1, *end = job.s + job.len;
	struct json_tok key, value;
	char name[64] = "job";

	if (*job.s != '{')
		return;
	while (json_pair(&p, end, &key, &value)) {
		if (json_tok_is(key, "jobname"))
			name[json_tok_unescape(name, sizeof(name) - 1, json_tok_text(value))] =
				'\0';
		else if (*value.s == '{' && (json_tok_is(key, "read") || json_tok_is(key, "write")))
			fio_side(f, name, json_tok_is(key, "read") ? "read" : "write", value);
	}
}

static void fio(struct facts *f, const char *text, const char *until)
{
	const char *brace = memchr(text, '{', (size_t)(until - text)), *p, *end, *q;
	size_t n = brace ? (size_t)(until - brace) : 0;
	char *copy = malloc(n + JSON_PAD);
	struct json_tok key, value, job;

	if (!copy || !n) {
		free(copy);
		return;
	}
	memcpy(copy, brace, n);
	memset(copy + n, '"', JSON_PAD);
	end = copy + n;
	q = json_skip(copy, end);
	for (p = copy + 1; q && q <= end && json_pair(&p, end, &key, &value);) {
		const char *at = value.s + 1;

		while (json_tok_is(key, "jobs") && *value.s == '[' &&
		       json_item(&at, value.s + value.len, &job))
			fio_job(f, job);
	}
	free(copy);
}

/* --- nvidia-smi -q --- */

struct smi {
	unsigned gpus, lazy, no_ecc, lowered, narrow, pending, failed;
	double uncorrected, limit, usual, width, width_max;
	char section[3][48]; /* of the indents before */
};

static void smi_gpu_ends(struct smi *s)
{
	s->lowered += s->limit > 0 && s->usual > 0 && s->limit < s->usual * 0.999;
	s->narrow += s->width > 0 && s->width_max > s->width;
	s->limit = s->usual = s->width = s->width_max = 0;
}

static bool in(const struct smi *s, const char *section)
{
	return !strcmp(s->section[0], section) || !strcmp(s->section[1], section) ||
	       !strcmp(s->section[2], section);
}

static void smi_pair(struct facts *f, struct smi *s, const char *key, const char *value)
{
	char name[FACT_KEY];

	if (!strcmp(key, "Driver Version"))
		facts_set(f, "gpu/driver", "%.60s", value);
	if (!s->gpus)
		return;
	if (!strcmp(key, "Product Name") || !strcmp(key, "VBIOS Version")) {
		snprintf(name, sizeof(name), "gpu/%u/%s", s->gpus - 1,
			 *key == 'P' ? "name" : "vbios");
		facts_set(f, name, "%.100s", value);
	}
	s->lazy += !strcmp(key, "Persistence Mode") && !strcmp(value, "Disabled");
	s->no_ecc += !strcmp(key, "Current") && in(s, "ECC Mode") && !strcmp(value, "Disabled");
	s->pending += !strcmp(key, "Pending") && in(s, "Remapped Rows") && !strcmp(value, "Yes");
	s->failed += !strcmp(key, "Remapping Failure Occurred") && !strcmp(value, "Yes");
	if (in(s, "Volatile") && strstr(key, "Uncorrectable") && isdigit((unsigned char)*value))
		s->uncorrected += atof(value);
	if (in(s, "GPU Power Readings") || in(s, "Power Readings")) {
		if (strstr(key, "Power Limit") && isdigit((unsigned char)*value))
			*(*key == 'D'                                 ? &s->usual
			  : *key == 'C' || *key == 'E' || *key == 'P' ? &s->limit
								      : &(double){ 0 }) =
				atof(value);
	}
	if (in(s, "Link Width") && isdigit((unsigned char)*value))
		*(!strcmp(key, "Max")       ? &s->width_max
		  : !strcmp(key, "Current") ? &s->width
					    : &(double){ 0 }) = atof(value);
}

static void smi_line(struct facts *f, struct smi *s, char *line)
{
	size_t indent = strspn(line, " "), level = indent / 4;
	char *colon = strstr(line, " : "), *end;

	if (!indent && !strncmp(line, "GPU ", 4)) {
		smi_gpu_ends(s);
		s->gpus++;
		memset(s->section, 0, sizeof(s->section));
		return;
	}
	for (end = line + strlen(line); end > line && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	if (!colon) {
		for (size_t i = level ? level - 1 : 0; i < 3; i++)
			snprintf(s->section[i], sizeof(s->section[i]), "%.47s",
				 i + 1 == level ? line + indent : "");
		return;
	}
	for (end = colon; end > line && end[-1] == ' ';)
		end--;
	*end = '\0';
	for (size_t i = level ? level - 1 : 0; i < 3;
	     i++) /* it ended the sections that are not around it */
		s->section[i][0] = '\0';
	smi_pair(f, s, line + indent, colon + 3);
}

static void smi(struct facts *f, const char *p, const char *end)
{
	struct smi s = { 0 };
	char line[LINE];

	while (next_line(&p, end, line))
		smi_line(f, &s, line);
	smi_gpu_ends(&s);
	if (!s.gpus)
		return;
	set_number(f, "gpu/count", s.gpus);
	set_number(f, "gpu/persistence_off", s.lazy);
	set_number(f, "gpu/ecc_off", s.no_ecc);
	set_number(f, "gpu/power_lowered", s.lowered);
	set_number(f, "gpu/pcie_narrow", s.narrow);
	set_number(f, "gpu/remap_pending", s.pending);
	set_number(f, "gpu/remap_failed", s.failed);
	set_number(f, "gpu/uncorrected", s.uncorrected);
}

const char *log_facts(struct facts *f, const char *text, size_t len)
{
	static const struct {
		const char *tool, *word;
		void (*read)(struct facts *f, const char *p, const char *end);
	} tools[] = {
		{ "fio", "\"fio version\"", fio },      { "nccl-tests", "busbw", nccl },
		{ "gpu-burn", "Gflop/s", burn },        { "STREAM", "STREAM version", stream },
		{ "perftest", "BW average", perftest }, { "nvidia-smi", "NVSMI LOG", smi },
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (has(text, len, tools[i].word)) {
			tools[i].read(f, text, text + len);
			return tools[i].tool;
		}
	return NULL;
}
