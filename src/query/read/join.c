/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - feeds a store into a join: its processes and their work; see join.h. */
#include "read/join.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aon/provider.h>
#include "base/hash.h"
#include "base/vec.h"
#include "insight/insight.h"
#include "insight/find/join.h"
#include "base/demangle.h"
#include "base/num.h"
#include "store/store.h"
#include "store/trace.h"

#define KINDS                                                                            \
	(1u << EVENT_MARK | 1u << EVENT_KERNEL | 1u << EVENT_COPY | 1u << EVENT_MEMSET | \
	 1u << EVENT_API | 1u << EVENT_OP)
#define WIDTH_NS 1000000000ull /* minimum width of a bin: telemetry is measured once a second */

struct track_of {
	uint32_t process;
	uint32_t device; /* index in who[], + 1; 0: a thread */
	uint32_t busy;   /* track in the join, + 1 */
	uint64_t mark_ns;
	uint32_t mark; /* name of the details of the last collective, seen at mark_ns */
};

struct reading {
	struct insight *in;
	struct store *st;
	struct join *j;
	struct names *names; /* owned */
	struct join_who *who;
	size_t whos;
	struct process *proc; /* owned */
	size_t procs;
	struct track_of *track; /* owned, by id */
	size_t tracks;
	uint64_t from_ns, to_ns;
};

/* --- processes and devices --- */

static int on_process(void *arg, const struct process *p)
{
	struct reading *x = arg;

	if (vec_more(&x->proc, x->procs, sizeof(*x->proc)) < 0)
		return -ENOMEM;
	x->proc[x->procs++] = *p;
	if (p->first_ns && p->first_ns < x->from_ns)
		x->from_ns = p->first_ns;
	if (p->last_ns > x->to_ns)
		x->to_ns = p->last_ns;
	return 0;
}

static const struct process *process_of(const struct reading *x, uint32_t id)
{
	for (size_t i = 0; i < x->procs; i++)
		if (x->proc[i].id == id)
			return &x->proc[i];
	return NULL;
}

/* Copies item n of a comma-separated list. */
static void nth(const char *list, uint32_t n, char *out, size_t cap)
{
	while (n-- && *list) {
		list += strcspn(list, ",");
		list += *list == ',';
	}
	snprintf(out, cap, "%.*s", (int)strcspn(list, ","), list);
}

static const char *device_name(const struct insight *in, const struct join_device *j)
{
	for (size_t i = 0; i < in->t->devices; i++) {
		const struct trace_device *d = &in->t->device[i];

		if (d->device == j->device && in->t->process[d->process].pid == j->pid && d->name)
			return trace_text(in->t, d->name);
	}
	return NULL;
}

/*
 * Finds OpenCL's CPU devices, whose kernels run on the host: by name, or because no GPU telemetry
 * exists for them.
 */
static void find_cpus(struct reading *x)
{
	static const char *const word[] = { "cpu", "pthread", "xeon", "epyc", "basic" };

	for (size_t i = 0; i < x->j->devices; i++) {
		struct join_device *d = &x->j->device[i];
		const char *name = device_name(x->in, d);

		d->cpu = !name && !d->owner[JOIN_GPU];
		for (size_t k = 0; name && k < sizeof(word) / sizeof(*word); k++)
			d->cpu |= strcasestr(name, word[k]) != NULL;
	}
}

static int device_of(struct reading *x, const struct process *p, uint32_t device, uint32_t *at)
{
	struct join_device d = { .pid = p->pid,
				 .device = device,
				 .rank = (int32_t)p->origin.rank - 1 };
	struct join_who *w;
	int err;

	for (*at = 0; *at < x->whos; ++*at)
		if (x->who[*at].process == p->id && x->who[*at].device == device)
			return 0;
	if (vec_more(&x->who, x->whos, sizeof(*w)) < 0)
		return -ENOMEM;
	w = &x->who[x->whos];
	memset(w, 0, sizeof(*w));
	err = join_device(x->j, &d, &w->at);
	if (err)
		return err;
	w->process = p->id;
	w->device = device;
	snprintf(w->node, sizeof(w->node), "%s", p->node);
	snprintf(w->job, sizeof(w->job), "%s", p->job);
	snprintf(w->pod, sizeof(w->pod), "%s", p->ident.pod_uid);
	nth(p->ident.gpu_uuid, device, w->uuid, sizeof(w->uuid));
	x->whos++;
	return 0;
}

static int on_track(void *arg, const struct track *l)
{
	struct reading *x = arg;
	const struct process *p = process_of(x, l->process);
	struct track_of *to;
	uint32_t at;
	int err = 0;

	if (!p || l->id >= 1u << 24)
		return 0;
	if (vec_room0(&x->track, &x->tracks, (size_t)l->id + 1, sizeof(*to)) < 0)
		return -ENOMEM;
	to = &x->track[l->id];
	to->process = l->process;
	if (l->device == TRACK_HOST || l->stream == TRACE_NO_STREAM)
		return 0;
	err = device_of(x, p, l->device, &at);
	to->device = err ? 0 : at + 1;
	err = err ? err : join_track(x->j, x->who[at].at, &to->busy);
	to->busy += !err;
	return err;
}

/* --- work --- */

static enum join_class class_of(const struct reading *x, uint32_t kind, const char *name)
{
	switch (names_work_text(x->names, kind, name)) {
	case CLASS_GEMM:
	case CLASS_ATTENTION:
	case CLASS_CONV:
		return JOIN_COMPUTE;
	case CLASS_COMM:
		return JOIN_COMM;
	case CLASS_OTHER:
	case CLASS_FFT:
		return JOIN_OTHER;
	default:
		return JOIN_MEMORY;
	}
}

/*
 * The key of a collective: its details in an import, without the rank and, to match it on other
 * ranks, without the group.
 */
static void collective_key(const char *text, struct join_key *k)
{
	uint64_t same = k->same, group = 1;
	size_t field = 0;

	for (text += strlen(INTO_COMM); *text; field++) {
		size_t len = strcspn(text, "\x1f");

		if (field != 3)
			group = fnv_bytes(group, text, len + 1);
		if (field != 3 && field != 1)
			same = fnv_bytes(same, text, len + 1);
		if (field == 4)
			k->size = (uint32_t)num_front(text, NULL);
		text += len + (text[len] != '\0');
	}
	k->same = same;
	k->group = group;
}

static void name_of(struct join_key *k, const char *name)
{
	snprintf(k->name, sizeof(k->name), "%.*s", (int)strcspn(demangle(name), "<("),
		 demangle(name));
}

static int work(struct reading *x, struct track_of *l, const struct event_columns *c, size_t i)
{
	const char *name = store_name_text(x->st, c->name[i]);
	const struct join_who *w = &x->who[l->device - 1];
	struct join_key k = { .device = w->at, .class = class_of(x, c->kind[i], name) };
	uint32_t way = c->flags[i] >> EVENT_COPY_SHIFT, at;
	int err;

	k.same = hash_mix(c->kind[i], c->name[i]);
	if (c->kind[i] == EVENT_KERNEL)
		k.same = hash_mix(k.same, c->a[i]);
	else
		k.same = hash_mix(k.same,
				  way << 16 | (uint32_t)(4 * log2(c->a[i] ? (double)c->a[i] : 1)));
	if (c->kind[i] == EVENT_COPY)
		k.class = way == AON_COPY_HTOD || way == AON_COPY_DTOH ? JOIN_COPY
			  : way == AON_COPY_DTOD                       ? JOIN_MEMORY
								       : JOIN_OTHER;
	if (l->mark && l->mark_ns == c->start_ns[i] && c->kind[i] == EVENT_KERNEL) {
		k.class = JOIN_COMM;
		k.same = c->kind[i];
		collective_key(store_name_text(x->st, l->mark), &k);
	} else if (k.class == JOIN_COMM) {
		k.group = fnv_bytes(1, w->node, strlen(w->node));
	}
	if (x->j->device[w->at].cpu)
		k.class = JOIN_HOST;
	name_of(&k, name);
	err = join_key(x->j, &k, &at);
	if (err)
		return err;
	join_work(x->j, at, c->start_ns[i], c->dur_ns[i]);
	join_busy(x->j, l->busy - 1, c->start_ns[i], c->dur_ns[i]);
	return 0;
}

/* A call of the host counts for all GPUs of its process, unless it only waits for them. */
static int call(struct reading *x, const struct track_of *l, const struct event_columns *c,
		size_t i)
{
	const char *name = store_name_text(x->st, c->name[i]);
	enum call is = names_call_text(x->names, name);
	struct join_key k = { .class = JOIN_HOST, .same = hash_mix(c->kind[i], c->name[i]) };
	int err = 0;

	if (is == CALL_SYNC || is == CALL_COPY_WAITS)
		return 0;
	name_of(&k, name);
	for (size_t d = 0; d < x->whos && !err; d++) {
		uint32_t at;

		k.device = x->who[d].at;
		if (x->who[d].process != l->process || x->j->device[k.device].cpu)
			continue;
		err = join_key(x->j, &k, &at);
		if (!err)
			join_work(x->j, at, c->start_ns[i], c->dur_ns[i]);
	}
	return err;
}

static int on_columns(void *arg, uint32_t process, const struct event_columns *c)
{
	struct reading *x = arg;
	int err = 0;

	(void)process;
	for (size_t i = 0; i < c->n && !err; i++) {
		struct track_of *l = c->track[i] < x->tracks ? &x->track[c->track[i]] : NULL;

		if (!l || !l->process)
			continue;
		switch (c->kind[i]) {
		case EVENT_MARK:
			if (!strncmp(store_name_text(x->st, c->name[i]), INTO_COMM,
				     strlen(INTO_COMM))) {
				l->mark = c->name[i];
				l->mark_ns = c->start_ns[i];
			}
			break;
		case EVENT_KERNEL:
		case EVENT_COPY:
		case EVENT_MEMSET:
			err = l->device ? work(x, l, c, i) : 0;
			break;
		case EVENT_API:
		case EVENT_OP:
			err = l->device ? 0 : call(x, l, c, i);
			break;
		default:
			break;
		}
	}
	return err;
}

/* --- the whole join --- */

static int bins_of(struct reading *x, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = from_ns > x->from_ns ? from_ns : x->from_ns,
		 to = to_ns && to_ns < x->to_ns ? to_ns : x->to_ns, width = WIDTH_NS;

	if (to <= from || (to - from) / width < JOIN_BINS_MIN)
		return -ENODATA;
	if ((to - from) / width >= JOIN_BINS_MAX)
		width = (to - from) / JOIN_BINS_MAX + 1;
	x->from_ns = from;
	x->to_ns = to;
	return join_new(&x->j, from, width, (uint32_t)((to - from) / width));
}

static int fill(struct reading *x)
{
	struct store_filter f = { .kinds = KINDS, .from_ns = x->from_ns, .to_ns = x->to_ns };
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_NAME |
			EVENT_COL_TRACK | EVENT_COL_KIND | EVENT_COL_FLAGS;
	int err = store_each_track(x->st, 0, on_track, x);

	if (!err && !x->whos)
		return -ENODATA;
	err = err ? err : join_series(x->j, x->st, x->who, x->whos, x->from_ns, x->to_ns);
	if (!err)
		find_cpus(x);
	err = err ? err : names_new(&x->names, NULL);
	err = err ? err : store_each_events(x->st, &f, cols, on_columns, x);
	return err ? err : join_judge(x->j);
}

int read_join(struct insight *in, struct store *st, uint64_t from_ns, uint64_t to_ns)
{
	struct reading x = { .in = in, .st = st, .from_ns = UINT64_MAX };
	uint64_t newest = 0;
	int err = store_last_telemetry(st, &newest);

	if (err || !newest || in->join)
		return err;
	err = store_each_process(st, on_process, &x);
	err = err ? err : bins_of(&x, from_ns, to_ns);
	err = err ? err : fill(&x);
	if (err)
		join_free(x.j);
	else
		in->join = x.j;
	names_free(x.names);
	free(x.who);
	free(x.proc);
	free(x.track);
	return err == -ENODATA ? 0 : err;
}
