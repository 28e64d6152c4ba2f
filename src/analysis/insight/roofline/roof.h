/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roof.h - what limits each kernel of a trace, and how far it is from that limit.
 *
 * A row is a kernel launched with one geometry for one operator of one shape: all its calls have
 * the same work. The work is that of the innermost operator around the launch whose formula is
 * known, and counts for its longest kernel: the other kernels of that operator prepare or finish.
 * Kernels launched outside of operators join the row of the same name and geometry, if there is
 * exactly one. Otherwise the work comes from the name, or from the device's counters (pm.h: the
 * share of the peak in use while the kernel ran), or stays unknown.
 */
#pragma once

#include "names/class.h"
#include "base/map.h"
#include "theory/op_work.h"
#include "theory/roofline.h"

struct insight;

struct roof_row {
	int32_t rank;
	uint32_t file, device; /* of the trace */
	uint32_t name, geo;
	uint32_t op, shapes; /* names; 0: none */
	bool helps;          /* another kernel does the operator's work */
	enum kclass class;
	uint64_t count, total_ns;
	struct roof_work work; /* of one call */
	struct roof is;
	bool product; /* it is a matrix product: */
	struct op_gemm gemm;
	double model_ns;          /* expected time by the GEMM model; 0: not known */
	bool model_fitted;        /* the model's constants were measured on such a device */
	double waves;             /* that its blocks fall into; 0: not known */
	double tail;              /* how full the last one is */
	double occupancy;         /* share of an SM's warps; 0: not known */
	const char *occupancy_by; /* what limits that */
};

/* An operator of one shape, with all GPU work that was launched in it. */
struct roof_op {
	int32_t rank;
	uint32_t file, name, shapes;
	bool once; /* its calls were not recorded: count is that of its longest kernel */
	uint64_t count, total_ns;
	struct op_work work; /* of one call */
};

/* All rows of one name. */
struct roof_name {
	uint64_t total_ns, known_ns; /* total; part in rows whose roofline bound is known */
	double least_ns;             /* these at their roofline bounds */
	uint64_t by_limit[ROOF_LIMITS], by_how[WORK_HOWS];
};

struct roofs {
	struct roof_row *row; /* owned, longest first */
	struct roof_op *op;   /* owned, longest first */
	struct roof_name *sum;
	struct map by_name;     /* of kernels: index + 1 into sum */
	const struct gpu **gpu; /* owned, by device of the trace; NULL entries: not known */
	size_t rows, ops, sums;
};

void roofs_fini(struct roofs *r);

const struct roof_name *roofs_name(const struct roofs *r, uint32_t name); /* NULL: none */
enum roof_limit roof_name_limit(const struct roof_name *n);               /* of most of its time */
enum work_how roof_name_how(const struct roof_name *n);
double roof_name_fraction(const struct roof_name *n); /* 0: not known */

/* FLOP/s and bytes/s of a row; 0: not known. */
double roof_row_flops(const struct roof_row *r);
double roof_row_Bps(const struct roof_row *r);
/* The model's time as a share of the measured one; 0: not known. */
double roof_row_model(const struct roof_row *r);
