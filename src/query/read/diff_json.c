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
	json_open(j, key, '{');
	json_str(j, "label", label);
	json_u64(j, "steps", p->steps);
	json_u64(j, "ranks", p->ranks);
	json_u64(j, "devices", p->devices);
	json_double(j, "step_ns", round(p->step_ns));
	json_double(j, "sd_ns", round(p->sd_ns));
	json_double(j, "busy_ns", round(p->busy_ns));
	json_close(j);
}

static void rows_json(struct json *j, const struct diff_table *d, enum insight_by by)
{
	json_open(j, roll_word[by], '[');
	for (size_t i = 0; i < d->rows; i++) {
		json_open(j, NULL, '{');
		json_str(j, "name", d->row[i].name);
		if (by == ROLL_KERNEL)
			json_str(j, "class", class_word[d->row[i].class]);
		json_double(j, "a_ns", round(d->row[i].a_ns));
		json_double(j, "b_ns", round(d->row[i].b_ns));
		json_real(j, "a_count", d->row[i].a_count);
		json_real(j, "b_count", d->row[i].b_count);
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
	json_double(j, "delta_ns", round(d->delta_ns));
	json_double(j, "delta_lo_ns", d->sure ? round(d->lo_ns) : NAN);
	json_double(j, "delta_hi_ns", d->sure ? round(d->hi_ns) : NAN);
	json_real(j, "explained", d->explained);
	json_open(j, "parts", '[');
	for (size_t i = 0; i < PROFILE_PARTS; i++) {
		profile_part(i, &word);
		json_open(j, NULL, '{');
		json_str(j, "part", word);
		json_double(j, "a_ns", round(d->a->part_ns[i]));
		json_double(j, "b_ns", round(d->b->part_ns[i]));
		json_close(j);
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
		json_open(j, NULL, '{');
		json_str(j, "family", family_table[f].word);
		json_str(j, "change", was && is ? "still" : was ? "gone" : "new");
		json_close(j);
	}
	json_close(j);
}
