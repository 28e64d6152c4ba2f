/* SPDX-License-Identifier: Apache-2.0 */
/* test_varint.c - numbers there and back, and what a reader does with bytes that are none. */
#include "base/varint.h"

#include <string.h>

#include "t.h"

static void test_there_and_back(void)
{
	static const uint64_t v[] = { 0,     1,     127,        128,        300,
				      16383, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX };
	uint8_t b[VARINT_MAX * T_LEN(v)], *p = b;
	struct varint_in in;
	bool same = true, fits = true;

	for (size_t i = 0; i < T_LEN(v); i++) {
		uint8_t *from = p;

		p = varint_put(p, v[i]);
		fits &= (size_t)(p - from) == varint_len(v[i]);
	}
	in = (struct varint_in){ b, p, false };
	for (size_t i = 0; i < T_LEN(v); i++)
		same &= varint_get(&in) == v[i];
	T_OK(same && !in.bad && in.p == p, "what was put is got");
	T_OK(fits && varint_len(UINT64_MAX) == VARINT_MAX, "lengths are known beforehand");
}

static void test_signs(void)
{
	bool same = true;

	for (int64_t v = -1000; v <= 1000; v++)
		same &= (int64_t)unzigzag(zigzag((uint64_t)v)) == v;
	same &= (int64_t)unzigzag(zigzag((uint64_t)INT64_MIN)) == INT64_MIN;
	T_OK(same && zigzag((uint64_t)-1) == 1 && zigzag(1) == 2, "signs are folded and unfolded");
}

/* clang-format off */
static const struct { const char *name, *bytes; size_t n; bool bad; } odd[] = {
	{ "nothing",                    "",                                         0,  true },
	{ "a number that is cut off",   "\x80\x80",                                 2,  true },
	{ "65 bits",                    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, true },
	{ "eleven bytes",               "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, true },
	{ "more bytes than it needs",   "\x81\x80\x00",                             3,  false },
};
/* clang-format on */

static void test_odd(void)
{
	for (size_t i = 0; i < T_LEN(odd); i++) {
		const uint8_t *b = (const uint8_t *)odd[i].bytes;
		struct varint_in in = { b, b + odd[i].n, false };
		uint64_t v = varint_get(&in);

		T_OK(in.bad == odd[i].bad && v == !odd[i].bad && in.p <= in.end, "%s", odd[i].name);
	}
}

int main(void)
{
	test_there_and_back();
	test_signs();
	test_odd();
	return t_done();
}
