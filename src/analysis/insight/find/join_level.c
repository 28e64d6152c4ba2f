/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_level.c - how long work took, bin by bin: rows of levels by device and class, and which
 * devices are peers.
 *
 * Each device and class of work has a row of levels. The level of a bin is ln of how much longer
 * its work took than its median, each key weighted by its time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "insight/find/join_priv.h"

#define PEERS      2u /* at least, to take off what they did */
#define SAME_ROLE  0.8
#define SAME_COUNT 1.3
#define KEY_SHARE  0.3 /* of the time of a class: keys of a bin are fewer than that */

/* --- levels --- */

bool join_is_collective(const struct join_key *k)
{
	return k->class == JOIN_COMM || k->class == JOIN_NET;
}

double join_level(const struct join_key *k, uint32_t bin)
{
	const struct join_cell *c = &k->cell[bin];

	if (!c->n)
		return NAN;
	if (join_is_collective(k))
		return c->least;
	/* Who is stopped now and then takes longer on the whole, not each time. */
	return k->class == JOIN_HOST ? log(c->ns > 1 ? c->ns / c->n : 1) : c->sum / c->n;
}

static double key_median(const struct join *j, const struct join_key *k)
{
	double v[JOIN_BINS_MAX];
	size_t n = 0;

	for (uint32_t b = 0; b < j->bins; b++)
		if (k->cell[b].n)
			v[n++] = join_level(k, b);
	return median_of(v, n);
}

static int by_same(const void *a, const void *b)
{
	const struct join_key *x = *(struct join_key *const *)a, *y = *(struct join_key *const *)b;

	return cmp_num(x->class, y->class) ?: cmp_num(x->same, y->same) ?:
	       cmp_num(x->group, y->group);
}

/* All ranks leave a collective together: the one that spent the least time in it did not wait. */
static void floors(const struct join *j, struct join_key **k, size_t n)
{
	for (uint32_t b = 0; b < j->bins; b++) {
		float least = INFINITY;

		for (size_t i = 0; i < n; i++)
			if (k[i]->cell[b].n && k[i]->cell[b].least < least)
				least = k[i]->cell[b].least;
		for (size_t i = 0; i < n; i++)
			k[i]->cell[b].least = least;
	}
}

static void all_medians(struct join_key **k, size_t n, double *v)
{
	double mid;

	for (size_t i = 0; i < n; i++)
		v[i] = k[i]->mid;
	mid = median_of(v, n);
	for (size_t i = 0; i < n; i++)
		k[i]->all = n > PEERS ? mid : k[i]->mid;
}

static int by_device(const void *a, const void *b)
{
	const struct join_key *x = a, *y = b;

	return cmp_num(x->device, y->device) ?: cmp_num(x->class, y->class) ?:
	       cmp_num(x->same, y->same);
}

static int medians(struct join *j)
{
	struct join_key **k = calloc(j->keys + 1, sizeof(*k));
	double *v = calloc(j->keys + 1, sizeof(*v));
	size_t end;

	for (size_t i = 0; k && i < j->keys; i++)
		k[i] = &j->key[i];
	if (k && v)
		qsort(k, j->keys, sizeof(*k), by_same);
	for (size_t i = 0; k && v && i < j->keys; i = end) {
		for (end = i + 1; end < j->keys && !by_same(&k[i], &k[end]);)
			end++;
		if (join_is_collective(k[i]))
			floors(j, k + i, end - i);
	}
	for (size_t i = 0; i < j->keys; i++)
		j->key[i].mid = key_median(j, &j->key[i]);
	for (size_t i = 0; k && v && i < j->keys; i = end) {
		for (end = i + 1;
		     end < j->keys && k[i]->class == k[end]->class && k[i]->same == k[end]->same;)
			end++;
		all_medians(k + i, end - i, v);
	}
	free(v);
	free(k);
	return k && v ? 0 : -ENOMEM;
}

static int by_group(const void *a, const void *b)
{
	const struct join_key *x = *(struct join_key *const *)a, *y = *(struct join_key *const *)b;

	return cmp_num(x->group, y->group) ?: cmp_num(x->device, y->device);
}

/* A collective uses the network if it has members on several nodes, or unrecorded ones. */
static void one_far(const struct join *j, struct join_key **k, size_t n)
{
	uint32_t node = j->device[k[0]->device].owner[JOIN_NODE], last = UINT32_MAX, members = 0;
	bool far = false;

	for (size_t i = 0; i < n; i++) {
		members += k[i]->device != last;
		last = k[i]->device;
		far |= j->device[last].owner[JOIN_NODE] != node;
	}
	for (size_t i = 0; i < n && (far || k[0]->size > members); i++)
		k[i]->class = JOIN_NET;
}

static int find_far(struct join *j)
{
	struct join_key **k = calloc(j->keys + 1, sizeof(*k));
	size_t n = 0, end;

	if (!k)
		return -ENOMEM;
	for (size_t i = 0; i < j->keys; i++)
		if (j->key[i].class == JOIN_COMM && j->key[i].size)
			k[n++] = &j->key[i];
	qsort(k, n, sizeof(*k), by_group);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && k[end]->group == k[i]->group;)
			end++;
		one_far(j, k + i, end - i);
	}
	free(k);
	return 0;
}

static void fill_row(const struct judge *g, uint32_t d, enum join_class c)
{
	const struct join_device *dev = &g->j->device[d];
	struct join_row *r = &g->row[d][c];
	double all = 0, off = 0;

	for (size_t i = dev->first; i < dev->first + dev->keys; i++) {
		const struct join_key *k = &g->j->key[i];

		if (k->class == c) {
			all += k->ns;
			off += k->ns * (k->mid - k->all);
		}
	}
	r->weight = all;
	r->offset = all > 0 ? off / all : 0;
	for (uint32_t b = 0; b < g->j->bins; b++) {
		double sum = 0, weight = 0;

		for (size_t i = dev->first; i < dev->first + dev->keys; i++) {
			const struct join_key *k = &g->j->key[i];

			if (k->class == c && k->cell[b].n) {
				sum += k->ns * (join_level(k, b) - k->mid);
				weight += k->ns;
			}
		}
		r->level[b] = weight > KEY_SHARE * all ? sum / weight : NAN;
	}
}

double judge_level(const struct judge *g, uint32_t d, uint32_t classes, bool as_all, uint32_t b)
{
	double sum = 0, weight = 0;

	for (enum join_class c = 0; c < JOIN_CLASSES; c++) {
		const struct join_row *r = &g->row[d][c];

		if (!(classes >> c & 1) || !(r->weight > 0) || isnan(r->level[b]))
			continue;
		sum += r->weight * (r->level[b] + (as_all ? r->offset : 0));
		weight += r->weight;
	}
	return weight > 0 ? sum / weight : NAN;
}

/* --- peers --- */

static const struct join_key *key_of(const struct join *j, uint32_t d, const struct join_key *k)
{
	struct join_key want = { .device = d, .class = k->class, .same = k->same };

	return bsearch(&want, j->key + j->device[d].first, j->device[d].keys, sizeof(want),
		       by_device);
}

/* Whether p does what d does, as often. */
static bool same_role(const struct join *j, uint32_t d, uint32_t p)
{
	double all = 0, shared = 0;

	for (size_t i = j->device[d].first; i < j->device[d].first + j->device[d].keys; i++) {
		const struct join_key *k = &j->key[i], *other;

		if (k->class > JOIN_OTHER && !(j->device[d].cpu && k->class == JOIN_HOST))
			continue;
		other = key_of(j, p, k);
		all += k->ns;
		if (other && (double)other->n < SAME_COUNT * (double)k->n &&
		    (double)k->n < SAME_COUNT * (double)other->n)
			shared += k->ns;
	}
	return all > 0 && shared >= SAME_ROLE * all;
}

static void find_peers(const struct judge *g, uint32_t d)
{
	const struct join *j = g->j;

	for (uint32_t i = 1; i < j->devices && g->peers[d] < PEERS_MAX; i++) {
		uint32_t p = (d + i) % (uint32_t)j->devices;

		if (same_role(j, d, p))
			g->peer[d * PEERS_MAX + g->peers[d]++] = p;
	}
}

/* A collective takes all members of its group equally long, so they cannot be compared. */
static bool one_group(const struct join *j, uint32_t d, uint32_t p)
{
	for (size_t i = j->device[d].first; i < j->device[d].first + j->device[d].keys; i++) {
		const struct join_key *k = &j->key[i], *o;

		o = join_is_collective(k) ? key_of(j, p, k) : NULL;
		if (o && o->group == k->group)
			return true;
	}
	return false;
}

static bool other_node(const struct join *j, uint32_t d, uint32_t p)
{
	return j->device[p].owner[JOIN_NODE] != j->device[d].owner[JOIN_NODE];
}

uint32_t judge_like(const struct judge *g, uint32_t d, uint32_t classes, bool as_all)
{
	const struct join *j = g->j;
	uint32_t use[PEERS_MAX], uses = 0, most = 0;
	bool node = classes & IN_HOST;

	for (uint32_t i = 0; i < g->peers[d]; i++) {
		uint32_t p = g->peer[d * PEERS_MAX + i];

		if (((classes & (IN_COMM | IN_NET)) && one_group(j, d, p)) ||
		    (node && !other_node(j, d, p)))
			continue;
		use[uses++] = p;
	}
	for (uint32_t b = 0; b < j->bins; b++) {
		double v[PEERS_MAX];
		uint32_t n = 0;

		for (uint32_t i = 0; i < uses; i++) {
			double x = g->state[use[i]].bad[b]
					   ? NAN
					   : judge_level(g, use[i], classes, as_all, b);

			if (!isnan(x))
				v[n++] = x;
		}
		g->like[b] = n >= PEERS ? median_of(v, n) : NAN;
		most = n > most ? n : most;
	}
	return most >= PEERS ? most : 0;
}

/* --- all levels --- */

static void place_keys(struct join *j)
{
	if (j->keys)
		qsort(j->key, j->keys, sizeof(*j->key), by_device);
	for (size_t i = 0; i < j->keys; i++) {
		struct join_device *d = &j->device[j->key[i].device];

		d->first = d->keys ? d->first : i;
		d->keys++;
	}
}

static void busiest(struct join *j)
{
	for (size_t i = 0; i < j->tracks; i++) {
		double *busy = j->device[j->track[i].device].busy;

		for (uint32_t b = 0; b < j->bins; b++)
			if (j->track[i].busy[b] > busy[b])
				busy[b] = j->track[i].busy[b];
	}
}

int judge_levels(struct judge *g)
{
	struct join *j = g->j;
	int err = find_far(j);

	busiest(j);
	place_keys(j);
	err = err ? err : medians(j);
	for (uint32_t d = 0; d < j->devices && !err; d++) {
		for (enum join_class c = 0; c < JOIN_CLASSES; c++)
			fill_row(g, d, c);
		find_peers(g, d);
	}
	return err;
}
