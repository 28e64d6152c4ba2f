/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_config.c - parses an order, and writes it in Kineto's format. */
#include <errno.h>
#include <inttypes.h>

#include "base/num.h"
#include "daemon/capture/kineto.h"

#define STEPS_MAX 100000u
#define MS_MAX    600000u
#define DIR_MAX   200u

/* Absolute, of plain characters, without a way up: it becomes a line of Kineto's settings, where #
 * begins a comment. */
static bool is_dir(const char *path)
{
	size_t len = strlen(path);

	for (const char *s = path; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f || *s == '#')
			return false;
	return *path == '/' && len <= DIR_MAX && !strstr(path, "..");
}

int kineto_parse(struct kineto_what *out, char *text)
{
	struct kineto_what w = { 0 }, *o = &w;
	const struct {
		const char *key;
		uint64_t max, *to;
	} keys[] = { { "steps=", STEPS_MAX, &o->steps },
		     { "start=", INT32_MAX, &o->start },
		     { "round=", INT32_MAX, &o->round },
		     { "ms=", MS_MAX, &o->ms },
		     { "at=", INT64_MAX, &o->at } };
	char *word;

	while ((word = strsep(&text, " "))) {
		int err = -EINVAL;

		if (!strncmp(word, "dir=", 4) && is_dir(word + 4)) {
			o->dir = word + 4;
			err = 0;
		}
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && err; i++)
			if (!strncmp(word, keys[i].key, strlen(keys[i].key)))
				err = num_u64(word + strlen(keys[i].key), 0, keys[i].max,
					      keys[i].to);
		if (err)
			return err;
	}
	if (!o->dir || !o->steps == !o->ms)
		return -EINVAL;
	*out = w;
	return 0;
}

/* As Kineto's Config.cpp reads it. The process's id goes before ".json" by itself. */
void kineto_config(char config[KINETO_CONFIG], const struct kineto_what *o)
{
	int n = snprintf(config, KINETO_CONFIG,
			 "ACTIVITIES_LOG_FILE=%s/trace.json\nPROFILE_REPORT_INPUT_SHAPES=true\n",
			 o->dir);

	if (o->ms)
		snprintf(config + n, KINETO_CONFIG - (size_t)n,
			 "PROFILE_START_TIME=%" PRIu64 "\nACTIVITIES_WARMUP_PERIOD_SECS=1\n"
			 "ACTIVITIES_DURATION_MSECS=%" PRIu64 "\n",
			 o->at, o->ms);
	else
		snprintf(config + n, KINETO_CONFIG - (size_t)n,
			 "PROFILE_START_ITERATION=%" PRIu64
			 "\nPROFILE_START_ITERATION_ROUNDUP=%" PRIu64
			 "\nACTIVITIES_ITERATIONS=%" PRIu64 "\n",
			 o->start, o->round ? o->round : 1, o->steps);
}
