/* SPDX-License-Identifier: Apache-2.0 */
/* diagnoser.c - names of places, for people. */
#include "model/diagnoser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const diag_level_word[DIAG_LEVELS] = {
	[DIAG_RANK] = "rank",   [DIAG_HOST] = "host", [DIAG_LEAF] = "leaf",
	[DIAG_STAGE] = "stage", [DIAG_JOB] = "job",
};

bool diag_part_parse(struct diag_part *out, const char *text, size_t len)
{
	for (uint8_t l = 0; l < DIAG_LEVELS; l++) {
		size_t n = strlen(diag_level_word[l]);
		uint64_t v = 0;

		if (len < n || memcmp(text, diag_level_word[l], n))
			continue;
		if (l == DIAG_JOB && len == n) {
			*out = (struct diag_part){ l, 0 };
			return true;
		}
		if (l == DIAG_JOB || len < n + 2 || len > n + 11 || text[n] != ':')
			return false;
		for (size_t i = n + 1; i < len; i++) {
			if (text[i] < '0' || text[i] > '9')
				return false;
			v = v * 10 + (uint64_t)(text[i] - '0');
		}
		if (v > UINT32_MAX)
			return false;
		*out = (struct diag_part){ l, (uint32_t)v };
		return true;
	}
	return false;
}

char *diag_part_text(char out[DIAG_PART_LEN], struct diag_part p)
{
	if (p.level == DIAG_JOB || p.level >= DIAG_LEVELS)
		snprintf(out, DIAG_PART_LEN, "job");
	else
		snprintf(out, DIAG_PART_LEN, "%s:%" PRIu32, diag_level_word[p.level], p.index);
	return out;
}
