/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane.h - the reader of XPlane (TensorFlow's and JAX's profiler), in two parts: xplane.c walks
 * planes and what they name, xplane_event.c makes events of their lines.
 */
#pragma once

#include "import/hlo.h"
#include "base/pb.h"
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
	struct pb text, shown; /* shown: what it is displayed as; empty: the same */
	struct pb all;         /* the message, with stats that all such events have */
	uint32_t name;         /* in the trace, + 1; 0: not asked for yet */
	uint8_t stat;          /* enum xstat */
	bool stats;            /* it has some */
};

struct xnames {
	struct xname *x; /* owned; sorted by id */
	size_t n, cap;
};

/* An HLO operation that kernels named: of one program, or of one whose number is not said. */
struct xop {
	uint64_t program, first_ns; /* first_ns: when its first kernel began */
	uint32_t name, shapes;      /* shapes: name of the text of its work; 0: not known */
	uint32_t next;              /* of the same name, + 1 */
};

struct xplane {
	const struct importing *im;
	struct trace *t;
	const uint8_t *base; /* of the file */
	uint32_t process;
	struct xop *op;     /* owned */
	uint32_t *first_op; /* owned: by name, + 1 into op[]; 0: none */
	size_t ops, names;  /* names: of first_op */
	struct hlo hlo;     /* what operations cost */
	bool devices;       /* there is a device plane: the host's events are not device work */
	/* Of the plane being read. */
	struct xnames event, stat;
	struct pb name;
	bool device;
	uint32_t index; /* of the device */
	bool streams;   /* it has lines that are streams: its other lines are derived from them */
};

struct xname *xnames_find(struct xnames *x, uint64_t id);
/* All events of a line. 0, or -errno; damage is noted and ends the line. */
int xplane_line(struct xplane *x, struct pb line);
/* An event for each HLO operation that kernels named, which they are joined to by External id. */
int xplane_ops(struct xplane *x);
