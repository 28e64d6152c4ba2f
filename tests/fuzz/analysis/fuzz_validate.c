/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_validate.c - any bytes as logs of benchmarks, as files of facts, as tables of firmware. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "validate/check.h"
#include "validate/expect.h"
#include "validate/log.h"
#include "validate/node_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	struct facts f = { 0 }, g = { 0 };
	struct checks c = { 0 };
	struct node_config pci = { 0 };
	struct dimms dimms = { 0 };
	struct log_said said;

	memcpy(copy, data, size);
	if (log_facts(&f, copy, size, &said) && (!said.line || !*said.expected))
		abort();
	facts_parse(&g, copy, size);
	for (size_t i = 0; i < f.n; i++)
		if (!*f.f[i].key || strlen(f.f[i].key) >= FACT_KEY ||
		    strlen(f.f[i].value) >= FACT_VALUE ||
		    (i && strcmp(f.f[i - 1].key, f.f[i].key) >= 0))
			abort();
	node_dimms(&dimms, (const uint8_t *)copy, size);
	if (dimms.n > dimms.slots)
		abort();
	node_config(&pci, (const uint8_t *)copy, size, false);
	node_config(&pci, (const uint8_t *)copy, size, true);
	expect_logs(&f);
	expect_measured(&f);
	checks_advice(&c, &f);
	checks_expected(&c, &f);
	checks_profile(&c, &f, &g);
	checks_fini(&c);
	facts_fini(&f);
	facts_fini(&g);
	free(copy);
	return 0;
}
