/* SPDX-License-Identifier: Apache-2.0 */
/* validate_vidur.c - the models of layers, products and exchanges against vidur's measured times. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured.h"
#include "tally.h"
#include "theory/collective.h"
#include "theory/layer.h"
#include "validate.h"

#define HIDDEN 4096u
#define FFN    11008u
#define STATS  5u /* columns of a layer: min, max, mean, median, std */
#define MEDIAN 3u
#define KEY    50u /* the first column behind those of the layers */
#define TOKENS (KEY + 6)
#define SPLIT  (KEY + 7)

/* The layers of Llama 2 7B in the order of the columns: bytes of a pass, or a product, a token. */
static const struct layer {
	const char *name;
	int pass;                  /* its kind; -1: a product */
	uint32_t width, k;         /* elements read and written; or n and k */
	bool split_width, split_k; /* by tensor parallelism */
} layers[] = {
	{ "embedding", PASS_GATHER, 2 * HIDDEN, 0, false, false },
	{ "norm before attention", PASS_NORM, 2 * HIDDEN, 0, false, false },
	{ "product for q, k, v", -1, 3 * HIDDEN, HIDDEN, true, false },
	{ "rotation", PASS_ROPE, 4 * HIDDEN, 0, true, false },
	{ "product after attention", -1, HIDDEN, HIDDEN, false, true },
	{ "norm after attention", PASS_NORM, 2 * HIDDEN, 0, false, false },
	{ "product up", -1, 2 * FFN, HIDDEN, true, false },
	{ "activation", PASS_ACTIVATION, 3 * FFN, 0, true, false },
	{ "product down", -1, HIDDEN, FFN, false, true },
	{ "sum", PASS_ELEMENTWISE, 3 * HIDDEN, 0, false, false },
};

struct table {
	struct tally t;
	const char *key; /* of the device */
};

static int layer_ns(double *ns, const struct gpu *g, const struct layer *l, uint64_t tokens,
		    uint32_t tp)
{
	uint32_t width = l->split_width ? l->width / tp : l->width,
		 k = l->split_k ? l->k / tp : l->k;
	struct gemm x = { tokens, width, k, 1, GPU_FP16, GPU_FP16, .alone = false };
	struct layer_time t;
	struct gemm_time p;
	int err;

	if (l->pass < 0) {
		err = gemm_time(&p, g, &x);
		*ns = p.ns;
	} else {
		err = pass_time(&t, g, (enum pass_kind)l->pass, (double)tokens * width * 2);
		*ns = t.ns;
	}
	return err;
}

/* What is in fields [from, to), with commas: the key of a row. */
static void join(char *out, size_t cap, char *f[MEASURED_FIELDS], unsigned from, unsigned to)
{
	size_t at = strlen(out);

	for (unsigned i = from; i < to && at < cap; i++)
		at += (size_t)snprintf(out + at, cap - at, "%s%s", at ? "," : "", f[i]);
}

static int layers_row(void *arg, char *f[MEASURED_FIELDS])
{
	struct table *table = arg;
	uint64_t tokens = strtoull(f[TOKENS], NULL, 10);
	uint32_t tp = (uint32_t)strtoul(f[SPLIT], NULL, 10);
	char key[256] = "", group[64];
	double ns;
	int err = 0;

	if (!tokens || !tp)
		return -EINVAL;
	join(key, sizeof(key), f, KEY, KEY + 8);
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers) && !err; i++) {
		err = layer_ns(&ns, gpu_find(table->key), &layers[i], tokens, tp);
		snprintf(group, sizeof(group), "%s, %s", table->key, layers[i].name);
		if (!err)
			err = tally_add(&table->t, group, ns, atof(f[STATS * i + MEDIAN]) * 1e6,
					measured_odd(key));
	}
	return err;
}

/*
 * Index, five times, rank, ranks, bytes, collective, ranks a node. What connects the nodes of
 * vidur's A100 cluster is not said: tools/fit-collectives finds it in the even rows.
 */
static int reduce_row(void *arg, char *f[MEASURED_FIELDS])
{
#define VIDUR_NET(GBps, adapters)      \
	const double net = (GBps)*1e9; \
	const uint32_t nics = (adapters);
#include "theory/collective_fit.tbl.h"
	struct table *table = arg;
	struct coll c = { .op = COLL_ALL_REDUCE,
			  .bytes = strtoull(f[8], NULL, 10),
			  .ranks = (uint32_t)strtoul(f[7], NULL, 10),
			  .ranks_per_node = (uint32_t)strtoul(f[10], NULL, 10),
			  .net_Bps = net,
			  .nics = nics };
	char key[256], group[64];
	double ns;
	int err = coll_time(&ns, gpu_find(table->key), &c);

	if (err)
		return err;
	snprintf(key, sizeof(key), "%s", f[0]);
	join(key, sizeof(key), f, 6, 12);
	snprintf(group, sizeof(group), "%s, all-reduce %s", table->key,
		 c.ranks > c.ranks_per_node ? "between nodes" : "in a node");
	return tally_add(&table->t, group, ns, atof(f[4]) * 1e6, measured_odd(key));
}

int validate_vidur(void)
{
	static const struct {
		const char *device, *file;
		measured_fn *row;
	} files[] = {
		{ "A100_SXM_80", "compute__a100__meta-llama__Llama-2-7b-hf__mlp", layers_row },
		{ "A100_SXM_80", "network__a100_dgx__all_reduce", reduce_row },
		{ "H100_SXM", "compute__h100__meta-llama__Llama-2-7b-hf__mlp", layers_row },
		{ "H100_SXM", "network__h100_dgx__all_reduce", reduce_row },
	};
	static struct table table;
	const char *whose = "";
	char path[256];
	double worst;
	int err = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !err; i++) {
		table.key = files[i].device;
		snprintf(path, sizeof(path), "perf_tables/vidur/data__profiling__%s.csv",
			 files[i].file);
		err = measured_rows(path, files[i].row, &table);
	}
	if (!err) {
		worst = tally_print(&table.t, &whose);
		validate_bar("vidur_median", worst, 15, "the worst of %zu: %s", table.t.groups,
			     whose);
	}
	tally_fini(&table.t);
	return err;
}
