/* SPDX-License-Identifier: Apache-2.0 */
/* stacks_json.c - see stacks_json.h. */
#include "stacks/stacks_json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stacks/stack.h"

#define RANKS 4096u /* of a range, at most */

void stacks_json(struct json *j, const char *text)
{
	const char *at = text + strcspn(text, " "), *end = strstr(text, ": ");
	bool ranks = !strncmp(text, "rank", 4);

	json_open(j, "ranks", '[');
	while (ranks && (*at == ' ' || *at == ',') && at[1] >= '0' && at[1] <= '9') {
		char *next;
		unsigned long from = strtoul(at + 1, &next, 10), to = from;

		if (*next == '-')
			to = strtoul(next + 1, &next, 10);
		for (; from <= to && to - from < RANKS; from++)
			json_u64(j, NULL, from);
		at = next;
	}
	json_close(j);
	json_open(j, "frames", '[');
	for (at = end ? end + 2 : NULL; at; at = end ? end + strlen(STACK_BETWEEN) : NULL) {
		char frame[256];

		end = strstr(at, STACK_BETWEEN);
		snprintf(frame, sizeof(frame), "%.*s",
			 (int)(end ? end - at : (ptrdiff_t)strlen(at)), at);
		json_str(j, NULL, frame);
	}
	json_close(j);
}
