/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat.h - ranks x steps: how much longer each rank takes than the median of its step.
 *
 * Thousands of ranks and steps are reduced to HEAT_CELLS cells; further steps share cells. Values
 * come in two passes: first the ranks and steps (heat_note()), then the values (heat_add()).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HEAT_CELLS (2u << 20) /* 12 bytes each */

struct heat_row {
	uint32_t process;
	int32_t rank; /* < 0: none */
	double over;  /* its mean share above the median, of heat_close() */
};

struct heat_cell {
	float worst, sum;
	uint32_t n;
};

struct heat {
	struct heat_row *row; /* owned, by rank */
	uint64_t *step;       /* owned: numbers, each once, by size */
	size_t rows, steps, steps_cap, sorted;
	size_t width, columns;  /* steps of a column */
	struct heat_cell *cell; /* owned: a row after the other */
};

/* A part of the cells as one. */
struct heat_sum {
	double worst, mean;
	uint64_t n; /* 0: nothing was there */
};

/* -ENOMEM */
int heat_note(struct heat *h, uint32_t process, int32_t rank, uint64_t step);
int heat_lay(struct heat *h, size_t cells_max);
/* After heat_lay(); values that were not noted are ignored. */
void heat_add(struct heat *h, uint32_t process, int32_t rank, uint64_t step, double value);
/* Values become shares above the median: of the ranks in the same column, of one rank's own columns. */
int heat_close(struct heat *h);
/* Of rows [row, row_end) and columns [col, col_end). */
struct heat_sum heat_sum(const struct heat *h, size_t row, size_t row_end, size_t col,
			 size_t col_end);
void heat_fini(struct heat *h);
