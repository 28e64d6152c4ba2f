/* SPDX-License-Identifier: Apache-2.0 */
/* class.c - the tables of class.tbl.h; each name is classified once. */
#include "names/class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "names/match.h"
#include "model/event.h"

#define UNKNOWN 0xffu

/* A name may be a kernel's and a call's: each meaning is kept apart. */
enum meaning { OF_KERNEL, OF_CALL, OF_RANGE, OF_FILE, MEANINGS };

struct names {
	const struct trace *t; /* borrowed */
	struct match *match[MEANINGS];
	uint8_t *known[MEANINGS]; /* owned, by name */
	size_t room[MEANINGS];    /* names may come later */
};

const char *const class_word[CLASSES] = {
#define CLASS(ID, word, people) [CLASS_##ID] = word,
#include "names/class.tbl.h"
};

const char *const class_people[CLASSES] = {
#define CLASS(ID, word, people) [CLASS_##ID] = people,
#include "names/class.tbl.h"
};

static const struct match_rule kernel_rule[] = {
#define KERNEL(ID, words) { words, CLASS_##ID },
#include "names/class.tbl.h"
};

static const struct match_rule call_rule[] = {
#define CALL(ID, words) { words, CALL_##ID },
#include "names/class.tbl.h"
};

static const struct match_rule range_rule[] = {
#define RANGE(ID, words) { words, RANGE_##ID },
#include "names/class.tbl.h"
};

static const struct match_rule file_rule[] = {
#define FILE_OF(ID, words) { words, RANGE_##ID },
#include "names/class.tbl.h"
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const struct match_rule *rule;
	size_t rules;
	uint8_t or_else;
} table[MEANINGS] = {
	[OF_KERNEL] = { kernel_rule, LEN(kernel_rule), CLASS_OTHER },
	[OF_CALL] = { call_rule, LEN(call_rule), CALL_OTHER },
	[OF_RANGE] = { range_rule, LEN(range_rule), RANGE_OTHER },
	[OF_FILE] = { file_rule, LEN(file_rule), RANGE_OTHER },
};

int names_new(struct names **out, const struct trace *t)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->t = t;
	for (size_t i = 0; i < MEANINGS; i++) {
		if (match_new(&n->match[i], table[i].rule, table[i].rules) < 0)
			goto free_names;
		if (!t)
			continue;
		n->known[i] = malloc(t->names + 1);
		if (!n->known[i])
			goto free_names;
		memset(n->known[i], UNKNOWN, t->names + 1);
		n->room[i] = t->names + 1;
	}
	*out = n;
	return 0;

free_names:
	names_free(n);
	return -ENOMEM;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < MEANINGS; i++) {
		match_free(n->match[i]);
		free(n->known[i]);
	}
	free(n);
}

static bool widen(struct names *n, enum meaning of)
{
	size_t had = n->room[of];

	if (vec_room(&n->known[of], &n->room[of], n->t->names, 1) < 0)
		return false;
	memset(n->known[of] + had, UNKNOWN, n->room[of] - had);
	return true;
}

/* What makes a loader is no batch. */
static bool is_maker(const char *text, size_t len)
{
	return memmem(text, len, "__init__", 8) || memmem(text, len, "__iter__", 8) ||
	       memmem(text, len, "__len__", 7) || memmem(text, len, "__del__", 7);
}

/* A profiler works when it starts, stops or changes what it does; all else only encloses. */
static bool is_profiling(const char *function, size_t len)
{
	static const char *const word[] = { "start",           "stop",       "step",
					    "_transit_action", "__exit__",   "prepare_trace",
					    "start_trace",     "stop_trace", "_start_trace",
					    "_stop_trace" };

	for (size_t i = 0; i < LEN(word); i++)
		if (strlen(word[i]) == len && !memcmp(word[i], function, len))
			return true;
	return false;
}

/* Of a Python function, "path/file.py(12): name", the name says what it does, else its file does: a
 * path may have any word in it. */
static uint8_t range_of(const struct names *n, const char *text, size_t len)
{
	const char *py = memmem(text, len, ".py(", 4), *colon;
	uint8_t is;

	colon = py ? memmem(py, len - (size_t)(py - text), "): ", 3) : NULL;
	if (colon) {
		size_t skip = (size_t)(colon + 3 - text);

		is = match_find(n->match[OF_RANGE], colon + 3, len - skip, RANGE_OTHER);
		if (is == RANGE_OTHER || is == RANGE_MODULE || is == RANGE_MEMORY)
			is = match_find(n->match[OF_FILE], text, skip, RANGE_OTHER);
		if (is == RANGE_PROFILER && !is_profiling(colon + 3, len - skip))
			is = RANGE_OTHER;
	} else {
		is = match_find(n->match[OF_RANGE], text, len, RANGE_OTHER);
	}
	return is == RANGE_INPUT && is_maker(text, len) ? RANGE_OTHER : is;
}

static uint8_t find(struct names *n, enum meaning of, uint32_t name)
{
	const struct trace_text *text;
	uint8_t is;

	if (!n->t || name >= n->t->names)
		return table[of].or_else;
	if (name < n->room[of] && n->known[of][name] != UNKNOWN)
		return n->known[of][name];
	text = &n->t->name[name];
	is = of == OF_RANGE ? range_of(n, text->s, text->len)
			    : match_find(n->match[of], text->s, text->len, table[of].or_else);
	if (name < n->room[of] || widen(n, of))
		n->known[of][name] = is;
	return is;
}

enum kclass names_kernel(struct names *n, uint32_t name)
{
	return find(n, OF_KERNEL, name);
}

enum call names_call(struct names *n, uint32_t name)
{
	return find(n, OF_CALL, name);
}

enum range_kind names_range(struct names *n, uint32_t name)
{
	return find(n, OF_RANGE, name);
}

enum kclass names_kernel_text(const struct names *n, const char *name)
{
	return match_find(n->match[OF_KERNEL], name, strlen(name), CLASS_OTHER);
}

enum kclass names_work_text(const struct names *n, uint32_t kind, const char *name)
{
	switch (kind) {
	case EVENT_COPY:
		return CLASS_COPY;
	case EVENT_MEMSET:
		return CLASS_MEMSET;
	case EVENT_COLLECTIVE:
		return CLASS_COMM;
	default:
		return n ? names_kernel_text(n, name) : CLASS_OTHER;
	}
}

enum call names_call_text(const struct names *n, const char *name)
{
	return match_find(n->match[OF_CALL], name, strlen(name), CALL_OTHER);
}

enum range_kind names_range_text(const struct names *n, const char *name)
{
	return range_of(n, name, strlen(name));
}
