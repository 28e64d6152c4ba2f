/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.c - see cursor.h. The file has a header, then the struct of each job up to its last open
 * finding.
 */
#include "follow/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow/follow.h"

#define MAGIC   0x664e4f41u /* "AONf" */
#define VERSION 1u
#define FIXED   offsetof(struct cursor_job, open)

struct head {
	uint32_t magic, version, jobs, unused;
};

static size_t size_of(const struct cursor_job *j)
{
	return FIXED + j->opens * sizeof(j->open[0]);
}

void *cursor_encode(const struct cursor_job *const *job, size_t n, size_t *len)
{
	struct head h = { MAGIC, VERSION, (uint32_t)n, 0 };
	size_t at = sizeof(h);
	uint8_t *to;

	for (size_t i = 0; i < n; i++)
		at += size_of(job[i]);
	to = malloc(at);
	if (!to)
		return NULL;
	*len = at;
	memcpy(to, &h, sizeof(h));
	at = sizeof(h);
	for (size_t i = 0; i < n; i++) {
		memcpy(to + at, job[i], size_of(job[i]));
		at += size_of(job[i]);
	}
	return to;
}

static bool is_sound(const struct cursor_job *j)
{
	for (uint32_t i = 0; i < j->opens; i++) {
		const struct cursor_open *x = &j->open[i];

		if (x->kind >= DIAG_KINDS || x->why >= DIAG_WHYS || !x->parts ||
		    x->parts > DIAG_PARTS)
			return false;
		for (uint32_t k = 0; k < x->parts; k++)
			if (x->part[k].level >= DIAG_LEVELS)
				return false;
	}
	return memchr(j->job, '\0', sizeof(j->job)) != NULL;
}

int cursor_decode(struct cursor_job **out, size_t *n, const void *data, size_t len)
{
	const uint8_t *from = data;
	struct cursor_job *job;
	size_t at = sizeof(struct head);
	struct head h;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, from, sizeof(h));
	if (h.magic != MAGIC || h.version != VERSION || h.jobs > FOLLOW_JOBS)
		return -EBADMSG;
	job = calloc(h.jobs ? h.jobs : 1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	for (uint32_t i = 0; i < h.jobs; i++) {
		size_t more;

		if (len - at < FIXED)
			goto bad;
		memcpy(&job[i], from + at, FIXED);
		at += FIXED;
		more = job[i].opens * sizeof(job[i].open[0]);
		if (job[i].opens > CURSOR_OPEN || len - at < more)
			goto bad;
		memcpy(job[i].open, from + at, more);
		at += more;
		if (!is_sound(&job[i]))
			goto bad;
	}
	if (at != len)
		goto bad;
	*out = job;
	*n = h.jobs;
	return 0;
bad:
	free(job);
	return -EBADMSG;
}
