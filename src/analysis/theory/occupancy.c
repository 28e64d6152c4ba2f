/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.c - see occupancy.h; the limits are in sm.tbl.h. */
#include "theory/occupancy.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

#define WARP        32u
#define BLOCK_MAX   1024u  /* threads */
#define REGS        65536u /* of an SM, and of a block at most */
#define REGS_UNIT   256u   /* a warp gets a multiple of this */
#define REGS_THREAD 256u
#define PARTS       4u /* an SM's registers belong to four schedulers */

static const struct sm {
	uint32_t cc, warps, blocks, shared, shared_block, unit, kept;
} sm_table[] = {
#define SM(cc, warps, blocks, kib, block_kib, unit, kept) \
	{ cc, warps, blocks, kib * 1024, block_kib * 1024, unit, kept },
#include "theory/sm.tbl.h"
};

static const struct sm *sm_find(uint32_t cc)
{
	for (size_t i = 0; i < sizeof(sm_table) / sizeof(sm_table[0]); i++)
		if (sm_table[i].cc == cc)
			return &sm_table[i];
	return NULL;
}

static uint32_t round_up(uint32_t v, uint32_t unit)
{
	return (v + unit - 1) / unit * unit;
}

/* Blocks that fit by registers: the hardware refuses a block by the warps it would take if all
 * four parts got the same, and fills each part for itself. */
static uint32_t by_registers(uint32_t regs, uint32_t warps)
{
	uint32_t of_warp = round_up(regs * WARP, REGS_UNIT);

	if (!regs)
		return UINT32_MAX;
	if (of_warp * round_up(warps, PARTS) > REGS)
		return 0;
	return REGS / PARTS / of_warp * PARTS / warps;
}

static uint32_t by_shared(const struct sm *sm, uint32_t shared)
{
	uint32_t of_block = round_up(shared + sm->kept, sm->unit);

	if (of_block > sm->shared_block + sm->kept)
		return 0;
	return of_block ? sm->shared / of_block : UINT32_MAX;
}

static double product(const uint32_t v[3])
{
	return (double)v[0] * v[1] * v[2];
}

int occupancy(struct occupancy *out, const struct gpu *g, const struct launch *l)
{
	const struct sm *sm = g->cc && g->sms ? sm_find(g->cc) : NULL;
	double threads = product(l->block), blocks = product(l->grid);
	struct occupancy o = { .limiter = "warps" };
	uint32_t warps, fit;

	if (threads < 1 || blocks < 1)
		return -EINVAL;
	if (!sm)
		return -ENOTSUP;
	if (threads > BLOCK_MAX || l->regs > REGS_THREAD || l->shared > sm->shared_block)
		return -E2BIG;
	warps = round_up((uint32_t)threads, WARP) / WARP;
	o.blocks_per_sm = sm->warps / warps;
	const struct {
		uint32_t fit;
		const char *limiter;
	} other[] = {
		{ sm->blocks, "blocks" },
		{ by_registers(l->regs, warps), "registers" },
		{ by_shared(sm, l->shared), "shared memory" },
	};
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i].fit < o.blocks_per_sm) {
			o.blocks_per_sm = other[i].fit;
			o.limiter = other[i].limiter;
		}
	fit = o.blocks_per_sm;
	if (!fit)
		return -E2BIG;
	o.warps_per_sm = fit * warps;
	o.fraction = (double)o.warps_per_sm / sm->warps;
	o.waves = blocks / ((double)fit * g->sms);
	o.tail = o.waves - ceil(o.waves) + 1;
	*out = o;
	return 0;
}
