/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cover.h - what share of each second a GPU worked, communicated, and did only that; in constant
 * memory, whatever the order in which activities come.
 *
 * A second is cut into bins of a quarter of a millisecond. What falls into one is taken to overlap as
 * far as it can: of communication that is hidden by work within the same bin nothing is exposed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define COVER_SECONDS 4u /* that are open at a time */
#define COVER_BINS    4096u

enum cover_kind { COVER_WORK, COVER_COMM, COVER_GPU, COVERS }; /* GPU: either of the two, on one */

struct cover {
	uint64_t second[COVER_SECONDS]; /* + 1; 0: none yet */
	uint16_t bin[COVER_SECONDS][COVERS][COVER_BINS];
};

/* In percent. */
struct cover_share {
	double gpu, comm, exposed;
};

void cover_add(struct cover *c, enum cover_kind kind, uint64_t start_ns, uint64_t dur_ns);
/* Of that second, counted from 0: 0 in all where nothing came. */
struct cover_share cover_of(const struct cover *c, uint64_t second);
