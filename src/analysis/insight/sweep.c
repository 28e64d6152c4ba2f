/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - work, track by track, as keys: start, length and class. See sweep.h. */
#include "insight/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "insight/sampling_estimator.h"
#include "model/keys.h"

/* with: length << 8 | WITH_KERNEL | class */
#define WITH_KERNEL 0x80u
#define WITH_CLASS  0x7fu
#define WITH_SHIFT  8u

_Static_assert(CLASSES <= WITH_CLASS, "every class fits");

/* What a stream, or a device, did so far. */
struct sweep_sum {
	struct sum s;
	const struct chosen *chosen; /* borrowed; NULL: every step was recorded */
};

struct sweep_track {
	struct sort_key *work; /* owned: since the last flush */
	size_t n, cap;
	bool unsorted;
	struct sweep_sum sum;
	struct insight_class class[CLASSES];
};

struct sweep {
	const struct trace *t; /* borrowed */
	struct names *names;
	struct sweep_track *track; /* owned, by track of the trace */
	struct sweep_sum *device;  /* owned, by device of the trace */
	struct chosen *chosen;     /* owned, by process of the trace */
	double **of_block;         /* owned, by device: CLASSES for each block; NULL: none */
	size_t tracks;
};

int sweep_new(struct sweep **out, const struct trace *t)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->t = t;
	s->tracks = t->tracks;
	s->track = calloc(t->tracks + 1, sizeof(*s->track));
	s->device = calloc(t->devices + 1, sizeof(*s->device));
	s->chosen = calloc(t->processes + 1, sizeof(*s->chosen));
	s->of_block = calloc(t->devices + 1, sizeof(*s->of_block));
	if (!s->track || !s->device || !s->chosen || !s->of_block || names_new(&s->names, t) < 0) {
		sweep_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->track && i < s->tracks; i++)
		free(s->track[i].work);
	for (size_t i = 0; s->chosen && i < s->t->processes; i++)
		chosen_fini(&s->chosen[i]);
	for (size_t i = 0; s->of_block && i < s->t->devices; i++)
		free(s->of_block[i]);
	free(s->chosen);
	free(s->of_block);
	free(s->track);
	free(s->device);
	names_free(s->names);
	free(s);
}

int sweep_step(struct sweep *s, uint32_t process, uint64_t start_ns, uint64_t dur_ns,
	       uint32_t weight)
{
	return process < s->t->processes
		       ? chosen_step(&s->chosen[process], start_ns, dur_ns, weight)
		       : 0;
}

int sweep_add(struct sweep *s, const struct work *w)
{
	struct sweep_track *l;
	uint64_t with;

	if (!kind_is_gpu(w->kind) || s->t->track[w->track].device == TRACK_HOST)
		return 0;
	if (w->dur_ns >= UINT64_MAX >> WITH_SHIFT)
		return -ERANGE;
	l = &s->track[w->track];
	if (vec_room(&l->work, &l->cap, l->n + 1, sizeof(*l->work)) < 0)
		return -ENOMEM;
	with = w->dur_ns << WITH_SHIFT | work_class(s->names, w->kind, w->name, w->comm) |
	       (w->kind == EVENT_KERNEL ? WITH_KERNEL : 0);
	l->unsorted |= l->n && l->work[l->n - 1].value > w->start_ns;
	l->work[l->n++] = (struct sort_key){ w->start_ns, with };
	return 0;
}

static int sort_track(struct sweep_track *l)
{
	struct sort_key *scratch;

	if (!l->unsorted)
		return 0;
	scratch = malloc(l->n * sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	keys_sort(l->work, scratch, l->n);
	free(scratch);
	l->unsorted = false;
	return 0;
}

/* `work` is in order of its start. */
static inline void add(struct sweep_sum *x, const struct sort_key *work)
{
	uint64_t start = work->value, end = end_of(start, work->with >> WITH_SHIFT);
	uint64_t idle =
		sum_add(&x->s, work->with & WITH_CLASS, work->with & WITH_KERNEL, start, end);

	if (x->chosen && idle)
		x->s.b.unseen_ns += chosen_unseen(x->chosen, start - idle, start);
}

static void sweep_stream(struct sweep_track *l, double *of_block)
{
	size_t hint = 0;

	for (size_t i = 0; i < l->n; i++) {
		enum kclass k = l->work[i].with & WITH_CLASS;
		uint64_t ns = l->work[i].with >> WITH_SHIFT;
		size_t at =
			of_block ? chosen_at(l->sum.chosen, &hint, l->work[i].value) : CHOSEN_NONE;
		uint32_t weight = at == CHOSEN_NONE ? 1 : l->sum.chosen->block[at].weight;

		add(&l->sum, &l->work[i]);
		l->class[k].count += weight;
		if (at == CHOSEN_NONE)
			l->class[k].ns += ns;
		else
			of_block[at * CLASSES + k] += (double)ns;
	}
}

/* Where a device's process has unsampled steps: sums by block. */
static int choose(struct sweep *s, uint32_t device)
{
	const struct chosen *c = &s->chosen[s->t->device[device].process];

	if (!c->n || s->of_block[device])
		return 0;
	s->of_block[device] = calloc(c->n * CLASSES, sizeof(double));
	s->device[device].chosen = c;
	for (uint32_t i = 0; i < s->tracks; i++)
		if (s->t->track[i].device == device)
			s->track[i].sum.chosen = c;
	return s->of_block[device] ? 0 : -ENOMEM;
}

static void sweep_tracks(struct merge *m, struct sweep_sum *x)
{
	struct merge_track *top = m->track;

	for (size_t i = m->tracks / 2; i-- > 0;)
		merge_sift(m, i);
	while (m->tracks) {
		add(x, &top->work[top->at++]);
		if (top->at == top->end)
			*top = m->track[--m->tracks];
		else
			top->start_ns = top->work[top->at].value;
		merge_sift(m, 0);
	}
}

static int flush_device(struct sweep *s, uint32_t device, struct merge *m)
{
	int err = choose(s, device);

	if (err < 0)
		return err;
	m->tracks = 0;
	for (uint32_t i = 0; i < s->tracks; i++) {
		struct sweep_track *l = &s->track[i];

		if (s->t->track[i].device != device || !l->n)
			continue;
		err = sort_track(l);
		if (err < 0)
			return err;
		sweep_stream(l, s->of_block[device]);
		m->track[m->tracks++] = (struct merge_track){ 0, l->n, l->work[0].value, l->work };
		l->n = 0;
	}
	sweep_tracks(m, &s->device[device]);
	return 0;
}

int sweep_flush(struct sweep *s)
{
	struct merge m = { .track = calloc(s->tracks + 1, sizeof(*m.track)) };
	int err = m.track ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < s->t->devices && !err; i++)
		err = flush_device(s, i, &m);
	merge_fini(&m);
	return err;
}

/* Classes of what was recorded by chance, for all steps. */
static void tell_chosen(const struct sweep *s, struct insight_device *d, uint32_t device)
{
	const struct chosen *c = s->device[device].chosen;

	for (enum kclass k = 0; c && k < CLASSES; k++) {
		struct chosen_sum sum = chosen_sum(c, s->of_block[device] + k, CLASSES);

		d->class[k].ns += (uint64_t)(sum.ns + 0.5);
		d->class[k].variance = sum.variance;
	}
}

/* Streams on which something ran, and their device if it has some. */
static void tell_device(struct sweep *s, struct insight *in, uint32_t device)
{
	struct insight_device *d = &in->device[in->devices];

	*d = (struct insight_device){ .device = device, .stream_first = in->streams };
	d->rank = s->t->file[s->t->device[device].file].rank;
	for (uint32_t i = 0; i < s->tracks; i++) {
		struct insight_stream *st = &in->stream[in->streams];
		struct sweep_track *l = &s->track[i];

		if (s->t->track[i].device != device || !l->sum.s.begun)
			continue;
		*st = (struct insight_stream){ .track = i, .b = l->sum.s.b };
		breakdown_end(&st->b, &l->sum.s.u);
		if (!(st->b.kernels + st->b.copies + st->b.memsets || st->b.span_ns))
			continue;
		for (enum kclass c = 0; c < CLASSES; c++) {
			d->class[c].count += l->class[c].count;
			d->class[c].ns += l->class[c].ns;
		}
		in->streams++;
	}
	tell_chosen(s, d, device);
	d->streams = in->streams - d->stream_first;
	if (!d->streams)
		return;
	d->b = s->device[device].s.b;
	breakdown_end(&d->b, &s->device[device].s.u);
	in->devices++;
}

int sweep_end(struct sweep *s, struct insight **out)
{
	struct insight *in = calloc(1, sizeof(*in));
	int err = in ? sweep_flush(s) : -ENOMEM;

	if (in) {
		in->t = s->t;
		in->swept = true;
		in->names = s->names;
		s->names = NULL;
		in->device = calloc(s->t->devices + 1, sizeof(*in->device));
		in->stream = calloc(s->tracks + 1, sizeof(*in->stream));
		err = err || !in->device || !in->stream ? -ENOMEM : 0;
	}
	for (uint32_t i = 0; i < s->t->devices && !err; i++)
		tell_device(s, in, i);
	if (err < 0)
		insight_free(in);
	else
		*out = in;
	return err;
}
