/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c - see traffic.h. Adds events to rows; the end separates waiting from transfer. */
#include "insight/roofline/traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <aon/provider.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"
#include "theory/copy.h"

#define ROWS_MOST  65536u /* of groups and devices without end: the first of them */
#define SIZES_MOST 4096u
#define TRUST      1.5 /* times what the model says is still as expected: its errors are that large */
#define COPIES     UINT32_MAX

const char *const traffic_word[TRAFFIC_WORDS] = {
	[TRAFFIC_UNKNOWN] = "unknown",
	[TRAFFIC_LATENCY] = "latency",
	[TRAFFIC_LINK] = "link",
	[TRAFFIC_MEMORY] = "memory",
	[TRAFFIC_NETWORK] = "network",
	[TRAFFIC_WAITING] = "waiting",
	[TRAFFIC_PAGEABLE] = "pageable",
	[TRAFFIC_SLOW] = "slow",
	[TRAFFIC_UNSURE] = "waiting or slow",
};

/* --- what a collective is --- */

struct what {
	enum coll_op op;
	uint32_t group, ranks;
	uint64_t bytes;
};

static enum coll_op op_of(const char *name)
{
	static const struct {
		const char *word;
		enum coll_op op;
	} words[] = {
		{ "reduce_scatter", COLL_REDUCE_SCATTER },
		{ "reducescatter", COLL_REDUCE_SCATTER },
		{ "reduce-scatter", COLL_REDUCE_SCATTER },
		{ "all_reduce", COLL_ALL_REDUCE },
		{ "allreduce", COLL_ALL_REDUCE },
		{ "all-reduce", COLL_ALL_REDUCE },
		{ "all_gather", COLL_ALL_GATHER },
		{ "allgather", COLL_ALL_GATHER },
		{ "all-gather", COLL_ALL_GATHER },
		{ "all_to_all", COLL_ALL_TO_ALL },
		{ "alltoall", COLL_ALL_TO_ALL },
		{ "all-to-all", COLL_ALL_TO_ALL },
		{ "broadcast", COLL_BROADCAST },
		{ "send", COLL_P2P },
		{ "recv", COLL_P2P },
		{ "permute", COLL_P2P },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i].word))
			return words[i].op;
	return COLL_OPS;
}

/* Of the annotation around the launch: "nccl:all_reduce" with the shape of what is exchanged. */
static void what_by_range(const struct insight *in, size_t event, struct what *w)
{
	const struct trace *t = in->t;
	struct op_shapes s;

	for (uint32_t up = in->link[event]; up; up = in->link[up - 1]) {
		const struct event *e = &t->event[up - 1];
		const char *name = trace_text(t, e->name);
		uint64_t bytes;

		if (e->kind != EVENT_RANGE || strncmp(name, "nccl:", 5) != 0 ||
		    op_shapes_parse(&s, trace_text(t, trace_op_shapes(e))) || !s.ins)
			continue;
		bytes = op_type_bytes(s.in[0].type);
		for (uint32_t i = 0; i < s.in[0].dims; i++)
			if (__builtin_mul_overflow(bytes, s.in[0].size[i], &bytes))
				return;
		w->op = op_of(name);
		w->bytes = bytes;
		/* An all-gather names what each puts in. */
		if (w->op == COLL_ALL_GATHER && __builtin_mul_overflow(bytes, w->ranks, &w->bytes))
			w->bytes = 0;
		return;
	}
}

static struct what what_of(const struct insight *in, size_t event)
{
	const struct trace *t = in->t;
	const struct event *e = &t->event[event];
	uint32_t at = t->event_comm ? t->event_comm[event] : 0;
	const struct trace_comm *c = at ? &t->comm[at - 1] : NULL;
	int32_t world = t->file[t->process[t->track[e->track].process].file].world;
	struct what w = { .op = COLL_OPS, .ranks = world > 0 ? (uint32_t)world : 0 };

	if (c) {
		w.op = op_of(trace_text(t, c->name));
		w.group = c->group;
		w.ranks = c->size;
		w.bytes = c->bytes_in > c->bytes_out ? c->bytes_in : c->bytes_out;
	} else {
		what_by_range(in, event, &w);
	}
	if (w.op == COLL_OPS)
		w.op = op_of(trace_text(t, e->name));
	return w;
}

/* --- adding events --- */

static struct traffic_row *row_at(struct insight *in, uint32_t device, uint32_t class)
{
	struct state_traffic *x = &in->x->traffic;
	struct traffic *to = &in->traffic;
	uint32_t at = map_get(&x->row, (uint64_t)device << 32 | class);

	if (!at && to->rows == ROWS_MOST)
		return NULL;
	at = map_number(&x->row, (uint64_t)device << 32 | class);
	if (at && at <= to->rows)
		return &to->row[at - 1];
	if (!at || vec_more(&to->row, to->rows, sizeof(*to->row)) < 0)
		return NULL;
	to->rows++;
	to->row[at - 1] =
		(struct traffic_row){ .rank = in->t->file[in->t->device[device].file].rank,
				      .file = in->t->device[device].file,
				      .device = device,
				      .least_ns = UINT64_MAX,
				      .class = class };
	return &to->row[at - 1];
}

static void add(struct traffic_row *r, uint64_t bytes, uint64_t ns)
{
	r->bytes += bytes;
	r->count++;
	r->total_ns += ns;
	r->least_ns = ns < r->least_ns ? ns : r->least_ns;
}

static int add_copy(struct insight *in, const struct event *e)
{
	struct state_traffic *x = &in->x->traffic;
	uint8_t direction = e->flags >> EVENT_COPY_SHIFT;
	bool pageable = e->b & TRACE_PAGEABLE;
	uint32_t class = map_number(&x->class,
				    (uint64_t)COPIES << 32 | (uint32_t)(direction << 1 | pageable));
	struct traffic_row *r = class ? row_at(in, in->t->track[e->track].device, class) : NULL;

	if (!r)
		return in->traffic.rows == ROWS_MOST ? 0 : -ENOMEM;
	r->direction = direction;
	r->pageable = pageable;
	r->op = COLL_OPS;
	add(r, e->a, e->dur_ns);
	return 0;
}

/* Sizes that change with every call (tokens sent to experts) become those of a power of two. */
static uint64_t size_of(const struct state_traffic *x, uint64_t bytes)
{
	if (!bytes || x->size.used < SIZES_MOST || map_get(&x->size, bytes))
		return bytes;
	return 1ull << (63 - __builtin_clzll(bytes));
}

static uint32_t class_of(struct state_traffic *x, const struct what *w)
{
	uint32_t who = map_number(&x->who,
				  (uint64_t)w->group << 32 | (w->ranks & 0xfffffffu) << 4 | w->op);
	uint32_t size = map_number(&x->size, size_of(x, w->bytes));

	return who && size ? map_number(&x->class, (uint64_t)who << 32 | size) : 0;
}

static int add_collective(struct insight *in, size_t event)
{
	const struct event *e = &in->t->event[event];
	struct what w = what_of(in, event);
	uint32_t class = class_of(&in->x->traffic, &w);
	struct traffic_row *r = class ? row_at(in, in->t->track[e->track].device, class) : NULL;

	if (!r)
		return in->traffic.rows == ROWS_MOST ? 0 : -ENOMEM;
	r->collective = true;
	r->op = w.op;
	r->group = w.group;
	r->ranks = w.ranks;
	add(r, w.bytes, e->dur_ns);
	return 0;
}

int insight_traffic(struct insight *in)
{
	const struct trace *t = in->t;
	int err = 0;

	for (uint32_t l = 0; l < t->tracks; l++)
		for (size_t i = t->track_first[l];
		     t->track[l].device != TRACK_HOST && i < t->track_first[l + 1] && !err; i++) {
			if (!event_is_gpu(&t->event[i]) || !event_counts(&t->event[i]))
				continue;
			if (t->event[i].kind == EVENT_COPY)
				err = add_copy(in, &t->event[i]);
			else if (event_class(in->names, t, i) == CLASS_COMM)
				err = add_collective(in, i);
		}
	return err;
}

uint32_t traffic_place(struct insight *in, size_t event)
{
	struct what w = what_of(in, event);
	uint32_t class = class_of(&in->x->traffic, &w);

	return map_get(&in->x->traffic.row,
		       (uint64_t)in->t->track[in->t->event[event].track].device << 32 | class);
}

/* --- the end --- */

static int fastest(struct insight *in)
{
	size_t classes = in->x->traffic.class.used + 1;
	uint64_t *least = malloc(classes * sizeof(*least));
	struct traffic_row *r = in->traffic.row;

	if (!least)
		return -ENOMEM;
	memset(least, 0xff, classes * sizeof(*least));
	for (size_t i = 0; i < in->traffic.rows; i++)
		if (r[i].least_ns < least[r[i].class])
			least[r[i].class] = r[i].least_ns;
	for (size_t i = 0; i < in->traffic.rows; i++)
		r[i].least_ns = least[r[i].class];
	free(least);
	return 0;
}

/* Of calls that all of their ranks were seen in. */
static void take_waits(struct insight *in)
{
	const struct state_shares *s = &in->x->share[SHARES_GPU];

	for (size_t i = 0; i < s->n; i++) {
		const struct wait_share *w = &s->v[i];
		struct traffic_row *r = w->traffic ? &in->traffic.row[w->traffic - 1] : NULL;

		if (!r || !r->ranks || w->seen < r->ranks)
			continue;
		r->matched_ns += w->dur_ns;
		r->waited_ns += w->waited_ns;
	}
}

static void judge_copy(struct traffic_row *r, const struct gpu *g)
{
	static const uint8_t ways[] = {
		[AON_COPY_HTOD] = COPY_HOST + 1,
		[AON_COPY_DTOH] = COPY_HOST + 1,
		[AON_COPY_DTOD] = COPY_WITHIN + 1,
		[AON_COPY_PTOP] = COPY_PEER + 1,
	};
	uint8_t way = r->direction < sizeof(ways) ? ways[r->direction] : 0;
	struct copy_time t;

	r->carry_ns = (double)r->total_ns;
	if (!way || !g || !r->bytes ||
	    copy_time(&t, g, way - 1, (double)r->count, (double)r->bytes))
		return;
	r->wire_Bps = t.wire_Bps;
	r->should_ns = t.ns;
	if (t.start_ns > t.ns / 2)
		r->is = TRAFFIC_LATENCY;
	else if (r->carry_ns <= TRUST * t.ns)
		r->is = way - 1 == COPY_WITHIN ? TRAFFIC_MEMORY : TRAFFIC_LINK;
	else
		r->is = r->pageable ? TRAFFIC_PAGEABLE : TRAFFIC_SLOW;
}

/* As if on as few nodes as can be, and as if each rank had a node of its own. */
static int should(const struct traffic_row *r, const struct gpu *g, struct coll_cost *near,
		  struct coll_cost *far)
{
	struct coll c = { .op = r->op, .bytes = r->bytes / r->count, .ranks = r->ranks };
	int err = coll_cost(near, g, &c);

	c.ranks_per_node = 1;
	return err ? err : coll_cost(far, g, &c);
}

static void judge_collective(struct traffic_row *r, const struct gpu *g, int32_t world)
{
	double n = (double)r->count, all = (double)r->total_ns;
	bool sure = r->matched_ns > 0, apart;
	struct coll_cost near, far;

	r->carry_ns = (double)r->least_ns * n;
	if (sure)
		r->carry_ns = all * (1 - (double)r->waited_ns / (double)r->matched_ns);
	if (!g || !r->bytes || r->op == COLL_OPS || r->ranks < 2 || should(r, g, &near, &far))
		return;
	r->wire_Bps = g->link_Bps > 0 ? g->link_Bps : g->pcie_Bps;
	r->should_ns = near.ns * n;
	apart = world <= 0 || (uint32_t)world > coll_domain(g);
	if (apart && r->carry_ns > TRUST * near.ns * n && far.ns > near.ns) {
		r->should_ns = far.ns * n;
		near = far;
		near.limiter = !strcmp(far.limiter, "latency") ? far.limiter : "network";
	}
	if (all - r->carry_ns > r->carry_ns && (sure || r->carry_ns <= TRUST * r->should_ns))
		r->is = TRAFFIC_WAITING;
	else if (r->carry_ns > TRUST * r->should_ns)
		r->is = sure ? TRAFFIC_SLOW : TRAFFIC_UNSURE;
	else if (!strcmp(near.limiter, "latency"))
		r->is = TRAFFIC_LATENCY;
	else
		r->is = !strcmp(near.limiter, "network") ? TRAFFIC_NETWORK : TRAFFIC_LINK;
}

static int longest(const void *a, const void *b)
{
	const struct traffic_row *x = a, *y = b;

	return cmp_num(y->total_ns, x->total_ns) ?: cmp_num(x->device, y->device) ?:
	       cmp_num(y->bytes, x->bytes) ?: cmp_num(x->op, y->op) ?:
	       cmp_num(x->group, y->group) ?:
	       (x->direction * 2 + x->pageable - (y->direction * 2 + y->pageable));
}

int insight_traffic_end(struct insight *in)
{
	struct traffic *t = &in->traffic;
	int err = fastest(in);

	if (err)
		return err;
	take_waits(in);
	for (size_t i = 0; i < t->rows; i++) {
		struct traffic_row *r = &t->row[i];

		if (r->collective)
			judge_collective(r, in->roofs.gpu[r->device], in->t->file[r->file].world);
		else
			judge_copy(r, in->roofs.gpu[r->device]);
	}
	if (t->rows)
		qsort(t->row, t->rows, sizeof(*t->row), longest);
	return 0;
}

void traffic_fini(struct traffic *t)
{
	free(t->row);
}

/* --- for readers --- */

double traffic_Bps(const struct traffic_row *r)
{
	return r->carry_ns > 0 ? (double)r->bytes * 1e9 / r->carry_ns : 0;
}

double traffic_bus_Bps(const struct traffic_row *r)
{
	const struct coll c = { .op = r->op, .ranks = r->ranks };

	return r->collective && r->op != COLL_OPS && r->ranks > 1
		       ? traffic_Bps(r) * coll_bus_factor(&c)
		       : 0;
}

double traffic_fraction(const struct traffic_row *r)
{
	double rate = r->collective ? traffic_bus_Bps(r) : traffic_Bps(r);

	return r->wire_Bps > 0 ? rate / r->wire_Bps : 0;
}

uint64_t traffic_lost_ns(const struct traffic_row *r)
{
	double lost = r->carry_ns - r->should_ns;

	return (r->is == TRAFFIC_SLOW || r->is == TRAFFIC_PAGEABLE) && lost > 0 ? (uint64_t)lost
										: 0;
}

const char *traffic_direction(const struct traffic_row *r)
{
	static const char *const word[] = {
		[AON_COPY_UNKNOWN] = "copies",      [AON_COPY_HTOD] = "host to device",
		[AON_COPY_DTOH] = "device to host", [AON_COPY_DTOD] = "device to device",
		[AON_COPY_HTOH] = "host to host",   [AON_COPY_PTOP] = "GPU to GPU",
	};

	return r->direction < sizeof(word) / sizeof(word[0]) ? word[r->direction] : word[0];
}
