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
enum meaning { OF_KERNEL, OF_OPERATOR, OF_EXPERTS, OF_CALL, OF_RANGE, OF_FILE, MEANINGS };

#define NAME_BYTES 4096u

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

static const struct match_rule operator_rule[] = {
#define OPERATOR(ID, words) { words, CLASS_##ID },
#include "names/class.tbl.h"
};

static const struct match_rule experts_rule[] = {
#define EXPERTS(ID, words) { words, EXPERTS_##ID },
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
	[OF_OPERATOR] = { operator_rule, LEN(operator_rule), CLASSES },
	[OF_EXPERTS] = { experts_rule, LEN(experts_rule), EXPERTS_NONE },
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

/* --- kernels --- */

/* "void ns::f<A, B>(int)": the name before the arguments of its template and its parameters to `own`;
 * the names inside the template's arguments without their namespaces, as these are of types only, to
 * `args`, separated by blanks. */
struct parts {
	char own[NAME_BYTES], args[NAME_BYTES];
	size_t owns, argss;
};

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static void split(struct parts *p, const char *s, size_t len)
{
	static const char none[] = "(anonymous namespace)";
	size_t depth = 0, word = 0;
	bool over = false;

	p->owns = p->argss = 0;
	len = len < NAME_BYTES - 1 ? len : NAME_BYTES - 1;
	for (size_t i = 0; i < len; i++) {
		if (len - i >= sizeof(none) - 1 && !memcmp(s + i, none, sizeof(none) - 1)) {
			i += sizeof(none) - 2;
			word = i + 1;
			continue;
		}
		if (s[i] == '(' && !depth)
			over = true; /* parameters, or a lambda of the function */
		depth += s[i] == '<' || s[i] == '(' || s[i] == '{';
		if (depth == 0 && !over) {
			p->own[p->owns++] = s[i];
			word = i + 1;
		} else if (is_word(s[i]) && i + 1 < len) {
			/* a word goes on */
		} else {
			size_t end = is_word(s[i]) ? i + 1 : i;

			/* "ns::" is dropped. */
			if (end > word && !over &&
			    !(s[i] == ':' && i + 1 < len && s[i + 1] == ':')) {
				memcpy(p->args + p->argss, s + word, end - word);
				p->argss += end - word;
				p->args[p->argss++] = ' ';
			}
			word = i + 1;
		}
		if ((s[i] == '>' || s[i] == ')' || s[i] == '}') && depth)
			depth--;
	}
}

/* Of an elementwise kernel, the function that it applies may say more; not that it multiplies or sums. */
static bool refines(uint8_t class)
{
	return class == CLASS_LAYOUT || class == CLASS_RANDOM || class == CLASS_QUANT ||
	       class == CLASS_OPTIMIZER || class == CLASS_SOFTMAX || class == CLASS_NORM ||
	       class == CLASS_POOL || class == CLASS_EMBEDDING;
}

static bool starts(const char *s, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(s, with, strlen(with));
}

/* Inductor lists in a name all that was fused; what is reduced is its core. */
static uint8_t inductor_of(uint8_t class)
{
	return class == CLASS_NORM || class == CLASS_SOFTMAX ? class : CLASS_REDUCTION;
}

static uint8_t kernel_of(const struct names *n, const char *s, size_t len)
{
	const struct match *m = n->match[OF_KERNEL];
	struct parts p;
	uint8_t own, arg;

	split(&p, s, len);
	own = match_find(m, p.own, p.owns, CLASSES);
	if (starts(s, len, "triton_red_") || starts(s, len, "triton_per_"))
		return inductor_of(own);
	if (own != CLASSES && own != CLASS_ELEMENTWISE && own != CLASS_OTHER)
		return own;
	arg = p.argss ? match_find(m, p.args, p.argss, CLASSES) : CLASSES;
	if (own == CLASS_ELEMENTWISE)
		return refines(arg) ? arg : own;
	return arg == CLASSES ? CLASS_OTHER : arg;
}

/* --- operators --- */

/* All that such an operator launches is of its kind, whatever else it calls. */
static bool is_whole(enum kclass c)
{
	return c == CLASS_OPTIMIZER || c == CLASS_ATTENTION || c == CLASS_CONV || c == CLASS_NORM ||
	       c == CLASS_SOFTMAX || c == CLASS_EMBEDDING || c == CLASS_POOL || c == CLASS_FFT;
}

enum kclass class_inside(enum kclass outer, enum kclass inner)
{
	return inner == CLASSES || is_whole(outer) ? outer : inner;
}

enum kclass class_launched(enum kclass k, enum kclass o)
{
	bool encloses = o == CLASS_CONV || o == CLASS_ATTENTION || o == CLASS_OPTIMIZER;

	switch (k) {
	case CLASS_OTHER:
		return o == CLASSES ? k : o;
	case CLASS_GEMM:
	case CLASS_SOFTMAX:
	case CLASS_NORM:
		return encloses ? o : k;
	case CLASS_LAYOUT:
		return o == CLASS_CONV || o == CLASS_OPTIMIZER ? o : k;
	case CLASS_ELEMENTWISE:
		return is_whole(o) || o == CLASS_LAYOUT || o == CLASS_RANDOM || o == CLASS_QUANT ||
				       o == CLASS_MOE
			       ? o
			       : k;
	case CLASS_REDUCTION:
	case CLASS_INDEX:
		return is_whole(o) || o == CLASS_GEMM || o == CLASS_MOE ? o : k;
	default:
		return k;
	}
}

/* --- ranges --- */

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
	if (of == OF_RANGE)
		is = range_of(n, text->s, text->len);
	else if (of == OF_KERNEL)
		is = kernel_of(n, text->s, text->len);
	else
		is = match_find(n->match[of], text->s, text->len, table[of].or_else);
	if (name < n->room[of] || widen(n, of))
		n->known[of][name] = is;
	return is;
}

enum kclass names_kernel(struct names *n, uint32_t name)
{
	return find(n, OF_KERNEL, name);
}

enum kclass names_operator(struct names *n, uint32_t name)
{
	return find(n, OF_OPERATOR, name);
}

enum experts names_experts(struct names *n, uint32_t name)
{
	return find(n, OF_EXPERTS, name);
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
	return kernel_of(n, name, strlen(name));
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
