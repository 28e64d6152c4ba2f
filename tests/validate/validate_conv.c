/* SPDX-License-Identifier: Apache-2.0 */
/* validate_conv.c - the model of convolutions against cuDNN's in recorded traces. */
#include <stdio.h>

#include "measured.h"
#include "tally.h"
#include "theory/layer.h"
#include "validate.h"

static const struct row {
	uint64_t c, h, k, r, stride;
	double ns;
} rows[] = {
#define CONV(c, h, k, r, stride, ns) { c, h, k, r, stride, ns },
#include "conv.tbl.h"
};

int validate_conv(void)
{
	static struct tally t;
	const char *whose;
	double worst;
	int err = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !err; i++) {
		const struct row *r = &rows[i];
		struct conv x = { .n = 32,
				  .c = r->c,
				  .h = r->h,
				  .w = r->h,
				  .k = r->k,
				  .r = r->r,
				  .s = r->r,
				  .stride = r->stride,
				  .pad = r->r / 2,
				  .dilation = 1,
				  .groups = 1,
				  .type = GPU_FP32 };
		struct layer_time l;
		char key[96];

		snprintf(key, sizeof(key), "V100,fp32,32,%llu,%llu,%llu,%llu,%llu",
			 (unsigned long long)r->c, (unsigned long long)r->h,
			 (unsigned long long)r->k, (unsigned long long)r->r,
			 (unsigned long long)r->stride);
		err = conv_time(&l, gpu_find("V100_SXM"), &x);
		err = err ? err
			  : tally_add(&t, "V100, fp32, ResNet-50, forward", l.ns, r->ns,
				      measured_odd(key));
	}
	worst = err ? 0 : tally_print(&t, &whose);
	if (!err)
		validate_bar("conv_median", worst, 15, "%s, held-out rows", whose);
	tally_fini(&t);
	return err;
}
