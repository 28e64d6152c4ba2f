/* SPDX-License-Identifier: Apache-2.0 */
/* stack.c - frames as text, and who has the same; see stack.h. */
#include "stacks/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

/* A name must not look like two frames. */
static void close_up(char *s)
{
	for (char *at = strstr(s, STACK_BETWEEN); at; at = strstr(at, STACK_BETWEEN))
		memmove(at, at + 1, strlen(at));
}

void stack_add(struct stack *s, const char *name, const char *file, uint32_t line)
{
	struct frame *f = &s->frame[s->n];

	if (s->n == STACK_FRAMES)
		return;
	s->n++;
	fmt_clean(f->name, sizeof(f->name), name, true);
	fmt_clean(f->file, sizeof(f->file), file, true);
	close_up(f->name);
	close_up(f->file);
	f->line = line;
	f->entry = f->inlined = false;
}

void frame_text(const struct frame *f, char out[FRAME_TEXT])
{
	char line[16] = "";

	if (f->line)
		snprintf(line, sizeof(line), ":%u", f->line);
	if (*f->file)
		snprintf(out, FRAME_TEXT, "%s (%s%s%s)", f->name, f->file, line,
			 f->inlined ? ", inlined" : "");
	else
		snprintf(out, FRAME_TEXT, "%s", f->name);
}

static size_t put(char out[STACK_TEXT], size_t at, const struct frame *f)
{
	char text[FRAME_TEXT];
	int n;

	frame_text(f, text);
	n = snprintf(out + at, STACK_TEXT - at, "%s%s", at ? STACK_BETWEEN : "", text);
	return at + (size_t)n < STACK_TEXT ? at + (size_t)n : STACK_TEXT - 1;
}

void stack_text(const struct stack *s, char out[STACK_TEXT])
{
	size_t at = 0, shown = s->n < STACK_SHOWN ? s->n : STACK_SHOWN;

	if (*s->why || !s->n) {
		snprintf(out, STACK_TEXT, "no stack: %s", *s->why ? s->why : "it has none");
		return;
	}
	for (size_t i = 0; i < shown && at < STACK_TEXT - 256; i++) {
		at = put(out, at, &s->frame[i]);
		shown = at < STACK_TEXT - 256 ? shown : i + 1;
	}
	if (shown < s->n)
		snprintf(out + at, STACK_TEXT - at, STACK_BETWEEN "%zu more", s->n - shown);
}

void stack_short(const char *name, char *out, size_t cap)
{
	static const char nobody[] = "(anonymous namespace)";
	size_t depth = 0, n = 0;

	for (const char *c = name; *c && n + 1 < cap; c++) {
		if (!depth && !strncmp(c, nobody, sizeof(nobody) - 1)) {
			c += sizeof(nobody) - 2;
			if (c[1] == ':' && c[2] == ':')
				c += 2;
			continue;
		}
		if (*c == '(' && !depth && n)
			break;
		if (*c == '<' && n) {
			depth++;
			continue;
		}
		if (*c == '>' && depth) {
			depth--;
			continue;
		}
		if (!depth)
			out[n++] = *c;
	}
	out[n] = '\0';
	if (!n)
		snprintf(out, cap, "%s", name);
}

/* --- those of many --- */

static int by_text(const void *a, const void *b)
{
	const struct stacked *x = a, *y = b;
	int d = strcmp(x->text, y->text);

	return d ? d : x->number < y->number ? -1 : x->number > y->number;
}

static int by_group(const void *a, const void *b)
{
	const struct stacked *x = a, *y = b;

	return x->group != y->group ? (x->group > y->group ? -1 : 1) : by_text(a, b);
}

void stacks_merge(struct stacked *s, size_t n)
{
	qsort(s, n, sizeof(*s), by_text);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(s[i].text, s[end].text); end++)
			;
		for (size_t k = i; k < end; k++)
			s[k].group = end - i;
	}
	qsort(s, n, sizeof(*s), by_group);
}

void stacks_who(const struct stacked *s, size_t n, char *out, size_t cap)
{
	size_t at = 0;

	*out = '\0';
	for (size_t i = 0, end; i < n && at + 32 < cap; i = end) {
		for (end = i + 1; end < n && s[end].number == s[end - 1].number + 1; end++)
			;
		at += (size_t)snprintf(out + at, cap - at, "%s%u", i ? "," : "", s[i].number);
		if (end - i > 1)
			at += (size_t)snprintf(out + at, cap - at, "%c%u", end - i > 2 ? '-' : ',',
					       s[end - 1].number);
		if (end < n && at + 32 >= cap)
			snprintf(out + at, cap - at, " and %zu more", n - end);
	}
}
