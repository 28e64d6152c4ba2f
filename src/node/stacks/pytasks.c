/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pytasks.c - tasks of asyncio that wait, and where: read while their loop idles; see python.h.
 *
 * A task has a coroutine; one that awaits another has that at the top of its frame's stack, and so on to
 * the innermost. Up to 3.13 all tasks are in a WeakSet of the module asyncio.tasks, which the modules
 * of asyncio in whose code the loop idles have among their names. From 3.14 on the tasks of a thread
 * are in a list, and _asyncio says where.
 *
 * How Python lays out a WeakSet's attributes changes with each version: its set is searched for, by
 * its type, near it. So is a task's coroutine.
 */
#include <errno.h>

#include "stacks/pyimpl.h"

#define NAMES   1024u /* entries of a dictionary that are looked at */
#define AT_ONCE 64u   /* their names, by one read */
#define NAME    24u   /* bytes of a name that is looked for */
#define DEPTH   3u    /* pointers from a WeakSet to its set */
#define NEAR    12u   /* words that are looked at behind each, */
#define BEFORE  4u    /* and before the first */
#define ENTRIES 65536u
#define TASK    32u /* words of a task */
#define LIST    13u /* words of what _asyncio says */
#define OBJECT  (1u << 16)

enum { DICT_KEYS = 32, MODULE_DICT = 16, WEAKREF_OBJECT = 16, SET_MASK = 32, SET_TABLE = 40 };
enum { OLD_VALUESTACK = 64, OLD_DEPTH = 80 }; /* of a frame of 3.10 */

static uint64_t word_at(const struct python *p, uint64_t addr)
{
	uint64_t v = 0;

	return addr % 8 == 0 && py_read(p, addr, &v, sizeof(v)) ? v : 0;
}

static bool is_a(const struct python *p, uint64_t object, uint64_t type)
{
	return object && object % 8 == 0 && type && word_at(p, object + p->l.type) == type;
}

/* --- dictionaries of modules --- */

struct table {
	uint64_t entries; /* where they are, */
	uint32_t n, size, key;
};

static bool open_dict(const struct python *p, uint64_t dict, struct table *t)
{
	uint64_t keys = word_at(p, dict + DICT_KEYS), head[5];

	if (!keys || !py_read(p, keys, head, sizeof(head)))
		return false;
	if (p->l.minor < 11) {
		uint64_t size = head[1], bytes = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;

		if (size > ENTRIES)
			return false;
		*t = (struct table){ .entries = keys + 40 + size * bytes, .size = 24, .key = 8 };
		t->n = head[4] < NAMES ? (uint32_t)head[4] : NAMES;
		return true;
	}
	if ((head[1] >> 8 & 255) > 20)
		return false;
	t->entries = keys + 32 + (1ull << (head[1] >> 8 & 255));
	t->size = head[1] >> 16 & 255 ? 16 : 24; /* of strings alone */
	t->key = t->size - 16;
	t->n = head[3] < NAMES ? (uint32_t)head[3] : NAMES;
	return true;
}

/* Of these keys the one that is called so; `n`: none. */
static size_t key_of(const struct python *p, const uint64_t *key, size_t n, const char *name)
{
	static unsigned char raw[AT_ONCE][PY_STR_COPY + NAME + 64]; /* a reader is of one thread */
	struct python_piece piece[AT_ONCE];
	size_t len = strlen(name), got;

	for (size_t i = 0; i < n; i++)
		piece[i] = (struct python_piece){ key[i], raw[i], p->l.ascii + len };
	got = p->o.read(p->o.arg, piece, n);
	for (size_t i = 0; i < got; i++)
		if (py_word(raw[i] + p->l.length) == len && !memcmp(raw[i] + p->l.ascii, name, len))
			return i;
	return n;
}

/* What a dictionary has under a name; 0: nothing. */
static uint64_t named(const struct python *p, uint64_t dict, const char *name)
{
	static unsigned char raw[NAMES * 24];
	uint64_t key[AT_ONCE], at[AT_ONCE];
	struct table t;
	size_t n = 0;

	if (p->l.ascii > PY_STR_COPY || !open_dict(p, dict, &t) || !t.n ||
	    !py_read(p, t.entries, raw, (size_t)t.n * t.size))
		return 0;
	for (uint32_t i = 0; i < t.n; i++) {
		const unsigned char *e = raw + (size_t)i * t.size + t.key;

		if (py_word(e) && py_word(e) % 8 == 0 && py_word(e + 8)) {
			key[n] = py_word(e);
			at[n++] = py_word(e + 8);
		}
		if (n == AT_ONCE || (n && i + 1 == t.n)) {
			size_t k = key_of(p, key, n, name);

			if (k < n)
				return at[k];
			n = 0;
		}
	}
	return 0;
}

/* --- the set of tasks, up to 3.13 --- */

/* The first set that words there point to, near ones before those behind further pointers. */
static uint64_t near_set(const struct python *p, uint64_t from, uint32_t depth)
{
	uint64_t w[NEAR], found;

	if (!py_read(p, from, w, sizeof(w)))
		return 0;
	for (uint32_t i = 0; i < NEAR; i++)
		if (is_a(p, w[i], p->o.set_type))
			return w[i];
	for (uint32_t i = 0; depth && i < NEAR; i++) {
		uint64_t to = (w[i] + 1) & ~1ull; /* 3.12 marks a pointer by taking 1 off */

		found = to > 4096 && to % 8 == 0 ? near_set(p, to, depth - 1) : 0;
		if (found)
			return found;
	}
	return 0;
}

static uint64_t set_of(struct python *p, uint64_t globals)
{
	uint64_t names, weak, set = 0;

	if (p->tasks_of == globals && is_a(p, p->tasks_set, p->o.set_type))
		return p->tasks_set;
	names = word_at(p, named(p, globals, "tasks") + MODULE_DICT);
	weak = names ? named(p, names, p->l.minor < 12 ? "_all_tasks" : "_scheduled_tasks") : 0;
	for (uint32_t depth = 0; weak && !set && depth < DEPTH; depth++)
		set = near_set(p, weak - 8 * BEFORE, depth);
	p->tasks_of = globals;
	p->tasks_set = set;
	return set;
}

static size_t tasks_of_set(struct python *p, uint64_t set, uint64_t *out, size_t cap)
{
	uint64_t entry[2 * 64], mask = word_at(p, set + SET_MASK);
	uint64_t table = word_at(p, set + SET_TABLE);
	size_t n = 0;

	for (uint64_t i = 0; table && mask < ENTRIES && i <= mask && n < cap; i += 64) {
		uint64_t some = mask + 1 - i < 64 ? mask + 1 - i : 64;

		if (!py_read(p, table + 16 * i, entry, 16 * some))
			break;
		for (uint64_t k = 0; k < some && n < cap; k++) {
			uint64_t task = entry[2 * k] % 8 || !entry[2 * k]
						? 0
						: word_at(p, entry[2 * k] + WEAKREF_OBJECT);

			if (task && task % 8 == 0)
				out[n++] = task;
		}
	}
	return n;
}

/* --- the list of tasks, from 3.14 on --- */

bool python_needs_asyncio(const struct python *p)
{
	return p->l.minor >= 14 && !p->asyncio;
}

void python_asyncio(struct python *p, uint64_t table)
{
	uint64_t w[LIST];

	if (!table || !py_read(p, table, w, sizeof(w)) || w[5] >= w[0] || w[6] >= w[0] ||
	    w[12] >= w[9] || w[0] > OBJECT || w[9] > OBJECT || w[5] % 8 || w[6] % 8 || w[12] % 8)
		return;
	p->asyncio = table;
	p->coro_at = (uint32_t)w[5];
	p->node_at = (uint32_t)w[6];
	p->head_at = (uint32_t)w[12];
}

static size_t tasks_of_list(struct python *p, uint64_t head, uint64_t *out, size_t cap)
{
	uint64_t node = word_at(p, head);
	size_t n = 0;

	for (; node && node != head && n < cap; node = word_at(p, node))
		out[n++] = node - p->node_at;
	return n;
}

/* --- a task --- */

static uint64_t coro_of(struct python *p, uint64_t task)
{
	uint64_t w[TASK];

	if (p->coro_at) {
		w[0] = word_at(p, task + p->coro_at);
		return is_a(p, w[0], p->o.coro_type) ? w[0] : 0;
	}
	for (uint32_t i = 2; i < TASK; i++) {
		w[i] = word_at(p, task + 8ull * i);
		if (is_a(p, w[i], p->o.coro_type)) {
			p->coro_at = 8 * i;
			return w[i];
		}
	}
	return 0;
}

/* Of the words at the top of its stack the coroutine that it awaits; 0: none, it waits for something else. */
static uint64_t awaited(struct python *p, uint64_t top)
{
	for (uint32_t i = 1; i <= 2; i++) {
		uint64_t at = word_at(p, top - 8ull * i) & ~3ull; /* tags, since 3.14 */

		if (is_a(p, at, p->o.coro_type))
			return at;
	}
	return 0;
}

/* The frame of a coroutine that waits, and the end of its stack. False: it does not wait. */
static bool frame_of(struct python *p, uint64_t coro, struct python_frame *f, uint64_t *top)
{
	const struct py_layout *l = &p->l;
	uint64_t at = coro + l->gen_frame;
	unsigned char raw[PY_FRAME_COPY];
	int8_t state = -1;

	if (l->minor < 11)
		at = word_at(p, at);
	if (!at || at % 8 || !py_read(p, at, raw, l->frame_copy))
		return false;
	/* Below 0 it was made or waits; 3.15 counts from 0 on and runs from 4 on. */
	if (l->gen_state != PY_NONE && !py_read(p, coro + l->gen_state, &state, 1))
		return false;
	if (l->minor < 15 ? state >= 0 : state > 3)
		return false;
	*f = (struct python_frame){ .code = py_word(raw + l->code) & ~7ull };
	f->instr = l->bytecode == PY_NONE ? py_half(raw + l->instr) : py_word(raw + l->instr);
	if (l->minor < 11)
		*top = py_word(raw + OLD_VALUESTACK) + 8ull * (py_half(raw + OLD_DEPTH) & 0xffff);
	else if (l->minor < 14)
		*top = at + l->locals + 8ull * (py_half(raw + l->instr + 8) & 0xffff);
	else
		*top = py_word(raw + l->instr + 8);
	return py_code(p, f->code) != NULL;
}

static bool chain(struct python *p, uint64_t coro, struct python_task *out)
{
	struct python_frame f;
	uint64_t top;

	out->n = 0;
	while (coro && out->n < PYTHON_AWAITS && frame_of(p, coro, &f, &top)) {
		memmove(out->frame + 1, out->frame, out->n * sizeof(f));
		out->frame[0] = f;
		out->n++;
		coro = awaited(p, top);
	}
	return out->n > 0;
}

/* --- a loop --- */

static bool ends(const char *path, const char *with)
{
	size_t n = strlen(path), k = strlen(with);

	return n >= k && !strcmp(path + n - k, with);
}

/* The frame of asyncio that waits; -1: other code runs. */
static int64_t loop_of(struct python *p, const struct python_sample *s, uint64_t now_ns)
{
	struct python_place at;

	for (size_t i = 0; i < s->n && i < 4; i++) {
		python_place(p, &s->frame[i], now_ns, &at);
		if (ends(at.file, "/asyncio/base_events.py") ||
		    ends(at.file, "/asyncio/runners.py"))
			return (int64_t)i;
		if (!ends(at.file, "/selectors.py"))
			return -1;
	}
	return -1;
}

bool python_idles(struct python *p, const struct python_sample *s, uint64_t now_ns)
{
	return p->l.gen_frame != PY_NONE && p->o.coro_type && loop_of(p, s, now_ns) >= 0;
}

size_t python_tasks(struct python *p, const struct python_thread *t, const struct python_sample *s,
		    size_t first, struct python_task *out, size_t cap)
{
	static uint64_t task[PYTHON_TASKS]; /* a reader is of one thread */
	int64_t loop = loop_of(p, s, 1);
	uint64_t set = loop >= 0 && p->l.minor < 14 ? set_of(p, s->frame[loop].globals) : 0;
	size_t n = 0, all = 0;

	if (set)
		all = tasks_of_set(p, set, task, PYTHON_TASKS);
	else if (p->asyncio)
		all = tasks_of_list(p, t->id.state + p->head_at, task, PYTHON_TASKS);
	for (size_t i = 0; i < all && n < cap; i++) {
		uint64_t coro = coro_of(p, task[(first + i) % all]);

		n += coro && chain(p, coro, &out[n]);
	}
	return n;
}
