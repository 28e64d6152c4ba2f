/* SPDX-License-Identifier: Apache-2.0 */
/* test_num.c - what is a number, what is none, limits and units. */
#include "base/num.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "t.h"

/* clang-format off */
static const struct { const char *text; int rc; uint64_t v; } whole[] = {
	{ "0", 0, 0 }, { "42", 0, 42 }, { "007", 0, 7 }, { "18446744073709551615", 0, UINT64_MAX },
	{ "18446744073709551616", -EINVAL, 0 }, { "", -EINVAL, 0 }, { " 1", -EINVAL, 0 }, { "1 ", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 }, { "-1", -EINVAL, 0 }, { "0x10", -EINVAL, 0 }, { "1e3", -EINVAL, 0 }, { "a", -EINVAL, 0 },
};

static const struct { const char *text; int rc; int64_t v; } sign[] = {
	{ "-1", 0, -1 }, { "-9223372036854775808", 0, INT64_MIN }, { "9223372036854775807", 0, INT64_MAX },
	{ "9223372036854775808", -EINVAL, 0 }, { "-9223372036854775809", -EINVAL, 0 }, { "--1", -EINVAL, 0 },
	{ "-", -EINVAL, 0 }, { "-0", 0, 0 },
};

static const struct { const char *text; int rc; double v; } reals[] = {
	{ "0.5", 0, 0.5 }, { ".5", 0, 0.5 }, { "-2", 0, -2 }, { "1e3", 0, 1000 }, { "5.", 0, 5 },
	{ "inf", -EINVAL, 0 }, { "nan", -EINVAL, 0 }, { "0x1p3", -EINVAL, 0 }, { "1e999", -EINVAL, 0 }, { "", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 }, { "1,5", -EINVAL, 0 }, { "+1", -EINVAL, 0 }, { "-.", -EINVAL, 0 },
};

static const struct { const char *text, *unit; int rc; double v; } amounts[] = {
	{ "2s", "ms", 0, 2000 }, { "500ms", "s", 0, 0.5 }, { "1.5h", "m", 0, 90 }, { "7d", "h", 0, 168 }, { "3us", "ns", 0, 3000 },
	{ "5MiB", "bytes", 0, 5 << 20 }, { "2GiB", "MiB", 0, 2048 }, { "1TiB", "GiB", 0, 1024 },
	{ "2k", "", 0, 2000 }, { "1.5M", "", 0, 1500000 }, { "1%", "1/1000", 0, 10 }, { "5%", "%", 0, 5 },
	{ "2", "s", -EINVAL, 0 }, { "s", "s", -EINVAL, 0 }, { "2 s", "s", -EINVAL, 0 }, { "2MiB", "s", -EINVAL, 0 },
	{ "2s", "furlongs", -EINVAL, 0 }, { "-1s", "s", -EINVAL, 0 }, { "2sec", "s", -EINVAL, 0 },
};
/* clang-format on */

static void test_whole(void)
{
	for (size_t i = 0; i < T_LEN(whole); i++) {
		uint64_t v = 99;

		T_OK(num_u64(whole[i].text, 0, UINT64_MAX, &v) == whole[i].rc &&
			     v == (whole[i].rc ? 99 : whole[i].v),
		     "'%s'", whole[i].text);
	}
	for (size_t i = 0; i < T_LEN(sign); i++) {
		int64_t v = 99;

		T_OK(num_i64(sign[i].text, INT64_MIN, INT64_MAX, &v) == sign[i].rc &&
			     v == (sign[i].rc ? 99 : sign[i].v),
		     "'%s' with a sign", sign[i].text);
	}
}

static void test_limits(void)
{
	uint64_t big = 0, hex = 0;
	uint32_t v = 0;
	int64_t i = 0;

	T_OK(!num_u32("5", 5, 7, &v) && v == 5 && !num_u32("7", 5, 7, &v) &&
		     num_u32("4", 5, 7, &v) && num_u32("8", 5, 7, &v) && v == 7,
	     "from and to are in it");
	T_OK(num_u32("4294967296", 0, UINT32_MAX, &v) && num_u64("11", 0, 10, &big), "not beyond");
	T_OK(num_i64("-21", -20, 19, &i) && !num_i64("-20", -20, 19, &i) && i == -20, "below 0");
	T_OK(!num_hex("fF", &hex) && hex == 255 && num_hex("0xff", &hex) && num_hex("g", &hex) &&
		     num_hex("", &hex),
	     "hexadecimal digits");
}

static void test_reals(void)
{
	for (size_t i = 0; i < T_LEN(reals); i++) {
		double v = 99;

		T_OK(num_real(reals[i].text, -1e6, INFINITY, &v) == reals[i].rc &&
			     v == (reals[i].rc ? 99 : reals[i].v),
		     "'%s' as a real number", reals[i].text);
	}
	for (size_t i = 0; i < T_LEN(amounts); i++) {
		double v = 99;

		T_OK(num_unit(amounts[i].text, amounts[i].unit, 0, 1e9, &v) == amounts[i].rc &&
			     fabs(v - (amounts[i].rc ? 99 : amounts[i].v)) < 1e-9,
		     "'%s' in '%s'", amounts[i].text, amounts[i].unit);
	}
}

static void test_lists(void)
{
	const char *good = "1,22,333", *bad[] = { "0", "1,,2", "x", "1;2", "1001", "-1" };
	uint64_t v, sum = 0;
	int n = 0;

	while (num_next(&good, 1000, &v) == 1 && ++n)
		sum += v;
	T_OK(n == 3 && sum == 356 && !*good, "a list");
	for (size_t i = 0; i < T_LEN(bad); i++) {
		const char *at = bad[i];
		int rc;

		while ((rc = num_next(&at, 1000, &v)) == 1)
			;
		T_OK(rc == -EINVAL, "'%s' is no list", bad[i]);
	}
}

static void test_front(void)
{
	const char *end;
	uint64_t v = 0;

	T_OK(num_front("12 kB", &end) == 12 && !strcmp(end, " kB"), "a number and where it ends");
	T_OK(num_front("\t7", NULL) == 7 && num_front("x", NULL) == 0, "blanks, and no number");
	T_OK(num_front_i64("-3,4", &end) == -3 && !strcmp(end, ",4"), "one with a sign");
	T_OK(num_front_real("1.5x", &end) == 1.5 && !strcmp(end, "x"), "a real one");
	end = num_digits("3f:", 16, &v);
	T_OK(end && *end == ':' && v == 0x3f && !num_digits("x", 16, &v), "digits of base 16");
	T_OK(num_listed("41,42", 42) && !num_listed("41,42", 4) && !num_listed("", 0),
	     "one of a list");
}

int main(void)
{
	test_front();
	test_whole();
	test_limits();
	test_reals();
	test_lists();
	return t_done();
}
