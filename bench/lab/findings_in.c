/* SPDX-License-Identifier: Apache-2.0 */
/* findings_in.c - reads findings of an external diagnoser, one JSON object per line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab/text.h"

/* --- a line --- */

static int components(const struct text *x, struct json_tok v, struct diag_finding *f)
{
	const char *p = v.s + 1;
	struct json_tok item;

	if (*v.s != '[')
		return text_wrong(x, v.s, "\"component\" must be a list");
	f->parts = 0;
	while (json_item(&p, x->end, &item)) {
		struct json_tok t = json_tok_text(item);

		if (f->parts == DIAG_PARTS || *item.s != '"' ||
		    !text_place(&f->part[f->parts], t.s, t.len))
			return text_wrong(x, item.s,
					  "\"component\" has up to %u places, as \"rank:3\"",
					  DIAG_PARTS);
		f->parts++;
	}
	return 0;
}

static int kind(const struct text *x, struct json_tok v, struct diag_finding *f)
{
	struct json_tok t = json_tok_text(v);
	int k = fault_kind_of(t.s, t.len);

	f->kind = 0;
	if (json_tok_is(v, "null"))
		return 0;
	if (k < 0 || k >= (int)DIAG_KINDS - 1)
		return text_wrong(x, v.s, "\"kind\" is F1 to F30, or null");
	f->kind = (uint8_t)(k + 1);
	return 0;
}

static int line_pair(const struct text *x, struct folder_line *l, struct json_tok key,
		     struct json_tok v, bool *has_step)
{
	double d = 0;
	int err = 0;

	if (json_tok_is(key, "case"))
		return text_string(x, v, l->name, sizeof(l->name), "case");
	if (json_tok_is(key, "component"))
		return components(x, v, &l->f);
	if (json_tok_is(key, "kind"))
		return kind(x, v, &l->f);
	if (json_tok_is(key, "act"))
		l->f.act = json_tok_is(v, "true");
	if (json_tok_is(key, "step")) {
		err = text_number(x, v, 1e9, &d, "step");
		l->f.step = (uint32_t)d;
		*has_step = true;
	} else if (json_tok_is(key, "gain")) {
		err = text_number(x, v, 1, &d, "gain");
		l->f.gain = (float)d;
	} else if (json_tok_is(key, "confidence")) {
		err = text_number(x, v, 1, &d, "confidence");
		l->f.confidence = (float)d;
	}
	return err;
}

static int read_line(const struct text *x, const char *from, struct folder_line *l)
{
	const char *p = from + 1;
	struct json_tok key, value;
	bool has_step = false;
	int err = 0;

	*l = (struct folder_line){ 0 };
	while (!err && json_pair(&p, x->end, &key, &value))
		err = line_pair(x, l, key, value, &has_step);
	if (!err && (!*l->name || !l->f.parts || !has_step))
		err = text_wrong(x, from, "a finding needs \"case\", \"step\" and \"component\"");
	return err;
}

int folder_lines(struct folder_lines *out, const char *text, size_t len, struct folder_why *why)
{
	struct text x;
	const char *p;
	int err = text_init(&x, text, len, why);

	if (err < 0)
		return err;
	*out = (struct folder_lines){ 0 };
	for (p = json_space(x.text, x.end); !err && p < x.end; p = json_space(p, x.end)) {
		const char *next = *p == '{' ? json_skip(p, x.end) : NULL;

		if (!next || next > x.end) {
			err = text_wrong(&x, p, "a JSON object was expected, whole");
			break;
		}
		if (out->n == out->cap) {
			size_t cap = out->cap ? out->cap * 2 : 64;
			struct folder_line *line = realloc(out->line, cap * sizeof(*line));

			if (!line) {
				err = -ENOMEM;
				break;
			}
			out->line = line;
			out->cap = cap;
		}
		err = read_line(&x, p, &out->line[out->n]);
		out->n += !err;
		p = next;
	}
	text_fini(&x);
	if (err < 0)
		folder_lines_fini(out);
	return err;
}

void folder_lines_fini(struct folder_lines *l)
{
	free(l->line);
	*l = (struct folder_lines){ 0 };
}
