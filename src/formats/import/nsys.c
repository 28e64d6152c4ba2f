/* SPDX-License-Identifier: Apache-2.0 */
/* nsys.c - walks the tables of an nsys export, wherever they are. The file is untrusted. */
#include "import/nsys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define ROWS_A_LOOK 65536u
#define PROCESS_MAX 65536u

int nsys_string(struct nsys *n, const struct import_cell *cell, uint32_t *name)
{
	uint64_t have = map_get(&n->strings, (uint64_t)cell->i);
	const char *text = cell->s;
	size_t len = cell->len;
	int err;

	if (text)
		return trace_name(n->t, text, len, name);
	if (cell->type == CELL_NULL)
		return 0;
	if (have) {
		*name = (uint32_t)(have - 1);
		return 0;
	}
	if (!n->src->string(n->src->arg, cell->i, &text, &len))
		len = 0;
	err = trace_name(n->t, len ? text : "", len, name);
	return err ? err : map_put(&n->strings, (uint64_t)cell->i, (uint64_t)*name + 1);
}

int nsys_process(struct nsys *n, int64_t global, uint32_t *id)
{
	int err;

	for (size_t i = 0; i < n->processes; i++)
		if (n->process[i].global == global) {
			*id = n->process[i].id;
			return 0;
		}
	if (n->processes >= PROCESS_MAX)
		return -EBADMSG;
	if (vec_more(&n->process, n->processes, sizeof(*n->process)) < 0)
		return -ENOMEM;
	err = trace_process(n->t, n->im->file, (uint64_t)global, id);
	if (err)
		return err;
	n->process[n->processes++] = (struct nsys_process){ global, *id };
	return 0;
}

/* --- tables --- */

static int progress(const struct nsys *n, size_t table)
{
	const struct import_opts *o = n->im->o;

	if (!o || !o->progress)
		return 0;
	return o->progress(o->arg, n->im->path, n->src->size * table / nsys_table_count,
			   n->src->size);
}

static int count(struct nsys *n, const struct nsys_table *t, int r, uint64_t row)
{
	struct trace_file *f = importing_file(n->im);

	if (r < 0 && r != -EBADMSG)
		return r;
	f->rows += t->counted;
	f->lost += t->counted && r < 0;
	f->imported += t->counted && r > 0;
	f->left += t->counted && r == 0;
	if (t->counted && r < 0)
		import_broke(n->im, 0, "row %llu of %s has no usable time or place",
			     (unsigned long long)row, t->name);
	return 0;
}

static int walk(struct nsys *n, size_t index)
{
	const struct nsys_table *t = &nsys_tables[index];
	const struct nsys_source *src = n->src;
	struct import_cell row[NSYS_COLS];
	uint64_t rows = 0;
	int more = src->begin(src->arg, t), r = 0;

	if (!more)
		return 0;
	while (more > 0 && (more = src->row(src->arg, row)) > 0) {
		r = count(n, t, t->fn(n, row), rows);
		if (!r && ++rows % ROWS_A_LOOK == 0)
			r = progress(n, index);
		if (r < 0)
			break;
	}
	if (more < 0 && more != -EBADMSG)
		r = more;
	else if (more < 0)
		import_broke(n->im, 0, "table %s breaks after %llu rows: %s", t->name,
			     (unsigned long long)rows, src->why(src->arg));
	src->end(src->arg);
	return r;
}

/* Some exports have times before their zero; ours have no sign. */
static void find_bias(struct nsys *n)
{
	for (size_t i = 0; i < nsys_table_count; i++) {
		int64_t min = 0;

		if (nsys_tables[i].counted)
			min = n->src->first_ns(n->src->arg, &nsys_tables[i]);
		if (min < 0 && min > -INT64_MAX / 4 && -min > n->bias)
			n->bias = -min;
	}
}

/* --- the file --- */

static int read_all(struct nsys *n)
{
	int err = 0;

	find_bias(n);
	for (size_t i = 0; i < nsys_table_count && !err; i++)
		err = walk(n, i);
	/* A pid stands in the middle of the number that is unique over machines. */
	for (size_t i = 0; i < n->processes; i++) {
		struct trace_process *p = &n->t->process[n->process[i].id];

		if (p->pid == (uint64_t)n->process[i].global)
			p->pid &= 0xffffff;
	}
	if (err)
		import_say(n->im->why, err, "%s: %s", n->im->path, strerror(-err));
	return err;
}

int nsys_walk(const struct importing *im, const struct nsys_source *src)
{
	struct nsys n = { .im = im,
			  .t = im->t,
			  .src = src,
			  .first_device = im->t->devices,
			  .first_track = im->t->tracks };
	int err = read_all(&n);

	map_fini(&n.strings);
	free(n.process);
	return err;
}
