/* SPDX-License-Identifier: Apache-2.0 */
/* validate_measure.c - the quick tests of aon validate, each in a process of its own and for so long at most. */
#include <stdio.h>

#include "cli/validate.h"
#include "measure/measure.h"

/* --- measuring --- */

static void progress(void *arg, const char *what)
{
	(void)arg;
	fprintf(stderr, "measuring: %s\n", what);
}

/* What the device reaches of what its tables say: below 80 % something is wrong with it. */
static int against_model(struct validation *v, const char *key, double is, double peak)
{
	struct check c = { .by = "measured",
			   .why = "the device reaches less than devices of its kind do",
			   .act = "look at clocks, power and temperature while it is measured" };

	snprintf(c.id, sizeof(c.id), "%s", key);
	snprintf(c.is, sizeof(c.is), "%.4g", is);
	snprintf(c.want, sizeof(c.want), "at least 80 %% of %.4g", peak);
	c.level = is >= 0.8 * peak ? CHECK_PASS : is >= 0.6 * peak ? CHECK_WARN : CHECK_FAIL;
	return checks_add(&v->c, &c);
}

int validate_measure(struct validation *v)
{
	struct measure_opts how = { .quick = true, .progress = progress };
	char why[BACKEND_WHY] = "";
	const struct gpu *known;
	struct backend *b;
	struct measure m;
	int err = cuda_open(&b, 0, why);

	if (err)
		err = opencl_open(&b, 0, why);
	if (err)
		return cli_say(CLI_FAIL, "--measure: no device through CUDA or OpenCL: %s", why);
	err = measure(&m, b, &how);
	if (err) {
		cli_say(CLI_FAIL, "--measure: %s: %s", b->name, b->why);
	} else {
		facts_set(&v->f, "measured/device", "%.100s", b->name);
		facts_set(&v->f, "measured/memory_GBps", "%.4g", m.gpu.memory_Bps / 1e9);
		facts_set(&v->f, "measured/triad_GBps", "%.4g", m.triad_Bps / 1e9);
		facts_set(&v->f, "measured/from_host_GBps", "%.4g", m.gpu.pcie_Bps / 1e9);
		facts_set(&v->f, "measured/fp32_GFLOPS", "%.4g",
			  m.gpu.vector_flops[GPU_FP32] / 1e9);
		known = b->cpu ? NULL : gpu_find(b->name);
		if (known && known->memory_Bps > 0)
			err = against_model(v, "measured/memory_GBps", m.gpu.memory_Bps / 1e9,
					    known->memory_Bps / 1e9);
		if (!err && known && known->vector_flops[GPU_FP32] > 0)
			err = against_model(v, "measured/fp32_GFLOPS",
					    m.gpu.vector_flops[GPU_FP32] / 1e9,
					    known->vector_flops[GPU_FP32] / 1e9);
	}
	b->ops->close(b);
	return err ? CLI_FAIL : CLI_OK;
}
