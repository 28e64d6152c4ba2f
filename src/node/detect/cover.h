/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cover.h - the share of each second in which a GPU worked, communicated, and only communicated; in
 * constant memory, whatever the order of activities.
 *
 * A second is cut into bins of a quarter of a millisecond. Activities in the same bin are assumed
 * to overlap as much as possible: communication is exposed only where it exceeds the work in its
 * bin.
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
