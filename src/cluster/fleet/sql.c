/* SPDX-License-Identifier: Apache-2.0 */
/* sql.c - see sql.h. */
#include "fleet/sql.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

void sql_init(struct sql *q)
{
	*q = (struct sql){ .text = NULL };
	q->f = open_memstream(&q->text, &q->len);
}

void sql_fini(struct sql *q)
{
	if (q->f)
		fclose(q->f);
	free(q->text);
	*q = (struct sql){ .text = NULL };
}

const char *sql_done(struct sql *q)
{
	if (!q->f || fflush(q->f) != 0 || ferror(q->f))
		return NULL;
	return q->text;
}

void sql_add(struct sql *q, const char *fmt, ...)
{
	va_list ap;

	if (!q->f)
		return;
	va_start(ap, fmt);
	vfprintf(q->f, fmt, ap);
	va_end(ap);
}

/* Keeps letters and digits and escapes every other byte, so that no text can end the literal. */
void sql_text(struct sql *q, const char *text)
{
	if (!q->f)
		return;
	fputc('\'', q->f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (isascii(c) && (isalnum(c) || c == '_' || c == '-' || c == '.'))
			fputc(c, q->f);
		else
			fprintf(q->f, "\\x%02X", c);
	}
	fputc('\'', q->f);
}
