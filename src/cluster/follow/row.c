/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - a verdict as a row of the table `finding`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "diagnose/verdict_text.h"
#include "follow/watch.h"

/* "rank:3,rank:4". */
static void parts(char *out, size_t cap, const struct diag_finding *f)
{
	char part[DIAG_PART_LEN];
	size_t at = 0;

	*out = '\0';
	for (uint32_t i = 0; i < f->parts && at < cap; i++)
		at += (size_t)snprintf(out + at, cap - at, "%s%s", i ? "," : "",
				       diag_part_text(part, f->part[i]));
}

static char *detail(const struct diag_verdict *v)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct json j;

	if (!f)
		return NULL;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	diag_json(&j, v);
	json_close(&j);
	return fclose(f) == 0 ? text : NULL;
}

/* Untrusted text is shortened. */
static void one_line(char *out, size_t cap, const struct diag_verdict *v, const char *host)
{
	struct diag_words w;

	diag_words(&w, v);
	if (*host && (v->f.part[0].level == DIAG_RANK || v->f.part[0].level == DIAG_HOST))
		snprintf(out, cap, "%s (%.64s; step %u, %.0f %% of a step)", w.title, host,
			 v->since, 100.0 * v->f.gain);
	else
		snprintf(out, cap, "%s (step %u, %.0f %% of a step)", w.title, v->since,
			 100.0 * v->f.gain);
}

int watch_row(struct job_watch *w, const struct diag_verdict *said, const struct cursor_open *open,
	      uint64_t until_ns)
{
	struct diag_verdict as = *said, *v = &as;
	char part[DIAG_PARTS * DIAG_PART_LEN], text[DIAG_TEXT + 160], kind[8], *json;
	bool one = open->part[0].level == DIAG_RANK;
	struct fleet_place at = { .proc = 0 };
	struct store_why why = { "" };
	uint32_t rank = open->part[0].index;
	int err = 0;

	v->f.kind = open->kind;
	v->f.parts = open->parts;
	memcpy(v->f.part, open->part, sizeof(v->f.part));
	v->since = open->since;
	if (!one)
		rank = w->d ? diag_rank_of(w->d, v->f.part[0]) : UINT32_MAX;
	if (v->f.part[0].level <= DIAG_HOST && rank != UINT32_MAX)
		err = fleet_place(&at, w->f, w->at.job, rank, &why);
	if (err)
		return err;
	json = detail(v);
	if (!json)
		return -ENOMEM;
	parts(part, sizeof(part), &v->f);
	one_line(text, sizeof(text), v, at.host);
	snprintf(kind, sizeof(kind), "F%u", v->f.kind);
	packs_add(w->packs, SHIP_FINDING, ship_hash_text(w->at.job),
		  &(struct ship_finding){
			  .job = ship_text(w->at.job),
			  .rank = one ? (int32_t)v->f.part[0].index : -1,
			  .proc = one ? at.proc : 0,
			  .host = ship_text(at.host),
			  .t_ns = open->t_ns,
			  .until_ns = until_ns,
			  .kind = ship_text(open->kind ? kind : diag_why_word[v->why]),
			  .level = ship_text(diag_level_word[v->f.part[0].level]),
			  .part = ship_text(part),
			  .act = v->f.act,
			  .gain = v->f.gain,
			  .confidence = v->f.confidence,
			  .text = ship_text(text),
			  .detail = ship_text(json),
			  .source = ship_text("diagnose"),
		  });
	free(json);
	w->told++;
	return w->packs->err;
}
