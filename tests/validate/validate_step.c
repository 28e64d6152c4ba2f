/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_step.c - the model of a step beside what NVIDIA publishes of training Llama 3 in fp8:
 * NVIDIA-NeMo/Megatron-Bridge 00b7660, docs/performance-summary.md, container 25.11. No bar: the
 * model does not know context parallelism, rows with it are left out.
 */
#include <errno.h>
#include <stdio.h>

#include "theory/step.h"
#include "validate.h"

static const struct published {
	const char *device, *model;
	uint32_t gpus, batch, micro, tp, pp, parts,
		zero;        /* micro: batches that follow one another */
	double tokens_per_s; /* of a GPU */
} published[] = {
	{ "H100_SXM", "llama3-8b", 8, 128, 16, 1, 1, 1, 3, 14451 },
	{ "H100_SXM", "llama3-70b", 64, 128, 64, 4, 8, 5, 0, 1602 },
	{ "B200", "llama3-8b", 8, 128, 8, 1, 1, 1, 0, 30624 },
	{ "GB200", "llama3-8b", 8, 128, 8, 1, 1, 1, 0, 31508 },
	{ "GB200", "llama3-70b", 64, 256, 2, 1, 1, 1, 3, 4312 },
	{ "GB200", "llama3-405b", 256, 1536, 384, 4, 16, 4, 0, 813 },
	{ "GB300", "llama3-8b", 8, 128, 8, 1, 1, 1, 0, 37556 },
	{ "GB300", "llama3-70b", 64, 256, 2, 1, 1, 1, 3, 4520 },
};

int validate_step(void)
{
	validate_say("  %-10s %-12s %5s %10s %10s %6s", "", "", "GPUs", "published", "model",
		     "ratio");
	for (size_t i = 0; i < sizeof(published) / sizeof(*published); i++) {
		const struct published *p = &published[i];
		struct step s = { .model = *step_model_find(p->model),
				  .mode = STEP_TRAIN,
				  .seq = 8192,
				  .batch = p->batch,
				  .type = GPU_FP8,
				  .tp = p->tp,
				  .pp = p->pp,
				  .dp = p->gpus / p->tp / p->pp,
				  .micro = p->micro,
				  .interleave = p->parts,
				  .sequence = p->tp > 1,
				  .zero = p->zero };
		struct step_cost c;
		const char *why = "";
		int err;

		if (s.model.layers %
		    (s.pp * s.interleave)) /* Megatron gives the ends fewer layers */
			s.model.layers +=
				s.pp * s.interleave - s.model.layers % (s.pp * s.interleave);
		err = step_cost(&c, &why, gpu_find(p->device), &s);
		if (err) {
			fprintf(stderr, "validate: step %zu: %s\n", i, why);
			return err;
		}
		validate_say("  %-10s %-12s %5u %10.0f %10.0f %6.2f", p->device, p->model, p->gpus,
			     p->tokens_per_s, c.tokens_per_s / p->gpus,
			     c.tokens_per_s / p->gpus / p->tokens_per_s);
	}
	return 0;
}
