/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - see collective.h. Models NCCL and RCCL with as few parameters as explain the
 * measurements; collective_fit.tbl.h has their values.
 *
 * Ring, tree, NVLS (all-reduce, all-gather, reduce-scatter, broadcast): with S bytes, n ranks,
 *
 *	T = base + hop x hops + (wire + own x S/n) / speed + 2 sqrt(pipe x wire / speed)
 *
 * `wire` is what each rank sends: S (n-1)/n, twice that for an all-reduce. `own` is the pass over
 * the part of the buffer that stays at home. The square root is what is left of filling a pipeline
 * when its chunks are as large as is best: (fill + k chunks)(time of a chunk) at its minimum. An
 * all-reduce takes the best of a ring's 2(n-1) hops, a tree's (three hops' time a level, up and
 * down) and, where the switch can reduce, NVLS: each rank sends and receives S once.
 *
 * Direct (all-to-all, p2p): a message of M bytes has 32 / 2^ceil(log2 n) of NCCL's channels. Up to
 * NCCL's chunk of 512 KiB each takes `chunk` bytes a second, beyond (another protocol, which takes
 * `simple` to begin) `channel`; from 16 MiB on a
 * message gets channels as its size grows. The rank's port is the other limit. NCCL's work to set
 * up n peers on n ranks grows with n squared.
 *
 * Between nodes a node's adapters carry what a ring sends once, and each crossing takes NET_HOP_NS.
 */
#include "theory/collective.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define CHANNELS  32.0
#define CHUNK     (512.0 * 1024)
#define GROW      (16.0 * 1024 * 1024)
#define TREE_HOPS 6.0 /* a level, up and down */
#define NET_HOP_NS \
	12e3 /* least all-reduce of two nodes less that of two GPUs, halved: vidur, A100 */
#define MOST_BYTES (1ull << 60)
#define MOST_RANKS (1u << 24)

enum { A100, H100, B200, GB200, GB300, MI350, FAMILIES };

static const struct family {
	const char *key; /* what a device's key begins with; "": by compute capability alone */
	uint32_t cc;     /* at least */
	uint32_t domain; /* ranks that share the fast links */
	bool mesh;       /* a link for each pair, no switch */
	int like;        /* whose numbers */
} families[] = {
	{ "GB300", 0, 72, false, GB300 }, { "GB200", 0, 72, false, GB200 },
	{ "", 100, 8, false, B200 },      { "", 90, 8, false, H100 },
	{ "", 1, 8, false, A100 },        { "", 0, 8, true, MI350 },
};

/* Of a family; base_us 0: it was not measured, H100's stand in. */
static const struct ring {
	double base_us, hop_us, link, own, pipe_us, nvls;
} rings[FAMILIES][COLL_OPS] = {
#define RING(key, op, base, hop, link, own, pipe, nvls) \
	[key][COLL_##op] = { base, hop, link, own, pipe, nvls },
#include "theory/collective_fit.tbl.h"
};

static const struct peer {
	double base_us, all_us, peers_us, link, chunk_GBps, channel_GBps, pipe_us, simple_us;
} peers[FAMILIES] = {
#define PEER(key, base, all, each, link, chunk, channel, pipe, simple) \
	[key] = { base, all, each, link, chunk, channel, pipe, simple },
#include "theory/collective_fit.tbl.h"
};

const char *const coll_op_word[COLL_OPS] = { "all-reduce", "all-gather", "reduce-scatter",
					     "all-to-all", "p2p",        "broadcast" };

/* What connects the ranks of one call. */
struct wires {
	const struct family *f;
	double link_Bps; /* of a rank, at best; 0: no rank has a neighbour */
	double node_Bps; /* of a node to others */
	double local;    /* ranks of a node */
	double nodes;
};

static const struct family *family_of(const struct gpu *g)
{
	const struct family *f = families;

	while (strncmp(g->key, f->key, strlen(f->key)) != 0 || g->cc < f->cc)
		f++; /* the last takes all */
	return f;
}

uint32_t coll_domain(const struct gpu *g)
{
	return family_of(g)->domain;
}

static int find_wires(struct wires *out, const struct gpu *g, const struct coll *c)
{
	struct wires w = { .f = family_of(g) };
	double n = c->ranks, adapters;

	w.local = c->ranks_per_node ? c->ranks_per_node : w.f->domain;
	w.local = fmin(w.local, n);
	w.nodes = ceil(n / w.local);
	w.link_Bps = g->link_Bps > 0 ? g->link_Bps : g->pcie_Bps;
	if (w.local > 1 && !(w.link_Bps > 0))
		return -ENOTSUP;
	adapters = c->nics ? fmin(c->nics, w.local) : w.local;
	w.node_Bps = adapters * (c->net_Bps > 0 ? c->net_Bps : COLL_NET_BPS);
	*out = w;
	return 0;
}

/* A mesh gives a group only the links between its members. */
static double link_of(const struct wires *w, double fraction, double members)
{
	double part = w->f->mesh ? (members - 1) / (w->f->domain - 1) : 1;

	return w->link_Bps * fraction * fmin(part, 1);
}

static double pipelined(double base_ns, double move_ns, double wire_ns, double pipe_us)
{
	return base_ns + move_ns + 2 * sqrt(pipe_us * 1e3 * wire_ns);
}

static const struct ring *ring_of(const struct wires *w, enum coll_op op)
{
	const struct ring *r;

	if (op == COLL_BROADCAST)
		op = COLL_ALL_GATHER; /* not measured: the same wires, the same copies */
	r = &rings[w->f->like][op];
	return r->base_us > 0 ? r : &rings[H100][op];
}

static void ring_cost(struct coll_cost *out, const struct wires *w, const struct coll *c)
{
	const struct ring *r = ring_of(w, c->op);
	double n = c->ranks, s = (double)c->bytes, twice = c->op == COLL_ALL_REDUCE ? 2 : 1;
	double wire = c->op == COLL_BROADCAST ? s : twice * s * (n - 1) / n;
	double own = c->op == COLL_BROADCAST ? 0 : r->own * s / n;
	double ring_hops = twice * (n - 1), tree_hops = TREE_HOPS * log2(n);
	bool tree = c->op == COLL_ALL_REDUCE && tree_hops < ring_hops;
	double crossings = w->nodes > 1 ? twice * (tree ? ceil(log2(w->nodes)) : w->nodes - 1) : 0;
	double start = (r->base_us + r->hop_us * (tree ? tree_hops : ring_hops)) * 1e3 +
		       crossings * NET_HOP_NS;
	double link = w->local > 1 ? link_of(w, r->link, w->local) : INFINITY, slow = link, nvls;

	if (w->nodes > 1)
		slow = fmin(link, w->node_Bps);
	out->ns = pipelined(start, (wire / slow + own / fmin(link, w->link_Bps)) * 1e9,
			    wire / slow * 1e9, r->pipe_us);
	out->algorithm = tree ? "tree" : "ring";
	out->limiter = start > out->ns / 2 ? "latency" : slow < link ? "network" : "link";
	if (!(r->nvls > 0) || c->op != COLL_ALL_REDUCE || w->nodes > 1)
		return;
	start = (r->base_us + r->hop_us * tree_hops) * 1e3;
	nvls = s / (w->link_Bps * r->nvls) * 1e9;
	nvls = pipelined(start, nvls, nvls, r->pipe_us);
	if (nvls < out->ns)
		*out = (struct coll_cost){ nvls, "nvls", start > nvls / 2 ? "latency" : "link", 0,
					   0 };
}

static double power_of_two(double x) /* the least that is not below x */
{
	return x > 1 ? exp2(ceil(log2(x))) : 1;
}

/* Seconds that the links of a node need for what a rank sends within it, and its adapters beyond. */
static double near_s(const struct wires *w, const struct peer *p, bool all, double message)
{
	if (w->local <= 1)
		return 0;
	return message * (all ? w->local - 1 : 1) / link_of(w, p->link, all ? w->local : 2);
}

static double far_s(const struct wires *w, bool all, double message, double ranks)
{
	if (w->nodes <= 1)
		return 0;
	return message * (all ? ranks - w->local : 1) * w->local / w->node_Bps;
}

static void direct_cost(struct coll_cost *out, const struct wires *w, const struct coll *c)
{
	const struct peer *p = &peers[peers[w->f->like].base_us > 0 ? w->f->like : H100];
	bool all = c->op == COLL_ALL_TO_ALL;
	double n = c->ranks, message = (double)c->bytes / (all ? n : 1), share, rate, start, near,
	       far;

	share = CHANNELS / power_of_two(n);
	if (!all)
		share = fmax(share, 1);
	start = all ? p->all_us + p->peers_us * n * w->local : p->base_us;
	rate = share * p->chunk_GBps * 1e9;
	if (message > CHUNK) {
		rate = fmax(share, fmin(power_of_two(message / GROW), CHANNELS)) * p->channel_GBps *
		       1e9;
		start += p->simple_us;
	}
	near = near_s(w, p, all, message);
	far = far_s(w, all, message, n);
	start = start * 1e3 + (w->nodes > 1 ? NET_HOP_NS : 0);
	out->ns = pipelined(start, fmax(message / rate, fmax(near, far)) * 1e9,
			    all ? near * 1e9 : 0, p->pipe_us);
	out->algorithm = "direct";
	out->limiter = start > out->ns / 2 ? "latency" : far > near ? "network" : "link";
}

double coll_bus_factor(const struct coll *c)
{
	double n = c->ranks;

	switch (c->op) {
	case COLL_ALL_REDUCE:
		return 2 * (n - 1) / n;
	case COLL_ALL_GATHER:
	case COLL_REDUCE_SCATTER:
	case COLL_ALL_TO_ALL:
		return (n - 1) / n;
	default:
		return 1;
	}
}

int coll_cost(struct coll_cost *out, const struct gpu *g, const struct coll *c)
{
	struct coll_cost cost = { .algorithm = "none", .limiter = "latency" };
	struct wires w;
	int err;

	if (c->bytes == 0 || c->ranks == 0 || (unsigned)c->op >= COLL_OPS)
		return -EINVAL;
	if (c->bytes > MOST_BYTES || c->ranks > MOST_RANKS)
		return -ERANGE;
	err = find_wires(&w, g, c);
	if (err)
		return err;
	if (c->ranks > 1) {
		if (c->op == COLL_ALL_TO_ALL || c->op == COLL_P2P)
			direct_cost(&cost, &w, c);
		else
			ring_cost(&cost, &w, c);
		cost.algorithm_Bps = (double)c->bytes / cost.ns * 1e9;
		cost.bus_Bps = cost.algorithm_Bps * coll_bus_factor(c);
	}
	*out = cost;
	return 0;
}

int coll_time(double *ns, const struct gpu *g, const struct coll *c)
{
	struct coll_cost cost;
	int err = coll_cost(&cost, g, c);

	if (!err)
		*ns = cost.ns;
	return err;
}
