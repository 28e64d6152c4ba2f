/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - parses faults, and tells which ranks they hit and how strong they are at a time. */
#include "sim/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "sim/job.h"
#include "sim/noise.h"
#include "sim/telemetry.h"

const struct fault_row fault_table[FAULTS] = {
#define FAULT(ID, code, word, part, scope, by, least, most, course, every, what)         \
	[FAULT_##ID] = { code, #word, what, PART_##part, SCOPE_##scope, COURSE_##course, \
			 by,   least, most, every },
#include "sim/fault.tbl.h"
};

const char *const course_word[COURSES] = {
	[COURSE_SUDDEN] = "sudden", [COURSE_RAMP] = "ramp",   [COURSE_LADDER] = "ladder",
	[COURSE_ONOFF] = "onoff",   [COURSE_SPIKE] = "spike", [COURSE_EVERY] = "every",
};

/* --- words --- */

static int bad(char why[JOB_WHY], const char *text, const char *what)
{
	snprintf(why, JOB_WHY, "'%.*s': %s", (int)strcspn(text, "+"), text, what);
	return -EINVAL;
}

int fault_kind_of(const char *word, size_t len)
{
	for (int k = 0; k < FAULTS; k++) {
		const char *name[] = { fault_table[k].word, fault_table[k].code };

		for (size_t i = 0; i < 2; i++)
			if (strlen(name[i]) == len && !strncasecmp(name[i], word, len))
				return k;
	}
	return -1;
}

static int course_of(const char *word, size_t len)
{
	for (int c = 0; c < COURSES; c++)
		if (strlen(course_word[c]) == len && !memcmp(course_word[c], word, len))
			return c;
	return -1;
}

/* "3" or "3-7". */
static bool span_of(const char *text, const char *end, uint32_t limit, struct fault *f)
{
	const char *at;
	uint64_t a, b;

	if (*text < '0' || *text > '9')
		return false;
	a = b = num_front(text, &at);
	if (*at == '-' && at[1] >= '0' && at[1] <= '9')
		b = num_front(at + 1, &at);
	if (at != end || a > b || b >= limit)
		return false;
	f->first = (uint32_t)a;
	f->last = (uint32_t)b;
	return true;
}

static bool number_of(const char *text, const char *end, double least, double most, double *out)
{
	const char *at;
	double v = num_front_real(text, &at);

	if (at != end || at == text || !(v >= least) || !(v <= most))
		return false;
	*out = v;
	return true;
}

static const char *how_of(struct fault *f, const char *word, size_t len)
{
	for (f->how = 0; sim_how_word(f->kind, f->how); f->how++)
		if (strlen(sim_how_word(f->kind, f->how)) == len &&
		    !memcmp(sim_how_word(f->kind, f->how), word, len))
			return NULL;
	return "how is no way in which telemetry shows it (docs/sim.md)";
}

/* One "word=value" of a fault. */
static const char *set_one(struct fault *f, const struct job *j, const char *word,
			   const char *value, const char *end)
{
	const struct fault_row *row = &fault_table[f->kind];
	size_t len = (size_t)(value - word - 1);
	double v = 0;

#define IS(s) (len == sizeof(s) - 1 && !memcmp(word, s, len))
	if (IS("rank") && row->scope == SCOPE_RANK)
		return span_of(value, end, job_ranks(j), f) ? NULL : "rank is no rank of the job";
	if (IS("node") && row->scope == SCOPE_NODE)
		return span_of(value, end, job_node(j, job_ranks(j) - 1) + 1, f)
			       ? NULL
			       : "node is no node of the job";
	if (IS("by"))
		return number_of(value, end, row->least, row->most, &f->by)
			       ? NULL
			       : "by is out of range (aon sim --list-faults)";
	if (IS("course")) {
		int c = course_of(value, (size_t)(end - value));

		if (c < 0)
			return "course is sudden, ramp, ladder, onoff, spike or every";
		f->course = (enum fault_course)c;
		f->every = f->every ? f->every : 10;
		return NULL;
	}
	if (IS("how"))
		return how_of(f, value, (size_t)(end - value));
	if (!IS("from") && !IS("for") && !IS("every"))
		return row->scope == SCOPE_NODE
			       ? "it takes node, by, from, for, every, course and how"
		       : row->scope == SCOPE_RANK
			       ? "it takes rank, by, from, for, every, course and how"
			       : "it takes by, from, for, every, course and how";
	if (!number_of(value, end, IS("from") ? 0 : 1, 1e9, &v) || v != (uint32_t)v)
		return "from, for and every are whole numbers of steps";
	if (IS("from"))
		f->from = (uint32_t)v;
	else if (IS("for"))
		f->steps = (uint32_t)v;
	else
		f->every = (uint32_t)v;
#undef IS
	return NULL;
}

const char *fault_misfit(enum fault_kind k, const struct job *j)
{
	switch (fault_table[k].part) {
	case PART_EXPERT:
		return j->experts && j->ep > 1 ? NULL
					       : "the job has no experts on several ranks (ep)";
	case PART_STAGE:
		return j->pp > 1 ? NULL : "the job has no stages (pp)";
	case PART_NET:
	case PART_NET_ADD:
		return job_ranks(j) > j->ranks_per_node ? NULL : "the job has one node: no network";
	case PART_LINK:
		return j->ranks_per_node > 1 ? NULL : "the nodes have one GPU each: no links";
	case PART_TRANSPORT:
	case PART_DESYNC:
	case PART_SERIAL:
		return job_ranks(j) > 1 ? NULL : "the job has one rank";
	default:
		return NULL;
	}
}

static int one_fault(struct job *j, const char *text, size_t len, char why[JOB_WHY])
{
	size_t word = strcspn(text, ":+");
	int kind = fault_kind_of(text, word);
	const char *at = text + word, *end = text + len, *wrong = NULL;
	struct fault *f = &j->fault[j->faults];

	if (kind < 0)
		return bad(why, text, "no such fault (aon sim --list-faults)");
	if (j->faults == JOB_FAULTS_MAX)
		return bad(why, text, "too many faults, 16 at most");
	*f = (struct fault){ .kind = (enum fault_kind)kind,
			     .by = fault_table[kind].by,
			     .course = fault_table[kind].course,
			     .every = fault_table[kind].every,
			     .steps = UINT32_MAX };
	while (!wrong && at < end) {
		const char *name = at + 1, *stop = name + strcspn(name, ",+"),
			   *value = memchr(name, '=', (size_t)(stop - name));

		wrong = value ? set_one(f, j, name, value + 1, stop) : "NAME=VALUE was expected";
		at = stop;
	}
	if (!wrong && f->from >= j->steps)
		wrong = "from is behind the job's last step";
	wrong = wrong ? wrong : fault_misfit(f->kind, j);
	if (wrong)
		return bad(why, text, wrong);
	j->faults++;
	return 0;
}

int job_fault(struct job *j, const char *text, char why[JOB_WHY])
{
	int err = 0;

	while (!err) {
		size_t len = strcspn(text, "+");

		err = one_fault(j, text, len, why);
		if (!text[len])
			break;
		text += len + 1;
	}
	return err;
}

/* --- whom, when, how much --- */

void fault_ranks(const struct fault *f, const struct job *j, uint32_t *first, uint32_t *last)
{
	uint32_t ranks = job_ranks(j);

	*first = 0;
	*last = ranks - 1;
	switch (fault_table[f->kind].scope) {
	case SCOPE_RANK:
		*first = f->first;
		*last = f->last;
		break;
	case SCOPE_NODE:
		*first = f->first * j->ranks_per_node;
		*last = (f->last + 1) * j->ranks_per_node - 1;
		*last = *last < ranks ? *last : ranks - 1;
		break;
	case SCOPE_LAST:
		*first = ranks - j->dp * j->tp;
		break;
	case SCOPE_ALL:
		break;
	}
}

double fault_share(const struct fault *f, const struct job *j, uint32_t rank, uint32_t step)
{
	uint32_t first, last, age = step - f->from, every = f->every ? f->every : 1;
	uint32_t steps = f->steps < j->steps - f->from ? f->steps : j->steps - f->from;

	fault_ranks(f, j, &first, &last);
	if (rank < first || rank > last || step < f->from || age >= f->steps)
		return 0;
	switch (f->course) {
	case COURSE_RAMP:
		return age + 1 >= every ? 1 : (age + 1.0) / every;
	case COURSE_LADDER:
		return (double)(3 * (uint64_t)age / steps + 1) / 3;
	case COURSE_ONOFF:
		return age / every % 2 == 0;
	case COURSE_SPIKE:
		return noise_bits(j->seed, NOISE_OF_FAULT, (uint64_t)f->kind << 32 | rank, step,
				  0) %
			       every ==
		       0;
	case COURSE_EVERY:
		return (age + 1) % every == 0;
	default:
		return 1;
	}
}

uint32_t fault_onset(const struct fault *f, const struct job *j)
{
	uint32_t first, last;

	fault_ranks(f, j, &first, &last);
	for (uint32_t step = f->from; step < j->steps; step++)
		for (uint32_t r = first; r <= last; r++)
			if (fault_share(f, j, r, step) > 0)
				return step;
	return j->steps;
}
