/* SPDX-License-Identifier: Apache-2.0 */
/* log_fio.c - fio's JSON; lines of text may stand before it. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "validate/log_part.h"

static void side(struct log *l, const char *job, const char *which, struct json_tok object)
{
	const char *p = object.s + 1, *end = object.s + object.len;
	struct json_tok key, value;
	double v;

	while (json_pair(&p, end, &key, &value)) {
		if (!json_tok_real(value, &v) || v <= 0)
			continue;
		if (json_tok_is(key, "bw_bytes"))
			log_set(l, v / 1e6, "log/fio/%.48s/%s_MBps", job, which);
		else if (json_tok_is(key, "iops"))
			log_set(l, v, "log/fio/%.48s/%s_iops", job, which);
	}
}

static bool one_job(struct log *l, struct json_tok job, double *errors)
{
	const char *p = job.s + 1, *end = job.s + job.len;
	struct json_tok key, value;
	char name[64] = "job";
	double v;

	if (*job.s != '{')
		return false;
	while (json_pair(&p, end, &key, &value)) {
		if (json_tok_is(key, "jobname"))
			name[json_tok_unescape(name, sizeof(name) - 1, json_tok_text(value))] =
				'\0';
		else if (json_tok_is(key, "error") && json_tok_real(value, &v) && v != 0)
			++*errors;
		else if (*value.s == '{' && (json_tok_is(key, "read") || json_tok_is(key, "write")))
			side(l, name, json_tok_is(key, "read") ? "read" : "write", value);
	}
	return true;
}

int log_fio(struct log *l)
{
	const char *brace = memchr(l->p, '{', (size_t)(l->end - l->p)), *p, *end, *q;
	size_t n = brace ? (size_t)(l->end - brace) : 0;
	char *copy = malloc(n + JSON_PAD);
	struct json_tok key, value, job;
	double errors = 0;
	unsigned jobs = 0;

	for (const char *at = l->p; at < l->end && at < brace; at++)
		l->at += *at == '\n';
	l->at++;
	if (!copy || !n) {
		free(copy);
		return log_bad(l, "an object of JSON");
	}
	memcpy(copy, brace, n);
	memset(copy + n, '"', JSON_PAD);
	end = copy + n;
	q = json_skip(copy, end);
	for (p = copy + 1; q && q <= end && json_pair(&p, end, &key, &value);) {
		const char *at = value.s + 1;

		while (json_tok_is(key, "jobs") && *value.s == '[' &&
		       json_item(&at, value.s + value.len, &job))
			jobs += one_job(l, job, &errors);
	}
	free(copy);
	if (!jobs)
		return log_bad(l, "whole JSON with \"jobs\": fio --output-format=json");
	log_set(l, errors, "log/fio/errors");
	return 0;
}
