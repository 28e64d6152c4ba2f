/* SPDX-License-Identifier: Apache-2.0 */
/* out.c - text that fits its output; see out.h. */
#include "cli/core/out.h"

#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/vec.h"

#define WIDTH_MAX 100u /* wider lines are harder to read */
#define WIDTH_MIN 20u
#define FLEX_MIN  16u /* of a name, before columns go */
#define GAP       2u

void out_init(struct out *out, FILE *f, const struct opts *o)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize ws = { 0 };

	memset(out, 0, sizeof(*out));
	out->f = f;
	out->tty = isatty(fileno(f));
	out->all = o->val[OPT_ALL] != NULL;
	out->ascii = o->val[OPT_ASCII] || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	out->color = out->tty && !o->val[OPT_NOCOLOR] && !(no_color && *no_color) && term &&
		     strcmp(term, "dumb") != 0;
	out->width = SIZE_MAX;
	if (out->tty && !o->val[OPT_WIDE]) {
		out->width = 80;
		if (ioctl(fileno(f), TIOCGWINSZ, &ws) == 0 && ws.ws_col)
			out->width = ws.ws_col < WIDTH_MAX ? ws.ws_col : WIDTH_MAX;
		if (out->width < WIDTH_MIN)
			out->width = WIDTH_MIN;
	}
}

const char *out_style(const struct out *out, enum out_style style)
{
	static const char *const escape[] = {
		[OUT_PLAIN] = "\x1b[0m", [OUT_BOLD] = "\x1b[1m",  [OUT_WARN] = "\x1b[33m",
		[OUT_FAIL] = "\x1b[31m", [OUT_COPY] = "\x1b[36m", [OUT_DIM] = "\x1b[2m",
	};

	return out->color ? escape[style] : "";
}

static void put_styled(const struct out *out, enum out_style style, const char *text)
{
	char cut[OUT_TEXT];

	if (out->width != SIZE_MAX)
		text = fmt_ellipsis(cut, sizeof(cut), text, out->width, out->ascii);
	if (style == OUT_PLAIN)
		fprintf(out->f, "%s\n", text);
	else
		fprintf(out->f, "%s%s%s\n", out_style(out, style), text, out_style(out, OUT_PLAIN));
}

void out_line(const struct out *out, enum out_style style, const char *fmt, ...)
{
	char text[OUT_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_styled(out, style, text);
}

void out_next(const struct out *out, const char *fmt, ...)
{
	va_list ap;

	fprintf(out->f, "\nnext  %s", out_style(out, OUT_COPY));
	va_start(ap, fmt);
	vfprintf(out->f, fmt, ap);
	va_end(ap);
	fprintf(out->f, "%s\n", out_style(out, OUT_PLAIN));
}

void out_ends(const struct out *out, enum out_style style, const char *left, const char *right)
{
	size_t width = out->width == SIZE_MAX ? WIDTH_MAX : out->width;
	size_t used = fmt_width(left) + fmt_width(right);

	if (!*right || used + 2 > width) {
		put_styled(out, style, left);
		if (*right) /* at the end of a line of its own */
			fprintf(out->f, "%*s%s\n",
				(int)(width > fmt_width(right) ? width - fmt_width(right) : 0), "",
				right);
		return;
	}
	fprintf(out->f, "%s%s%s%*s%s\n", out_style(out, style), left, out_style(out, OUT_PLAIN),
		(int)(width - used), "", right);
}

const char *out_unit(const struct out *out, const char *unit)
{
	return !out->ascii && !strcmp(unit, "us") ? "µs" : unit;
}

char *out_time(const struct out *out, char *buf, size_t cap, uint64_t ns)
{
	char text[FMT_LEN], *us;

	fmt_time(text, ns);
	us = strstr(text, " us");
	if (us && !out->ascii)
		snprintf(buf, cap, "%.*s µs", (int)(us - text), text);
	else
		snprintf(buf, cap, "%s", text);
	return buf;
}

void table_init(struct table *t, const struct col *col, size_t cols)
{
	memset(t, 0, sizeof(*t));
	t->col = col;
	t->cols = cols;
}

void table_fini(struct table *t)
{
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
}

static void add_owned(struct table *t, char *text)
{
	if (vec_more(&t->cell, t->cells, sizeof(*t->cell)) < 0) {
		free(text);
		t->err = -ENOMEM;
		return;
	}
	if (!text)
		t->err = -ENOMEM;
	t->cell[t->cells++] = text;
}

void table_add(struct table *t, const char *fmt, ...)
{
	char text[OUT_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_owned(t, strdup(text));
}

void table_add_text(struct table *t, const struct out *out, const char *text)
{
	char clean[OUT_TEXT];

	add_owned(t, strdup(fmt_clean(clean, sizeof(clean), text, out->ascii)));
}

void table_add_time(struct table *t, uint64_t ns, const struct fmt_unit *u, unsigned decimals)
{
	char text[FMT_LEN];

	if (ns == UINT64_MAX)
		table_add(t, "-");
	else
		table_add(t, "%s", fmt_value(text, (double)ns / u->scale, decimals));
}

struct layout {
	size_t width[TABLE_COL]; /* 0: not shown */
	size_t frac[TABLE_COL];  /* of a number, from its point on */
};

static const char *cell_at(const struct table *t, size_t row, size_t col)
{
	const char *text = t->cell[row * t->cols + col];

	return text ? text : "?";
}

static size_t fraction(const char *num)
{
	const char *point = strchr(num, '.');

	return point ? strlen(point) : 0;
}

/* Columns that a cell takes once numbers stand under each other by their points. */
static size_t cell_width(const struct table *t, const struct layout *l, size_t c, const char *s)
{
	size_t pad = t->col[c].flags & COL_LEFT ? 0 : l->frac[c] - fraction(s);

	return fmt_width(s) + pad;
}

static size_t total_width(const struct table *t, const struct layout *l, size_t indent)
{
	size_t sum = indent, shown = 0;

	for (size_t c = 0; c < t->cols; c++) {
		sum += l->width[c];
		shown += l->width[c] > 0;
	}
	return sum + (shown ? GAP * (shown - 1) : 0);
}

static void measure(const struct table *t, struct layout *l)
{
	size_t rows = t->cells / t->cols;

	memset(l, 0, sizeof(*l));
	for (size_t c = 0; c < t->cols; c++) {
		for (size_t r = 0; r < rows; r++)
			if (l->frac[c] < fraction(cell_at(t, r, c)))
				l->frac[c] = fraction(cell_at(t, r, c));
		l->width[c] = fmt_width(t->col[c].head);
		if (t->unit[c] && fmt_width(t->unit[c]) > l->width[c])
			l->width[c] = fmt_width(t->unit[c]);
		for (size_t r = 0; r < rows; r++)
			if (l->width[c] < cell_width(t, l, c, cell_at(t, r, c)))
				l->width[c] = cell_width(t, l, c, cell_at(t, r, c));
		if (!l->width[c])
			l->width[c] = 1;
	}
}

/* Shrinks the name down to FLEX_MIN, then drops columns, then shrinks the name further. */
static void fit(const struct table *t, struct layout *l, const struct out *out, size_t indent)
{
	size_t flex = t->cols, over, want;

	for (size_t c = 0; c < t->cols; c++)
		if (t->col[c].flags & COL_FLEX)
			flex = c;
	want = flex < t->cols ? l->width[flex] : 0;
	while (total_width(t, l, indent) > out->width) {
		size_t worst = t->cols;

		over = total_width(t, l, indent) - out->width;
		if (flex < t->cols && l->width[flex] > FLEX_MIN) {
			size_t give = l->width[flex] - FLEX_MIN;

			l->width[flex] -= give < over ? give : over;
			if (give >= over)
				return;
			continue;
		}
		for (size_t c = 0; c < t->cols; c++)
			if (l->width[c] && t->col[c].drop &&
			    (worst == t->cols || t->col[c].drop > t->col[worst].drop))
				worst = c;
		if (worst == t->cols)
			break;
		l->width[worst] = 0;
		if (flex < t->cols)
			l->width[flex] = want;
	}
	over = total_width(t, l, indent);
	if (flex < t->cols && over > out->width)
		l->width[flex] -=
			over - out->width < l->width[flex] ? over - out->width : l->width[flex] - 1;
}

static void put_cell(const struct table *t, const struct layout *l, const struct out *out, size_t c,
		     const char *text, bool number, char *line, size_t cap)
{
	size_t used = strlen(line), pad, frac = 0;
	char cut[OUT_TEXT];

	if (number)
		frac = l->frac[c] - fraction(text);
	fmt_ellipsis(cut, sizeof(cut), text, l->width[c], out->ascii);
	pad = l->width[c] - fmt_width(cut);
	if (t->col[c].flags & COL_LEFT)
		snprintf(line + used, cap - used, "%s%*s", cut, (int)pad, "");
	else
		snprintf(line + used, cap - used, "%*s%s%*s", (int)(pad - frac), "", cut, (int)frac,
			 "");
}

/* row: SIZE_MAX for the head, SIZE_MAX - 1 for the units. */
static void put_row(const struct table *t, const struct layout *l, const struct out *out,
		    size_t indent, size_t row)
{
	char line[2 * OUT_TEXT];
	bool first = true;
	size_t n;

	snprintf(line, sizeof(line), "%*s", (int)indent, "");
	for (size_t c = 0; c < t->cols; c++) {
		const char *text = row == SIZE_MAX       ? t->col[c].head
				   : row == SIZE_MAX - 1 ? (t->unit[c] ? t->unit[c] : "")
							 : cell_at(t, row, c);

		if (!l->width[c])
			continue;
		if (!first)
			strncat(line, "  ", sizeof(line) - strlen(line) - 1);
		first = false;
		put_cell(t, l, out, c, text, row < SIZE_MAX - 1 && !(t->col[c].flags & COL_LEFT),
			 line, sizeof(line));
	}
	for (n = strlen(line); n && line[n - 1] == ' '; n--)
		;
	line[n] = '\0';
	if (row == SIZE_MAX)
		fprintf(out->f, "%s%s%s\n", out_style(out, OUT_BOLD), line,
			out_style(out, OUT_PLAIN));
	else if (row == SIZE_MAX - 1)
		fprintf(out->f, "%s%s%s\n", out_style(out, OUT_DIM), line,
			out_style(out, OUT_PLAIN));
	else
		fprintf(out->f, "%s\n", line);
}

void table_print(const struct table *t, const struct out *out, size_t indent)
{
	size_t rows = t->cells / t->cols;
	bool units = false;
	struct layout l;

	measure(t, &l);
	fit(t, &l, out, indent);
	for (size_t c = 0; c < t->cols; c++)
		units |= t->unit[c] && l.width[c];
	put_row(t, &l, out, indent, SIZE_MAX);
	if (units)
		put_row(t, &l, out, indent, SIZE_MAX - 1);
	for (size_t r = 0; r < rows; r++)
		put_row(t, &l, out, indent, r);
}

void table_done(struct table *t, const struct out *out, size_t indent)
{
	table_print(t, out, indent);
	table_fini(t);
}
