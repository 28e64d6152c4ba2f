/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys_parquet.c - the tables of a folder (nsys export --type parquetdir): one file for each, named
 * after it, with the columns that the SQLite export has.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "import/nsys.h"
#include "import/parquet/parquet.h"

#define ENDING     ".parquet"
#define TEXT_MAX   (512u << 20) /* bytes of all strings */
#define PATH_BYTES 4096u

struct text {
	size_t at, len;
};

struct nsys_parquet {
	const char *folder;
	struct parquet *table; /* that was begun */
	char why[256];
	/* StringIds. */
	struct map id; /* index + 1 of text[] */
	struct text *text;
	size_t texts;
	char *bytes;
	size_t bytes_len, bytes_cap;
};

/* 1: opened, 0: there is no such file, -EBADMSG: see q->why. */
static int open_table(struct nsys_parquet *q, const char *name)
{
	char path[PATH_BYTES];
	int err;

	if (snprintf(path, sizeof(path), "%s/%s" ENDING, q->folder, name) >= (int)sizeof(path))
		return 0;
	err = parquet_open(&q->table, path, q->why, sizeof(q->why));
	if (err == -ENOENT)
		return 0;
	return !err ? 1 : err == -ENOMEM ? err : -EBADMSG;
}

static size_t columns_of(const struct nsys_table *t)
{
	size_t n = 0;

	while (n < NSYS_COLS && t->col[n])
		n++;
	return n;
}

static void end(void *arg)
{
	struct nsys_parquet *q = arg;

	parquet_close(q->table);
	q->table = NULL;
}

/* Fewer columns than the table names may be asked for, but all that it must have are looked for. */
static int begin_columns(struct nsys_parquet *q, const struct nsys_table *t, size_t n)
{
	bool have[NSYS_COLS];
	size_t all = n > t->must ? n : t->must;
	int r = open_table(q, t->name);

	if (r <= 0)
		return r;
	r = parquet_select(q->table, t->col, all, have);
	if (r < 0) {
		snprintf(q->why, sizeof(q->why), "%s", parquet_why(q->table));
		return r;
	}
	for (unsigned i = 0; i < t->must; i++)
		if (!have[i]) {
			end(q);
			return 0;
		}
	if (all > n)
		parquet_select(q->table, t->col, n, have);
	return 1;
}

static int begin(void *arg, const struct nsys_table *t)
{
	return begin_columns(arg, t, columns_of(t));
}

static int next_row(void *arg, struct import_cell *row)
{
	struct nsys_parquet *q = arg;
	int r = parquet_row(q->table, row);

	if (r < 0)
		snprintf(q->why, sizeof(q->why), "%s", parquet_why(q->table));
	return r;
}

static const char *why(void *arg)
{
	return ((struct nsys_parquet *)arg)->why;
}

/* Of the first column alone: the start. */
static int64_t first_ns(void *arg, const struct nsys_table *t)
{
	struct nsys_parquet *q = arg;
	struct import_cell start;
	int64_t min = 0;

	if (begin_columns(q, t, 1) > 0)
		while (parquet_row(q->table, &start) > 0)
			if (start.type == CELL_INT && start.i < min)
				min = start.i;
	end(q);
	return min;
}

static bool string(void *arg, int64_t id, const char **s, size_t *len)
{
	const struct nsys_parquet *q = arg;
	uint64_t at = map_get(&q->id, (uint64_t)id);

	if (!at)
		return false;
	*s = q->bytes + q->text[at - 1].at;
	*len = q->text[at - 1].len;
	return true;
}

/* --- StringIds --- */

static int keep_string(struct nsys_parquet *q, int64_t id, const char *s, size_t len)
{
	/* A name is not longer. */
	len = len < TRACE_NAME_BYTES ? len : TRACE_NAME_BYTES;
	if (q->bytes_len + len > TEXT_MAX)
		return -EFBIG;
	if (vec_more(&q->text, q->texts, sizeof(*q->text)) < 0 ||
	    vec_room(&q->bytes, &q->bytes_cap, q->bytes_len + len, 1) < 0 ||
	    map_put(&q->id, (uint64_t)id, q->texts + 1) < 0)
		return -ENOMEM;
	if (len)
		memcpy(q->bytes + q->bytes_len, s, len);
	q->text[q->texts++] = (struct text){ q->bytes_len, len };
	q->bytes_len += len;
	return 0;
}

static int read_strings(struct nsys_parquet *q, const struct importing *im)
{
	static const char *const cols[] = { "id", "value" };
	struct import_cell row[2];
	bool have[2];
	int r = open_table(q, "StringIds");

	if (r > 0) {
		r = parquet_select(q->table, cols, 2, have);
		while (!r && (r = parquet_row(q->table, row)) > 0)
			r = row[0].type == CELL_INT && row[1].s
				    ? keep_string(q, row[0].i, row[1].s, row[1].len)
				    : 0;
		if (r == -EBADMSG)
			snprintf(q->why, sizeof(q->why), "%s", parquet_why(q->table));
	}
	end(q);
	if (r == -EBADMSG)
		import_broke(im, 0, "StringIds" ENDING ": %s", q->why);
	else if (r == -EFBIG)
		import_broke(im, 0, "StringIds" ENDING " has more than %u MiB of names",
			     TEXT_MAX >> 20);
	return r == -ENOMEM ? r : 0;
}

/* --- the folder --- */

bool nsys_is_table(const char *file)
{
	const char *slash = strrchr(file, '/');
	size_t len;

	file = slash ? slash + 1 : file;
	len = strlen(file);
	if (len <= sizeof(ENDING) - 1 || strcmp(file + len - (sizeof(ENDING) - 1), ENDING))
		return false;
	len -= sizeof(ENDING) - 1;
	if (!strncmp(file, "CUPTI_ACTIVITY_KIND_", 20) ||
	    (len == 9 && !memcmp(file, "StringIds", len)))
		return true;
	for (size_t i = 0; i < nsys_table_count; i++)
		if (strlen(nsys_tables[i].name) == len && !memcmp(file, nsys_tables[i].name, len))
			return true;
	return false;
}

bool nsys_is_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	bool is = false;

	while (dir && !is && (d = readdir(dir)))
		is = nsys_is_table(d->d_name);
	if (dir)
		closedir(dir);
	return is;
}

static uint64_t size_of(const struct nsys_parquet *q)
{
	uint64_t size = 0;

	for (size_t i = 0; i < nsys_table_count; i++) {
		char path[PATH_BYTES];
		struct stat sb;

		snprintf(path, sizeof(path), "%s/%s" ENDING, q->folder, nsys_tables[i].name);
		if (!stat(path, &sb))
			size += (uint64_t)sb.st_size;
	}
	return size;
}

int nsys_import_folder(const struct importing *im)
{
	struct nsys_parquet q = { .folder = im->path };
	const struct nsys_source src = { .arg = &q,
					 .size = size_of(&q),
					 .begin = begin,
					 .row = next_row,
					 .end = end,
					 .why = why,
					 .first_ns = first_ns,
					 .string = string };
	const struct trace_file *f = importing_file(im);
	int err = read_strings(&q, im);

	importing_file(im)->tick_ns = 1;
	if (err)
		import_say(im->why, err, "%s: %s", im->path, strerror(-err));
	else
		err = nsys_walk(im, &src);
	if (!err && !f->rows)
		err = import_say(im->why, -EMEDIUMTYPE,
				 "%s: a folder of nsys' tables without events%s%s (made by: nsys "
				 "export --type parquetdir)",
				 im->path, f->broke_at != UINT64_MAX ? ": " : "", f->why);
	map_fini(&q.id);
	free(q.text);
	free(q.bytes);
	return err;
}
