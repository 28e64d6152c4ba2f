/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_out.c - the rows of a query, written as they come.
 *
 * A table needs its widths before its first line: they come from the first HOLD rows, which are
 * held back until then. On a terminal nothing wraps: long texts are shortened first, then columns
 * on the right are dropped.
 */
#include "cli/report/sql_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOLD     200u
#define TEXT_MIN 16u /* columns that a text keeps when it gives way */

void sql_out_init(struct sql_out *s, const struct opts *o, enum sql_form form)
{
	memset(s, 0, sizeof(*s));
	out_init(&s->out, stdout, o);
	if (o->val[OPT_UNCUT])
		s->out.width = SIZE_MAX;
	s->form = form;
}

/* --- values --- */

static char *hex(const struct sql_value *v)
{
	char *text = malloc(2 * v->len + 1);

	for (size_t i = 0; text && i < v->len; i++)
		snprintf(text + 2 * i, 3, "%02x", (unsigned char)v->text[i]);
	if (text && !v->len)
		*text = 0;
	return text;
}

/* The value as text, owned by the caller; `null` where it is none. */
static char *plain(const struct sql_value *v, const char *null)
{
	char text[40];

	switch (v->type) {
	case SQL_INT:
		snprintf(text, sizeof(text), "%lld", (long long)v->i);
		return strdup(text);
	case SQL_REAL:
		snprintf(text, sizeof(text), "%.15g", v->real);
		return strdup(text);
	case SQL_TEXT:
		return strdup(v->text);
	case SQL_BYTES:
		return hex(v);
	default:
		return strdup(null);
	}
}

/* Safe to be looked at: names come from elsewhere. */
static char *cleaned(const struct sql_out *s, char *text)
{
	size_t cap = text ? 10 * strlen(text) + 1 : 0;
	char *clean = text ? malloc(cap) : NULL;

	if (clean)
		fmt_clean(clean, cap, text, s->out.ascii);
	free(text);
	return clean;
}

/* --- CSV, TSV --- */

static void put_csv(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void put_tsv(FILE *f, const char *text)
{
	for (; *text; text++)
		if (*text == '\t')
			fputs("\\t", f);
		else if (*text == '\n')
			fputs("\\n", f);
		else if (*text == '\r')
			fputs("\\r", f);
		else if (*text == '\\')
			fputs("\\\\", f);
		else
			fputc(*text, f);
}

static void put_field(const struct sql_out *s, int i, char *text)
{
	FILE *f = s->out.f;

	if (s->out.tty)
		text = cleaned(s, text);
	if (i)
		fputc(s->form == FORM_CSV ? ',' : '\t', f);
	if (text && s->form == FORM_CSV)
		put_csv(f, text);
	else if (text)
		put_tsv(f, text);
	free(text);
}

/* --- JSON --- */

static void put_json(struct json *j, const struct sql_value *v)
{
	char *text;

	if (v->type == SQL_INT) {
		json_i64(j, NULL, v->i);
	} else if (v->type == SQL_REAL) {
		json_double(j, NULL, v->real);
	} else if (v->type == SQL_TEXT) {
		json_str(j, NULL, v->text);
	} else if (v->type == SQL_BYTES) {
		text = hex(v);
		json_str(j, NULL, text);
		free(text);
	} else {
		json_null(j, NULL);
	}
}

/* --- tables --- */

static size_t total(const struct sql_out *s)
{
	size_t sum = 0;

	for (int i = 0; i < s->shown; i++)
		sum += s->width[i] + (i ? 2 : 0);
	return sum;
}

/* Texts give way, the widest first; then columns go, from the right. */
static void fit(struct sql_out *s)
{
	s->shown = s->cols;
	while (total(s) > s->out.width) {
		int widest = -1;

		for (int i = 0; i < s->shown; i++)
			if (!s->number[i] && s->width[i] > TEXT_MIN &&
			    (widest < 0 || s->width[i] > s->width[widest]))
				widest = i;
		if (widest >= 0)
			s->width[widest]--;
		else if (s->shown > 1)
			s->shown--;
		else
			break;
	}
}

static void put_cells(const struct sql_out *s, char *const *cell)
{
	char cut[OUT_TEXT];

	for (int i = 0; i < s->shown; i++) {
		const char *text = cell[i] ? cell[i] : "";
		size_t width = fmt_width(text), pad;

		if (s->out.width != SIZE_MAX && width > s->width[i])
			text = fmt_ellipsis(cut, sizeof(cut), text, s->width[i], s->out.ascii);
		width = fmt_width(text);
		pad = width < s->width[i] ? s->width[i] - width : 0;
		if (s->number[i])
			fprintf(s->out.f, "%s%*s%s", i ? "  " : "", (int)pad, "", text);
		else
			fprintf(s->out.f, "%s%s%*s", i ? "  " : "", text,
				i == s->shown - 1 ? 0 : (int)pad, "");
	}
	fputc('\n', s->out.f);
}

/* The widths are known now: the head, and what was held. */
static int flush(struct sql_out *s)
{
	s->width = calloc((size_t)s->cols + 1, sizeof(*s->width));
	if (!s->width)
		return -ENOMEM;
	for (int i = 0; i < s->cols; i++) {
		s->width[i] = fmt_width(s->head[i]);
		for (size_t r = 0; r < s->held; r++) {
			const char *text = s->cell[r * (size_t)s->cols + (size_t)i];
			size_t width = text ? fmt_width(text) : 0;

			s->width[i] = width > s->width[i] ? width : s->width[i];
		}
	}
	fit(s);
	fputs(out_style(&s->out, OUT_BOLD), s->out.f);
	put_cells(s, s->head);
	fputs(out_style(&s->out, OUT_PLAIN), s->out.f);
	for (size_t r = 0; r < s->held; r++)
		put_cells(s, s->cell + r * (size_t)s->cols);
	return 0;
}

static int put_table(struct sql_out *s, const struct sql_value *v)
{
	char **cell = s->cell + (s->width ? 0 : s->held) * (size_t)s->cols;
	int err = 0;

	for (int i = 0; i < s->cols; i++) {
		if (s->width)
			free(cell[i]);
		cell[i] = cleaned(s, plain(&v[i], "-"));
		if (!s->width && v[i].type != SQL_NULL)
			s->number[i] &= v[i].type == SQL_INT || v[i].type == SQL_REAL;
	}
	if (s->width) {
		put_cells(s, cell);
		return 0;
	}
	if (++s->held == HOLD)
		err = flush(s);
	return err;
}

/* --- the sink --- */

static int on_begin(void *arg, const char *const *names, int cols)
{
	struct sql_out *s = arg;

	s->cols = cols;
	if (s->form == FORM_JSON) {
		json_init(&s->j, s->out.f);
		json_open(&s->j, NULL, '{');
		json_str(&s->j, "schema", s->schema ? s->schema : "aon.sql/1");
		if (s->of)
			json_str(&s->j, "cluster", s->of);
		if (s->what)
			json_str(&s->j, "what", s->what);
		json_open(&s->j, "columns", '[');
		for (int i = 0; i < cols; i++)
			json_str(&s->j, NULL, names[i]);
		json_close(&s->j);
		json_open(&s->j, "rows", '[');
		return 0;
	}
	if (s->form != FORM_TABLE) {
		for (int i = 0; i < cols; i++)
			put_field(s, i, strdup(names[i]));
		fputc('\n', s->out.f);
		return 0;
	}
	s->head = calloc((size_t)cols + 1, sizeof(*s->head));
	s->cell = calloc(((size_t)cols + 1) * HOLD, sizeof(*s->cell));
	s->number = malloc((size_t)cols + 1);
	if (!s->head || !s->cell || !s->number)
		return -ENOMEM;
	memset(s->number, true, (size_t)cols + 1);
	for (int i = 0; i < cols; i++)
		s->head[i] = cleaned(s, strdup(names[i]));
	return 0;
}

static int on_row(void *arg, const struct sql_value *v, int cols)
{
	struct sql_out *s = arg;
	int err = 0;

	s->rows++;
	if (s->form == FORM_JSON) {
		json_open(&s->j, NULL, '[');
		for (int i = 0; i < cols; i++)
			put_json(&s->j, &v[i]);
		json_close(&s->j);
	} else if (s->form == FORM_TABLE) {
		err = put_table(s, v);
	} else {
		for (int i = 0; i < cols; i++)
			put_field(s, i, plain(&v[i], ""));
		fputc('\n', s->out.f);
	}
	return err < 0 ? err : ferror(s->out.f) ? -EPIPE : 0;
}

static int on_end(void *arg)
{
	(void)arg;
	return 0;
}

void sql_out_sink(struct sql_out *s, struct sql_sink *sink)
{
	*sink = (struct sql_sink){ on_begin, on_row, on_end, s };
}

void sql_out_fini(struct sql_out *s, const char *error)
{
	if (s->form == FORM_JSON && s->cols) {
		json_close(&s->j);
		if (error)
			json_str(&s->j, "error", error);
		json_end(&s->j);
	}
	if (s->form == FORM_TABLE && s->cols && !s->width && (s->held || (!error && !s->no_empty)))
		flush(s);
	if (s->shown && s->shown < s->cols)
		out_line(&s->out, OUT_DIM, "+ %d columns that do not fit (--wide, --csv)",
			 s->cols - s->shown);
	for (int i = 0; s->head && i < s->cols; i++)
		free(s->head[i]);
	for (size_t i = 0; s->cell && i < (size_t)s->cols * HOLD; i++)
		free(s->cell[i]);
	free(s->head);
	free(s->cell);
	free(s->number);
	free(s->width);
}
