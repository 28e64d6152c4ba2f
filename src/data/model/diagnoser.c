/* SPDX-License-Identifier: Apache-2.0 */
/* diagnoser.c - names of places, for people. */
#include "model/diagnoser.h"

#include <inttypes.h>
#include <stdio.h>

const char *const diag_level_word[DIAG_LEVELS] = {
	[DIAG_RANK] = "rank",   [DIAG_HOST] = "host", [DIAG_LEAF] = "leaf",
	[DIAG_STAGE] = "stage", [DIAG_JOB] = "job",
};

char *diag_part_text(char out[DIAG_PART_LEN], struct diag_part p)
{
	if (p.level == DIAG_JOB || p.level >= DIAG_LEVELS)
		snprintf(out, DIAG_PART_LEN, "job");
	else
		snprintf(out, DIAG_PART_LEN, "%s:%" PRIu32, diag_level_word[p.level], p.index);
	return out;
}
