/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c - the conditions of a query with their values: which blobs to read, and which events of
 * a blob match. Conditions on names and tracks are tested once for each of these. A condition that
 * cannot be tested here passes: SQLite tests it again.
 */
#include "sql/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers --- */

/* The integers [lo, hi] for which `x op value` can be true. False: nothing is known. */
static bool bounds(int op, sqlite3_value *v, int64_t *lo, int64_t *hi)
{
	int type = sqlite3_value_numeric_type(v);
	int64_t floor_v, ceil_v;
	double f;

	*lo = INT64_MIN;
	*hi = INT64_MAX;
	if (type == SQLITE_NULL) {
		*lo = 1;
		*hi = 0;
		return true;
	}
	if (type == SQLITE_INTEGER) {
		floor_v = ceil_v = sqlite3_value_int64(v);
	} else if (type == SQLITE_FLOAT) {
		f = sqlite3_value_double(v);
		if (!(f > -9e18 && f < 9e18))
			return false;
		floor_v = (int64_t)floor(f);
		ceil_v = (int64_t)ceil(f);
	} else {
		return false;
	}
	/* Bounds are inclusive: SQLite tests again and rejects what is too much. */
	if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE)
		*lo = op == SQLITE_INDEX_CONSTRAINT_EQ ? ceil_v : floor_v;
	if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE)
		*hi = op == SQLITE_INDEX_CONSTRAINT_EQ ? floor_v : ceil_v;
	return true;
}

static void add_range(struct filter *f, uint8_t col, int64_t lo, int64_t hi)
{
	int i;

	for (i = 0; i < f->ranges && f->range[i].col != col; i++)
		;
	if (i == f->ranges) {
		f->range[f->ranges].col = col;
		f->range[i].lo = INT64_MIN;
		f->range[f->ranges++].hi = INT64_MAX;
	}
	if (lo > f->range[i].lo)
		f->range[i].lo = lo;
	if (hi < f->range[i].hi)
		f->range[i].hi = hi;
	f->none |= f->range[i].lo > f->range[i].hi;
	f->needs |= col_defs[col].needs;
}

/* --- dictionaries --- */

bool track_value(const struct dict *d, uint32_t track, enum col_id col, int64_t *out)
{
	const struct dict_track *l = &d->track[track];
	bool host = l->track.device == TRACK_HOST;

	if (!track)
		return false;
	switch (col) {
	case COL_DEVICE:
		*out = l->track.device;
		return !host;
	case COL_STREAM:
		*out = (int64_t)l->track.stream;
		return !host;
	case COL_CONTEXT:
		*out = l->track.context;
		return !host;
	case COL_TID:
		*out = (int64_t)l->track.stream;
		return host;
	case COL_PID:
		*out = d->process[l->process].pid;
		return l->process != 0;
	case COL_PROCESS:
	case COL_UPID:
		*out = l->track.process;
		return true;
	default:
		*out = l->track.id;
		return true;
	}
}

int track_compare(const struct dict *d, uint32_t a, uint32_t b, enum col_id col)
{
	int64_t x = 0, y = 0;
	bool has_x = track_value(d, a, col, &x), has_y = track_value(d, b, col, &y);

	if (!has_x || !has_y)
		return has_x - has_y;
	return (x > y) - (x < y);
}

int name_compare(const struct dict *d, uint32_t a, uint32_t b)
{
	const struct dict_name *x = &d->name[a], *y = &d->name[b];
	int order;

	if (!a || !b)
		return (a != 0) - (b != 0);
	order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
	return order ? order : (x->len > y->len) - (x->len < y->len);
}

int class_compare(const struct dict *d, uint32_t a, uint32_t b)
{
	return a && b ? strcmp(d->class[a], d -> class[b]) : (a != 0) - (b != 0);
}

static bool track_passes(const struct dict *d, uint32_t track, uint8_t col, int op,
			 sqlite3_value *v)
{
	int64_t value, lo, hi;
	bool has = track_value(d, track, col, &value);

	if (op == SQLITE_INDEX_CONSTRAINT_ISNULL)
		return !has;
	if (op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
		return has;
	return has && (!bounds(op, v, &lo, &hi) || (value >= lo && value <= hi));
}

static bool name_passes(const struct dict *d, uint32_t name, uint8_t col, int op, sqlite3_value *v)
{
	const struct dict_name *n = &d->name[name];
	const char *text, *has = col == COL_CLASS ? d->class[name] : n->text;
	int64_t lo, hi;

	if (!name)
		return false;
	if (col == COL_NAME_ID)
		return !bounds(op, v, &lo, &hi) || (n->id >= lo && n->id <= hi);
	text = (const char *)sqlite3_value_text(v);
	if (!text)
		return false;
	if (op == SQLITE_INDEX_CONSTRAINT_LIKE)
		return sqlite3_strlike(text, has, 0) == 0;
	if (op == SQLITE_INDEX_CONSTRAINT_GLOB)
		return sqlite3_strglob(text, has) == 0;
	if (col == COL_CLASS)
		return !strcmp(text, has);
	return n->len == (uint32_t)sqlite3_value_bytes(v) && !memcmp(text, n->text, n->len);
}

/*
 * Clears ok[i] where the condition is false; with `or`, turns a pending entry (2) into a match
 * where it is true.
 */
static void test_entries(uint8_t *ok, const struct dict *d, uint8_t col, int op, sqlite3_value *v,
			 bool or)
{
	bool track = col_defs[col].domain == DOMAIN_TRACK;
	uint32_t n = track ? d->tracks : d->names;

	for (uint32_t i = 0; i < n; i++) {
		bool pass = ok[i] == (or ? 2 : 1) && (track ? track_passes(d, i, col, op, v)
							    : name_passes(d, i, col, op, v));

		if (pass || ! or)
			ok[i] = pass;
	}
}

static void test_list(uint8_t *ok, const struct dict *d, uint8_t col, sqlite3_value *list)
{
	uint32_t n = col_defs[col].domain == DOMAIN_TRACK ? d->tracks : d->names;
	sqlite3_value *v = NULL;

	for (uint32_t i = 0; i < n; i++)
		/* 2: pending: passed the earlier conditions, not found in the list yet */
		ok[i] = ok[i] ? 2 : 0;
	for (int rc = sqlite3_vtab_in_first(list, &v); rc == SQLITE_OK && v;
	     rc = sqlite3_vtab_in_next(list, &v))
		test_entries(ok, d, col, SQLITE_INDEX_CONSTRAINT_EQ, v, true);
	for (uint32_t i = 0; i < n; i++)
		ok[i] = ok[i] == 1;
}

static int add_entries(struct filter *f, const struct dict *d, uint8_t col, int op, bool in,
		       sqlite3_value *v)
{
	bool track = col_defs[col].domain == DOMAIN_TRACK;
	uint8_t **ok = track ? &f->track_ok : &f->name_ok;
	uint32_t n = track ? d->tracks : d->names;

	if (!*ok) {
		*ok = malloc(n);
		if (!*ok)
			return -ENOMEM;
		memset(*ok, 1, n);
		f->needs |= col_defs[col].needs;
	}
	if (in)
		test_list(*ok, d, col, v);
	else
		test_entries(*ok, d, col, op, v, false);
	return 0;
}

static void add_kind(struct filter *f, sqlite3_value *v)
{
	const char *text = (const char *)sqlite3_value_text(v);
	uint32_t kinds = 0;

	for (int i = 0; text && i < EVENT_MAX; i++)
		if (!strcmp(event_word((uint32_t)i), text))
			kinds |= 1u << i;
	f->kinds &= kinds;
	f->none |= !f->kinds;
}

/* --- the whole --- */

/*
 * The processes of the selected tracks; all processes if events without a known track are selected.
 */
static int set_processes(struct filter *f, const struct dict *d)
{
	size_t n = 0;

	if (f->track_ok[0])
		return 0;
	f->process = calloc(d->tracks + 1, sizeof(*f->process));
	if (!f->process)
		return -ENOMEM;
	for (uint32_t i = 1; i < d->tracks; i++)
		if (f->track_ok[i] && (!n || f->process[n - 1] != d->track[i].track.process))
			f->process[n++] = d->track[i].track.process;
	f->read.process = f->process;
	f->read.processes = n;
	f->none |= !n;
	return 0;
}

/* Derives which blobs to read from the conditions. */
static int set_read(struct filter *f, const struct dict *d)
{
	f->read.kinds = f->kinds;
	for (int i = 0; i < f->ranges; i++) {
		if (f->range[i].col != COL_TS && f->range[i].col != COL_END_TS)
			continue;
		if (f->range[i].lo > 0 && (uint64_t)f->range[i].lo > f->read.from_ns)
			f->read.from_ns = (uint64_t)f->range[i].lo;
		if (f->range[i].hi < 0)
			f->none = true; /* no time can match */
		else if (f->range[i].col == COL_TS && f->range[i].hi < INT64_MAX)
			f->read.to_ns = (uint64_t)f->range[i].hi + 1;
	}
	return f->track_ok ? set_processes(f, d) : 0;
}

int filter_init(struct filter *f, const struct event_table *t, const struct plan *p,
		sqlite3_value **argv)
{
	const struct dict *d = &t->src->dict;
	int64_t lo, hi;
	int err = 0;

	memset(f, 0, sizeof(*f));
	f->kinds = t->kinds;
	for (int i = 0; err == 0 && i < p->terms; i++) {
		uint8_t col = p->term[i].col;
		int op = p->term[i].op;

		switch (col_defs[col].domain) {
		case DOMAIN_ROW:
			if (bounds(op, argv[i], &lo, &hi))
				add_range(f, col, lo, hi);
			break;
		case DOMAIN_KIND:
			add_kind(f, argv[i]);
			break;
		default:
			err = add_entries(f, d, col, op, p->term[i].in, argv[i]);
		}
	}
	err = err ? err : set_read(f, d);
	if (err < 0)
		filter_fini(f);
	return err;
}

void filter_fini(struct filter *f)
{
	free(f->name_ok);
	free(f->track_ok);
	free(f->process);
	f->name_ok = f->track_ok = NULL;
	f->process = NULL;
}

int64_t row_value(const struct event_columns *c, size_t i, enum col_id col)
{
	switch (col) {
	case COL_TS:
		return (int64_t)c->start_ns[i];
	case COL_DUR:
		return (int64_t)c->dur_ns[i];
	case COL_END_TS:
		return (int64_t)(c->start_ns[i] + c->dur_ns[i]);
	case COL_CORRELATION:
		return c->corr[i];
	case COL_DEPTH:
		return c->depth[i];
	case COL_B:
	case COL_ADDRESS:
	case COL_SEQUENCE:
		return (int64_t)c->b[i];
	default:
		return (int64_t)c->a[i];
	}
}

size_t filter_select(const struct filter *f, const struct dict *d, const struct event_columns *c,
		     uint16_t *sel)
{
	size_t n = 0, m;

	for (size_t i = 0; i < c->n; i++) {
		sel[n] = (uint16_t)i;
		n += f->kinds >> c->kind[i] & 1;
	}
	for (int r = 0; r < f->ranges; r++, n = m)
		for (size_t i = m = 0; i < n; i++) {
			int64_t v = row_value(c, sel[i], f->range[r].col);

			sel[m] = sel[i];
			m += v >= f->range[r].lo && v <= f->range[r].hi;
		}
	if (f->name_ok) {
		for (size_t i = m = 0; i < n; i++) {
			sel[m] = sel[i];
			m += f->name_ok[dict_name(d, c->name[sel[i]])];
		}
		n = m;
	}
	if (f->track_ok) {
		for (size_t i = m = 0; i < n; i++) {
			sel[m] = sel[i];
			m += f->track_ok[dict_track(d, c->track[sel[i]])];
		}
		n = m;
	}
	return n;
}

/* --- batches --- */

int batch_open(struct batch *b, struct sql_source *src, const struct filter *f, uint32_t cols)
{
	batch_close(b);
	b->src = src;
	b->f = f;
	b->n = 0;
	if (f->none)
		return 0;
	return store_scan_open(&b->scan, src->st, &f->read, cols | f->needs | EVENT_COL_KIND);
}

void batch_close(struct batch *b)
{
	store_scan_close(b->scan);
	b->scan = NULL;
}

int batch_next(struct batch *b)
{
	uint32_t process;
	int err;

	b->n = 0;
	while (b->scan && !b->n) {
		err = source_late(b->src);
		if (err == 0)
			err = store_scan_next(b->scan, &process, &b->c);
		if (err <= 0)
			return err;
		b->blob = store_scan_blob(b->scan);
		if (b->blob > b->src->dict.last_blob)
			return 0; /* newer than the loaded names */
		b->n = filter_select(b->f, &b->src->dict, &b->c, b->sel);
	}
	return b->n != 0;
}
