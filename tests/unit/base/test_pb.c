/* SPDX-License-Identifier: Apache-2.0 */
/* test_pb.c - protobuf there and back, the bytes that others write, and bytes that are none. */
#include "base/pb.h"

#include "t.h"

static void test_bytes(void)
{
	/* What protoc's Python writes of { 1: 150, 2: "testing", 3: { 1: 150 } }. */
	static const uint8_t want[] = "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01";
	struct pb_out b = { 0 };
	size_t at;

	pb_put_u64(&b, 1, 150);
	pb_put_str(&b, 2, "testing");
	at = pb_open(&b, 3);
	pb_put_u64(&b, 1, 150);
	pb_close(&b, at);
	T_OK(!b.err && b.len == sizeof(want) - 1 && !memcmp(b.data, want, b.len),
	     "bytes as protoc writes them");
	pb_free(&b);
	T_OK(!b.data && !b.len, "and none when they are freed");
}

static void test_back(void)
{
	struct pb_out b = { 0 };
	struct pb_field f = { 0 };
	struct pb in, inner;
	double real = 2.5;
	uint64_t bits;
	char text[300];
	size_t at;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	at = pb_open(&b, 5); /* its length takes two bytes */
	pb_put_str(&b, 1, text);
	pb_put_fixed64(&b, 2, 7);
	pb_close(&b, at);
	pb_put_double(&b, 6, real);
	in = (struct pb){ b.data, b.data + b.len, false };
	T_OK(pb_next(&in, &f) && f.num == 5 && f.wire == 2, "a message");
	inner = f.data;
	T_OK(pb_next(&inner, &f) && f.num == 1 && pb_is(&f.data, text), "its long text");
	T_OK(pb_next(&inner, &f) && f.num == 2 && f.wire == 1 && f.v == 7 && !pb_next(&inner, &f) &&
		     !inner.bad,
	     "its number of eight bytes, and its end");
	memcpy(&bits, &real, sizeof(bits));
	T_OK(pb_next(&in, &f) && f.num == 6 && f.v == bits && !pb_next(&in, &f) && !in.bad,
	     "a real number");
	pb_free(&b);
}

static void test_packed(void)
{
	struct pb_out b = { 0 };
	struct pb_field f = { 0 };
	size_t at = pb_open(&b, 1);
	bool same = true;
	struct pb in;

	for (uint64_t i = 0; i < 1000; i++)
		pb_put_varint(&b, i * i);
	pb_close(&b, at);
	in = (struct pb){ b.data, b.data + b.len, false };
	same &= pb_next(&in, &f);
	for (uint64_t i = 0; i < 1000; i++)
		same &= pb_varint(&f.data) == i * i;
	T_OK(same && f.data.p == f.data.end && !f.data.bad, "packed numbers");
	T_OK(!pb_varint(&f.data) && f.data.bad, "and none after the last");
	pb_free(&b);
}

/* clang-format off */
static const struct { const char *name, *bytes; size_t n; } odd[] = {
	{ "a tag that is cut off",           "\x80",         1 },
	{ "field 0",                         "\x00\x01",     2 },
	{ "a group",                         "\x0b\x01",     2 },
	{ "a number that is cut off",        "\x08\x80",     2 },
	{ "eight bytes that are three",      "\x09\x01\x02\x03", 4 },
	{ "a text longer than the message",  "\x0a\x05" "abc", 5 },
	{ "a length of 2^63",                "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 },
};
/* clang-format on */

static void test_odd(void)
{
	struct pb_field f = { 0 };

	for (size_t i = 0; i < T_LEN(odd); i++) {
		const uint8_t *b = (const uint8_t *)odd[i].bytes;
		struct pb in = { b, b + odd[i].n, false };

		T_OK(!pb_next(&in, &f) && in.bad && in.p == b, "%s", odd[i].name);
	}
}

static void test_rest(void)
{
	const uint8_t *b = (const uint8_t *)"\x0a\x05"
					    "abc";
	struct pb in = { b, b + 5, false };
	struct pb_field f = { 0 };

	T_OK(!pb_next(&in, &f) && pb_rest(&in, &f) && f.num == 1 && pb_is(&f.data, "abc"),
	     "what is there of a text that is cut off");
}

int main(void)
{
	test_bytes();
	test_back();
	test_packed();
	test_odd();
	test_rest();
	return t_done();
}
