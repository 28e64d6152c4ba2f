/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - how long a copy should take, from its bytes and the links that it uses. Pure. */
#pragma once

#include "theory/roofline.h"

enum copy_way { COPY_HOST, COPY_WITHIN, COPY_PEER, COPY_WAYS }; /* host, one device, another */

struct copy_time {
	double ns;
	double start_ns; /* the fixed part of ns, whatever the bytes */
	double wire_Bps; /* of bytes, at the peak of the links or the memory */
};

/* The time of `count` copies of `bytes` together. 0; -EINVAL: no copies; -ENOTSUP: unknown links. */
int copy_time(struct copy_time *out, const struct gpu *g, enum copy_way way, double count,
	      double bytes);

/* The direction in a copy's name: "Memcpy HtoD (Pinned -> Device)"; COPY_WAYS: none. */
enum copy_way copy_way(const char *name);

/* What limits `count` copies that took `ns` together, and their share of what the links carry.
 * Returns as copy_time(). */
int copy_roof(struct roof *out, const struct gpu *g, enum copy_way way, double count, double bytes,
	      double ns);

/* "4.0": the PCIe generation below the device's own, if the rate fits its 16 PCIe lanes; else NULL. */
const char *copy_older_pcie(const struct gpu *g, double Bps);
