/* SPDX-License-Identifier: Apache-2.0 */
/* python.c - the interpreter of a process, its threads, and one thread's frames as text. */
#include "stacks/python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "stacks/pyimpl.h"
#include "stacks/stack.h"

#define INTERPS 64u

static const uint32_t tid_at[] = { 720, 48, 56 }; /* in a pthread_t: glibc, musl */

bool python_known(uint32_t version)
{
	return py_layout_known(version);
}

int python_new(struct python **out, const struct python_opts *o)
{
	uint64_t words[PY_WORDS] = { 0 };
	struct python *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->o = *o;
	if (!o->runtime || !py_read(p, o->runtime, words, sizeof(words)) ||
	    py_layout(&p->l, o->version, words)) {
		python_free(p);
		return -ENOENT;
	}
	py_codes_clear(p);
	*out = p;
	return 0;
}

void python_free(struct python *p)
{
	if (!p)
		return;
	map_fini(&p->codes);
	map_fini(&p->lines);
	free(p->code);
	free(p->text);
	free(p);
}

/* --- threads --- */

static uint64_t word_at(const struct python *p, uint64_t addr)
{
	uint64_t v = 0;

	return py_read(p, addr, &v, sizeof(v)) ? v : 0;
}

/* 3.10 does not keep the kernel's number of a thread; libc does, always at the same place. */
static uint32_t tid_of_self(const struct python *p, uint64_t self)
{
	uint32_t tid = 0;

	for (size_t i = 0; self && i < sizeof(tid_at) / sizeof(tid_at[0]); i++)
		if (py_read(p, self + tid_at[i], &tid, sizeof(tid)) && tid && tid <= 1u << 22)
			return tid;
	return 0;
}

static uint64_t gil_of(const struct python *p, uint64_t interp)
{
	return p->l.minor < 12 ? p->o.runtime + p->l.gil : word_at(p, interp + p->l.gil);
}

/* The next state, or 0. */
static uint64_t fill(const struct python *p, uint64_t state, struct python_id *t)
{
	unsigned char raw[PY_THREAD_COPY];
	uint64_t frame;

	if (!py_read(p, state, raw, p->l.thread_copy))
		return 0;
	frame = py_word(raw + p->l.frame);
	t->runs = frame && (p->l.current == PY_NONE || word_at(p, frame + p->l.current));
	t->state = state;
	t->interp = py_word(raw + p->l.interp);
	t->self = py_word(raw + p->l.self);
	t->tid = p->l.id == PY_NONE ? tid_of_self(p, t->self) : py_half(raw + p->l.id);
	return py_word(raw + p->l.next);
}

size_t python_threads(struct python *p, struct python_id *out, size_t cap)
{
	uint64_t interp = word_at(p, p->o.runtime + p->l.interps);
	size_t n = 0, left = PYTHON_THREADS;

	for (uint32_t i = 0; interp && i < INTERPS; i++) {
		uint64_t state = word_at(p, interp + p->l.threads);

		for (; state && n < cap && left; left--) {
			struct python_id t = { 0 };

			state = fill(p, state, &t);
			/* A list that was changed meanwhile leads elsewhere. */
			if (t.state && t.interp == interp)
				out[n++] = t;
		}
		interp = word_at(p, interp + p->l.interp_next);
	}
	return n;
}

const struct python_id *python_thread_of(struct python *p, const struct python_id *all, size_t n,
					 uint32_t tid, uint64_t self)
{
	const struct python_id *idle = NULL, *best = NULL;

	for (size_t i = 0; i < n; i++) {
		if (self ? all[i].self != self : all[i].tid != tid)
			continue;
		idle = idle ? idle : &all[i];
		/* The newest interpreter is first. Before 3.13 its state may have been made by this
		 * thread and be run by another. */
		if (all[i].runs && (!best || p->l.minor < 13))
			best = &all[i];
	}
	if (best)
		return best;
	/* A child of a fork may still have the numbers of its parent. */
	for (size_t i = 0; i < n && !self && !idle; i++)
		if (tid_of_self(p, all[i].self) == tid)
			idle = &all[i];
	return idle;
}

void python_thread(struct python *p, const struct python_id *id, struct python_thread *out)
{
	*out = (struct python_thread){ .id = *id, .gil = gil_of(p, id->interp) };
}

/* --- a stack as text --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void append_task(struct python *p, const struct python_task *t, size_t times,
			struct stack *out)
{
	struct python_place at;
	char name[96];

	for (size_t i = 0; i < t->n; i++) {
		python_place(p, &t->frame[i], 0, &at);
		snprintf(name, sizeof(name), "[%zu task%s] %s", times, times > 1 ? "s" : "",
			 at.name);
		stack_add(out, name, last_part(at.file), at.line);
	}
}

static bool is_same(const struct python_task *a, const struct python_task *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = a->frame[i].code == b->frame[i].code &&
		       a->frame[i].instr == b->frame[i].instr;
	return same;
}

/* Those at the same place together. */
static void append_tasks(struct python *p, const struct python_thread *t,
			 const struct python_sample *s, struct stack *out)
{
	struct python_task *all = calloc(PYTHON_TASKS, sizeof(*all));
	size_t n = all ? python_tasks(p, t, s, 0, all, PYTHON_TASKS) : 0;

	for (size_t i = 0; i < n; i++) {
		size_t times = 1;

		for (size_t k = i + 1; all[i].n && k < n; k++)
			if (is_same(&all[i], &all[k])) {
				all[k].n = 0;
				times++;
			}
		append_task(p, &all[i], times, out);
	}
	free(all);
}

static int append(struct python *p, struct python_thread *t, struct stack *out, struct stack *tasks)
{
	struct python_sample *s = malloc(sizeof(*s));
	struct python_place at;
	int err = s ? python_sample(p, t, NULL, 0, NULL, s) : -ENOMEM;

	for (size_t i = 0; !err && i < s->n; i++) {
		python_place(p, &s->frame[i], 0, &at);
		if (out->n == STACK_FRAMES)
			break;
		stack_add(out, at.name, last_part(at.file), at.line);
		out->frame[out->n - 1].entry = s->frame[i].entry;
	}
	if (!err && python_idles(p, s, 1))
		append_tasks(p, t, s, tasks);
	free(s);
	return err;
}

int python_stack(const struct python_opts *o, uint64_t self, uint64_t asyncio, struct stack *out,
		 struct stack *tasks)
{
	struct python_id *all = malloc(PYTHON_THREADS * sizeof(*all));
	const struct python_id *id;
	struct python_thread t;
	struct python *p = NULL;
	int err = all ? python_new(&p, o) : -ENOMEM;

	if (!err) {
		python_asyncio(p, asyncio);
		id = python_thread_of(p, all, python_threads(p, all, PYTHON_THREADS), 0, self);
		err = id ? 0 : -ENOENT;
	}
	if (!err) {
		python_thread(p, id, &t);
		err = append(p, &t, out, tasks);
	}
	python_free(p);
	free(all);
	return err;
}
