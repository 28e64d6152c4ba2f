/* SPDX-License-Identifier: Apache-2.0 */
/* expect.c - see expect.h. "expected/KEY" is "VALUE PASS FAIL BY": a number, two shares in percent, words. */
#include "validate/expect.h"

#include <math.h>
#include <string.h>

#include "base/order.h"
#include "theory/collective.h"
#include "theory/gpu.h"

#define PREFIX "expected/"

void expect_set(struct facts *f, const char *key, const struct expect *e)
{
	char name[FACT_KEY];

	if (e->value > 0 && isfinite(e->value) &&
	    (size_t)snprintf(name, sizeof(name), PREFIX "%s", key) < sizeof(name))
		facts_set(f, name, "%.4g %u %u %.160s", e->value, e->pass, e->fail, e->by);
}

static int judge(struct checks *out, const struct facts *f, const char *key, const char *said)
{
	struct check c = { .by = "measured",
			   .why = "less than devices, links or memory of its kind reach",
			   .act = "look at clocks, power and temperature meanwhile; at links, "
				  "PCIe lanes and other work on the node",
			   .when = "always" };
	unsigned pass, fail;
	double want, is;
	int words = 0;

	if (!facts_number(f, key, &is) ||
	    sscanf(said, "%lf %u %u %n", &want, &pass, &fail, &words) != 3 || !words)
		return 0;
	c.share = want > 0 && is > 0 ? is / want : 0;
	snprintf(c.id, sizeof(c.id), "%s", key);
	snprintf(c.is, sizeof(c.is), "%.4g, %.0f %%", is, 100 * c.share);
	snprintf(c.want, sizeof(c.want), "at least %u %% of %.4g (%s)", pass, want, said + words);
	c.level = is * 100 >= want * pass   ? CHECK_PASS
		  : is * 100 >= want * fail ? CHECK_WARN
					    : CHECK_FAIL;
	return checks_add(out, &c);
}

int checks_expected(struct checks *out, const struct facts *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->n; i++)
		if (!strncmp(f->f[i].key, PREFIX, strlen(PREFIX)))
			err = judge(out, f, f->f[i].key + strlen(PREFIX), f->f[i].value);
	return err;
}

/* --- what logs should say --- */

static double get(const struct facts *f, const char *fmt, const char *word)
{
	char key[FACT_KEY];
	double v = 0;

	snprintf(key, sizeof(key), fmt, word);
	facts_number(f, key, &v);
	return v;
}

/* Bus bandwidth at the size that was measured, by the model of the links. */
static void expect_nccl(struct facts *f)
{
	const char *name = facts_get(f, "log/nccl/device");
	const struct gpu *g = name ? gpu_find(name) : NULL;

	for (int op = 0; g && op < COLL_OPS; op++) {
		double bytes = get(f, "log/nccl/%s/bytes", coll_op_word[op]),
		       ranks = get(f, "log/nccl/%s/ranks", coll_op_word[op]),
		       nodes = get(f, "log/nccl/%s/nodes", coll_op_word[op]);
		struct coll c = { .op = (enum coll_op)op,
				  .bytes = (uint64_t)bytes,
				  .ranks = (uint32_t)ranks,
				  .ranks_per_node = nodes > 1 ? (uint32_t)(ranks / nodes) : 0 };
		struct coll_cost cost;
		char key[FACT_KEY], by[160];

		if (bytes < 1 || bytes > 1e15 || ranks < 2 || ranks > 1e6 ||
		    coll_cost(&cost, g, &c))
			continue;
		snprintf(key, sizeof(key), "log/nccl/%s/busbw_GBps", coll_op_word[op]);
		snprintf(by, sizeof(by), "model: %s of %.0f MB, %.0f x %s, %s", cost.algorithm,
			 bytes / 1e6, ranks, g->key, cost.limiter);
		expect_set(f, key, &(struct expect){ cost.bus_Bps / 1e9, 80, 60, by });
	}
}

/* bandwidthTest: page-locked copies over the bus; within the device each byte is read and written. */
static void expect_copies(struct facts *f)
{
	const char *name = facts_get(f, "log/copy/device");
	const struct gpu *g = name ? gpu_find(name) : NULL;

	if (!g)
		return;
	expect_set(f, "log/copy/H2D_GBps",
		   &(struct expect){ g->pcie_Bps / 1e9, 75, 60, "table: the bus of the device" });
	expect_set(f, "log/copy/D2H_GBps",
		   &(struct expect){ g->pcie_Bps / 1e9, 75, 60, "table: the bus of the device" });
	expect_set(f, "log/copy/D2D_GBps",
		   &(struct expect){ g->memory_Bps / 1e9, 70, 55, "table: the device's memory" });
}

/* "400 Gb/sec (4X NDR)" of the port, if it is one of this node. */
static void expect_perftest(struct facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		char device[32], port[8], key[FACT_KEY];
		double gbps;

		if (sscanf(f->f[i].key, "ib/%31[^/]/%7[^/]/rate", device, port) != 2 ||
		    !strstr(f->f[i].key, "/rate") ||
		    sscanf(f->f[i].value, "%lf Gb/sec", &gbps) != 1)
			continue;
		snprintf(key, sizeof(key), "log/ib/%s/average_MBps", device);
		if (facts_get(f, key))
			expect_set(
				f, key,
				&(struct expect){ gbps * 1e3 / 8, 90, 75, "the rate of the port" });
	}
}

/* Of each GPU the peak that the log itself names. */
static void expect_gpu_stream(struct facts *f)
{
	for (unsigned i = 0; i < 64; i++) {
		char key[FACT_KEY], gpu[8];
		double peak;

		snprintf(gpu, sizeof(gpu), "%u", i);
		peak = get(f, "log/gpu_stream/gpu%s/peak_GBps", gpu);
		snprintf(key, sizeof(key), "log/gpu_stream/gpu%u/TRIAD_GBps", i);
		if (peak > 0)
			expect_set(f, key,
				   &(struct expect){
					   peak, 80, 65,
					   "clock and width of its memory, as the log has them" });
	}
}

/* --- what was measured --- */

/* One of many that is slower than the others, whatever a table says: from three on. */
static void among_devices(struct facts *f, const char *word)
{
	double v[64], mid, least = INFINITY;
	unsigned n = 0, slowest = 0;
	char key[FACT_KEY], by[80];

	for (unsigned i = 0; i < 64; i++) {
		snprintf(key, sizeof(key), "measured/%u/%s", i, word);
		if (!facts_number(f, key, &v[n]))
			continue;
		if (v[n] < least) {
			least = v[n];
			slowest = i;
		}
		n++;
	}
	if (n < 3)
		return;
	mid = median_of(v, n);
	snprintf(key, sizeof(key), "measured/slowest/%s", word);
	snprintf(by, sizeof(by), "the median of %u devices; the slowest is %u", n, slowest);
	facts_set(f, key, "%.4g", least);
	expect_set(f, key, &(struct expect){ mid, 95, 85, by });
}

void expect_measured(struct facts *f)
{
	static const char *const words[] = { "memory_GBps", "fp32_GFLOPS", "bf16_GFLOPS",
					     "gemm_GFLOPS", "from_host_GBps" };
	double peak, wrong, all = 0;
	bool any = false;
	char key[FACT_KEY];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		among_devices(f, words[i]);
	if (facts_number(f, "memory/peak_GBps", &peak))
		expect_set(
			f, "measured/host/triad_GBps",
			&(struct expect){ peak, 60, 45, "the node's DIMMs: channels times rate" });
	for (unsigned i = 0; i < 64; i++) {
		snprintf(key, sizeof(key), "measured/%u/gemm_wrong", i);
		if (!facts_number(f, key, &wrong))
			continue;
		any = true;
		all += wrong;
	}
	if (any)
		facts_set(f, "measured/gemm_wrong", "%.0f", all);
}

void expect_logs(struct facts *f)
{
	double value;

	expect_nccl(f);
	expect_copies(f);
	expect_perftest(f);
	expect_gpu_stream(f);
	if (facts_number(f, "log/gpu_burn/median_GFLOPS", &value))
		expect_set(f, "log/gpu_burn/slowest_GFLOPS",
			   &(struct expect){ value, 95, 85, "the median of the GPUs of the log" });
	if (facts_number(f, "memory/peak_GBps", &value))
		expect_set(f, "log/stream/Triad_MBps",
			   &(struct expect){ value * 1e3, 60, 45,
					     "the node's DIMMs: channels times rate" });
}
