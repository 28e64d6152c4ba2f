/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_take.c - stores a BMC's answers: values, facts, log entries. */
#include <string.h>

#include "base/clock.h"
#include "collect/bmc/redfish_look.h"
#include "collect/bmc/redfish_name.h"

#define OLD_NS (120 * S) /* of the BMC's: a reading that is so much older than the newest */

/* --- values --- */

static void put(struct looker *l, struct bmc_value *v, double x, uint64_t for_ns)
{
	v->v = x;
	v->until_ns = clock_mono_ns() + for_ns;
	v->from = l->at;
}

static uint64_t key_of(const char *path, const char *pointer)
{
	char text[2 * REDFISH_PATH + 2];
	int n;

	if (!strcmp(pointer, "/Reading")) /* a sensor's: reports name the sensor alone */
		pointer = "";
	n = snprintf(text, sizeof(text), "%s%s%s", path, *pointer ? "#" : "", pointer);
	return bmc_hash(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static void describe(struct bmc_value *v, const struct redfish_row *row, bool reading)
{
	v->metric = row->metric;
	v->label = *row->label ? row->label : NULL;
	v->factor = row->factor;
	v->flags = (uint8_t)row->flags;
	v->reading = reading;
}

static const struct redfish_row *row_of(const struct redfish_leaf *l, bool *reading)
{
	*reading = !strcmp(l->key, "Reading") || !strcmp(l->pointer, "/Reading");
	return *reading ? redfish_row_of_reading(l->units, l->kind) : redfish_row_of(l->key);
}

/* A value in a resource itself. */
void redfish_take_leaf(void *arg, const struct redfish_leaf *leaf)
{
	struct looker *l = arg;
	bool reading;
	const struct redfish_row *row = row_of(leaf, &reading);
	uint64_t key;
	struct bmc_value *v;
	char device[REDFISH_DEVICE];
	double x;

	if (!row)
		return;
	key = key_of(leaf->path, leaf->pointer);
	v = bmc_value_at(l->b, key);
	if (!v || (!v->metric && v->id == UINT32_MAX)) {
		redfish_device(device, leaf->path, leaf->pointer, leaf->said);
		if (!v)
			v = bmc_value_add(l->b, key, device, leaf->key);
		if (!v)
			return;
		if (!v->device)
			v->device = strdup(device);
		describe(v, row, reading);
	}
	if (leaf->absent || !redfish_value(row, leaf->value, &x)) {
		if (leaf->absent)
			v->until_ns = 0;
		return;
	}
	if (v->by_report)
		return;
	l->fresh_values = true;
	put(l, v, x, 3 * l->round_ns + redfish_stale_ns(l));
}

/* "path#/pointer" of a report as parts; false: too long. */
static bool parts(struct json_tok property, char path[REDFISH_PATH], char pointer[REDFISH_PATH])
{
	const char *hash = memchr(property.s, '#', property.len);
	size_t n = hash ? (size_t)(hash - property.s) : property.len,
	       m = hash ? property.len - n - 1 : 0;

	if (n >= REDFISH_PATH || m >= REDFISH_PATH)
		return false;
	memcpy(path, property.s, n);
	path[n] = '\0';
	if (hash)
		memcpy(pointer, hash + 1, m);
	pointer[m] = '\0';
	return true;
}

/* The first time that a report has a property. */
static struct bmc_value *met(struct looker *l, uint64_t key, struct json_tok property)
{
	char path[REDFISH_PATH], pointer[REDFISH_PATH], device[REDFISH_DEVICE], *last;
	const struct redfish_row *row = NULL;
	struct bmc_value *v;

	if (!parts(property, path, pointer))
		return NULL;
	redfish_device(device, path, pointer, "");
	last = strrchr(pointer, '/');
	while (last > pointer && last[1] >= '0' &&
	       last[1] <= '9') { /* .../NVDecInstanceUtilizationPercent/0 */
		*last = '\0';
		last = strrchr(pointer, '/');
	}
	if (last)
		row = redfish_row_of(last + 1);
	v = bmc_value_add(l->b, key, device, last ? last + 1 : "");
	/* A sensor's unit is in the sensor: until that was read its row is not known. */
	if (v && row && strcmp(pointer, "/Reading"))
		describe(v, row, false);
	return v;
}

/* Reports say the same in the same order: the one behind the last, or wherever it is. */
static struct bmc_value *value_of(struct looker *l, uint64_t key)
{
	struct bmc_value *v = &l->b->value[l->after];

	if (l->after >= l->b->values || v->key != key)
		v = bmc_value_at(l->b, key);
	if (v)
		l->after = (uint32_t)(v - l->b->value) + 1;
	return v;
}

void redfish_take_metric(void *arg, const struct redfish_metric *m)
{
	struct looker *l = arg;
	uint64_t key = bmc_hash(m->property.s, m->property.len);
	struct bmc_value *v = value_of(l, key);
	struct redfish_row row = { 0 };
	double x;

	if (!v)
		v = met(l, key, m->property);
	if (!v)
		return;
	v->by_report = true;
	if (m->t_ns > l->newest) {
		l->newest = m->t_ns;
		l->moved_ns = clock_mono_ns();
	}
	if (!v->metric)
		return;
	if (m->stale ||
	    (v->reading && (l->still || (m->t_ns && l->newest - m->t_ns > (int64_t)OLD_NS)))) {
		v->until_ns = 0;
		return;
	}
	row.key = !strcmp(v->metric, "bmc_health")    ? "Health"
		  : !strcmp(v->metric, "bmc_link_up") ? "LinkStatus"
						      : "";
	row.factor = v->factor;
	row.flags = v->flags;
	if (redfish_value(&row, m->value, &x))
		put(l, v, x, 3 * (uint64_t)l->b->conf->interval * S + redfish_stale_ns(l));
	else
		v->until_ns = 0;
}

/* --- facts --- */

static bool is_secret(const char *key)
{
	static const char *const words[] = { "assword",   "asswd",      "ecret",
					     "assphrase", "PrivateKey", "Token" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(key, words[i]))
			return true;
	return false;
}

void redfish_take_fact(void *arg, const struct redfish_leaf *leaf)
{
	static const char *const keys[] = { "Version",       "Model",          "Manufacturer",
					    "SerialNumber",  "PartNumber",     "FirmwareVersion",
					    "ProcessorType", "TotalCores",     "Product",
					    "Vendor",        "RedfishVersion", "BiosVersion",
					    "PowerState" };
	struct looker *l = arg;
	char device[REDFISH_DEVICE], key[REDFISH_DEVICE + 150], value[160], top[48] = "Root";
	const char *firmware;
	struct json_tok text = json_tok_text(leaf->value);
	bool bios = !strncmp(leaf->pointer, "/Attributes/", 12);
	const char *slash = strchr(leaf->pointer + (*leaf->pointer != 0), '/');

	for (size_t i = 0; !bios; i++) {
		if (i == sizeof(keys) / sizeof(keys[0]) || slash)
			return;
		if (!strcmp(leaf->key, keys[i]))
			break;
	}
	if (is_secret(leaf->key) || text.len >= sizeof(value) || !text.len ||
	    json_tok_is(text, "null"))
		return;
	value[json_tok_unescape(value, sizeof(value) - 1, text)] = '\0';
	redfish_device(device, leaf->path, "", "");
	firmware = strstr(leaf->path, "/FirmwareInventory/");
	if (firmware && strcmp(leaf->key, "Version"))
		return;
	if (strlen(leaf->path) > 12)
		snprintf(top, sizeof(top), "%.*s", (int)strcspn(leaf->path + 12, "/"),
			 leaf->path + 12);
	snprintf(key, sizeof(key), "%s/%s%s%s",
		 bios       ? "bios"
		 : firmware ? "firmware"
			    : top,
		 bios ? "" : device, bios || firmware ? "" : "/", firmware ? "" : leaf->key);
	bmc_fact(l->b, key, value);
}

/* --- logs --- */

void redfish_take_log(void *arg, const struct redfish_event *e)
{
	struct looker *l = arg;
	uint64_t h = bmc_hash(e->id, strlen(e->id)) ^ bmc_hash(e->created, strlen(e->created));

	for (uint32_t i = 0; i < LOG_SEEN; i++)
		if (l->log_seen[i] == h)
			return;
	l->log_seen[l->logs++ % LOG_SEEN] = h;
	if (l->logs_known)
		bmc_event(l->b, "log", "%s %s", e->severity, e->message);
}
