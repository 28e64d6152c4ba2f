/* SPDX-License-Identifier: Apache-2.0 */
/* natives.c - see natives.h. */
#include "sample/natives.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/demangle.h"
#include "base/hash.h"
#include "base/vec.h"
#include "stacks/stack.h"

#define ROWS    32768u
#define TEXT    511u         /* bytes of a name, */
#define TEXTS   (8u << 20)   /* and of all */
#define NAMES   16384u       /* that are demangled: those are never forgotten */
#define LONG_NS 300000000ull /* for demangling names of one stack */

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

static uint64_t key_of(const struct native_frame *f)
{
	return hash_mix(f->module, f->offset);
}

/* Names that take long, as those do that are made to, are not paid for with everybody's samples. */
static void learn(struct natives *x, const char *const name[], size_t n)
{
	uint64_t now = clock_mono_ns(), took;

	if (!n || now < x->quiet_ns || x->learned + n > NAMES)
		return;
	demangle_learn(name, n);
	x->learned += n;
	took = clock_mono_ns() - now;
	if (took > LONG_NS)
		x->quiet_ns = now + 100 * took;
}

void natives_begin(struct natives *x, const struct native_frame *f, size_t n)
{
	static struct native_name raw; /* large; the sampler is one thread */
	char *name[STACK_FRAMES_MAX];
	size_t names = 0;

	if (x->rows > ROWS - STACK_FRAMES_MAX || x->text_n > TEXTS)
		forget(x);
	for (size_t i = 0; i < n; i++) {
		if (map_get(&x->places, key_of(&f[i])))
			continue;
		native_name(x->n, &f[i], &raw, 1);
		name[names] = strncmp(raw.name, "_Z", 2) ? NULL : strdup(raw.name);
		names += name[names] != NULL;
	}
	learn(x, (const char *const *)name, names);
	while (names)
		free(name[--names]);
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

	native_module(x->n, f->module, &m);
	snprintf(file, TEXT + 1, "%s", m.file);
	native_name(x->n, f, &raw, 1);
	row->eval = native_is_eval(raw.name);
	row->inside = strstr(file, "python3") && (!*raw.name || native_is_glue(raw.name));
	if (*raw.name)
		stack_short(demangle(raw.name), name, TEXT + 1);
	else
		snprintf(name, TEXT + 1, "0x%llx", (unsigned long long)f->offset);
}

const struct natives_row *natives_at(struct natives *x, const struct native_frame *f)
{
	uint64_t key = key_of(f), at = map_get(&x->places, key);
	char name[TEXT + 1], file[TEXT + 1];
	struct natives_row row = { 0 };

	if (at)
		return &x->row[at - 1];
	name_of(x, f, &row, name, file);
	row.hash = fnv_text(hash_mix(fnv_text(FNV_BASIS ^ native_seed(x->n), name), 2), file);
	if (keep(x, name, &row.name_at) || keep(x, file, &row.file_at) ||
	    vec_room(&x->row, &x->cap, x->rows + 1, sizeof(row)) ||
	    map_put(&x->places, key, x->rows + 1))
		return NULL;
	x->row[x->rows] = row;
	return &x->row[x->rows++];
}
