/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and collectives against their wires: cases computed by hand. */
#include "insight/roofline/traffic.h"

#include <errno.h>
#include <math.h>

#include "insight/find/finding.h"
#include "t.h"
#include "theory/copy.h"
#include "tracekit.h"

/* 1 TB/s, a link of 100 GB/s, a host of 31.5 GB/s (PCIe 4.0 x16). */
static const struct gpu gpu = { .key = "TOY",
				.name = "Toy GPU",
				.cc = 90,
				.sms = 100,
				.tensor_flops = { [GPU_BF16] = 100e12 },
				.memory_Bps = 1e12,
				.link_Bps = 100e9,
				.pcie_Bps = 31.508e9,
				.launch_ns = 2000 };

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static void formula(void)
{
	struct gpu none = { .memory_Bps = 1e12 };
	struct copy_time t;

	T_OK(!copy_time(&t, &gpu, COPY_HOST, 10, 1e9) && near(t.start_ns, 15000) &&
		     near(t.ns, 15000 + 1e9 / (0.85 * 31.508)),
	     "a copy takes its start, and its bytes at a share of the host's link");
	T_OK(!copy_time(&t, &gpu, COPY_WITHIN, 1, 1e9) && near(t.wire_Bps, 0.5e12),
	     "within a device each byte is read and written");
	T_OK(!copy_time(&t, &gpu, COPY_PEER, 1, 1e9) && near(t.wire_Bps, 100e9),
	     "to another device it takes the link");
	T_OK(copy_time(&t, &none, COPY_HOST, 1, 1) == -ENOTSUP &&
		     copy_time(&t, &none, COPY_PEER, 1, 1) == -ENOTSUP,
	     "of wires that are not known nothing is said");
	T_OK(copy_time(&t, &gpu, COPY_HOST, 0, 1) == -EINVAL &&
		     copy_time(&t, &gpu, COPY_WAYS, 1, 1) == -EINVAL &&
		     copy_time(&t, &gpu, COPY_HOST, 1, NAN) == -EINVAL,
	     "no copies, no such way, no number of bytes: an error");
	T_OK(copy_older_pcie(&gpu, 13e9) && !strcmp(copy_older_pcie(&gpu, 13e9), "3.0") &&
		     !copy_older_pcie(&gpu, 27e9) && !copy_older_pcie(&gpu, 5e9),
	     "half of the link is the generation before; a sixth, or nearly all, is not");
}

/* --- traces --- */

static void name_devices(struct trace *t)
{
	struct kit k = { .t = t };

	for (size_t i = 0; i < t->devices; i++)
		t->device[i].name = kit_name(&k, "Toy GPU");
}

static struct insight *look(struct trace *t)
{
	struct insight *in = NULL;

	name_devices(t);
	kit_must(trace_seal(t) == 0 && insight_new(&in, t) == 0, "insight_new");
	return in;
}

static const struct traffic_row *copy_row(const struct insight *in, uint8_t dir, bool pageable)
{
	for (size_t i = 0; i < in->traffic.rows; i++)
		if (!in->traffic.row[i].collective && in->traffic.row[i].direction == dir &&
		    in->traffic.row[i].pageable == pageable)
			return &in->traffic.row[i];
	return NULL;
}

static bool found(const struct insight *in, enum family k, uint64_t *cost)
{
	struct findings *fs = NULL;
	bool is = false;

	kit_must(findings_new(&fs, in) == 0, "findings_new");
	for (size_t i = 0; i < fs->n; i++) {
		if (fs->f[i].family != k)
			continue;
		is = true;
		*cost = fs->f[i].cost_ns;
	}
	findings_free(fs);
	return is;
}

static void copies(void)
{
	/* 25, 5 and 12.6 GB/s to the device and back, 400 GB/s within, 80 to the other, and small ones. */
	struct trace *t = kit_trace("copy 0 1 0 4000000 1 100000000 1\n"
				    "copy 0 1 4000000 20000000 2 100000000 1p\n"
				    "copy 0 1 24000000 8000000 3 100800000 2\n"
				    "copy 0 1 32000000 250000 4 100000000 3\n"
				    "copy 0 1 32250000 1250000 5 100000000 5\n"
				    "copy 0 1 33500000 9000 6 8 2p\n"
				    "copy 0 1 33510000 500 7 8 4\n"
				    "kernel 0 1 33511000 1000000 8 k\n");
	struct insight *in = look(t);
	const struct traffic_row *r = copy_row(in, 1, false);
	uint64_t cost = 0;

	T_OK(r && r->is == TRAFFIC_LINK && near(traffic_Bps(r), 25e9) && !traffic_lost_ns(r),
	     "a copy as fast as the link lets it be");
	r = copy_row(in, 1, true);
	T_OK(r && r->is == TRAFFIC_PAGEABLE && near(traffic_fraction(r), 5 / 31.508) &&
		     near((double)traffic_lost_ns(r), 20e6 - r->should_ns),
	     "one of memory that is not pinned is apart, and what it loses is told");
	r = copy_row(in, 2, false);
	T_OK(r && r->is == TRAFFIC_SLOW, "a slow one of pinned memory is slow");
	r = copy_row(in, 3, false);
	T_OK(r && r->is == TRAFFIC_MEMORY && near(traffic_fraction(r), 0.8),
	     "within a device memory is the limit");
	r = copy_row(in, 5, false);
	T_OK(r && r->is == TRAFFIC_LINK && near(traffic_fraction(r), 0.8),
	     "between devices their link is");
	r = copy_row(in, 2, true);
	T_OK(r && r->is == TRAFFIC_LATENCY && !traffic_lost_ns(r),
	     "a copy of a few bytes waits for nothing but its start, however long that took");
	r = copy_row(in, 4, false);
	T_OK(r && r->is == TRAFFIC_UNKNOWN, "of the host's own nothing is said");
	T_OK(found(in, FAMILY_SLOW_COPIES, &cost) &&
		     near((double)cost, (double)(traffic_lost_ns(copy_row(in, 1, true)) +
						 traffic_lost_ns(copy_row(in, 2, false)))),
	     "slow copies are found, and cost what they lose");
	insight_free(in);
	trace_free(t);
}

#define RANKS 4u

struct took {
	uint64_t start_ns, dur_ns;
};

/* The same all-reduces on `files` of four ranks: 64 MiB each, call after call. */
static struct trace *exchanges(struct took call[RANKS][2], uint32_t files, int32_t world)
{
	struct kit k = { 0 };

	kit_must(trace_new(&k.t) == 0, "trace_new");
	for (uint32_t f = 0; f < files; f++) {
		struct trace_comm c = { .rank = (int32_t)f,
					.size = RANKS,
					.bytes_in = 64u << 20,
					.bytes_out = 64u << 20 };

		kit_file(&k, (int)f);
		k.t->file[k.file].world = world;
		c.name = kit_name(&k, "allreduce");
		c.group = kit_name(&k, "dp");
		for (uint32_t i = 0; i < 2; i++) {
			struct trace_track l = { .process = k.process, .stream = 7 };
			struct event e = { .kind = EVENT_KERNEL,
					   .start_ns = call[f][i].start_ns,
					   .dur_ns = call[f][i].dur_ns,
					   .name = kit_name(&k, "ncclDevKernel_AllReduce") };
			uint32_t comm;

			kit_must(trace_device(k.t, k.process, f, &l.device) == 0 &&
					 trace_track(k.t, &l, &e.track) == 0 &&
					 trace_comm_add(k.t, &c, &comm) == 0 &&
					 trace_add(k.t, &e, comm + 1) == 0,
				 "collective");
		}
	}
	return k.t;
}

/* Of each rank but the last recorded one, and of that one. */
static bool all_are(struct took call[RANKS][2], uint32_t files, int32_t world, enum traffic_is is,
		    enum traffic_is last, bool slow)
{
	struct trace *t = exchanges(call, files, world);
	struct insight *in = look(t);
	uint64_t cost;
	bool right = in->traffic.rows == files && found(in, FAMILY_SLOW_LINKS, &cost) == slow;

	for (size_t i = 0; i < in->traffic.rows; i++) {
		const struct traffic_row *r = &in->traffic.row[i];

		right = right && r->count == 2 && r->is == (r->file + 1 == files ? last : is);
		if (!right)
			printf("# rank %u: %s\n", r->file, traffic_word[r->is]);
	}
	insight_free(in);
	trace_free(t);
	return right;
}

static void take(struct took call[RANKS][2], uint64_t first, uint64_t second)
{
	for (uint32_t f = 0; f < RANKS; f++) {
		call[f][0] = (struct took){ 0, first };
		call[f][1] = (struct took){ 50000000, second };
	}
}

static void collectives(void)
{
	struct coll c = { .op = COLL_ALL_REDUCE, .bytes = 64u << 20, .ranks = RANKS };
	struct took call[RANKS][2];
	struct coll_cost far;
	uint64_t should;
	double ns;

	kit_must(coll_time(&ns, &gpu, &c) == 0, "coll_time");
	should = (uint64_t)ns;
	c.ranks_per_node = 1;
	kit_must(coll_cost(&far, &gpu, &c) == 0 && far.ns > 1.6 * ns, "coll_cost");
	take(call, 6 * should, 6 * should);
	call[3][0].dur_ns = call[3][1].dur_ns = should;
	T_OK(all_are(call, RANKS, RANKS, TRAFFIC_WAITING, TRAFFIC_LINK, false),
	     "three ranks wait for the fourth: that is no slow link");
	take(call, 6 * should, should);
	T_OK(all_are(call, 1, RANKS, TRAFFIC_WAITING, TRAFFIC_WAITING, false),
	     "of one rank alone: its fast call is as expected, so the slow one was waiting");
	take(call, should, should);
	T_OK(all_are(call, RANKS, RANKS, TRAFFIC_LINK, TRAFFIC_LINK, false),
	     "as the model expects: the link");
	take(call, 4 * should, 4 * should);
	T_OK(all_are(call, RANKS, RANKS, TRAFFIC_SLOW, TRAFFIC_SLOW, true),
	     "four times as long on all ranks, and nobody waits: slow, and found");
	T_OK(all_are(call, 1, RANKS, TRAFFIC_UNSURE, TRAFFIC_UNSURE, false),
	     "the same of one rank alone: waiting or slow, and not found");
	T_OK(all_are(call, 2, RANKS, TRAFFIC_UNSURE, TRAFFIC_UNSURE, false),
	     "nor of two of the four");
	take(call, (uint64_t)far.ns, (uint64_t)far.ns);
	T_OK(all_are(call, RANKS, 64, TRAFFIC_NETWORK, TRAFFIC_NETWORK, false),
	     "of a job of many ranks these may be on different nodes: as fast as a network");
}

/* Each of 6,000 calls has a size of its own. */
static void many_sizes(void)
{
	struct kit k = { 0 };
	struct trace_track l = { .stream = 7 };
	struct insight *in;
	uint64_t bytes = 0;

	kit_must(trace_new(&k.t) == 0, "trace_new");
	kit_file(&k, 0);
	l.process = k.process;
	for (uint32_t i = 0; i < 6000; i++) {
		struct trace_comm c = { .size = RANKS, .bytes_in = 100000 + i, .bytes_out = 1 };
		struct event e = { .kind = EVENT_KERNEL, .start_ns = i * 2000, .dur_ns = 1000 };
		uint32_t comm;

		c.name = kit_name(&k, "all_to_all");
		e.name = kit_name(&k, "ncclDevKernel_SendRecv");
		kit_must(trace_device(k.t, k.process, 0, &l.device) == 0 &&
				 trace_track(k.t, &l, &e.track) == 0 &&
				 trace_comm_add(k.t, &c, &comm) == 0 &&
				 trace_add(k.t, &e, comm + 1) == 0,
			 "collective");
	}
	in = look(k.t);
	for (size_t i = 0; i < in->traffic.rows; i++)
		bytes += in->traffic.row[i].bytes;
	T_OK(in->traffic.rows > 4000 && in->traffic.rows < 4200 &&
		     bytes == 6000 * 100000ull + 6000 * 5999ull / 2,
	     "sizes without end share %zu rows, and no byte is lost", in->traffic.rows);
	insight_free(in);
	trace_free(k.t);
}

static void bandwidths(void)
{
	struct traffic_row r = { .collective = true,
				 .op = COLL_ALL_REDUCE,
				 .ranks = 8,
				 .bytes = 1000000,
				 .count = 1,
				 .carry_ns = 10000 };

	T_OK(near(traffic_Bps(&r), 100e9) && near(traffic_bus_Bps(&r), 175e9),
	     "an all-reduce of 8 ranks loads the bus with 7/4 of its bytes, as nccl-tests count");
	r.op = COLL_ALL_GATHER;
	T_OK(near(traffic_bus_Bps(&r), 87.5e9), "an all-gather with 7/8");
	r.op = COLL_OPS;
	T_OK(!(traffic_bus_Bps(&r) > 0), "an unknown one is not told");
}

int main(void)
{
	kit_must(gpu_add(&gpu) == 0, "gpu_add");
	formula();
	copies();
	collectives();
	many_sizes();
	bandwidths();
	return t_done();
}
