/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - see utf8.h. */
#include "base/utf8.h"

#include <string.h>

size_t utf8_get(const char *s, uint32_t *out)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = p[0] < 0x80   ? 1
		     : p[0] < 0xc2 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5 ? 4
				   : 0;
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (!len || c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*out = c;
	return len;
}

const char *utf8_valid(const char *text, char *room, size_t cap)
{
	size_t at = 0, used = 0, n;
	uint32_t ucs;

	while (text[at] && (n = utf8_get(text + at, &ucs)) != 0)
		at += n;
	if (!text[at] && at < cap)
		return text;
	for (at = 0; text[at] && used + 4 < cap; at += n ? n : 1) {
		n = utf8_get(text + at, &ucs);
		memcpy(room + used, n ? text + at : "\xef\xbf\xbd", n ? n : 3);
		used += n ? n : 3;
	}
	room[used] = '\0';
	return room;
}
