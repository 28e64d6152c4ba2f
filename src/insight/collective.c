/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - who came last to each collective.
 *
 * The n-th call of the same kernel name in the same group of one rank is the n-th of another's.
 * Kernels whose launch was not seen belong to what ran before the recording: they are left out
 * where any launch was seen. A name that ranks ran a different number of times is left out, too.
 */
#include <errno.h>
#include <stdlib.h>

#include "insight/insight.h"

struct share {
	uint32_t name, group; /* what it is */
	uint32_t nth;
	uint32_t file;
	uint64_t start_ns, dur_ns;
};

static int by_file(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int by_collective(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static size_t collect(const struct insight *in, struct share *share)
{
	const struct trace *t = in->t;
	size_t n = 0;

	for (size_t d = 0; d < in->devices; d++) {
		const struct insight_device *dev = &in->device[d];

		for (size_t s = 0; s < dev->streams; s++) {
			uint32_t lane = in->stream[dev->stream_first + s].lane;

			for (size_t i = t->lane_first[lane]; i < t->lane_first[lane + 1]; i++) {
				const struct event *e = &t->event[i];
				uint32_t comm = t->event_comm ? t->event_comm[i] : 0;

				if (!event_is_gpu(e) ||
				    event_class(in->names, t, i) != CLASS_COMM ||
				    (dev->b.attributed && insight_launch(in, i) == NO_EVENT))
					continue;
				if (share)
					share[n] = (struct share){
						.name = e->name,
						.group = comm ? t->comm[comm - 1].group : 0,
						.file = t->device[dev->device].file,
						.start_ns = e->start_ns,
						.dur_ns = e->dur_ns,
					};
				n++;
			}
		}
	}
	return n;
}

static void number(struct share *share, size_t n)
{
	qsort(share, n, sizeof(*share), by_file);
	for (size_t i = 1; i < n; i++)
		if (share[i].file == share[i - 1].file && share[i].name == share[i - 1].name &&
		    share[i].group == share[i - 1].group)
			share[i].nth = share[i - 1].nth + 1;
	qsort(share, n, sizeof(*share), by_collective);
}

static bool same_kind(const struct share *a, const struct share *b)
{
	return a->name == b->name && a->group == b->group;
}

/* Every rank that has this kind has as many of it: numbers tell which is which. */
static bool same_counts(const struct share *share, size_t n)
{
	size_t ranks = 0;

	while (ranks < n && share[ranks].nth == 0)
		ranks++;
	return ranks > 1 && n == ranks * ((size_t)share[n - 1].nth + 1);
}

/* One collective: who came last, and how long the others waited. With `late`, for that rank. */
static void add_one(struct waits *w, const struct share *share, size_t n, bool late)
{
	const struct share *last = share;
	uint64_t wait;

	for (size_t i = 1; i < n; i++)
		if (share[i].dur_ns < last->dur_ns)
			last = &share[i];
	if (!late) {
		w->matched++;
		w->rank[last->file].last++;
	}
	for (size_t i = 0; i < n; i++) {
		wait = share[i].dur_ns - last->dur_ns;
		if (late) {
			w->rank[share[i].file].late_ns += last->file == w->late ? wait : 0;
			continue;
		}
		w->rank[share[i].file].comm_ns += share[i].dur_ns;
		w->rank[share[i].file].waited_ns += wait;
		w->rank[last->file].blamed_ns += wait;
		w->total_ns += wait;
	}
}

static void add_all(struct waits *w, const struct share *share, size_t n, bool late)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && same_kind(&share[k], &share[i]); k++)
			;
		if (!same_counts(share + i, k - i))
			continue;
		for (size_t a = i, b; a < k; a = b) {
			for (b = a + 1; b < k && share[b].nth == share[a].nth; b++)
				;
			add_one(w, share + a, b - a, late);
		}
	}
}

int insight_waits(struct insight *in)
{
	struct waits *w = &in->waits;
	struct share *share;
	size_t n;

	if (in->t->files < 2)
		return 0;
	n = collect(in, NULL);
	if (!n)
		return 0;
	share = calloc(n, sizeof(*share));
	w->rank = calloc(in->t->files, sizeof(*w->rank));
	if (!share || !w->rank) {
		free(share);
		return -ENOMEM;
	}
	w->ranks = in->t->files;
	for (uint32_t f = 0; f < w->ranks; f++) {
		w->rank[f].file = f;
		w->rank[f].rank = in->t->file[f].rank;
	}
	collect(in, share);
	number(share, n);
	add_all(w, share, n, false);
	for (uint32_t f = 1; f < w->ranks; f++)
		if (w->rank[f].blamed_ns > w->rank[w->late].blamed_ns)
			w->late = f;
	add_all(w, share, n, true);
	free(share);
	return 0;
}
