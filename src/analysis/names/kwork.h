/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kwork.h - the work of one call of a kernel. Pure. The verdicts of aond's windows and of recorded
 * traces both come from here, so they agree; roof_of() then compares the work with its time.
 */
#pragma once

#include "names/class.h"
#include "names/kname.h"
#include "theory/op_work.h"
#include "theory/source_work.h"

/* What a kernel's name says, once for all of its calls. */
struct kernel_name {
	struct kname says;
	enum kclass class;
	uint64_t text; /* source_kernel() */
};

/* The work of an operator by its shapes, as its kernel does it. */
void kwork_of_op(struct roof_work *out, const struct kernel_name *k, const struct op_known *o);

/* Without an operator: by the kernel's text, else by its name. g may be NULL: not known. */
void kwork_of_launch(struct roof_work *out, const struct kernel_name *k,
		     const struct source_works *texts, const struct geo *g);
