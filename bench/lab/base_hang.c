/* SPDX-License-Identifier: Apache-2.0 */
/* base_hang.c - B9: the method of fr_trace and NCCL RAS for a job that hangs: group by group, the
 * ranks that are missing from a collective that others are in. */
#include <errno.h>
#include <stdlib.h>

#include "lab/baseline.h"
#include "lab/panel.h"

struct hang {
	struct panel p;
	struct panel_groups g;
};

static void hang_close(void *state)
{
	struct hang *h = state;

	if (h) {
		panel_fini(&h->p);
		free(h->g.m);
	}
	free(h);
}

static int hang_open(void **state, uint32_t world)
{
	struct hang *h = calloc(1, sizeof(*h));

	if (!h || panel_init(&h->p, world) < 0) {
		free(h);
		return -ENOMEM;
	}
	*state = h;
	return 0;
}

static int hang_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say, void *arg)
{
	struct hang *h = state;
	int err;

	panel_take(&h->p, rec, n);
	if (!n || !(rec[0].flags & STEP_F_PARTIAL))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (rec[i].flags & STEP_F_GONE)
			panel_say(say, arg, DIAG_RANK, rec[i].rank, 27, 1);
	err = panel_groups(&h->g, &h->p);
	for (size_t i = 0, end; i < h->g.n && !err; i = end) {
		uint32_t most = 0;
		struct diag_finding f = { .kind = 30, .act = true, .gain = 1, .confidence = 1 };

		end = panel_group_end(&h->g, i);
		for (size_t k = i; k < end; k++)
			most = h->g.m[k].slot->issued > most ? h->g.m[k].slot->issued : most;
		for (size_t k = i; k < end && f.parts < DIAG_PARTS; k++)
			if (h->g.m[k].slot->issued < most)
				f.part[f.parts++] = (struct diag_part){ DIAG_RANK, h->g.m[k].rank };
		if (f.parts)
			say(arg, &f);
	}
	return err;
}

const struct diagnoser base_hang = { "B9", "fr_trace, RAS: who is behind in each group that hangs",
				     hang_open, hang_step, hang_close };
