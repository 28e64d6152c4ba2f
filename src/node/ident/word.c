/* SPDX-License-Identifier: Apache-2.0 */
/* word.c - see word.h. */
#include "ident/word.h"

#include <string.h>

bool ident_char(char c, bool list)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._:-", c)) || (list && (c == ',' || c == '/'));
}

void ident_word(char *out, size_t cap, const char *text, size_t len, bool list)
{
	memset(out, 0, cap);
	if (len >= cap)
		return;
	for (size_t i = 0; i < len; i++)
		if (!ident_char(text[i], list))
			return;
	memcpy(out, text, len);
}
