/* SPDX-License-Identifier: Apache-2.0 */
/* top_jobs.c - the first finding of each job that runs, in a line; see top.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/report/answer_text.h"
#include "cli/report/top.h"

#define AGAIN_NS (10 * WINDOW_NS) /* an answer changes slowly, and costs more than a look */

static struct {
	struct top_job job[TOP_JOBS];
	uint64_t ns[TOP_JOBS];
	size_t n;
} known;

static bool remembered(const struct top_look *l, struct top_job *job)
{
	for (size_t i = 0; i < known.n; i++)
		if (!strcmp(known.job[i].run, job->run) && l->now_ns < known.ns[i] + AGAIN_NS) {
			*job = known.job[i];
			return true;
		}
	return false;
}

static void remember(const struct top_look *l, const struct top_job *job)
{
	size_t i = 0;

	while (i < known.n && strcmp(known.job[i].run, job->run) != 0)
		i++;
	if (i == TOP_JOBS)
		i = 0;
	known.n += i == known.n;
	known.job[i] = *job;
	known.ns[i] = l->now_ns;
}

static bool is_first(const struct top_look *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(l->procs.p[k].run, l->procs.p[i].run))
			return false;
	return true;
}

void top_jobs(struct top_look *l)
{
	for (size_t i = 0; i < l->procs.n && l->jobs < TOP_JOBS; i++) {
		struct top_job job = { .text = "" };
		struct procs some;
		struct short_answer a;

		if (*l->procs.p[i].run && !is_first(l, i))
			continue;
		if (*l->procs.p[i].run)
			snprintf(job.run, sizeof(job.run), "%s", l->procs.p[i].run);
		else
			snprintf(job.run, sizeof(job.run), "pid %u", l->procs.p[i].pid);
		if (!remembered(l, &job)) {
			some = answer_run(&l->procs, i);
			if (answer_load(&a, l->st, l->path, &some))
				snprintf(job.text, sizeof(job.text), "%s", a.what);
			free(some.p);
			remember(l, &job);
		}
		if (*job.text)
			l->job[l->jobs++] = job;
	}
}
