/* SPDX-License-Identifier: Apache-2.0 */
/* test_collective.c - what exchanging data takes: the formulas' limits, by hand. */
#include "theory/collective.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "t.h"

#define GIB (1ull << 30)
#define OF(o, b, n, ...)                                           \
	{                                                          \
		.op = (o), .bytes = (b), .ranks = (n), __VA_ARGS__ \
	}

static struct coll_cost cost(const char *device, struct coll c)
{
	struct coll_cost out = { .ns = NAN, .algorithm = "error", .limiter = "error" };

	coll_cost(&out, gpu_find(device), &c);
	return out;
}

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

/* What is asked, and an answer that follows from the links alone. */
static void test_limits(void)
{
	struct coll_cost one, two, three;

	/* 2 x 64 GiB over one adapter of 25 GB/s: the difference is 64 GiB / 25e9. */
	one = cost("H100_SXM",
		   (struct coll)OF(COLL_P2P, 64 * GIB, 16, .ranks_per_node = 8, .net_Bps = 25e9));
	two = cost("H100_SXM",
		   (struct coll)OF(COLL_P2P, 128 * GIB, 16, .ranks_per_node = 8, .net_Bps = 25e9));
	T_OK(near(two.ns - one.ns, 68719476736.0 / 25, 1e-6),
	     "a message goes as fast as one adapter");
	T_OK(strcmp(two.limiter, "network") == 0, "and the network limits it");

	/* Two nodes of 8, 8 adapters of 50 GB/s: a ring carries 2 x 15/16 of the bytes at 400 GB/s,
	 * which is 137.4 GB x 1.875 / 400 GB/s = 644 ms, and the filling of its pipeline. */
	one = cost("B200", (struct coll)OF(COLL_ALL_REDUCE, 128 * GIB, 16, .ranks_per_node = 8,
					   .net_Bps = 50e9));
	T_OK(near(one.ns, 644.2e6, 0.02),
	     "an all-reduce of two nodes goes as fast as all adapters: %.1f ms", one.ns / 1e6);
	T_OK(one.bus_Bps < 400e9 && one.bus_Bps > 390e9,
	     "its bus bandwidth is that of the adapters");
	two = cost("B200", (struct coll)OF(COLL_ALL_REDUCE, 128 * GIB, 16, .ranks_per_node = 8,
					   .net_Bps = 50e9, .nics = 2));
	T_OK(near(two.ns, 4 * one.ns, 0.02), "a quarter of the adapters take four times as long");

	/* A mesh of 8 gives a pair one link of seven. Per rank 7/8 S over 7 links, or 1/2 S over 1. */
	one = cost("MI355X", (struct coll)OF(COLL_ALL_TO_ALL, 64 * GIB, 8));
	two = cost("MI355X", (struct coll)OF(COLL_ALL_TO_ALL, 64 * GIB, 2));
	T_OK(near(one.bus_Bps / two.bus_Bps, 7, 0.1),
	     "two of a mesh of eight have one link of seven: %.2f", one.bus_Bps / two.bus_Bps);

	one = cost("GB200", (struct coll)OF(COLL_ALL_REDUCE, GIB, 72));
	two = cost("GB200",
		   (struct coll)OF(COLL_ALL_REDUCE, GIB, 72, .ranks_per_node = 4, .net_Bps = 50e9));
	three = cost("B200", (struct coll)OF(COLL_ALL_REDUCE, GIB, 72));
	T_OK(strcmp(one.limiter, "link") == 0 && two.ns > 3 * one.ns,
	     "a rack's 72 share its links unless told otherwise");
	T_OK(strcmp(three.limiter, "network") == 0 && three.ns > one.ns, "elsewhere 8 do");
}

static void test_choice(void)
{
	/* clang-format off */
	static const struct {
		const char *device; struct coll c; const char *algorithm, *limiter; double factor;
	} of[] = {
		{ "GB200",    OF(COLL_ALL_REDUCE, 1024, 4),         "ring",   "latency", 1.5 },
		{ "GB200",    OF(COLL_ALL_REDUCE, 1024, 64),        "nvls",   "latency", 126 / 64.0 },
		{ "A100_SXM", OF(COLL_ALL_REDUCE, 1024, 64),        "tree",   "latency", 126 / 64.0 },
		{ "GB200",    OF(COLL_ALL_REDUCE, 16 * GIB, 64),    "nvls",   "link",    126 / 64.0 },
		{ "MI355X",   OF(COLL_ALL_REDUCE, 16 * GIB, 8),     "ring",   "link",    1.75 },
		{ "A100_SXM", OF(COLL_ALL_REDUCE, 16 * GIB, 8),     "ring",   "link",    1.75 },
		{ "H100_SXM", OF(COLL_ALL_GATHER, 16 * GIB, 8),     "ring",   "link",    0.875 },
		{ "H100_SXM", OF(COLL_REDUCE_SCATTER, 1024, 8),     "ring",   "latency", 0.875 },
		{ "H100_SXM", OF(COLL_ALL_TO_ALL, 16 * GIB, 8),     "direct", "link",    0.875 },
		{ "H100_SXM", OF(COLL_P2P, 1024, 8),                "direct", "latency", 1 },
		{ "H100_SXM", OF(COLL_BROADCAST, 16 * GIB, 8),      "ring",   "link",    1 },
		{ "L4",       OF(COLL_ALL_REDUCE, GIB, 4),          "ring",   "link",    1.5 },
		{ "H100_SXM", OF(COLL_ALL_REDUCE, GIB, 1),          "none",   "latency", 0 },
	};
	/* clang-format on */
	for (size_t i = 0; i < T_LEN(of); i++) {
		struct coll_cost r = cost(of[i].device, of[i].c);
		const struct gpu *g = gpu_find(of[i].device);
		double top = g->link_Bps > 0 ? g->link_Bps : g->pcie_Bps;

		T_OK(strcmp(r.algorithm, of[i].algorithm) == 0 &&
			     strcmp(r.limiter, of[i].limiter) == 0,
		     "%s, %s of %u: %s, limited by %s", of[i].device, coll_op_word[of[i].c.op],
		     of[i].c.ranks, r.algorithm, r.limiter);
		T_OK(near(r.bus_Bps, r.algorithm_Bps * of[i].factor, 1e-9),
		     "bus bandwidth is %.3f of bytes by time", of[i].factor);
		/* The switch that reduces moves each byte once: nccl-tests count it 2(n-1)/n times. */
		T_OK(r.bus_Bps <= top * (strcmp(r.algorithm, "nvls") == 0 ? 2 : 1),
		     "and no more than the links have");
	}
}

static void test_size(void)
{
	enum coll_op op;
	bool grows = true, ranks = true;

	for (op = 0; op < COLL_OPS; op++) {
		double was = 0, ns;

		/* Below half a GiB a larger message can be as fast: it gets more channels. */
		for (uint64_t bytes = GIB / 2; bytes <= 64 * GIB; bytes *= 4) {
			ns = cost("GB300", (struct coll)OF(op, bytes, 64)).ns;
			grows = grows && ns > was;
			was = ns;
		}
		was = 0;
		for (uint32_t n = 2; n <= 64; n *= 2) {
			ns = cost("GB300", (struct coll)OF(op, 1024, n)).ns;
			ranks = ranks && ns >= was;
			was = ns;
		}
	}
	T_OK(grows, "more bytes take longer");
	T_OK(ranks, "more ranks take no less");
}

static void test_refused(void)
{
	const struct gpu *g = gpu_find("H100_SXM");
	struct gpu alone = *g;
	double ns = -1;
	/* clang-format off */
	static const struct { struct coll c; int err; const char *why; } of[] = {
		{ OF(COLL_ALL_REDUCE, 0, 8),                -EINVAL, "no bytes" },
		{ OF(COLL_ALL_REDUCE, 1, 0),                -EINVAL, "no ranks" },
		{ OF(COLL_OPS, 1, 8),                       -EINVAL, "no such operation" },
		{ OF(COLL_ALL_REDUCE, UINT64_MAX, 8),       -ERANGE, "too many bytes" },
		{ OF(COLL_ALL_REDUCE, 1, UINT32_MAX),       -ERANGE, "too many ranks" },
	};
	/* clang-format on */
	for (size_t i = 0; i < T_LEN(of); i++)
		T_OK(coll_time(&ns, g, &of[i].c) == of[i].err && ns == -1, "%s: refused",
		     of[i].why);
	alone.link_Bps = alone.pcie_Bps = 0;
	T_OK(coll_time(&ns, &alone, &(struct coll)OF(COLL_ALL_REDUCE, 1, 8)) == -ENOTSUP &&
		     ns == -1,
	     "a device without links: refused");
	T_OK(coll_time(&ns, &alone, &(struct coll)OF(COLL_ALL_REDUCE, 1, 8, .ranks_per_node = 1)) ==
			     0 &&
		     ns > 0,
	     "unless each is a node of its own");
}

int main(void)
{
	test_limits();
	test_choice();
	test_size();
	test_refused();
	return t_done();
}
