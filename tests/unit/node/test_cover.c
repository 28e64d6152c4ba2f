/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/cover.h"

#include <math.h>
#include <stdlib.h>

#include "t.h"

#define MS 1000000ull
#define S  (1000 * MS)

static bool about(double is, double want)
{
	return fabs(is - want) < 0.1;
}

static void fill(struct cover *c, uint64_t second)
{
	/* 400 ms of work, on two streams for 100 of them; 300 ms of NCCL, 200 of them hidden. */
	cover_add(c, COVER_WORK, second * S + 100 * MS, 400 * MS);
	cover_add(c, COVER_WORK, second * S + 200 * MS, 100 * MS);
	cover_add(c, COVER_GPU, second * S + 100 * MS, 400 * MS);
	cover_add(c, COVER_GPU, second * S + 200 * MS, 100 * MS);
	cover_add(c, COVER_COMM, second * S + 300 * MS, 300 * MS);
	cover_add(c, COVER_GPU, second * S + 300 * MS, 300 * MS);
}

int main(void)
{
	struct cover *c = calloc(1, sizeof(*c));
	struct cover_share s;

	s = cover_of(c, 7);
	T_OK(!s.gpu && !s.comm && !s.exposed, "where nothing came nothing is covered");
	fill(c, 7);
	s = cover_of(c, 7);
	T_OK(about(s.gpu, 50), "what runs at once counts once: %.2f %%", s.gpu);
	T_OK(about(s.comm, 30), "communication: %.2f %%", s.comm);
	T_OK(about(s.exposed, 10), "of which so much is not hidden by work: %.2f %%", s.exposed);
	cover_add(c, COVER_COMM, 8 * S + 900 * MS, 300 * MS);
	T_OK(about(cover_of(c, 8).exposed, 10) && about(cover_of(c, 9).exposed, 20),
	     "what crosses a second's end counts for both");
	for (int i = 0; i < 100000; i++)
		cover_add(c, COVER_WORK, 10 * S + (uint64_t)i * 10000, 5000);
	cover_add(c, COVER_COMM, 10 * S, S - 1);
	T_OK(about(cover_of(c, 10).exposed, 50), "short kernels count as what they are: %.2f %%",
	     cover_of(c, 10).exposed);
	fill(c, 11);
	T_OK(!cover_of(c, 7).gpu, "a second makes room for a later one");
	cover_add(c, COVER_GPU, 7 * S, 100 * MS);
	T_OK(!cover_of(c, 7).gpu && about(cover_of(c, 11).gpu, 50),
	     "what comes too late changes none");
	cover_add(c, COVER_GPU, 11 * S, UINT64_MAX / 2);
	cover_add(c, COVER_GPU, UINT64_MAX - 5, 10);
	T_OK(about(cover_of(c, 11).gpu, 50), "a time that cannot be is left out");
	free(c);
	return t_done();
}
