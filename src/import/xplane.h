/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane.h - the reader of XPlane (TensorFlow's and JAX's profiler), in two parts: xplane.c walks
 * planes and what they name, xplane_event.c makes events of their lines.
 */
#ifndef AON_XPLANE_H
#define AON_XPLANE_H

#include "import/pb.h"
#include "import/priv.h"

enum xstat {
	XSTAT_OTHER,
#define XSTAT(ID, name) XSTAT_##ID,
#include "import/xplane.tbl.h"
	XSTAT_COUNT,
};

/* An event's or a stat's name, by the id that the plane gives it. */
struct xname {
	uint64_t id;
	struct pb text;
	uint32_t name; /* in the trace, + 1; 0: not asked for yet */
	uint8_t stat;  /* enum xstat */
};

struct xnames {
	struct xname *x; /* owned; sorted by id */
	size_t n, cap;
};

struct xplane {
	const struct importing *im;
	struct trace *t;
	const uint8_t *base; /* of the file */
	uint32_t process;
	uint64_t *
		first_ns; /* owned: by name, when an HLO operation of that name began; 0: none did */
	size_t names;     /* of first_ns */
	bool devices;     /* there is a plane of one: what the host does is no device's work */
	/* Of the plane being read. */
	struct xnames event, stat;
	struct pb name;
	bool device;
	uint32_t index; /* of the device */
	bool streams;   /* it has lines that are streams: its other lines are made of those */
};

struct xname *xnames_find(struct xnames *x, uint64_t id);
/* All events of a line. 0, or -errno; damage is noted and ends the line. */
int xplane_line(struct xplane *x, struct pb line);
/* An event for each HLO operation that kernels named, which they are joined to by External id. */
int xplane_ops(struct xplane *x);

#endif /* AON_XPLANE_H */
