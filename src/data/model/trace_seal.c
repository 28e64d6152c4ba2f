/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_seal.c - puts the events of a trace in order: by track, then start, longest first.
 *
 * Keys of 16 bytes are sorted, not events of 48: counted into tracks, each track by a radix of
 * its starts, runs of equal starts by a radix of their lengths turned round. Every pass is stable,
 * so equal events stay in the order of the file. Then the events follow the cycles of the
 * permutation, in place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/keys.h"
#include "model/trace_priv.h"

static void sort_track(const struct trace *t, struct sort_key *k, struct sort_key *scratch,
		       size_t n)
{
	const struct event *ev = t->event;
	bool sorted = true;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = k[i - 1].value <= k[i].value;
	if (!sorted)
		keys_sort(k, scratch, n);
	for (size_t i = 0, j; i < n; i = j) {
		uint64_t start = ev[k[i].with].start_ns;

		for (j = i + 1; j < n && ev[k[j].with].start_ns == start; j++)
			;
		if (j - i == 1)
			continue;
		for (size_t m = i; m < j; m++)
			k[m].value = ~ev[k[m].with].dur_ns;
		keys_sort(k + i, scratch, j - i);
	}
}

#define MOVE_BYTES (1ull << 30)

/*
 * Where the events of every track came in order, as those of streams do, they need no keys: each
 * goes behind the last of its track, in memory of its own, if twice the events are not too much
 * to hold.
 */
static bool move_tracks(struct trace *t, const size_t *first)
{
	size_t len = t->priv->cap_event * sizeof(*t->event);
	size_t *at = malloc((t->tracks + 1) * sizeof(*at));
	struct event *to = MAP_FAILED;

	if (at && !t->event_comm && t->events * sizeof(*to) <= MOVE_BYTES)
		to = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (to == MAP_FAILED) {
		free(at);
		return false;
	}
	if (t->events * sizeof(*to) >= TRACE_HUGE_FROM)
		(void)madvise(to, len, MADV_HUGEPAGE);
	memcpy(at, first, (t->tracks + 1) * sizeof(*at));
	for (size_t i = 0; i < t->events; i++)
		to[at[t->event[i].track]++] = t->event[i];
	munmap(t->event, len);
	t->event = to;
	free(at);
	return true;
}

/* Event i becomes the one that k[i].with names. */
static void permute(struct trace *t, struct sort_key *k, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct event first = t->event[i];
		uint32_t comm = t->event_comm ? t->event_comm[i] : 0;
		size_t j = i, next;

		if (k[i].with == i)
			continue;
		while ((next = k[j].with) != i) {
			t->event[j] = t->event[next];
			if (t->event_comm)
				t->event_comm[j] = t->event_comm[next];
			k[j].with = j;
			j = next;
		}
		t->event[j] = first;
		if (t->event_comm)
			t->event_comm[j] = comm;
		k[j].with = j;
	}
}

static bool in_order(const struct event *e, const struct event *f)
{
	if (e->track != f->track)
		return e->track < f->track;
	if (e->start_ns != f->start_ns)
		return e->start_ns < f->start_ns;
	return e->dur_ns >= f->dur_ns;
}

static int sort_events(struct trace *t, const size_t *first)
{
	size_t n = t->events, largest = 0;
	struct sort_key *k, *scratch = NULL;
	size_t *at;
	int err = -ENOMEM;

	k = malloc(n * sizeof(*k));
	at = malloc((t->tracks + 1) * sizeof(*at));
	for (size_t l = 0; l < t->tracks; l++)
		if (first[l + 1] - first[l] > largest)
			largest = first[l + 1] - first[l];
	if (k && at)
		scratch = malloc(largest * sizeof(*scratch));
	if (!scratch)
		goto out;
	memcpy(at, first, (t->tracks + 1) * sizeof(*at));
	for (size_t i = 0; i < n; i++)
		k[at[t->event[i].track]++] = (struct sort_key){ t->event[i].start_ns, i };
	for (size_t l = 0; l < t->tracks; l++)
		sort_track(t, k + first[l], scratch, first[l + 1] - first[l]);
	permute(t, k, n);
	err = 0;
out:
	free(scratch);
	free(at);
	free(k);
	return err;
}

/* Counts the events of each track, behind its number; sees which order they are in. */
static int look(const struct trace *t, size_t *first, bool *sorted, bool *tracks_sorted)
{
	const struct event **last = calloc(t->tracks + 1, sizeof(*last));
	int err = last ? 0 : -ENOMEM;

	*sorted = *tracks_sorted = true;
	for (size_t i = 0; i < t->events && !err; i++) {
		const struct event *e = &t->event[i];

		if (e->track >= t->tracks) {
			err = -EINVAL;
			break;
		}
		first[e->track + 1]++;
		*sorted = *sorted && (!i || in_order(e - 1, e));
		*tracks_sorted = *tracks_sorted && (!last[e->track] || in_order(last[e->track], e));
		last[e->track] = e;
	}
	free(last);
	return err;
}

int trace_seal(struct trace *t)
{
	bool sorted, tracks_sorted;
	size_t *first;
	int err;

	if (t->priv->sealed)
		return 0;
	if (t->events > UINT32_MAX)
		return -EOVERFLOW;
	first = calloc(t->tracks + 2, sizeof(*first));
	if (!first)
		return -ENOMEM;
	err = look(t, first, &sorted, &tracks_sorted);
	for (size_t l = 0; l < t->tracks && !err; l++)
		first[l + 1] += first[l];
	if (!err && !sorted && !(tracks_sorted && move_tracks(t, first)))
		err = sort_events(t, first);
	if (err < 0) {
		free(first);
		return err;
	}
	free(t->track_first);
	t->track_first = first;
	t->priv->sealed = true;
	return 0;
}
