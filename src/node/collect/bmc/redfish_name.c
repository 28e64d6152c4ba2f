/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_name.c - maps properties to rows of redfish_leaf.tbl.h, and paths to names of devices. */
#include "collect/bmc/redfish_name.h"

#include "model/telemetry.h"

#define NO_ZERO REDFISH_NO_ZERO
#define QUIET   REDFISH_QUIET
#define IS      false
#define ENDS    true

static const struct redfish_row readings[] = {
#define READING(unit, metric, factor, flags) { unit, metric, "", factor, flags, false },
#define LEAF(how, key, metric, label, factor, flags)
#include "collect/bmc/redfish_leaf.tbl.h"
};

static const struct redfish_row leaves[] = {
#define READING(unit, metric, factor, flags)
#define LEAF(how, key, metric, label, factor, flags) { key, metric, label, factor, flags, how },
#include "collect/bmc/redfish_leaf.tbl.h"
};

const struct redfish_row *redfish_row_of(const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		size_t n = strlen(leaves[i].key);

		if (leaves[i].ends ? len >= n && !strcmp(key + len - n, leaves[i].key)
				   : !strcmp(key, leaves[i].key))
			return &leaves[i];
	}
	return NULL;
}

const struct redfish_row *redfish_row_of_reading(const char *units, const char *kind)
{
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
		if (!strcmp(readings[i].key, units) || !strcmp(readings[i].key, kind))
			return &readings[i];
	return NULL;
}

/* Adds a word behind a slash; what does not fit is left out whole. */
static void add(char out[REDFISH_DEVICE], const char *word, size_t n)
{
	size_t len = strlen(out);

	if (!n || len + n + 2 > REDFISH_DEVICE)
		return;
	if (len)
		out[len++] = '/';
	for (size_t i = 0; i < n; i++)
		out[len + i] = (unsigned char)word[i] < ' ' || word[i] == '"' || word[i] == '\\' ||
					       word[i] == 0x7f
				       ? '_'
				       : word[i];
	out[len + n] = '\0';
}

/* Words of a path behind which no name of a member comes. */
static bool is_single(const char *word, size_t n)
{
	static const char *const singles[] = {
		"UpdateService",
		"TelemetryService",
		"EventService",
		"ThermalSubsystem",
		"PowerSubsystem",
		"LeakDetection",
		"PowerEquipment",
		"ThermalEquipment",
		"MemorySummary",
		"Metrics",
		"ProcessorMetrics",
		"MemoryMetrics",
		"EnvironmentMetrics",
		"ThermalMetrics",
		"Thermal",
		"Power",
		"Bios",
		"Oem",
	};

	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		if (strlen(singles[i]) == n && !memcmp(singles[i], word, n))
			return true;
	return false;
}

void redfish_device(char out[REDFISH_DEVICE], const char *path, const char *pointer,
		    const char *said)
{
	static const char root[] = "/redfish/v1/";
	const char *p = path;
	bool member = false;

	out[0] = '\0';
	if (!strncmp(p, root, sizeof(root) - 1))
		p += sizeof(root) - 1;
	if (!strcmp(p, "/redfish/v1"))
		p = "";
	p += *p == '/';
	while (*p) {
		size_t n = strcspn(p, "/");
		bool single = !member && is_single(p, n);

		if (member || (single && !strncmp(p, "MemorySummary", n)))
			add(out, p, n);
		member = !member && !single;
		p += n + (p[n] == '/');
	}
	if (!out[0])
		add(out, "BMC", 3);
	if (*pointer && *said && strpbrk(pointer, "0123456789"))
		add(out, said, strlen(said));
}

static bool word_value(const char *key, struct json_tok text, double *out)
{
	static const struct {
		const char *key, *word;
		double value;
	} words[] = {
		{ "LinkStatus", "LinkUp", 1 },
		{ "LinkStatus", "LinkDown", 0 },
		{ "LinkStatus", "NoLink", 0 },
		{ "LinkStatus", "Training", 0 },
		{ "Health", "OK", 0 },
		{ "Health", "Warning", 1 },
		{ "Health", "Critical", 2 },
		{ "DetectorState", "OK", 0 },
		{ "DetectorState", "Warning", 1 },
		{ "DetectorState", "Critical", 2 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(key, words[i].key) && json_tok_is(text, words[i].word)) {
			*out = words[i].value;
			return true;
		}
	return false;
}

bool redfish_value(const struct redfish_row *row, struct json_tok value, double *out)
{
	double v;

	if (*row->key && word_value(row->key, json_tok_text(value), out))
		return true;
	if (!redfish_number(value, &v) || telemetry_is_none(v) ||
	    (v == 0 && row->flags & REDFISH_NO_ZERO))
		return false;
	*out = v * row->factor;
	return true;
}
