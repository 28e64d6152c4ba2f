/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - events in the order of dictionary columns, so that SQLite need not sort them.
 *
 * The store is walked twice: first only the keys are decoded and counted, then the rows' columns
 * are put where the counts say (a counting sort). If that needs too much memory, it is done in
 * parts: some keys at a time, each part with a walk of its own; a key that is too large alone is
 * delivered blob by blob.
 *
 * A key is a number: (name, class of tracks, kind). Tracks that have the same values in all key
 * columns are one class.
 */
#include "sql/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX (1u << 23) /* limit on keys that are counted */

struct group {
	struct sql_source *src; /* borrowed */
	const struct filter *f; /* borrowed */
	struct plan plan;
	bool by_name, by_track, by_kind;
	uint32_t key_cols, row_cols; /* enum event_column */
	bool id;
	uint32_t *class_of; /* owned: class of each track */
	uint32_t *track_of; /* owned: a track of each class */
	uint32_t classes;
	size_t slots;
	uint64_t *count; /* owned: rows of each slot */
	uint32_t *place; /* owned: where the slot's next row goes */
	uint32_t *order; /* owned: the slots that have rows */
	size_t orders;
	size_t next;            /* index in order: next slot to load */
	size_t part, parts_end; /* index in order: slots that are loaded and not returned yet */
	size_t row;             /* first row of the next part */
	bool alone;             /* one key has too many rows to hold: read blob by blob */
	struct rowset rows;
	struct batch b;
	uint32_t at[BLOB_EVENTS];
};

static bool is_track(uint8_t col)
{
	return col_defs[col].domain == DOMAIN_TRACK;
}

static bool has_domain(const uint8_t *cols, int n, enum domain domain)
{
	for (int i = 0; i < n; i++)
		if (col_defs[cols[i]].domain == domain)
			return true;
	return false;
}

bool group_can(const struct dict *d, const uint8_t *cols, int n)
{
	uint64_t slots = 1;

	slots *= has_domain(cols, n, DOMAIN_NAME) ? d->names : 1;
	slots *= has_domain(cols, n, DOMAIN_TRACK) ? d->tracks : 1;
	slots *= has_domain(cols, n, DOMAIN_KIND) ? EVENT_MAX : 1;
	return slots <= SLOTS_MAX;
}

/* --- classes of tracks --- */

static int compare_tracks(const void *a, const void *b, void *arg)
{
	const struct group *g = arg;
	int order = 0;

	for (int i = 0; !order && i < g->plan.keys; i++)
		if (is_track(g->plan.key[i].col))
			order = track_compare(&g->src->dict, *(const uint32_t *)a,
					      *(const uint32_t *)b, g->plan.key[i].col);
	return order;
}

static int class_tracks(struct group *g)
{
	uint32_t n = g->by_track ? g->src->dict.tracks : 1;

	g->class_of = calloc(g->src->dict.tracks, sizeof(*g->class_of));
	g->track_of = calloc(n, sizeof(*g->track_of));
	if (!g->class_of || !g->track_of)
		return -ENOMEM;
	g->classes = 1;
	if (!g->by_track)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		g->track_of[i] = i;
	qsort_r(g->track_of, n, sizeof(*g->track_of), compare_tracks, g);
	for (uint32_t i = 1; i < n; i++) {
		if (compare_tracks(&g->track_of[g->classes - 1], &g->track_of[i], g))
			g->track_of[g->classes++] = g->track_of[i];
		g->class_of[g->track_of[i]] = g->classes - 1;
	}
	return 0;
}

/* --- keys --- */

static inline size_t slot_of(const struct group *g, const struct event_columns *c, size_t i)
{
	const struct dict *d = &g->src->dict;
	size_t slot = g->by_name ? dict_name(d, c->name[i]) : 0;

	slot = slot * g->classes + (g->by_track ? g->class_of[dict_track(d, c->track[i])] : 0);
	return g->by_kind ? slot * EVENT_MAX + c->kind[i] : slot;
}

static void slot_key(const struct group *g, size_t slot, struct group_part *out)
{
	out->kind = g->by_kind ? slot % EVENT_MAX : 0;
	slot /= g->by_kind ? EVENT_MAX : 1;
	out->track = g->track_of[slot % g->classes];
	out->name = (uint32_t)(slot / g->classes);
}

static int compare_slots(const void *a, const void *b, void *arg)
{
	const struct group *g = arg;
	const struct dict *d = &g->src->dict;
	struct group_part x, y;
	int order = 0;

	slot_key(g, *(const uint32_t *)a, &x);
	slot_key(g, *(const uint32_t *)b, &y);
	for (int i = 0; !order && i < g->plan.keys; i++) {
		uint8_t col = g->plan.key[i].col;

		if (is_track(col))
			order = track_compare(d, x.track, y.track, col);
		else if (col == COL_NAME_ID)
			order = (d->name[x.name].id > d->name[y.name].id) -
				(d->name[x.name].id < d->name[y.name].id);
		else if (col == COL_NAME)
			order = name_compare(d, x.name, y.name);
		else if (col == COL_CLASS)
			order = class_compare(d, x.name, y.name);
		else
			order = strcmp(event_word(x.kind), event_word(y.kind));
		order = g->plan.key[i].desc ? -order : order;
	}
	return order;
}

static int count_keys(struct group *g)
{
	int err;

	err = batch_open(&g->b, g->src, g->f, g->key_cols);
	while (err == 0 && (err = batch_next(&g->b)) > 0) {
		for (size_t i = 0; i < g->b.n; i++)
			g->count[slot_of(g, &g->b.c, g->b.sel[i])]++;
		err = 0;
	}
	if (err < 0)
		return err;
	for (size_t i = 0; i < g->slots; i++)
		g->orders += g->count[i] != 0;
	g->order = malloc(g->orders * sizeof(*g->order) + 1);
	if (!g->order)
		return -ENOMEM;
	for (size_t i = 0, n = 0; i < g->slots; i++)
		if (g->count[i])
			g->order[n++] = (uint32_t)i;
	qsort_r(g->order, g->orders, sizeof(*g->order), compare_slots, g);
	return 0;
}

/* --- rows --- */

#define NO_PLACE UINT32_MAX

/*
 * Takes the next keys whose rows fit into memory and assigns their places. Returns the number of
 * rows.
 */
static size_t choose_part(struct group *g)
{
	size_t row = rowset_bytes(g->row_cols, g->id), rows = 0;
	size_t max = row ? g->src->memory_bytes / row : UINT32_MAX - 1;

	max = max < UINT32_MAX - 1 ? max : UINT32_MAX - 1;
	memset(g->place, 0xff, g->slots * sizeof(*g->place));
	g->part = g->next;
	g->alone = g->count[g->order[g->next]] > max;
	while (g->next < g->orders && !g->alone && rows + g->count[g->order[g->next]] <= max) {
		g->place[g->order[g->next]] = (uint32_t)rows;
		rows += g->count[g->order[g->next++]];
	}
	if (g->alone)
		g->place[g->order[g->next++]] = 0;
	g->parts_end = g->next;
	g->row = 0;
	return g->alone ? BLOB_EVENTS : rows;
}

/* Selects the rows of the batch that belong to the part; fills at[]. */
static void place_rows(struct group *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->b.n; i++) {
		size_t slot = slot_of(g, &g->b.c, g->b.sel[i]);

		if (g->place[slot] == NO_PLACE)
			continue;
		g->b.sel[n] = g->b.sel[i];
		g->at[n] = g->alone ? (uint32_t)n : g->place[slot]++;
		n++;
	}
	g->b.n = n;
}

static int load_part(struct group *g)
{
	size_t rows = choose_part(g), put = 0;
	int err;

	rowset_fini(&g->rows);
	err = rowset_init(&g->rows, rows, g->row_cols, g->id);
	if (err == 0)
		err = batch_open(&g->b, g->src, g->f, g->key_cols | g->row_cols);
	if (g->alone)
		return err;
	while (err == 0 && (err = batch_next(&g->b)) > 0) {
		place_rows(g);
		put += g->b.n;
		/* rows may be evicted meanwhile, but none may be added */
		err = put > rows ? -EAGAIN : 0;
		if (err == 0)
			rowset_put(&g->rows, g->at, &g->b);
	}
	return err < 0 ? err : put == rows ? 0 : -EAGAIN;
}

/* Reads the next blob of a key that has too many rows to hold. */
static int next_alone(struct group *g, struct group_part *out)
{
	int err;

	while ((err = batch_next(&g->b)) > 0) {
		place_rows(g);
		if (!g->b.n)
			continue;
		rowset_put(&g->rows, g->at, &g->b);
		slot_key(g, g->order[g->part], out);
		out->c = g->rows.c;
		out->id = g->rows.id;
		out->first = 0;
		out->n = g->b.n;
		return 1;
	}
	g->part = g->parts_end;
	return err;
}

int group_next(struct group *g, struct group_part *out)
{
	bool rows = !g->plan.once;
	int err;

	for (;;) {
		if (g->part == g->parts_end) {
			if (g->next == g->orders)
				return 0;
			if (rows) {
				err = load_part(g);
				if (err < 0)
					return err;
			} else {
				g->next = g->parts_end = g->orders;
			}
		}
		if (!g->alone)
			break;
		err = next_alone(g, out);
		if (err)
			return err;
	}
	slot_key(g, g->order[g->part], out);
	out->c = g->rows.c;
	out->id = g->rows.id;
	out->first = g->row;
	out->n = g->row + (rows ? g->count[g->order[g->part]] : 1);
	g->row = rows ? out->n : 0;
	g->part++;
	return 1;
}

int group_new(struct group **out, struct sql_source *src, const struct filter *f,
	      const struct plan *p, uint32_t cols, bool id)
{
	struct group *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->src = src;
	g->f = f;
	g->plan = *p;
	g->row_cols = cols;
	g->id = id;
	for (int i = 0; i < p->keys; i++) {
		enum domain domain = col_defs[p->key[i].col].domain;

		g->by_name |= domain == DOMAIN_NAME;
		g->by_track |= domain == DOMAIN_TRACK;
		g->by_kind |= domain == DOMAIN_KIND;
		g->key_cols |= col_defs[p->key[i].col].needs;
	}
	err = class_tracks(g);
	g->slots = (g->by_name ? src->dict.names : 1) * (size_t)g->classes *
		   (g->by_kind ? EVENT_MAX : 1);
	if (err == 0) {
		g->count = calloc(g->slots, sizeof(*g->count));
		g->place = malloc(g->slots * sizeof(*g->place));
		err = g->count && g->place ? count_keys(g) : -ENOMEM;
	}
	if (err < 0)
		group_free(g);
	else
		*out = g;
	return err;
}

void group_free(struct group *g)
{
	if (!g)
		return;
	batch_close(&g->b);
	rowset_fini(&g->rows);
	free(g->class_of);
	free(g->track_of);
	free(g->count);
	free(g->place);
	free(g->order);
	free(g);
}
