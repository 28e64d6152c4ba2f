/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_attention.c - the model of attention against kernels in recorded traces. They are too
 * few to set a bar: H100's are FlashAttention-2, which has half of what the model expects there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured.h"
#include "tally.h"
#include "theory/layer.h"
#include "validate.h"

struct trace {
	struct tally t;
	const char *device;
};

/* name, batch, queries, heads, keys, heads of keys, head, head of values, dropout, causal, which,
 * types, GFLOP, ..., TFLOPS: as TraceLens writes it. */
static int kernel_row(void *arg, char *f[MEASURED_FIELDS])
{
	struct trace *trace = arg;
	struct attention a = { .batch = strtoull(f[1], NULL, 10),
			       .q = strtoull(f[2], NULL, 10),
			       .heads = strtoull(f[3], NULL, 10),
			       .kv = strtoull(f[4], NULL, 10),
			       .kv_heads = strtoull(f[5], NULL, 10),
			       .head_dim = strtoull(f[6], NULL, 10),
			       .causal = strcmp(f[9], "True") == 0,
			       .type = GPU_BF16 };
	struct layer_time t;
	char name[64];
	double us = atof(f[12]) / atof(f[21]) * 1e3;
	int err;

	if (strncmp(f[0], "aten::_scaled_dot_product", 25) != 0 || !(us > 0))
		return 0; /* the rest of a long line */
	err = attention_time(&t, gpu_find(trace->device), &a);
	snprintf(name, sizeof(name), "%s, %s x %s x %s x %s, %.0f us", trace->device, f[1], f[3],
		 f[2], f[6], us);
	return err ? err : tally_add(&trace->t, name, t.ns, us * 1e3, true);
}

int validate_attention(void)
{
	static const struct {
		const char *device, *trace;
	} of[] = {
		{ "H100_SXM", "h100/Falconsai_nsfw_image_detection__1016002" },
		{ "H100_SXM", "h100/Qwen_Qwen1.5-0.5B-Chat__1016005" },
		{ "H100_SXM", "h100/gaunernst_bert-small-uncased__1016001" },
		{ "MI300X", "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005" },
	};
	static struct trace trace;
	const char *whose;
	char path[256];
	int err = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of) && !err; i++) {
		trace.device = of[i].device;
		snprintf(path, sizeof(path), "tracelens/traces/%s_perf_report_csvs/SDPA_fwd.csv",
			 of[i].trace);
		err = measured_rows(path, kernel_row, &trace);
	}
	if (!err)
		tally_print(&trace.t, &whose);
	tally_fini(&trace.t);
	return err;
}
