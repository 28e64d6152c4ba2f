/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - see copy.h. A copy takes START_NS, and its bytes at a share of what the wires carry.
 *
 * The constants are from recorded copies (shared data): copies up to 4 KiB take 1 to 3 us on V100,
 * A100 and H100, most of them 1 to 2; large ones between pinned memory and the device reach 0.78 (A100)
 * and 0.88 (H100) of PCIe 4.0 x16, within a device 0.90 (V100) and 0.91 (H100) of its memory, each
 * byte read and written. Copies to another device were not in them: as over PCIe.
 */
#include "theory/copy.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define START_NS     1500.0
#define WIRE_SHARE   0.85
#define MEMORY_SHARE 0.90

static double wire(const struct gpu *g, enum copy_way way)
{
	if (way == COPY_WITHIN)
		return g->memory_Bps / 2; /* read and written */
	if (way == COPY_PEER && g->link_Bps > 0)
		return g->link_Bps;
	return g->pcie_Bps;
}

int copy_time(struct copy_time *out, const struct gpu *g, enum copy_way way, double count,
	      double bytes)
{
	struct copy_time t = { .start_ns = START_NS * count };

	if (!(count >= 1) || !(bytes >= 0) || !isfinite(count + bytes) || way >= COPY_WAYS)
		return -EINVAL;
	t.wire_Bps = wire(g, way);
	if (!(t.wire_Bps > 0))
		return -ENOTSUP;
	t.ns = t.start_ns +
	       bytes / t.wire_Bps / (way == COPY_WITHIN ? MEMORY_SHARE : WIRE_SHARE) * 1e9;
	*out = t;
	return 0;
}

enum copy_way copy_way(const char *name)
{
	static const struct {
		char word[5];
		uint8_t way;
	} ways[] = { { "HtoD", COPY_HOST },
		     { "DtoH", COPY_HOST },
		     { "DtoD", COPY_WITHIN },
		     { "PtoP", COPY_PEER } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strncmp(name, "Memcpy ", 7) && !strncmp(name + 7, ways[i].word, 4))
			return ways[i].way;
	return COPY_WAYS;
}

int copy_roof(struct roof *out, const struct gpu *g, enum copy_way way, double count, double bytes,
	      double ns)
{
	struct copy_time t;
	int err = ns > 0 && bytes > 0 ? copy_time(&t, g, way, count, bytes) : -EINVAL;

	if (err)
		return err;
	*out = (struct roof){ .limit = t.start_ns > t.ns / 2 ? ROOF_LATENCY
				       : way == COPY_WITHIN  ? ROOF_MEMORY
							     : ROOF_LINK,
			      .fraction = bytes / t.wire_Bps * 1e9 / ns };
	return 0;
}

const char *copy_older_pcie(const struct gpu *g, double Bps)
{
	static const struct {
		const char *name;
		double Bps; /* of 16 tracks, one way */
	} pcie[] = { { "3.0", 15.754e9 }, { "4.0", 31.508e9 }, { "5.0", 63.015e9 } };

	for (size_t i = 0; i < sizeof(pcie) / sizeof(pcie[0]); i++)
		if (pcie[i].Bps < 0.9 * g->pcie_Bps && Bps > 0.7 * pcie[i].Bps &&
		    Bps <= pcie[i].Bps)
			return pcie[i].name;
	return NULL;
}
