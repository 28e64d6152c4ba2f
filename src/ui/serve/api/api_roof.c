/* SPDX-License-Identifier: Apache-2.0 */
/* api_roof.c - kernels against the roofline bounds of their device: a point for each kernel and shape. */

#include "read/json.h"
#include "serve/analysis.h"
#include "serve/kernel_rows.h"

#define POINTS_MOST 500u

/*
 * The device with most of the time. Runs with several kinds are rare; each point names its own
 * device.
 */
static uint32_t device_of(const struct insight *in)
{
	return in->roofs.rows ? in->roofs.row[0].device : in->devices ? in->device[0].device : 0;
}

static void point_json(struct json *j, const struct trace *t, const struct roof_row *r)
{
	const char *name = trace_text(t, r->name);
	char text[512];

	json_open(j, NULL, '{');
	krow_id(text, name);
	json_str(j, "kid", text);
	json_members(j, J_STR("name", name), J_STR("short", krow_short(text, sizeof(text), name)),
		     J_STR("class", class_word[r->class]),
		     J_STR("op", r->op ? trace_text(t, r->op) : NULL),
		     J_STR("shape", r->shapes ? trace_text(t, r->shapes) : NULL),
		     J_U64("calls", r->count), J_U64("ns", r->total_ns),
		     J_REAL("flop", r->work.flops * (double)r->count),
		     J_REAL("byte", r->work.bytes * (double)r->count),
		     J_STR("type", gpu_type_word[r->work.type]), J_BOOL("tensor", r->work.tensor));
	roof_verdict_json(j, r);
	json_close(j);
}

int api_roofline(struct ask *q, struct json *j)
{
	bool used[2 * GPU_TYPES] = { false };
	const struct roofs *rs;
	uint64_t unknown = 0;
	struct analysis *an;
	size_t points = 0;
	uint32_t d;
	int err = analysis_begin(q, j, &an);

	if (err < 0)
		return err;
	rs = &an->in->roofs;
	d = device_of(an->in);
	json_str(j, "device",
		 d < an->t->devices && an->t->device[d].name
			 ? trace_text(an->t, an->t->device[d].name)
			 : NULL);
	json_open(j, "points", '[');
	for (size_t i = 0; i < rs->rows; i++) {
		const struct roof_row *r = &rs->row[i];

		if (!(r->work.flops > 0) && !(r->work.bytes > 0))
			unknown += r->total_ns;
		else if (points++ < POINTS_MOST)
			point_json(j, an->t, r);
		used[r->work.type + (r->work.tensor ? 0 : GPU_TYPES)] |= r->work.flops > 0;
	}
	json_close(j);
	json_u64(j, "unknown_ns", unknown);
	roof_peaks_json(j, rs->gpu ? rs->gpu[d] : NULL, used);
	return 0;
}
