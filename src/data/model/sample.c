/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - the words of samples. */
#include "model/sample.h"

const char *sample_state_word(enum sample_state s)
{
	static const char *const word[SAMPLE_STATES] = {
#define STATE(num, NAME, text, means) [num] = text,
#include "model/sample.tbl.h"
	};

	return s < SAMPLE_STATES && word[s] ? word[s] : "?";
}
