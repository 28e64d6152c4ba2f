/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted bytes of aon-sample, and of aond: every offset of what was understood is inside. */
#include <stdlib.h>
#include <string.h>

#include "sample/wire.h"

static uint64_t sum; /* so that all is read */

static int on_targets(void *arg, const struct swire_target *t, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		sum += t[i].pid + t[i].tid + t[i].centihertz;
	return 0;
}

static int on_stack(void *arg, uint32_t id, const struct swire_frame *f, size_t n)
{
	static uint8_t again[SWIRE_BYTES];

	(void)arg;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < f[i].name_len; k++)
			sum += (uint8_t)f[i].name[k];
		for (size_t k = 0; k < f[i].file_len; k++)
			sum += (uint8_t)f[i].file[k];
	}
	if (swire_put_stack(again, id, f, n) < 0)
		abort();
	return 0;
}

static int on_samples(void *arg, const struct swire_sample *s, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++) {
		sum += s[i].t_ns + s[i].detail;
		if (s[i].state >= SAMPLE_STATES || !s[i].centihertz)
			abort();
	}
	return 0;
}

static int on_status(void *arg, const struct swire_status *s)
{
	(void)arg;
	for (size_t i = 0; i < s->reason_len; i++)
		sum += (uint8_t)s->reason[i];
	return 0;
}

static int on_budget(void *arg, uint32_t permille)
{
	(void)arg;
	if (permille > 1000)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct swire_fns fns = { on_targets, on_stack, on_samples, on_status,
					      on_budget };
	uint8_t *copy;

	if (size > SWIRE_BYTES)
		return 0;
	copy = malloc(size + 1); /* its own, so that a byte too far is seen */
	memcpy(copy, data, size);
	swire_read(copy, size, &fns, NULL);
	free(copy);
	return 0;
}
