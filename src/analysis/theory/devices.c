/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - see devices.h. */
#include "theory/devices.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json_read.h"

struct file {
	const char *text, *end; /* end is followed by JSON_PAD quotes */
	struct devices_why *why;
};

static int __attribute__((format(printf, 3, 4)))
wrong(const struct file *f, const char *at, const char *fmt, ...)
{
	va_list ap;

	f->why->line = 1;
	for (const char *p = f->text; p < at && p < f->end; p++)
		f->why->line += *p == '\n';
	va_start(ap, fmt);
	vsnprintf(f->why->text, sizeof(f->why->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A token for a message: short, and nothing in it that a terminal obeys. */
static const char *shown(char out[80], struct json_tok t)
{
	char cut[20];

	snprintf(cut, sizeof(cut), "%.*s", (int)t.len, t.s);
	return fmt_clean(out, 80, cut, true);
}

static int text_of(const struct file *f, struct json_tok t, char *out, size_t cap, const char *what)
{
	struct json_tok in = json_tok_text(t);
	size_t n;

	if (*t.s != '"' || !in.len)
		return wrong(f, t.s, "\"%s\" must be a text", what);
	n = json_tok_unescape(out, cap, in);
	if (n >= cap || memchr(out, '\0', n))
		return wrong(f, t.s, "\"%s\" must be shorter than %zu bytes", what, cap);
	out[n] = '\0';
	return 0;
}

static int number_of(const struct file *f, struct json_tok t, double most, double *out,
		     const char *what)
{
	char as[80];
	double v;

	if (*t.s == '"' || !json_tok_real(t, &v) || !isfinite(v) || v < 0 || v > most)
		return wrong(f, t.s, "\"%s\" must be a number from 0 to %g, not %s", what, most,
			     shown(as, t));
	*out = v;
	return 0;
}

/* At the first pair or item of the object or list, or NULL after it said why. */
static const char *enter(const struct file *f, struct json_tok t, char open, const char *what)
{
	if (*t.s == open)
		return t.s + 1;
	wrong(f, t.s, "%s must be %s", what,
	      open == '{' ? "an object, { ... }" : "a list, [ ... ]");
	return NULL;
}

/* The object or list must end where its pairs do. */
static int leave(const struct file *f, const char *p, char close)
{
	p = json_space(p, f->end);
	while (p < f->end && *p == ',')
		p = json_space(p + 1, f->end);
	return p < f->end && *p == close ? 0
					 : wrong(f, p, "this is not JSON: '%c' expected", close);
}

static int peaks(const struct file *f, struct json_tok t, double flops[GPU_TYPES], const char *what)
{
	const char *p = enter(f, t, '{', what);
	struct json_tok key, value;
	char as[80];
	int err = p ? 0 : -EINVAL;

	while (!err && json_pair(&p, f->end, &key, &value)) {
		int type = 0;

		while (type < GPU_TYPES && !json_tok_is(key, gpu_type_word[type]))
			type++;
		if (type == GPU_TYPES)
			return wrong(f, key.s,
				     "unknown type '%s' in \"%s\": fp64 fp32 tf32 fp16 bf16 fp8 "
				     "fp4 int8 are known",
				     shown(as, key), what);
		err = number_of(f, value, 1e21, &flops[type], gpu_type_word[type]);
	}
	return err ? err : leave(f, p, '}');
}

static int field(const struct file *f, struct gpu *g, struct json_tok key, struct json_tok value)
{
	double v;
	char as[80];
	int err;

	if (json_tok_is(key, "key"))
		return text_of(f, value, g->key, sizeof(g->key), "key");
	if (json_tok_is(key, "name"))
		return text_of(f, value, g->name, sizeof(g->name), "name");
	if (json_tok_is(key, "vector_flops"))
		return peaks(f, value, g->vector_flops, "vector_flops");
	if (json_tok_is(key, "tensor_flops"))
		return peaks(f, value, g->tensor_flops, "tensor_flops");
	if (json_tok_is(key, "measured")) {
		g->measured = json_tok_is(value, "true");
		return 0;
	}
#define FIELD(of, type, most)                             \
	if (json_tok_is(key, #of)) {                      \
		err = number_of(f, value, most, &v, #of); \
		g->of = err ? g->of : (type)v;            \
		return err;                               \
	}
#include "theory/gpu_field.tbl.h"
	if (json_tok_is(key, "like") || json_tok_is(key, "sources") || json_tok_is(key, "levels"))
		return 0;
	return wrong(f, key.s, "unknown field '%s'", shown(as, key));
}

/* What it is like comes first, wherever it stands. */
static int inherit(const struct file *f, struct gpu *g, const char *p)
{
	struct json_tok key, value;
	const struct gpu *like;
	char as[64];
	int err;

	while (json_pair(&p, f->end, &key, &value)) {
		if (!json_tok_is(key, "like"))
			continue;
		err = text_of(f, value, as, sizeof(as), "like");
		if (err)
			return err;
		like = gpu_find(as);
		if (!like)
			return wrong(f, value.s,
				     "\"like\" names no device that is known. See: aon roofline "
				     "devices");
		*g = *like;
		g->key[0] = g->name[0] = '\0';
	}
	return 0;
}

static int device(const struct file *f, struct gpu *out, struct json_tok t)
{
	const char *p = enter(f, t, '{', "a device");
	struct gpu g = { .cc = 0 };
	struct json_tok key, value;
	double best = 0;
	int err = p ? inherit(f, &g, p) : -EINVAL;

	while (!err && json_pair(&p, f->end, &key, &value))
		err = field(f, &g, key, value);
	err = err ? err : leave(f, p, '}');
	if (err)
		return err;
	for (int i = 0; i < GPU_TYPES; i++)
		best = fmax(best, gpu_peak(&g, (enum gpu_type)i));
	if (!*g.key || !*g.name)
		return wrong(f, t.s, "a device needs a \"key\" and a \"name\"");
	if (g.memory_Bps <= 0 || best <= 0)
		return wrong(f, t.s,
			     "a device needs \"memory_Bps\" and a peak above 0 in "
			     "\"vector_flops\" or \"tensor_flops\"");
	*out = g;
	return 0;
}

static int list(const struct file *f, struct gpu *out, struct json_tok t)
{
	const char *p = enter(f, t, '[', "devices");
	struct json_tok item;
	int n = 0, err = p ? 0 : -EINVAL;

	while (!err && json_item(&p, f->end, &item)) {
		if (n == GPU_ADDED)
			return wrong(f, item.s, "more than %u devices", GPU_ADDED);
		err = device(f, &out[n++], item);
	}
	err = err ? err : leave(f, p, ']');
	return err ? err : n;
}

static int parse(const struct file *f, struct gpu *out)
{
	const char *p = json_space(f->text, f->end);
	struct json_tok key, value;
	bool schema = false;
	char as[80];
	int n = -1;

	if (p >= f->end || *p != '{')
		return wrong(f, p,
			     "an object { \"schema\": \"" DEVICES_SCHEMA "\", \"devices\": [...] } "
			     "expected");
	for (p++; json_pair(&p, f->end, &key, &value);) {
		if (json_tok_is(key, "schema")) {
			schema = json_tok_is(json_tok_text(value), DEVICES_SCHEMA);
			if (!schema)
				return wrong(f, value.s,
					     "\"schema\" must be \"" DEVICES_SCHEMA "\"");
		} else if (json_tok_is(key, "devices")) {
			n = list(f, out, value);
			if (n < 0)
				return n;
		} else {
			return wrong(f, key.s, "unknown field '%s'", shown(as, key));
		}
	}
	if (leave(f, p, '}'))
		return -EINVAL;
	if (!schema)
		return wrong(f, f->text, "\"schema\": \"" DEVICES_SCHEMA "\" is missing");
	return n >= 0 ? n : wrong(f, f->text, "\"devices\" is missing");
}

int devices_parse(struct gpu *out, const char *text, size_t len, struct devices_why *why)
{
	char *copy = malloc(len + JSON_PAD);
	struct file f = { copy, copy + len, why };
	int n = -ENOMEM;

	if (copy) {
		memcpy(copy, text, len);
		memset(copy + len, '"', JSON_PAD);
		n = parse(&f, out);
	}
	free(copy);
	return n;
}

int devices_add(const char *text, size_t len, struct devices_why *why)
{
	struct gpu *list_of = calloc(GPU_ADDED, sizeof(*list_of));
	int n;

	*why = (struct devices_why){ 0 };
	n = list_of ? devices_parse(list_of, text, len, why) : -ENOMEM;
	for (int i = 0; i < n; i++)
		if (gpu_add(&list_of[i]) < 0) {
			snprintf(why->text, sizeof(why->text), "more than %u devices in all",
				 GPU_ADDED);
			n = -ENOSPC;
		}
	free(list_of);
	return n;
}
