/* SPDX-License-Identifier: Apache-2.0 */
/* fdinfo.c - see fdinfo.h. */
#include "gpuuse/fdinfo.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define LINE 128u /* bytes; the longest that a driver writes has 50 */

const char *const fdinfo_kind_name[FDINFO_KINDS] = { "resident",  "total",  "shared",
						     "purgeable", "active", "memory" };

bool fdinfo_name_ok(const char *name)
{
	size_t n = 0;

	for (; name[n]; n++)
		if (!isalnum((unsigned char)name[n]) && !strchr("-_.", name[n]))
			return false;
	return n && n < FDINFO_NAME;
}

/* The engine of that name, or a new one; NULL: there are too many, or it is no name. */
static struct fdinfo_engine *engine_of(struct fdinfo *f, const char *name)
{
	struct fdinfo_engine *e;

	for (uint32_t i = 0; i < f->engines; i++)
		if (!strcmp(f->engine[i].name, name))
			return &f->engine[i];
	if (f->engines == FDINFO_ENGINES || !fdinfo_name_ok(name)) {
		f->left++;
		return NULL;
	}
	e = &f->engine[f->engines++];
	*e = (struct fdinfo_engine){ .capacity = 1 };
	snprintf(e->name, sizeof(e->name), "%s", name);
	return e;
}

static struct fdinfo_region *region_of(struct fdinfo *f, const char *name)
{
	struct fdinfo_region *r;

	for (uint32_t i = 0; i < f->regions; i++)
		if (!strcmp(f->region[i].name, name))
			return &f->region[i];
	if (f->regions == FDINFO_REGIONS || !fdinfo_name_ok(name)) {
		f->left++;
		return NULL;
	}
	r = &f->region[f->regions++];
	*r = (struct fdinfo_region){ .has = 0 };
	snprintf(r->name, sizeof(r->name), "%s", name);
	return r;
}

/* "12 MiB", "800 MHz", "7": in units of one. False: it is no number. */
static bool amount(const char *text, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t scale;
	} units[] = { { "KiB", 1ull << 10 }, { "MiB", 1ull << 20 }, { "GiB", 1ull << 30 },
		      { "KHz", 1000 },       { "kHz", 1000 },       { "MHz", 1000000 },
		      { "GHz", 1000000000 } };
	const char *end = num_digits(text, 10, out);

	if (!end)
		return false;
	end += strspn(end, " \t");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit) &&
		    __builtin_mul_overflow(*out, units[i].scale, out))
			*out = UINT64_MAX;
	return true;
}

enum part {
	CAPACITY,
	NS,
	TOTAL_CYCLES,
	CYCLES,
	MAX_HZ,
	OTHER, /* known, and of no use here */
	REGION /* and one of enum fdinfo_kind more */
};

/* The first that fits: drm-engine-capacity-E begins as drm-engine-E does. */
static const struct {
	const char *prefix;
	int part;
} keys[] = {
	{ "engine-capacity-", CAPACITY },
	{ "engine-", NS },
	{ "total-cycles-", TOTAL_CYCLES },
	{ "cycles-", CYCLES },
	{ "maxfreq-", MAX_HZ },
	{ "curfreq-", OTHER },
	{ "memory-", REGION + FDINFO_MEMORY },
	{ "total-", REGION + FDINFO_TOTAL },
	{ "shared-", REGION + FDINFO_SHARED },
	{ "resident-", REGION + FDINFO_RESIDENT },
	{ "purgeable-", REGION + FDINFO_PURGEABLE },
	{ "active-", REGION + FDINFO_ACTIVE },
};

static void take_engine(struct fdinfo_engine *e, enum part part, uint64_t v)
{
	switch (part) {
	case CAPACITY:
		if (v && v <= UINT32_MAX)
			e->capacity = (uint32_t)v;
		break;
	case NS:
		e->ns = v;
		e->has_ns = true;
		break;
	case TOTAL_CYCLES:
		e->total = v;
		e->has_total = true;
		break;
	case CYCLES:
		e->cycles = v;
		e->has_cycles = true;
		break;
	default:
		e->max_hz = v;
		break;
	}
}

/* `key` is behind "drm-". */
static void take(struct fdinfo *f, const char *key, const char *value)
{
	struct fdinfo_engine *e;
	struct fdinfo_region *r;
	uint64_t v;

	if (!strcmp(key, "driver") && fdinfo_name_ok(value))
		snprintf(f->driver, sizeof(f->driver), "%s", value);
	if (!strcmp(key, "pdev") && strlen(value) < sizeof(f->pdev) &&
	    strspn(value, "0123456789abcdefABCDEF:.") == strlen(value))
		snprintf(f->pdev, sizeof(f->pdev), "%s", value);
	if (!amount(value, &v))
		return;
	if (!strcmp(key, "client-id")) {
		f->client = v;
		f->has_client = true;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i].prefix);
		int kind = keys[i].part - REGION;

		if (strncmp(key, keys[i].prefix, n) != 0)
			continue;
		if (kind >= 0 && (r = region_of(f, key + n))) {
			r->bytes[kind] = v;
			r->has |= (uint8_t)(1u << kind);
		} else if (kind < 0 && keys[i].part != OTHER && (e = engine_of(f, key + n))) {
			take_engine(e, (enum part)keys[i].part, v);
		}
		return;
	}
}

int fdinfo_parse(struct fdinfo *out, const char *text, size_t len)
{
	const char *end = text + len;

	memset(out, 0, sizeof(*out));
	for (const char *p = text, *nl; p < end; p = nl + 1) {
		char line[LINE], *colon, *value;
		size_t n;

		nl = memchr(p, '\n', (size_t)(end - p));
		nl = nl ? nl : end;
		n = (size_t)(nl - p);
		if (n < 4 || memcmp(p, "drm-", 4) != 0)
			continue;
		if (n >= sizeof(line)) {
			out->left++;
			continue;
		}
		memcpy(line, p, n);
		line[n] = '\0';
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		value = colon + 1 + strspn(colon + 1, " \t");
		for (char *last = value + strlen(value);
		     last > value && isspace((unsigned char)last[-1]);)
			*--last = '\0';
		take(out, line + 4, value);
	}
	return *out->driver ? 0 : -ENOMSG;
}

uint64_t fdinfo_bytes(const struct fdinfo_region *r)
{
	static const enum fdinfo_kind best[] = { FDINFO_RESIDENT, FDINFO_MEMORY, FDINFO_TOTAL };

	for (size_t i = 0; i < sizeof(best) / sizeof(best[0]); i++)
		if (r->has >> best[i] & 1)
			return r->bytes[best[i]];
	return 0;
}

bool fdinfo_is_local(const struct fdinfo_region *r)
{
	return !strncmp(r->name, "vram", 4) || !strncmp(r->name, "local", 5);
}
