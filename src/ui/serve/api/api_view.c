/* SPDX-License-Identifier: Apache-2.0 */
/* api_view.c - the analysis of a run: devices, steps, findings, memory, comparisons. */
#include <errno.h>
#include <stdio.h>

#include "insight/diff.h"
#include "read/json.h"
#include "read/whatif.h"
#include "serve/analysis.h"
#include "store/trace.h"

#define STEPS_MOST 5000u

int api_devices(struct ask *q, struct json *j)
{
	struct analysis *an;
	int err = analysis_begin(q, j, &an);

	if (!err)
		insight_devices_json(j, an->in);
	return err;
}

int api_steps(struct ask *q, struct json *j)
{
	uint64_t from = 0, most = STEPS_MOST;
	struct analysis *an;
	char next[24];
	int err;

	if (ask_number(q, "limit", 1, STEPS_MOST, &most) < 0 ||
	    ask_number(q, "cursor", 0, 999999999, &from) < 0)
		return -EINVAL;
	err = analysis_begin(q, j, &an);
	if (err < 0)
		return err;
	from = from < an->in->steps ? from : an->in->steps;
	insight_steps_json(j, an->in, q->run.t0, from, most);
	snprintf(next, sizeof(next), "%llu", (unsigned long long)(from + most));
	json_str(j, "next", from + most < an->in->steps ? next : NULL);
	return 0;
}

int api_findings(struct ask *q, struct json *j)
{
	struct analysis *an;
	int err = analysis_begin(q, j, &an);

	err = err ? err : analysis_findings(an, q);
	if (!err)
		findings_json(j, an->t, an->fs, q->run.t0);
	return err;
}

int api_memory(struct ask *q, struct json *j)
{
	struct analysis *an;
	int err = analysis_begin(q, j, &an);

	if (!err)
		insight_memory_json(j, an->in, q->run.t0);
	return err;
}

/* --- two runs --- */

static int compare(struct json *j, const struct analysis *was, const struct analysis *is,
		   const char *a, const char *b)
{
	struct profile p[2] = { { .steps = 0 }, { .steps = 0 } };
	struct diff d = { .a = NULL };
	int err = profile_init(&p[0], was->in, was->fs, PROFILE_ALL);

	err = err ? err : profile_init(&p[1], is->in, is->fs, PROFILE_ALL);
	err = err ? err : diff_init(&d, &p[0], &p[1]);
	if (!err) {
		json_bool(j, "partial", !was->whole || !is->whole);
		diff_json(j, &d, a, b);
		diff_findings_json(j, was->fs, is->fs);
	}
	diff_fini(&d);
	profile_fini(&p[0]);
	profile_fini(&p[1]);
	return err;
}

int api_diff(struct ask *q, struct json *j)
{
	const char *vs = url_get(&q->url, "vs");
	struct analysis *was = NULL, *is;
	struct ask other = { .s = q->s, .who = q->who };
	int err;

	if (!vs)
		return ask_mistake(q, "vs is needed: the run to compare with");
	err = run_find(&other.run, q->s, q->who, vs);
	if (err == -ENOENT)
		return ask_mistake(q, "vs: there is no such run");
	err = err ? err : analysis_new(&was, &other);
	q->fleeting |= !err && was->comes;
	err = err ? err : analysis_findings(was, &other);
	err = err ? err : analysis_get(q, &is);
	err = err ? err : analysis_findings(is, q);
	err = err ? err : compare(j, was, is, run_name(&other.run), run_name(&q->run));
	analysis_free(was);
	run_fini(&other.run);
	return err;
}

/* --- what if --- */

int api_whatif(struct ask *q, struct json *j)
{
	static const char *const flag[] = { "no_sync", "overlap_comm", "free_host", "free_launch" };
	struct whatif_ask ask = { .scale = url_get(&q->url, "scale"),
				  .scale_host = url_get(&q->url, "scale_host") };
	char why[WHATIF_WHY] = "";
	const struct trace *t;
	struct whatif *w = NULL;
	struct analysis *an;
	int on[4], err;

	for (size_t i = 0; i < 4; i++) {
		on[i] = ask_choice(q, flag[i], "0|1");
		if (on[i] < 0)
			return on[i];
	}
	ask.no_sync = on[0];
	ask.overlap_comm = on[1];
	ask.free_host = on[2];
	ask.free_launch = on[3];
	err = analysis_get(q, &an);
	err = err ? err : analysis_events(an, q, &t);
	err = err ? err : whatif_new(&w, t, &ask, why);
	if (err == -EINVAL || err == -ENOENT)
		return *why ? ask_mistake(q, "%s", why) : err;
	if (err == -ENODATA)
		q->mistake = "Nothing to replay: the run has no runtime calls and no GPU work.";
	if (err < 0)
		return err;
	analysis_events_json(j, an, &q->run);
	whatif_json(j, w);
	whatif_free(w);
	return 0;
}
