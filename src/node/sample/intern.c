/* SPDX-License-Identifier: Apache-2.0 */
/* intern.c - see intern.h. */
#include "sample/intern.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

/* What a stack is made of, before its texts are copied. */
struct draft {
	struct swire_frame frame[STACK_FRAMES_MAX];
	size_t n;
	char text[SWIRE_BYTES]; /* names and files */
	size_t used;
};

void intern_fini(struct intern *x)
{
	map_fini(&x->ids);
	x->n = 0;
}

bool intern_full(const struct intern *x)
{
	return x->n >= SWIRE_STACKS;
}

static uint16_t keep(struct draft *d, const char *s, const char **out)
{
	size_t n = strnlen(s, SWIRE_TEXT);

	*out = d->text + d->used;
	memcpy(d->text + d->used, s, n);
	d->used += n;
	return (uint16_t)n;
}

/* False: there is no room for it in a message. */
static bool add(struct draft *d, enum frame_kind kind, uint8_t flags, const char *name,
		const char *file, uint32_t line)
{
	struct swire_frame *f = &d->frame[d->n];

	if (d->n == STACK_FRAMES_MAX ||
	    d->used + 2 * SWIRE_TEXT + 16 * (d->n + 2) > sizeof(d->text))
		return false;
	*f = (struct swire_frame){ .kind = (uint8_t)kind, .flags = flags, .line = line };
	f->name_len = keep(d, name, &f->name);
	f->file_len = keep(d, file, &f->file);
	d->n++;
	return true;
}

/* The innermost frame of the program itself, else of Python, else of all. */
static uint32_t blame_of(const struct draft *d)
{
	uint32_t python = UINT32_MAX;

	for (uint32_t i = 0; i < d->n; i++) {
		if (d->frame[i].flags & FRAME_USER)
			return i;
		if (python == UINT32_MAX && d->frame[i].kind == FRAME_PYTHON)
			python = i;
	}
	return python != UINT32_MAX || !d->n ? python : 0;
}

/* --- frames of both kinds --- */

struct mixed {
	struct native_mixed row[2 * STACK_FRAMES_MAX];
	size_t n;
};

/* Python frames stand where the interpreter's loop runs them. Below the last one there is only what
 * started the interpreter. */
static void mix(struct intern *x, const struct look *look, struct mixed *m)
{
	bool eval[STACK_FRAMES_MAX], entry[STACK_FRAMES_MAX];
	const struct natives_row *row;
	size_t n, left = look->py.n;

	natives_begin(x->natives, look->native, look->natives);
	for (size_t i = 0; i < look->natives; i++) {
		row = natives_at(x->natives, &look->native[i]);
		eval[i] = row && row->eval;
	}
	for (size_t i = 0; i < look->py.n; i++)
		entry[i] = look->py.frame[i].entry;
	n = native_mix(eval, look->natives, entry, look->py.n, m->row, 2 * STACK_FRAMES_MAX);
	m->n = 0;
	for (size_t i = 0; i < n && (left || !look->py.n); i++) {
		left -= m->row[i].python;
		row = m->row[i].python ? NULL
				       : natives_at(x->natives, &look->native[m->row[i].index]);
		if (m->row[i].python || !look->py.n || (row && !row->inside))
			m->row[m->n++] = m->row[i];
	}
}

static uint64_t hash_of(struct intern *x, struct process *p, const struct look *look,
			const struct mixed *m, uint64_t now_ns)
{
	const struct natives_row *row;
	struct python_place at;
	uint64_t h = m->n;

	for (size_t i = 0; i < look->task.n; i++) {
		python_place(process_python(p), &look->task.frame[i], now_ns, &at);
		h = hash_mix(hash_mix(h + FRAME_TASK, at.hash), at.line);
	}
	for (size_t i = 0; i < m->n; i++) {
		uint32_t k = m->row[i].index;

		if (m->row[i].python) {
			python_place(process_python(p), &look->py.frame[k], now_ns, &at);
			h = hash_mix(hash_mix(h, at.hash), at.line);
		} else {
			row = natives_at(x->natives, &look->native[k]);
			h = hash_mix(h, row ? row->hash : 0);
		}
	}
	return h;
}

static void make(struct draft *d, struct intern *x, struct process *p, const struct look *look,
		 const struct mixed *m, uint64_t now_ns)
{
	const struct natives_row *row;
	struct python_place at;
	bool room = true;

	d->n = d->used = 0;
	for (size_t i = 0; i < look->task.n && room; i++) {
		python_place(process_python(p), &look->task.frame[i], now_ns, &at);
		room = add(d, FRAME_TASK, at.user ? FRAME_USER : 0, at.name, at.file, at.line);
	}
	for (size_t i = 0; i < m->n && room; i++) {
		uint32_t k = m->row[i].index;

		if (m->row[i].python) {
			python_place(process_python(p), &look->py.frame[k], now_ns, &at);
			room = add(d, FRAME_PYTHON, at.user ? FRAME_USER : 0, at.name, at.file,
				   at.line);
			continue;
		}
		row = natives_at(x->natives, &look->native[k]);
		if (row)
			room = add(d, FRAME_NATIVE, look->native[k].flags & FRAME_SCANNED,
				   x->natives->text + row->name_at, x->natives->text + row->file_at,
				   0);
	}
}

int intern_stack(struct intern *x, struct process *p, struct look *look, uint64_t now_ns,
		 uint32_t *id, uint32_t *blame)
{
	static struct draft d;
	static char msg[SWIRE_BYTES];
	static struct mixed m;
	uint64_t hash, *at;
	int n, err;

	*id = 0;
	*blame = UINT32_MAX;
	mix(x, look, &m);
	if (!m.n)
		return 0;
	if (look->py.n)
		python_look_again(process_python(p), look->py.frame, look->py.n, now_ns);
	hash = hash_of(x, p, look, &m, now_ns);
	at = map_find(&x->ids, hash);
	if (!at && !intern_full(x) && process_new_stack(p, now_ns)) {
		make(&d, x, p, look, &m, now_ns);
		n = swire_put_stack(msg, x->n + 1, d.frame, d.n);
		err = n < 0 ? n : x->send(x->arg, msg, (size_t)n);
		if (!err)
			err = map_put(&x->ids, hash, (uint64_t)blame_of(&d) << 32 | (x->n + 1));
		if (err)
			return err;
		x->n++;
		at = map_find(&x->ids, hash);
	}
	if (at) {
		*id = (uint32_t)*at;
		*blame = (uint32_t)(*at >> 32);
	}
	return 0;
}
