/* SPDX-License-Identifier: Apache-2.0 */
/* natives.c - see natives.h. */
#include "sample/natives.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/hash.h"
#include "base/vec.h"
#include "stacks/stack.h"

#define ROWS 32768u
#define TEXT 511u /* bytes of a name */

int natives_init(struct natives *x)
{
	*x = (struct natives){ .rows = 0 };
	return native_new(&x->n);
}

static void forget(struct natives *x)
{
	map_fini(&x->places);
	x->rows = x->text_n = 0;
}

void natives_fini(struct natives *x)
{
	forget(x);
	native_free(x->n);
	free(x->row);
	free(x->text);
}

void natives_begin(struct natives *x)
{
	if (x->rows > ROWS - STACK_FRAMES_MAX)
		forget(x);
}

static int keep(struct natives *x, const char *s, uint32_t *at)
{
	size_t n = strlen(s) + 1;

	if (vec_room(&x->text, &x->text_cap, x->text_n + n, 1))
		return -ENOMEM;
	memcpy(x->text + x->text_n, s, n);
	*at = (uint32_t)x->text_n;
	x->text_n += n;
	return 0;
}

static void name_of(struct natives *x, const struct native_frame *f, struct natives_row *row,
		    char name[TEXT + 1], char file[TEXT + 1])
{
	static struct native_name raw; /* large; the sampler is one thread */
	struct native_module m = { .file = "?" };
	const char *mangled = raw.name;

	native_module(x->n, f->module, &m);
	snprintf(file, TEXT + 1, "%s", m.file);
	native_name(x->n, f, &raw, 1);
	row->eval = native_is_eval(raw.name);
	row->inside = strstr(file, "python3") && (!*raw.name || native_is_glue(raw.name));
	if (*raw.name) {
		demangle_learn(&mangled, 1);
		stack_short(demangle(raw.name), name, TEXT + 1);
	} else {
		snprintf(name, TEXT + 1, "0x%llx", (unsigned long long)f->offset);
	}
}

const struct natives_row *natives_at(struct natives *x, const struct native_frame *f)
{
	uint64_t key = hash_mix(f->module, f->offset), at = map_get(&x->places, key);
	char name[TEXT + 1], file[TEXT + 1];
	struct natives_row row = { 0 };

	if (at)
		return &x->row[at - 1];
	name_of(x, f, &row, name, file);
	row.hash = fnv_text(hash_mix(fnv_text(FNV_BASIS, name), 2), file);
	if (keep(x, name, &row.name_at) || keep(x, file, &row.file_at) ||
	    vec_room(&x->row, &x->cap, x->rows + 1, sizeof(row)) ||
	    map_put(&x->places, key, x->rows + 1))
		return NULL;
	x->row[x->rows] = row;
	return &x->row[x->rows++];
}
