/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_capture.c - any text as a capture that somebody asks for: what is taken is within its bounds. And as
 * a line of the file of triggers that stand. */
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/persistent_triggers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct capture_want w;
	const char *why = NULL;
	struct standing_line line;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!capture_parse(&w, text, &why)) {
		if (w.steps > 100000 || w.ms > 600000 || w.before_ms > 600000 ||
		    (w.steps && w.ms) || strlen(w.pids) >= sizeof(w.pids) ||
		    strlen(w.ranks) >= sizeof(w.ranks) || strlen(w.job) >= sizeof(w.job))
			abort();
	} else if (!why || !*why) {
		abort();
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (standing_parse(&line, text) && (!line.want.stand || line.want.cool_s < STANDING_COOL))
		abort();
	free(text);
	return 0;
}
