/* SPDX-License-Identifier: Apache-2.0 */
/* join_series.c - feeds a store's series into the signals of a join: owners and values. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "insight/find/join.h"
#include "model/telemetry.h"
#include "read/join.h"
#include "store/store.h"

#define USES     8u             /* signals that use one series */
#define APART_NS 10000000000ull /* a counter's rise is spread over at most this time */

struct use {
	uint32_t owner; /* + 1 */
	enum join_signal signal;
};

struct one {
	struct use use[USES];
	size_t uses;
	double last;
	uint64_t last_ns;
};

/* Identifies an owner: scope, node and name as one text. */
struct owner_name {
	char text[192];
};

struct series_reading {
	struct join *j;
	const struct join_who *who;
	size_t whos;
	struct one *one; /* owned, by id of the series */
	size_t ones;
	struct owner_name *name; /* owned, by owner */
	size_t names;
};

/* --- owners --- */

static int owner_of(struct series_reading *x, const char *text, uint32_t *at)
{
	int err;

	for (*at = 0; *at < x->names; ++*at)
		if (!strcmp(x->name[*at].text, text))
			return 0;
	if (vec_more(&x->name, x->names, sizeof(*x->name)) < 0)
		return -ENOMEM;
	err = join_owner(x->j, at);
	if (!err)
		snprintf(x->name[x->names++].text, sizeof(x->name->text), "%s", text);
	return err;
}

static bool is_gpu(const struct join_who *w, const struct series *s)
{
	char text[96];

	if (*w->uuid && series_label_get(s->labels, "UUID", text, sizeof(text)))
		return !strcmp(w->uuid, text);
	snprintf(text, sizeof(text), "nvidia%u", w->device);
	return !strcmp(s->device, text);
}

static bool ends_in(const char *text, const char *prefix, const char *end)
{
	size_t p = strlen(prefix), e = strlen(end), n = strlen(text);

	return e && n >= p + e && !strcmp(text + n - e, end) &&
	       !memcmp(text + n - e - p, prefix, p);
}

/*
 * Whether the cgroup is that of the Slurm job or of the pod (whose uid is written with dashes or
 * underscores).
 */
static bool is_job(const struct join_who *w, const struct series *s)
{
	char pod[40];

	snprintf(pod, sizeof(pod), "%s", w->pod);
	if (*pod && strstr(s->device, pod))
		return true;
	for (char *c = pod; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return (*pod && strstr(s->device, pod)) || ends_in(s->device, "job_", w->job);
}

static bool is_of(const struct join_who *w, const struct series *s, enum join_scope scope)
{
	char node[64];

	if (*w->node && series_label_get(s->labels, "Hostname", node, sizeof(node)) &&
	    strcmp(node, w->node) != 0)
		return false;
	return scope == JOIN_NODE || (scope == JOIN_GPU ? is_gpu(w, s) : is_job(w, s));
}

static bool has(const struct series *s, const char *label)
{
	return !*label || strstr(s->labels, label) ||
	       (!strchr(label, '=') && strcasestr(s->device, label));
}

/* Finds the owner of a series, and the devices that it says something about. */
static int own(struct series_reading *x, const struct series *s, enum join_signal g, struct one *o)
{
	enum join_scope scope = signal_table[g].scope;
	char node[64] = "", text[192];
	uint32_t at;
	bool any = false;
	int err;

	for (size_t i = 0; i < x->whos && !any; i++)
		any = is_of(&x->who[i], s, scope);
	if (!any || o->uses == USES)
		return 0;
	series_label_get(s->labels, "Hostname", node, sizeof(node));
	snprintf(text, sizeof(text), "%d %s %s", scope, node, scope == JOIN_NODE ? "" : s->device);
	err = owner_of(x, text, &at);
	if (err)
		return err;
	o->use[o->uses++] = (struct use){ at + 1, g };
	for (size_t i = 0; i < x->whos; i++)
		if (is_of(&x->who[i], s, scope))
			x->j->device[x->who[i].at].owner[scope] = at + 1;
	return 0;
}

static int on_series(void *arg, const struct series *s)
{
	struct series_reading *x = arg;
	int err = 0;

	if (s->id >= 1u << 24)
		return 0;
	if (vec_room0(&x->one, &x->ones, (size_t)s->id + 1, sizeof(*x->one)) < 0)
		return -ENOMEM;
	for (enum join_signal g = 0; g < SIGNALS && !err; g++)
		if (signal_table[g].metric == s->metric && has(s, signal_table[g].label))
			err = own(x, s, g, &x->one[s->id]);
	return err;
}

/* --- values --- */

static int rise(struct series_reading *x, struct one *o, const struct use *u, double v, uint64_t at)
{
	uint64_t from = at > APART_NS ? at - APART_NS : 0;
	double by = v - o->last;

	if (!o->last_ns) /* so that a counter that never rises counts as measured */
		return join_count(x->j, u->owner - 1, u->signal, 0, at, at);
	from = o->last_ns > from ? o->last_ns : from;
	return by > 0 ? join_count(x->j, u->owner - 1, u->signal, by, from, at) : 0;
}

static int on_block(void *arg, const struct telemetry_block *b)
{
	struct series_reading *x = arg;
	int err = 0;

	x->j->wall_offset_ns = b->wall_offset_ns;
	for (uint32_t i = 0; i < b->changes && !err; i++) {
		const struct change *c = &b->change[i];
		bool more = i + 1 < b->changes && b->change[i + 1].series == c->series;
		uint64_t at = b->tick_ns[c->tick],
			 to = b->tick_ns[more ? b->change[i + 1].tick : b->ticks - 1];
		struct one *o = c->series < x->ones ? &x->one[c->series] : NULL;

		if (!o || isnan(c->value))
			continue;
		for (size_t u = 0; u < o->uses && !err; u++)
			err = signal_table[o->use[u].signal].how == JOIN_RATE
				      ? rise(x, o, &o->use[u], c->value, at)
				      : join_hold(x->j, o->use[u].owner - 1, o->use[u].signal,
						  c->value, at, to);
		o->last = c->value;
		o->last_ns = at;
	}
	return err;
}

int join_series(struct join *j, struct store *st, const struct join_who *who, size_t n,
		uint64_t from_ns, uint64_t to_ns)
{
	struct series_reading x = { .j = j, .who = who, .whos = n };
	int err = store_each_series(st, 0, on_series, &x);

	err = err ? err : store_each_telemetry(st, from_ns, to_ns, on_block, &x);
	free(x.one);
	free(x.name);
	return err;
}
