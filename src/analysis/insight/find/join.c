/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - adds up work and telemetry by bins of time; see join.h. */
#include "insight/find/join.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"

const struct cause_row cause_table[CAUSES] = {
#define CAUSE(ID, word, scope, classes, also, least, looked, title, action, means) \
	[CAUSE_##ID] = { #word, looked, title, action, JOIN_##scope, classes, also, least },
#include "insight/find/cause.tbl.h"
};

const struct signal_row signal_table[SIGNALS] = {
#define SIGNAL(ID, metric, scope, how, label, mask, word, unit) \
	[SIGNAL_##ID] = { metric, JOIN_##scope, JOIN_##how, label, mask, word, unit },
#include "insight/find/cause.tbl.h"
};

int join_new(struct join **out, uint64_t begin_ns, uint64_t width_ns, uint32_t bins)
{
	struct join *j;

	if (bins < JOIN_BINS_MIN || bins > JOIN_BINS_MAX || !width_ns)
		return -EINVAL;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->begin_ns = begin_ns;
	j->width_ns = width_ns;
	j->bins = bins;
	*out = j;
	return 0;
}

void join_free(struct join *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->devices; i++)
		free(j->device[i].busy);
	for (size_t i = 0; i < j->tracks; i++)
		free(j->track[i].busy);
	for (size_t i = 0; i < j->keys; i++)
		free(j->key[i].cell);
	for (size_t i = 0; i < j->owners; i++)
		for (size_t s = 0; s < SIGNALS; s++) {
			free(j->owner[i].sum[s]);
			free(j->owner[i].weight[s]);
		}
	free(j->device);
	free(j->key);
	free(j->track);
	free(j->owner);
	free(j->verdict);
	free(j->looked);
	lookup_fini(&j->by_key);
	free(j);
}

int join_device(struct join *j, const struct join_device *d, uint32_t *at)
{
	double *busy = calloc(j->bins, sizeof(*busy));

	if (!busy || vec_room0(&j->device, &j->device_cap, j->devices + 1, sizeof(*d)) < 0) {
		free(busy);
		return -ENOMEM;
	}
	j->device[j->devices] = *d;
	j->device[j->devices].busy = busy;
	*at = (uint32_t)j->devices++;
	return 0;
}

int join_track(struct join *j, uint32_t device, uint32_t *at)
{
	double *busy = calloc(j->bins, sizeof(*busy));

	if (!busy || vec_room0(&j->track, &j->track_cap, j->tracks + 1, sizeof(*j->track)) < 0) {
		free(busy);
		return -ENOMEM;
	}
	j->track[j->tracks] = (struct join_track){ device, busy };
	*at = (uint32_t)j->tracks++;
	return 0;
}

int join_owner(struct join *j, uint32_t *at)
{
	if (vec_room0(&j->owner, &j->owner_cap, j->owners + 1, sizeof(*j->owner)) < 0)
		return -ENOMEM;
	*at = (uint32_t)j->owners++;
	return 0;
}

static bool is_key(const struct join_key *a, const struct join_key *b)
{
	return a->device == b->device && a->class == b->class && a->same == b->same &&
	       a->group == b->group;
}

int join_key(struct join *j, const struct join_key *k, uint32_t *at)
{
	uint64_t hash = hash_mix(hash_mix(k->same, k->group), (uint64_t)k->device << 8 | k->class);
	struct join_cell *cell;

	for (size_t i = 0; lookup_next(&j->by_key, hash, &i, at);)
		if (is_key(&j->key[*at], k))
			return 0;
	*at = UINT32_MAX;
	if (j->keys == JOIN_KEYS_MAX)
		return 0;
	cell = calloc(j->bins, sizeof(*cell));
	if (!cell || vec_room0(&j->key, &j->key_cap, j->keys + 1, sizeof(*k)) < 0 ||
	    lookup_put(&j->by_key, hash, (uint32_t)j->keys) < 0) {
		free(cell);
		return -ENOMEM;
	}
	j->key[j->keys] = *k;
	j->key[j->keys].cell = cell;
	*at = (uint32_t)j->keys++;
	return 0;
}

static bool bin_of(const struct join *j, uint64_t ns, uint32_t *bin)
{
	uint64_t b = ns < j->begin_ns ? UINT64_MAX : (ns - j->begin_ns) / j->width_ns;

	*bin = (uint32_t)b;
	return b < j->bins;
}

void join_work(struct join *j, uint32_t key, uint64_t start_ns, uint64_t dur_ns)
{
	struct join_cell *c;
	uint32_t bin;
	double ln = log(dur_ns ? (double)dur_ns : 1);

	if (key == UINT32_MAX)
		j->dropped++;
	if (key >= j->keys || !bin_of(j, start_ns, &bin))
		return;
	c = &j->key[key].cell[bin];
	if (!c->n || ln < c->least)
		c->least = (float)ln;
	c->n++;
	c->sum += ln;
	c->ns += (double)dur_ns;
	j->key[key].n++;
	j->key[key].ns += (double)dur_ns;
}

void join_busy(struct join *j, uint32_t track, uint64_t start_ns, uint64_t dur_ns)
{
	uint64_t from = start_ns, to = start_ns + dur_ns;
	uint32_t bin;

	while (from < to && bin_of(j, from, &bin)) {
		uint64_t edge = j->begin_ns + (bin + 1) * j->width_ns;

		edge = edge < to ? edge : to;
		j->track[track].busy[bin] += (double)(edge - from);
		from = edge;
	}
}

/* --- telemetry --- */

static int said(struct join *j, uint32_t owner, enum join_signal s)
{
	struct join_owner *o = &j->owner[owner];

	if (!o->sum[s])
		o->sum[s] = calloc(j->bins, sizeof(**o->sum));
	if (!o->weight[s])
		o->weight[s] = calloc(j->bins, sizeof(**o->weight));
	return o->sum[s] && o->weight[s] ? 0 : -ENOMEM;
}

int join_hold(struct join *j, uint32_t owner, enum join_signal s, double v, uint64_t from_ns,
	      uint64_t to_ns)
{
	enum join_how how = signal_table[s].how;
	uint32_t bin;
	int err = said(j, owner, s);

	from_ns = from_ns < j->begin_ns ? j->begin_ns : from_ns;
	if (how == JOIN_SHARE)
		v = ((uint64_t)v & signal_table[s].mask) != 0;
	while (!err && from_ns < to_ns && bin_of(j, from_ns, &bin)) {
		uint64_t edge = j->begin_ns + (bin + 1) * j->width_ns;
		double *sum = &j->owner[owner].sum[s][bin], *w = &j->owner[owner].weight[s][bin];

		edge = edge < to_ns ? edge : to_ns;
		if (how == JOIN_LEAST || how == JOIN_MOST) {
			if (*w == 0 || (how == JOIN_LEAST ? v < *sum : v > *sum))
				*sum = v;
			*w = 1;
		} else {
			*sum += v * (double)(edge - from_ns);
			*w += (double)(edge - from_ns);
		}
		from_ns = edge;
	}
	return err;
}

int join_count(struct join *j, uint32_t owner, enum join_signal s, double by, uint64_t from_ns,
	       uint64_t to_ns)
{
	uint64_t all = to_ns > from_ns ? to_ns - from_ns : 0;
	uint32_t bin;
	int err = said(j, owner, s);

	if (!err && !all && bin_of(j, to_ns, &bin))
		j->owner[owner].sum[s][bin] += by;
	from_ns = from_ns < j->begin_ns ? j->begin_ns : from_ns;
	while (!err && from_ns < to_ns && bin_of(j, from_ns, &bin)) {
		uint64_t edge = j->begin_ns + (bin + 1) * j->width_ns;

		edge = edge < to_ns ? edge : to_ns;
		j->owner[owner].sum[s][bin] += by * (double)(edge - from_ns) / (double)all;
		from_ns = edge;
	}
	return err;
}

static const struct join_owner *owner_of(const struct join *j, uint32_t device, enum join_signal s)
{
	uint32_t o = j->device[device].owner[signal_table[s].scope];

	return o && j->owner[o - 1].sum[s] ? &j->owner[o - 1] : NULL;
}

bool join_said(const struct join *j, uint32_t device, enum join_signal s)
{
	return owner_of(j, device, s) != NULL;
}

double join_signal(const struct join *j, uint32_t device, enum join_signal s, uint32_t bin)
{
	const struct join_owner *o = owner_of(j, device, s);

	if (!o)
		return NAN;
	if (signal_table[s].how == JOIN_RATE)
		return o->sum[s][bin] / ((double)j->width_ns / 1e9);
	return o->weight[s][bin] > 0 ? o->sum[s][bin] / o->weight[s][bin] : NAN;
}

/* --- numbers --- */

double join_spread(double *v, size_t n)
{
	double mid = median_of(v, n);

	for (size_t i = 0; i < n; i++)
		v[i] = fabs(v[i] - mid);
	return n ? 1.4826 * median_of(v, n) : NAN;
}

const struct join_verdict *join_found(const struct join *j, uint32_t device, enum cause c)
{
	for (size_t i = 0; i < j->verdicts; i++)
		if (j->verdict[i].device == device && j->verdict[i].cause == c)
			return &j->verdict[i];
	return NULL;
}
