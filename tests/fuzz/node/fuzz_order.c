/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_order.c - any text as an order to trace: what Kineto gets has the lines that we write. */
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), config[KINETO_CONFIG];
	struct kineto_what o;
	int lines = 0;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!kineto_parse(&o, text)) {
		kineto_config(config, &o);
		for (const char *s = config; *s; s++)
			lines += *s == '\n';
		if (lines != 5 || strncmp(config, "ACTIVITIES_LOG_FILE=/", 21) ||
		    config[strlen(config) - 1] != '\n')
			abort();
	}
	free(text);
	return 0;
}
