/* SPDX-License-Identifier: Apache-2.0 */
/* hw.c - turns rows of hw.tbl.h into points: the component, and its parent. */
#include "ship/metrics/hw.h"

#include <stdio.h>
#include <string.h>

#define STATE 3u

struct hw {
	const char *metric, *name;
	unsigned kind;
	const char *unit;
	double factor;
	const char *type, *attributes;
};

static const struct hw rows[] = {
#define GAUGE   METER_GAUGE
#define COUNTER METER_COUNTER
#define LEVEL   METER_LEVEL
#define HW(metric, name, kind, unit, factor, type, attributes) \
	{ metric, name, kind, unit, factor, type, attributes },
#include "ship/metrics/hw.tbl.h"
#undef GAUGE
#undef COUNTER
#undef LEVEL
};

/* Names in order, as points want them; the last is NULL. */
struct attributes {
	const char *label[2 * METER_LABELS + 1];
	char value[METER_LABELS][METER_TEXT];
	char key[METER_LABELS][32];
	unsigned n;
};

static void put(struct attributes *a, const char *key, const char *value)
{
	unsigned at = a->n;

	if (!*value || a->n == METER_LABELS)
		return;
	for (; at && strcmp(a->key[at - 1], key) > 0; at--) {
		memcpy(a->key[at], a->key[at - 1], sizeof(a->key[0]));
		memcpy(a->value[at], a->value[at - 1], METER_TEXT);
	}
	snprintf(a->key[at], sizeof(a->key[0]), "%s", key);
	snprintf(a->value[at], METER_TEXT, "%s", value);
	a->n++;
}

static const char *const *list(struct attributes *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		a->label[2 * i] = a->key[i];
		a->label[2 * i + 1] = a->value[i];
	}
	a->label[2 * a->n] = NULL;
	return a->label;
}

static void put_label(struct attributes *a, const char *key, const struct series *s,
		      const char *label)
{
	char text[METER_TEXT];

	if (series_label_get(s->labels, label, text, sizeof(text)))
		put(a, key, text);
}

/* Behind a slash; what does not fit is left out whole. */
static void add_word(char id[METER_TEXT], const char *word)
{
	size_t n = strlen(id), len = strlen(word);

	if (n + len + 2 > METER_TEXT)
		return;
	if (n)
		id[n++] = '/';
	memcpy(id + n, word, len + 1);
}

/* The component: a GPU by its UUID, a BMC's sensor behind the BMC's name, "cpu0" where the device is a number. */
static void component(char id[METER_TEXT], const struct series *s, const struct metric *m)
{
	char text[METER_TEXT];

	id[0] = '\0';
	if (series_label_get(s->labels, "bmc", text, sizeof(text)))
		add_word(id, text);
	if (series_label_get(s->labels, "UUID", text, sizeof(text)))
		add_word(id, text);
	else if (*s->device >= '0' && *s->device <= '9' && strlen(m->device) < 16)
		snprintf(id, METER_TEXT, "%s%s", m->device, s->device);
	else
		add_word(id, *s->device ? s->device : "host");
}

/* A part of a device has its own identity, and the device as its parent. */
static void identify(struct attributes *a, const struct series *s, const struct metric *m,
		     const struct hw *h)
{
	static const char *const parts[] = { "GPU_I_ID", "port", "sensor" };
	char id[METER_TEXT], whole[METER_TEXT], text[METER_TEXT];

	component(whole, s, m);
	memcpy(id, whole, sizeof(id));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(m->device, parts[i]) &&
		    series_label_get(s->labels, parts[i], text, sizeof(text)))
			add_word(id, text);
	if (strstr(h->attributes, "hw.sensor_location=") &&
	    !strstr(h->attributes, "hw.sensor_location=@"))
		add_word(id, strstr(h->attributes, "hw.sensor_location=") + 19);
	put(a, "hw.id", id);
	if (strcmp(id, whole))
		put(a, "hw.parent", whole);
	put(a, "hw.type", h->type);
	put(a, "hw.name", *s->device ? s->device : "host");
	put_label(a, "hw.model", s, "modelName");
	put_label(a, "hw.driver_version", s, "DCGM_FI_DRIVER_VERSION");
}

/* key=value;key=@label */
static void of_row(struct attributes *a, const struct series *s, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ";"), k = strcspn(text, "=");
		char key[32], value[64];

		snprintf(key, sizeof(key), "%.*s", (int)k, text);
		snprintf(value, sizeof(value), "%.*s", (int)(n - k - 1), text + k + 1);
		if (*value == '@')
			put_label(a, key, s, value + 1);
		else
			put(a, key, value);
		text += n + (text[n] == ';');
	}
}

static int states(struct meter *m, const struct hw *h, const struct attributes *base, double value)
{
	static const char *const words[] = { "ok", "degraded", "failed" };
	int err = 0;

	for (unsigned i = 0; i < 3 && !err; i++) {
		struct attributes a = *base;

		put(&a, "hw.state", words[i]);
		err = meter_add(m, h->name, h->unit, METER_LEVEL | METER_OTLP, value == i,
				list(&a));
	}
	return err;
}

int hw_add(struct meter *m, const struct series *s, double value)
{
	const struct metric *x = metric_get(s->metric);
	struct attributes a = { .n = 0 };
	const struct hw *h = NULL;

	for (size_t i = 0; x && !h && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].metric, x->name))
			h = &rows[i];
	if (!h)
		return 0;
	of_row(&a, s, h->attributes);
	identify(&a, s, x, h);
	if (h->kind == STATE)
		return states(m, h, &a, value);
	return meter_add(m, h->name, h->unit, h->kind | METER_OTLP, value * h->factor, list(&a));
}

const char *hw_unit(const char *unit)
{
	static const char *const as[][2] = {
		{ "", "1" },         { "C", "Cel" },         { "B", "By" },
		{ "B/s", "By/s" },   { "MiB", "MiBy" },      { "KiB", "KiBy" },
		{ "KB/s", "kBy/s" }, { "Gbit/s", "Gbit/s" }, { "1/min", "rpm" },
	};

	for (size_t i = 0; i < sizeof(as) / sizeof(as[0]); i++)
		if (!strcmp(as[i][0], unit))
			return as[i][1];
	return unit;
}
