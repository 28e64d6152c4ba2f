/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_conf.c - any bytes as the file of settings. */
#include <stdlib.h>
#include <string.h>

#include "daemon/core/param.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct param p, before;
	struct param_why why = { "" };
	char *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */

	memcpy(copy, data, size);
	param_defaults(&p);
	before = p;
	if (param_parse(&p, "fuzz", copy, size, &why) < 0) {
		/* Refused: it says why, and nothing has changed. */
		if (!*why.text || memcmp(&p, &before, sizeof(p)))
			abort();
	} else {
		/* Taken: every value is one that the table allows. */
		for (size_t i = 0; i < param_count; i++) {
			const struct param_row *r = &param_table[i];
			int64_t v;

			if (r->type != PARAM_NUM && r->type != PARAM_SHARE)
				continue;
			memcpy(&v, (char *)&p + r->off, sizeof(v));
			if (v < r->min || v > r->max)
				abort();
		}
	}
	free(copy);
	return 0;
}
