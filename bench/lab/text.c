/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - JSON text in memory, and what is wrong with it. */
#include "lab/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int text_init(struct text *x, const char *text, size_t len, struct folder_why *why)
{
	char *copy = malloc(len + JSON_PAD);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	memset(copy + len, '"', JSON_PAD);
	*x = (struct text){ copy, copy + len, why };
	why->line = 0;
	*why->text = '\0';
	return 0;
}

void text_fini(struct text *x)
{
	free(x->text);
}

int text_wrong(const struct text *x, const char *at, const char *fmt, ...)
{
	va_list ap;

	x->why->line = 1;
	for (const char *p = x->text; p < at && p < x->end; p++)
		x->why->line += *p == '\n';
	va_start(ap, fmt);
	vsnprintf(x->why->text, sizeof(x->why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int text_number(const struct text *x, struct json_tok t, double most, double *out, const char *what)
{
	double v;

	if (*t.s == '"' || !json_tok_real(t, &v) || !isfinite(v) || v < 0 || v > most)
		return text_wrong(x, t.s, "\"%s\" must be a number from 0 to %g", what, most);
	*out = v;
	return 0;
}

int text_string(const struct text *x, struct json_tok t, char *out, size_t cap, const char *what)
{
	struct json_tok in = json_tok_text(t);
	size_t n = *t.s == '"' ? json_tok_unescape(out, cap, in) : 0;

	if (!n || n >= cap || memchr(out, '\0', n))
		return text_wrong(x, t.s, "\"%s\" must be a text shorter than %zu bytes", what,
				  cap);
	out[n] = '\0';
	return 0;
}

bool text_place(struct diag_part *out, const char *text, size_t len)
{
	for (uint8_t l = 0; l < DIAG_LEVELS; l++) {
		size_t n = strlen(diag_level_word[l]);
		uint64_t v = 0;

		if (len < n || memcmp(text, diag_level_word[l], n))
			continue;
		if (l == DIAG_JOB && len == n) {
			*out = (struct diag_part){ l, 0 };
			return true;
		}
		if (l == DIAG_JOB || len < n + 2 || len > n + 11 || text[n] != ':')
			return false;
		for (size_t i = n + 1; i < len; i++) {
			if (text[i] < '0' || text[i] > '9')
				return false;
			v = v * 10 + (uint64_t)(text[i] - '0');
		}
		if (v > UINT32_MAX)
			return false;
		*out = (struct diag_part){ l, (uint32_t)v };
		return true;
	}
	return false;
}
