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
#include "stacks/debug/lines.h"
#include "stacks/stack.h"

#define ROWS    32768u
#define ASKS    256u         /* places whose lines are waited for */
#define TEXT    511u         /* bytes of a name, */
#define TEXTS   (8u << 20)   /* and of all */
#define NAMES   16384u       /* that are demangled: those are never forgotten */
#define LONG_NS 300000000ull /* for demangling names of one stack */

int natives_init(struct natives *x)
{
	*x = (struct natives){ .cpu_ns = NATIVES_BURST_NS,
			       .cpu_at_ns = clock_mono_ns(),
			       .spent_ns = lines_cpu_ns() };
	return native_new(&x->n);
}

static void forget(struct natives *x)
{
	map_fini(&x->places);
	x->rows = x->text_n = x->inlines = x->asks = 0;
}

void natives_fini(struct natives *x)
{
	forget(x);
	native_free(x->n);
	free(x->row);
	free(x->inlined);
	free(x->ask);
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

/* A function of the program itself: of no library and not of Python, nor from others' headers. */
static uint8_t user_of(const char *module, uint8_t flags)
{
	return native_is_library(module) || flags & NATIVE_SYSTEM ? 0 : FRAME_USER;
}

static int keep_name(struct natives *x, const char *raw, uint64_t offset, uint32_t *at)
{
	char name[TEXT + 1];

	if (*raw)
		stack_short(demangle(raw), name, TEXT + 1);
	else
		snprintf(name, TEXT + 1, "0x%llx", (unsigned long long)offset);
	return keep(x, name, at);
}

/* Its lines are asked for, if it has any. Of the interpreter, lines of Python say more. */
static void ask(struct natives *x, const struct native_frame *f, struct natives_row *row)
{
	int err;

	if (strstr(x->text + row->self.file_at, "python3") || x->asks == ASKS || !x->cpu_ns ||
	    vec_room(&x->ask, &x->ask_cap, x->asks + 1, sizeof(*x->ask)))
		return;
	err = native_ask(x->n, f);
	if (err && err != -EAGAIN)
		return;
	row->lines = LINES_ASKED;
	row->hash = hash_mix(hash_mix(row->hash, f->module), f->offset); /* lines differ */
	x->ask[x->asks++] = (struct natives_ask){ *f, clock_mono_ns(), !err };
}

struct natives_row *natives_at(struct natives *x, const struct native_frame *f)
{
	static struct native_name raw; /* large; the sampler is one thread */
	uint64_t key = key_of(f), at = map_get(&x->places, key);
	struct native_module m = { .file = "?" };
	struct natives_row row = { .lines = LINES_NONE };
	char file[TEXT + 1];

	if (at)
		return &x->row[at - 1];
	native_module(x->n, f->module, &m);
	snprintf(file, TEXT + 1, "%s", m.file);
	native_name(x->n, f, &raw, 1);
	row.eval = native_is_eval(raw.name);
	row.inside = strstr(file, "python3") && (!*raw.name || native_is_glue(raw.name));
	row.named = *raw.name;
	row.self.flags = user_of(file, 0);
	if (keep_name(x, raw.name, f->offset, &row.self.name_at) ||
	    keep(x, file, &row.self.file_at) ||
	    vec_room(&x->row, &x->cap, x->rows + 1, sizeof(row)) ||
	    map_put(&x->places, key, x->rows + 1))
		return NULL;
	row.hash = fnv_text(FNV_BASIS ^ native_seed(x->n), x->text + row.self.name_at);
	row.hash = fnv_text(hash_mix(row.hash, 2), file);
	ask(x, f, &row);
	x->row[x->rows] = row;
	return &x->row[x->rows++];
}

/* --- lines --- */

/* One of its functions. The function itself keeps the name of its symbol, if it has one. The source of a
 * library stands behind its name: "libc.so.6:../nptl/lowlevellock.c". */
static int take_name(struct natives *x, const struct natives_row *row, const struct native_name *n,
		     struct natives_text *to)
{
	const char *module = x->text + row->self.file_at;
	bool library = native_is_library(module);
	char file[TEXT + 1];

	to->line = n->line;
	to->flags = (uint8_t)((n->flags & FRAME_INLINE) | user_of(module, n->flags));
	snprintf(file, sizeof(file), "%.*s%s%s", library ? 255 : 0, module, library ? ":" : "",
		 n->file);
	if (*n->file && keep(x, file, &to->file_at))
		return -ENOMEM;
	if (*n->name && (n->flags & FRAME_INLINE || !row->named))
		return keep_name(x, n->name, 0, &to->name_at);
	return 0;
}

static void take_lines(struct natives *x, struct natives_row *row, const struct native_name *name,
		       size_t n)
{
	struct natives_text of[NATIVE_INLINES];

	row->lines = LINES_KNOWN;
	if (!n || x->text_n > TEXTS ||
	    vec_room(&x->inlined, &x->inlined_cap, x->inlines + n, sizeof(*x->inlined)))
		return;
	for (size_t i = 0; i < n; i++) {
		of[i] = row->self;
		if (take_name(x, row, &name[i], &of[i]))
			return;
	}
	row->inlined = (uint32_t)x->inlines;
	row->inlines = (uint32_t)(n - 1);
	memcpy(x->inlined + x->inlines, of, (n - 1) * sizeof(of[0]));
	x->inlines += n - 1;
	row->self = of[n - 1];
	/* Stacks that were sent without have another number. */
	row->hash += row->sent;
}

static void take_answer(struct natives *x, const struct native_frame *f,
			const struct native_name *name, size_t n)
{
	const char *mangled[NATIVE_INLINES];
	uint64_t at = map_get(&x->places, key_of(f));
	size_t names = 0;

	for (size_t i = 0; i < x->asks; i++)
		if (x->ask[i].f.module == f->module && x->ask[i].f.offset == f->offset)
			x->ask[i--] = x->ask[--x->asks];
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name[i].name, "_Z", 2))
			mangled[names++] = name[i].name;
	if (!at || x->row[at - 1].lines == LINES_KNOWN)
		return;
	learn(x, mangled, names);
	take_lines(x, &x->row[at - 1], name, n);
}

static void give_up(struct natives *x, size_t i)
{
	uint64_t at = map_get(&x->places, key_of(&x->ask[i].f));

	if (at)
		x->row[at - 1].lines = LINES_KNOWN;
	x->ask[i] = x->ask[--x->asks];
}

/* What children have used lately, and may yet. */
static void pay(struct natives *x, uint64_t now_ns)
{
	uint64_t used = lines_cpu_ns() - x->spent_ns;
	uint64_t more = (uint64_t)((double)(now_ns - x->cpu_at_ns) * NATIVES_CPU);

	if (now_ns < x->cpu_at_ns)
		return;
	x->cpu_ns = x->cpu_ns + more < NATIVES_BURST_NS ? x->cpu_ns + more : NATIVES_BURST_NS;
	x->cpu_ns -= used < x->cpu_ns ? used : x->cpu_ns;
	x->owed_ns += used;
	x->owed_ns -= more < x->owed_ns ? more : x->owed_ns;
	x->cpu_at_ns = now_ns;
	x->spent_ns += used;
}

uint64_t natives_owes(const struct natives *x)
{
	return x->owed_ns + (lines_cpu_ns() - x->spent_ns);
}

void natives_poll(struct natives *x, uint64_t now_ns)
{
	static struct native_name name[NATIVE_INLINES]; /* large; the sampler is one thread */
	struct native_frame f;
	int n;

	while ((n = native_take(x->n, &f, name, NATIVE_INLINES)) >= 0)
		take_answer(x, &f, name, (size_t)n);
	native_tick(x->n, now_ns);
	pay(x, now_ns);
	for (size_t i = 0; i < x->asks;) {
		struct natives_ask *a = &x->ask[i];
		int err = a->sent ? 0 : native_ask(x->n, &a->f);

		a->sent |= !err;
		if (now_ns - a->since_ns > NATIVES_WAIT_NS || (err && err != -EAGAIN))
			give_up(x, i);
		else
			i++;
	}
}
