/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_triage.c - the file of decisions about findings: triage.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/triage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct triages ts;

	if (triages_parse(&ts, (const char *)data, size, "0123abcd") < 0)
		return 0;
	for (size_t i = 0; i < ts.n; i++)
		if (strcmp(ts.t[i].run, "0123abcd") != 0 || !triage_key_ok(ts.t[i].key) ||
		    strchr(ts.t[i].note, '\n'))
			abort();
	triages_fini(&ts);
	return 0;
}
