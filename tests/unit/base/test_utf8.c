/* SPDX-License-Identifier: Apache-2.0 */
/* test_utf8.c - every character there and back, and bytes that are none. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#include "t.h"

static void test_all(void)
{
	bool same = true;

	for (uint32_t c = 1; c <= 0x10ffff; c++) {
		char b[5] = "";
		uint32_t got = 0;
		size_t n = utf8_put(b, c), len = utf8_get(b, &got);

		same &= n == len && got == (c >= 0xd800 && c < 0xe000 ? UTF8_BAD : c);
	}
	T_OK(same, "every character there and back, halves of pairs as U+FFFD");
	T_OK(utf8_put((char[4]){ 0 }, 0x110000) == 3, "what is beyond the last becomes U+FFFD");
}

/* clang-format off */
static const struct { const char *name, *text, *want; } odd[] = {
	{ "plain text stays",        "gemm",             "gemm" },
	{ "characters stay",         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a stray byte",            "a\xff" "b",       "a\xef\xbf\xbd" "b" },
	{ "a cut character",         "a\xe2\x82",      "a\xef\xbf\xbd\xef\xbf\xbd" },
	{ "too long a form of '/'",  "\xc0\xaf",       "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "half of a pair",          "\xed\xa0\x80",  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "beyond the last",         "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
};
/* clang-format on */

static void test_valid(void)
{
	char room[32], small[8];

	for (size_t i = 0; i < T_LEN(odd); i++) {
		const char *got = utf8_valid(odd[i].text, room, sizeof(room));

		T_OK(!strcmp(got, odd[i].want) && (got == odd[i].text) == !strcmp(got, odd[i].text),
		     "%s", odd[i].name);
	}
	utf8_valid("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", small, sizeof(small));
	T_OK(!strcmp(small, "\xc3\xa9\xc3\xa9"), "what is too long is cut between characters");
}

int main(void)
{
	test_all();
	test_valid();
	return t_done();
}
