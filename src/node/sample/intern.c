/* SPDX-License-Identifier: Apache-2.0 */
/* intern.c - see intern.h. */
#include "sample/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* What a stack is made of, before its texts are copied. */
struct draft {
	struct swire_frame frame[STACK_FRAMES_MAX];
	size_t n;
	char text[SWIRE_BYTES]; /* names and files */
	size_t used;
};

/* A frame of one whose native frames are named when it is sent. */
struct part {
	struct native_frame f; /* of native code */
	uint8_t kind, flags;
	uint32_t line, name, file; /* of Python; where in .text */
};

struct waiting {
	struct part part[STACK_FRAMES_MAX];
	size_t n;
	char *text; /* owned; room for text_cap */
	size_t text_n, text_cap;
};

static void free_waiting(struct waiting *w)
{
	if (w)
		free(w->text);
	free(w);
}

static struct waiting **slot_of(struct intern *x, uint32_t id)
{
	return &x->waiting[id % INTERN_WAITING];
}

void intern_fini(struct intern *x)
{
	for (size_t i = 0; i < INTERN_WAITING; i++) {
		free_waiting(x->waiting[i]);
		x->waiting[i] = NULL;
	}
	map_fini(&x->ids);
	free(x->blame);
	x->blame = NULL;
	x->blame_cap = 0;
	x->n = x->sent = 0;
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

/* --- stacks that are new --- */

static int keep_text(struct waiting *w, const char *text, uint32_t *at)
{
	size_t n = strnlen(text, SWIRE_TEXT);

	if (vec_room(&w->text, &w->text_cap, w->text_n + n + 1, 1))
		return -ENOMEM;
	*at = (uint32_t)w->text_n;
	memcpy(w->text + w->text_n, text, n);
	w->text[w->text_n + n] = '\0';
	w->text_n += n + 1;
	return 0;
}

static int add_python(struct waiting *w, struct python *py, const struct python_frame *f,
		      enum frame_kind kind, uint64_t now_ns)
{
	struct python_place at;
	struct part *to;

	if (w->n == STACK_FRAMES_MAX)
		return 0;
	to = &w->part[w->n++];
	python_place(py, f, now_ns, &at);
	*to = (struct part){ .kind = (uint8_t)kind,
			     .flags = at.user ? FRAME_USER : 0,
			     .line = at.line };
	return keep_text(w, at.name, &to->name) || keep_text(w, at.file, &to->file) ? -ENOMEM : 0;
}

/* NULL: no memory. */
static struct waiting *make(struct process *p, const struct look *look, const struct mixed *m,
			    uint64_t now_ns)
{
	struct waiting *w = calloc(1, sizeof(*w));
	struct python *py = process_python(p);
	int err = w ? 0 : -ENOMEM;

	for (size_t i = 0; i < look->task.n && !err; i++)
		err = add_python(w, py, &look->task.frame[i], FRAME_TASK, now_ns);
	for (size_t i = 0; i < m->n && !err; i++) {
		uint32_t k = m->row[i].index;

		if (m->row[i].python)
			err = add_python(w, py, &look->py.frame[k], FRAME_PYTHON, now_ns);
		else if (w->n < STACK_FRAMES_MAX)
			w->part[w->n++] =
				(struct part){ .f = look->native[k], .kind = FRAME_NATIVE };
	}
	if (!err)
		return w;
	free_waiting(w);
	return NULL;
}

static bool waits(struct intern *x, const struct waiting *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct natives_row *row = w->part[i].kind == FRAME_NATIVE
							? natives_at(x->natives, &w->part[i].f)
							: NULL;

		if (row && row->lines == LINES_ASKED)
			return true;
	}
	return false;
}

/* What is inlined at a place, then its function. */
static bool add_native(struct draft *d, struct natives *x, const struct native_frame *f)
{
	struct natives_row *row = natives_at(x, f);
	bool room = true;

	if (!row)
		return true;
	row->sent |= row->lines == LINES_ASKED;
	for (uint32_t i = 0; i <= row->inlines && room; i++) {
		const struct natives_text *t =
			i < row->inlines ? &x->inlined[row->inlined + i] : &row->self;

		room = add(d, FRAME_NATIVE, t->flags | (f->flags & FRAME_SCANNED),
			   x->text + t->name_at, x->text + t->file_at, t->line);
	}
	return room;
}

/* Names it as far as names are known by now. */
static int send_stack(struct intern *x, uint32_t id, const struct waiting *w)
{
	static struct draft d;
	static char msg[SWIRE_BYTES];
	bool room = true;
	int n;

	d.n = d.used = 0;
	for (size_t i = 0; i < w->n && room; i++) {
		const struct part *p = &w->part[i];

		room = p->kind == FRAME_NATIVE ? add_native(&d, x->natives, &p->f)
					       : add(&d, p->kind, p->flags, w->text + p->name,
						     w->text + p->file, p->line);
	}
	n = swire_put_stack(msg, id, d.frame, d.n);
	n = n < 0 ? n : x->send(x->arg, msg, (size_t)n);
	if (!n)
		x->blame[id] = swire_blame(d.frame, d.n);
	return n;
}

bool intern_flush(struct intern *x, bool now)
{
	while (x->sent < x->n) {
		struct waiting **w = slot_of(x, x->sent + 1);

		if ((!now && waits(x, *w)) || send_stack(x, x->sent + 1, *w))
			return false;
		free_waiting(*w);
		*w = NULL;
		x->sent++;
	}
	return true;
}

uint32_t intern_blame(const struct intern *x, uint32_t id)
{
	return id && id <= x->sent ? x->blame[id] : UINT32_MAX;
}

/* With the next id. */
static int add_new(struct intern *x, struct process *p, const struct look *look,
		   const struct mixed *m, uint64_t hash, uint64_t now_ns)
{
	struct waiting *w;
	bool now;
	int err;

	if (x->n - x->sent == INTERN_WAITING && !intern_flush(x, true))
		return -EAGAIN;
	w = make(p, look, m, now_ns);
	if (!w || vec_room(&x->blame, &x->blame_cap, x->n + 2, sizeof(*x->blame))) {
		free_waiting(w);
		return -ENOMEM;
	}
	now = x->sent == x->n && !waits(x, w);
	err = now ? send_stack(x, x->n + 1, w) : 0;
	err = err ? err : map_put(&x->ids, hash, x->n + 1);
	if (err || now)
		free_waiting(w);
	else
		*slot_of(x, x->n + 1) = w;
	x->n += !err;
	x->sent += !err && now;
	return err;
}

int intern_stack(struct intern *x, struct process *p, struct look *look, uint64_t now_ns,
		 uint32_t *id)
{
	static struct mixed m;
	uint64_t hash;
	int err = 0;

	*id = 0;
	mix(x, look, &m);
	if (!m.n)
		return 0;
	if (look->py.n)
		python_look_again(process_python(p), look->py.frame, look->py.n, now_ns);
	hash = hash_of(x, p, look, &m, now_ns);
	if (!map_find(&x->ids, hash) && !intern_full(x) && process_new_stack(p, now_ns))
		err = add_new(x, p, look, &m, hash, now_ns);
	*id = err ? 0 : (uint32_t)map_get(&x->ids, hash);
	return err;
}
