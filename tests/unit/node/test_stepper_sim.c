/* SPDX-License-Identifier: Apache-2.0 */
/* Of a simulated job, the records that aond would make from its events are those of the simulator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agg/stepper.h"
#include "names/class.h"
#include "names/step_names.h"
#include "model/trace.h"
#include "lab/record.h"
#include "t.h"

#define STEPS 6u
#define RANKS 64u

static struct step_rec want[STEPS][RANKS], got[STEPS];

static void on_record(void *arg, struct step_rec *r, uint64_t begin_ns, uint64_t end_ns)
{
	(void)arg, (void)begin_ns, (void)end_ns;
	if (r->step < STEPS)
		got[r->step] = *r;
}

static int by_start(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int play(const struct job *j, struct trace *t)
{
	struct recorder *r = NULL;
	struct play_out *o = NULL;
	struct play *p = NULL;
	int err = play_new(&p, j, 0);

	err = err ? err : play_out_new(&o, j, t);
	err = err ? err : recorder_new(&r, p);
	for (uint32_t s = 0; s < STEPS && !err; s++) {
		err = play_step(p);
		err = err ? err : play_out_step(o, p);
		recorder_step(r);
		for (uint32_t rank = 0; rank < job_ranks(j) && !err; rank++)
			recorder_rank(r, rank, &want[s][rank]);
	}
	recorder_free(r);
	play_out_free(o);
	play_free(p);
	return err;
}

/* The events of one rank, as aond's stream hands them over: a track's number begins at 1. */
static void feed(const struct trace *t, uint32_t rank, const struct step_names *names)
{
	struct event *ev = calloc(t->events + 1, sizeof(*ev));
	struct step_rec head;
	struct stepper *s;
	size_t n = 0;

	if (!ev || stepper_new(&s, names) < 0)
		abort();
	for (uint32_t i = 0; i < t->tracks; i++) {
		struct track l = { .id = i + 1, .device = t->track[i].device };

		if (t->file[t->process[t->track[i].process].file].rank == (int32_t)rank)
			stepper_track(s, &l, "");
	}
	for (size_t i = 0; i < t->events; i++) {
		const struct trace_track *l = &t->track[t->event[i].track];

		if (t->file[t->process[l->process].file].rank != (int32_t)rank)
			continue;
		ev[n] = t->event[i];
		ev[n++].track++;
	}
	qsort(ev, n, sizeof(*ev), by_start);
	for (size_t i = 0; i < n; i++) /* the first one only begins it */
		if (ev[i].kind == EVENT_STEP)
			stepper_step(s, &ev[i], false);
	stepper_events(s, ev, n);
	step_rec_init(&head);
	head.world = 1;
	memset(got, 0, sizeof(got));
	stepper_make(s, UINT64_MAX, &head, on_record, NULL);
	stepper_free(s);
	free(ev);
}

static bool near(float a, float b)
{
	return fabsf(a - b) <= 200 + 1e-5f * fabsf(b);
}

/* Every rank, every step but the first and the last, whose next one is not there. */
static void compare(const char *set)
{
	static const char *const word[] = { "step", "compute", "comm", "exposed", "copy", "idle" };
	char why[JOB_WHY] = "", wrong[160] = "";
	struct step_names names = { 0 };
	struct names *meaning;
	size_t records = 0;
	struct trace *t;
	struct job j;

	job_init(&j);
	j.gpu = gpu_find("H100_SXM");
	if (job_model(&j, "small", why) < 0 || job_set(&j, set, why) < 0 ||
	    job_check(&j, why) < 0 || job_ranks(&j) > RANKS || trace_new(&t) < 0 ||
	    names_new(&meaning, NULL) < 0 || play(&j, t) < 0) {
		T_OK(0, "%s: %s", set, why);
		return;
	}
	names.of = calloc(t->names + 1, sizeof(*names.of));
	names.n = (uint32_t)t->names;
	for (uint32_t i = 0; i < names.n; i++)
		names.of[i] = means_of_text(meaning, trace_text(t, i));
	for (uint32_t rank = 0; rank < job_ranks(&j); rank++) {
		feed(t, rank, &names);
		for (uint32_t s = 1; s + 1 < STEPS; s++) {
			const float *a = &got[s].t.step, *b = &want[s][rank].t.step;

			records += got[s].world;
			for (size_t i = 0; i < T_LEN(word) && !*wrong; i++)
				if (!near(a[i], b[i]))
					snprintf(wrong, sizeof(wrong),
						 "rank %u, step %u: %s is %.0f, not %.0f", rank, s,
						 word[i], (double)a[i], (double)b[i]);
		}
	}
	T_OK(records == job_ranks(&j) * (STEPS - 2) && !*wrong, "%s: %zu records %s", set, records,
	     wrong);
	free(names.of);
	names_free(meaning);
	trace_free(t);
}

int main(void)
{
	compare("dp=4,steps=6");
	compare("dp=2,tp=2,pp=2,micro_batches=4,steps=6");
	return t_done();
}
