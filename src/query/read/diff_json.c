/* SPDX-License-Identifier: Apache-2.0 */
/* diff_json.c - two runs side by side as aon.diff/1. */
#include <math.h>

#include "insight/diff.h"
#include "read/json.h"

static const char *const roll_word[ROLLS] = {
	[ROLL_KERNEL] = "kernels", [ROLL_OP] = "ops", [ROLL_MODULE] = "modules"
};

static void side_json(struct json *j, const char *key, const char *label, const struct profile *p)
{
	json_object(j, key, J_STR("label", label), J_U64("steps", p->steps),
		    J_U64("ranks", p->ranks), J_U64("devices", p->devices),
		    J_DOUBLE("step_ns", round(p->step_ns)), J_DOUBLE("sd_ns", round(p->sd_ns)),
		    J_DOUBLE("busy_ns", round(p->busy_ns)));
}

static void rows_json(struct json *j, const struct diff_table *d, enum insight_by by)
{
	json_open(j, roll_word[by], '[');
	for (size_t i = 0; i < d->rows; i++) {
		json_open(j, NULL, '{');
		json_str(j, "name", d->row[i].name);
		if (by == ROLL_KERNEL)
			json_str(j, "class", class_word[d->row[i].class]);
		json_members(j, J_DOUBLE("a_ns", round(d->row[i].a_ns)),
			     J_DOUBLE("b_ns", round(d->row[i].b_ns)),
			     J_REAL("a_count", d->row[i].a_count),
			     J_REAL("b_count", d->row[i].b_count));
		json_close(j);
	}
	json_close(j);
}

void diff_json(struct json *j, const struct diff *d, const char *a, const char *b)
{
	const char *word;

	json_bool(j, "comparable", !*d->why_not);
	json_str(j, "why_not", *d->why_not ? d->why_not : NULL);
	side_json(j, "a", a, d->a);
	side_json(j, "b", b, d->b);
	json_members(j, J_DOUBLE("delta_ns", round(d->delta_ns)),
		     J_DOUBLE("delta_lo_ns", d->sure ? round(d->lo_ns) : NAN),
		     J_DOUBLE("delta_hi_ns", d->sure ? round(d->hi_ns) : NAN),
		     J_REAL("explained", d->explained));
	if (d->work_names)
		json_object(j, "work", J_REAL("ratio", d->work), J_STR("by", roll_word[d->work_by]),
			    J_U64("names", d->work_names), J_REAL("share", d->work_share));
	else
		json_null(j, "work");
	json_open(j, "parts", '[');
	for (size_t i = 0; i < PROFILE_PARTS; i++) {
		profile_part(i, &word);
		json_object(j, NULL, J_STR("part", word), J_DOUBLE("a_ns", round(d->a->part_ns[i])),
			    J_DOUBLE("b_ns", round(d->b->part_ns[i])));
	}
	json_close(j);
	for (enum insight_by by = 0; by < ROLLS; by++)
		rows_json(j, &d->roll[by], by);
}

void diff_findings_json(struct json *j, const struct findings *a, const struct findings *b)
{
	json_open(j, "findings", '[');
	for (int f = 0; f < FAMILIES && a && b; f++) {
		bool was = a->checked[f].fired, is = b->checked[f].fired;

		if (!was && !is)
			continue;
		json_object(j, NULL, J_STR("family", family_table[f].word),
			    J_STR("change", was && is ? "still"
					    : was     ? "gone"
						      : "new"));
	}
	json_close(j);
}
