/* SPDX-License-Identifier: Apache-2.0 */
/* classify.c - chooses a fault's kind: the first rule of a list that fits (docs/diagnosis.md). */
#include "diagnose/state.h"

#define THERMAL 0x68u /* NVML: hardware slowdown, software and hardware thermal */
#define POWER   0x84u /* software power cap, hardware power brake */

struct seen {
	uint32_t n, thermal, power, ecc, runq, onoff;
};

static void look(const struct diag *d, struct diag_part p, enum own s, struct seen *out)
{
	*out = (struct seen){ 0 };
	for (uint32_t i = 0; i < d->world; i++) {
		const struct diag_rank *r = &d->rank[i];
		const struct step_rec *rec = r->rec;
		uint32_t above;

		if (!rec || !part_has(d, p, i))
			continue;
		out->n++;
		out->thermal += rec->have >> STEP_HAVE_THROTTLE & 1 && rec->throttle & THERMAL;
		out->power += rec->have >> STEP_HAVE_THROTTLE & 1 && rec->throttle & POWER;
		out->ecc += rec->have >> STEP_HAVE_ECC & 1 && rec->ecc > 0;
		out->runq += rec->have >> STEP_HAVE_RUNQ & 1 && rec->runq_ns > 0.005f * rec->t.step;
		above = track_above(&r->own[s], RING, r->effect[s] / 2);
		out->onoff += above > RING / 8 && above < RING / 2 && !r->own[s].sum;
	}
}

uint8_t kind_of_own(const struct diag *d, struct diag_part p, enum own s)
{
	struct seen is;

	look(d, p, s, &is);
	switch (s) {
	case OWN_COMPUTE:
		if (2 * is.power > is.n)
			return 2;
		if (2 * is.thermal > is.n)
			return 1;
		if (2 * is.ecc > is.n)
			return 3;
		return 2 * is.onoff > is.n ? 5 : 4;
	case OWN_HOST:
		return 2 * is.runq > is.n ? 8 : 9;
	default:
		return 2 * is.runq > is.n ? 8 : 13;
	}
}
