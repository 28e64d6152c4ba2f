/* SPDX-License-Identifier: Apache-2.0 */
/* num.c - see num.h. */
#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *num_digits(const char *text, int base, uint64_t *out)
{
	char *end;

	if (!isxdigit((unsigned char)*text) || (base == 10 && !isdigit((unsigned char)*text)) ||
	    (text[0] == '0' && (text[1] | 0x20) == 'x'))
		return NULL;
	errno = 0;
	*out = strtoull(text, &end, base);
	return errno ? NULL : end;
}

int num_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t v;
	const char *end = num_digits(text, 10, &v);

	if (!end || *end || v < min || v > max)
		return -EINVAL;
	*out = v;
	return 0;
}

int num_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (num_u64(text, min, max, &v) < 0)
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

int num_i64(const char *text, int64_t min, int64_t max, int64_t *out)
{
	bool minus = *text == '-';
	uint64_t v;

	if (num_u64(text + minus, 0, (uint64_t)INT64_MAX + minus, &v) < 0)
		return -EINVAL;
	if (minus)
		v = -v;
	if ((int64_t)v < min || (int64_t)v > max)
		return -EINVAL;
	*out = (int64_t)v;
	return 0;
}

int num_hex(const char *text, uint64_t *out)
{
	uint64_t v;
	const char *end = num_digits(text, 16, &v);

	if (!end || *end)
		return -EINVAL;
	*out = v;
	return 0;
}

/* The number at `text`; where it ends, or NULL: there is none. */
static const char *real(const char *text, double *out)
{
	const char *first = text + (*text == '-');
	char *end;

	if (!isdigit((unsigned char)first[first[0] == '.']) ||
	    (first[0] == '0' && (first[1] | 0x20) == 'x'))
		return NULL;
	*out = strtod(text, &end);
	return end;
}

int num_real(const char *text, double min, double max, double *out)
{
	double v;
	const char *end = real(text, &v);

	if (!end || *end || !__builtin_isfinite(v) || !(v >= min && v <= max))
		return -EINVAL;
	*out = v;
	return 0;
}

enum kind { TIME, SIZE, SHARE, COUNT };

static const struct unit {
	const char *name;
	enum kind kind;
	double is; /* of the smallest of its kind */
} units[] = {
	/* clang-format off */
	{ "ns", TIME, 1 }, { "us", TIME, 1e3 }, { "ms", TIME, 1e6 }, { "s", TIME, 1e9 },
	{ "m", TIME, 60e9 }, { "h", TIME, 3600e9 }, { "d", TIME, 86400e9 },
	{ "bytes", SIZE, 1 }, { "KiB", SIZE, 1024 }, { "MiB", SIZE, 1 << 20 }, { "GiB", SIZE, 1 << 30 },
	{ "TiB", SIZE, 1024.0 * (1 << 30) },
	{ "1/1000", SHARE, 1 }, { "%", SHARE, 10 },
	{ "", COUNT, 1 }, { "k", COUNT, 1e3 }, { "M", COUNT, 1e6 }, { "G", COUNT, 1e9 },
	/* clang-format on */
};

static const struct unit *unit_of(const char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	return NULL;
}

int num_unit(const char *text, const char *unit, double min, double max, double *out)
{
	double v;
	const char *end = real(text, &v);
	const struct unit *to = unit_of(unit), *from = end && *end ? unit_of(end) : NULL;

	if (!to || !from || to->kind != from->kind)
		return -EINVAL;
	v = v * from->is / to->is;
	if (!(v >= min && v <= max))
		return -EINVAL;
	*out = v;
	return 0;
}

int num_next(const char **list, uint64_t max, uint64_t *out)
{
	uint64_t v;
	const char *end;

	if (!**list)
		return 0;
	end = num_digits(*list, 10, &v);
	if (!end || (*end && *end != ',') || v < 1 || v > max)
		return -EINVAL;
	*list = end + (*end == ',');
	*out = v;
	return 1;
}

char *num_text(char room[NUM_LEN], uint64_t v)
{
	char *at = room + NUM_LEN - 1;

	*at = '\0';
	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	return at;
}

bool num_listed(const char *list, int64_t number)
{
	while (*list) {
		const char *end;

		if (num_front_i64(list, &end) == number)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}

uint64_t num_front(const char *text, const char **end)
{
	return strtoull(text, (char **)(uintptr_t)end, 10);
}

int64_t num_front_i64(const char *text, const char **end)
{
	return strtoll(text, (char **)(uintptr_t)end, 10);
}

double num_front_real(const char *text, const char **end)
{
	return strtod(text, (char **)(uintptr_t)end);
}
