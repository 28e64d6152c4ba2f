/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - work lane by lane as keys: its start, and with it length and class. See sweep.h. */
#include "insight/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "model/keys.h"

/* with: length << 8 | WITH_KERNEL | class */
#define WITH_KERNEL 0x80u
#define WITH_CLASS  0x7fu
#define WITH_SHIFT  8u

_Static_assert(CLASSES <= WITH_CLASS, "every class fits");

struct sweep_lane {
	struct sort_key *work; /* owned */
	size_t n, cap;
	bool unsorted;
};

struct sweep {
	const struct trace *t; /* borrowed */
	struct names *names;
	struct sweep_lane *lane; /* by lane of the trace */
	size_t lanes;
};

int sweep_new(struct sweep **out, const struct trace *t)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->t = t;
	s->lanes = t->lanes;
	s->lane = calloc(t->lanes + 1, sizeof(*s->lane));
	if (!s->lane || names_new(&s->names, t) < 0) {
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
	for (size_t i = 0; s->lane && i < s->lanes; i++)
		free(s->lane[i].work);
	free(s->lane);
	names_free(s->names);
	free(s);
}

static int grow(struct sweep_lane *l)
{
	size_t cap = l->cap ? 2 * l->cap : 64;
	struct sort_key *more = realloc(l->work, cap * sizeof(*more));

	if (!more)
		return -ENOMEM;
	l->work = more;
	l->cap = cap;
	return 0;
}

int sweep_add(struct sweep *s, const struct work *w)
{
	struct sweep_lane *l;
	uint64_t with;

	if (!kind_is_gpu(w->kind) || s->t->lane[w->lane].device == LANE_HOST)
		return 0;
	if (w->dur_ns >= UINT64_MAX >> WITH_SHIFT)
		return -ERANGE;
	l = &s->lane[w->lane];
	if (l->n == l->cap && grow(l) < 0)
		return -ENOMEM;
	with = w->dur_ns << WITH_SHIFT | work_class(s->names, w->kind, w->name, w->comm) |
	       (w->kind == EVENT_KERNEL ? WITH_KERNEL : 0);
	l->unsorted |= l->n && l->work[l->n - 1].value > w->start_ns;
	l->work[l->n++] = (struct sort_key){ w->start_ns, with };
	return 0;
}

static int sort_lane(struct sweep_lane *l)
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
static inline void add(struct breakdown *b, struct unions *u, const struct sort_key *work)
{
	uint64_t start = work->value, end = end_of(start, work->with >> WITH_SHIFT);
	enum kclass c = work->with & WITH_CLASS;

	b->gaps += start > b->last_ns;
	b->last_ns = end > b->last_ns ? end : b->last_ns;
	unions_add(u, class_parts(c), start, end);
	b->kernels += (work->with & WITH_KERNEL) != 0;
	b->copies += c == CLASS_COPY;
	b->memsets += c == CLASS_MEMSET;
}

static void sweep_stream(const struct sweep_lane *l, struct breakdown *b)
{
	struct unions u = { 0 };

	b->first_ns = b->last_ns = l->work[0].value;
	for (size_t i = 0; i < l->n; i++)
		add(b, &u, &l->work[i]);
	breakdown_end(b, &u);
}

static void add_classes(struct insight_device *d, const struct sweep_lane *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct insight_class *c = &d->class[l->work[i].with & WITH_CLASS];

		c->count++;
		c->ns += l->work[i].with >> WITH_SHIFT;
	}
}

static void sweep_lanes(struct merge *m, struct breakdown *b)
{
	struct unions u = { 0 };
	struct merge_lane *top = m->lane;

	for (size_t i = m->lanes / 2; i-- > 0;)
		merge_sift(m, i);
	b->first_ns = b->last_ns = top->start_ns;
	while (m->lanes) {
		add(b, &u, &top->work[top->at++]);
		if (top->at == top->end)
			*top = m->lane[--m->lanes];
		else
			top->start_ns = top->work[top->at].value;
		merge_sift(m, 0);
	}
	breakdown_end(b, &u);
}

static int add_device(struct sweep *s, struct insight *in, uint32_t device, struct merge *m)
{
	struct insight_device *d = &in->device[in->devices];
	int err;

	*d = (struct insight_device){ .device = device, .stream_first = in->streams };
	d->rank = s->t->file[s->t->device[device].file].rank;
	m->lanes = 0;
	for (uint32_t i = 0; i < s->lanes; i++) {
		struct insight_stream *st = &in->stream[in->streams];
		struct sweep_lane *l = &s->lane[i];

		if (s->t->lane[i].device != device || !l->n)
			continue;
		err = sort_lane(l);
		if (err < 0)
			return err;
		*st = (struct insight_stream){ .lane = i };
		sweep_stream(l, &st->b);
		if (st->b.kernels + st->b.copies + st->b.memsets || st->b.span_ns) {
			add_classes(d, l);
			in->streams++;
		}
		m->lane[m->lanes++] = (struct merge_lane){ 0, l->n, l->work[0].value, l->work };
	}
	d->streams = in->streams - d->stream_first;
	if (!d->streams)
		return 0;
	in->devices++;
	sweep_lanes(m, &d->b);
	return 0;
}

int sweep_end(struct sweep *s, struct insight **out)
{
	struct merge m = { .lane = calloc(s->lanes + 1, sizeof(*m.lane)) };
	struct insight *in = calloc(1, sizeof(*in));
	int err = in && m.lane ? 0 : -ENOMEM;

	if (in) {
		in->t = s->t;
		in->names = s->names;
		s->names = NULL;
		in->device = calloc(s->t->devices + 1, sizeof(*in->device));
		in->stream = calloc(s->lanes + 1, sizeof(*in->stream));
		err = err || !in->device || !in->stream ? -ENOMEM : 0;
	}
	for (uint32_t i = 0; i < s->t->devices && !err; i++)
		err = add_device(s, in, i, &m);
	merge_fini(&m);
	if (err < 0)
		insight_free(in);
	else
		*out = in;
	return err;
}
