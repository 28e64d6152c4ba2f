/* SPDX-License-Identifier: Apache-2.0 */
/* bmc.c - the latest values and events of one BMC, passed from its thread to the collector's. */
#include "collect/bmc/bmc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <xxhash.h>

#include "base/clock.h"
#include "collect/emit.h"
#include "collect/bmc/redfish_name.h"
#include "model/telemetry.h"

int bmc_init(struct bmc *b, const struct bmc_conf *conf, const _Atomic bool *stop)
{
	*b = (struct bmc){ .conf = conf, .stop = stop };
	b->value =
		calloc(BMC_VALUES, sizeof(*b->value)); /* pages that are not touched cost nothing */
	b->fact = calloc(BMC_FACTS, sizeof(*b->fact));
	if (!b->value || !b->fact) {
		bmc_fini(b);
		return -ENOMEM;
	}
	pthread_mutex_init(&b->lock, NULL);
	snprintf(b->why, sizeof(b->why), "not asked yet");
	return 0;
}

void bmc_fini(struct bmc *b)
{
	for (uint32_t i = 0; b->value && i < b->values; i++) {
		free(b->value[i].device);
		free(b->value[i].what);
	}
	for (uint32_t i = 0; b->fact && i < b->facts; i++) {
		free(b->fact[i].key);
		free(b->fact[i].value);
	}
	free(b->value);
	map_fini(&b->by_key);
	free(b->from_until_ns);
	free(b->fact);
}

uint64_t bmc_hash(const char *text, size_t n)
{
	return XXH3_64bits(text, n);
}

/* All threads sleep on it, so that none has to wake up to see whether it is to end. */
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_ends = PTHREAD_COND_INITIALIZER;

bool bmc_sleep(const struct bmc *b, uint64_t ns)
{
	struct timespec end = clock_after(CLOCK_MONOTONIC, ns);

	pthread_mutex_lock(&sleep_lock);
	while (!bmc_stops(b) &&
	       pthread_cond_clockwait(&sleep_ends, &sleep_lock, CLOCK_MONOTONIC, &end) == 0)
		;
	pthread_mutex_unlock(&sleep_lock);
	return !bmc_stops(b);
}

void bmc_stop_all(_Atomic bool *stop)
{
	pthread_mutex_lock(&sleep_lock);
	atomic_store_explicit(stop, true, memory_order_relaxed);
	pthread_cond_broadcast(&sleep_ends);
	pthread_mutex_unlock(&sleep_lock);
}

/* --- values --- */

struct bmc_value *bmc_value_at(struct bmc *b, uint64_t key)
{
	uint64_t at = map_get(&b->by_key, key);

	return at ? &b->value[at - 1] : NULL;
}

bool bmc_value_holds(const struct bmc *b, const struct bmc_value *v, uint64_t now_ns)
{
	return v->metric && v->device && v->until_ns &&
	       (v->until_ns > now_ns || (b->from_until_ns && b->from_until_ns[v->from] > now_ns));
}

struct bmc_value *bmc_value_add(struct bmc *b, uint64_t key, const char *device, const char *what)
{
	struct bmc_value *v;

	if (b->values == BMC_VALUES || map_put(&b->by_key, key, b->values + 1) < 0) {
		b->dropped++;
		return NULL;
	}
	v = &b->value[b->values++];
	*v = (struct bmc_value){ .key = key, .id = UINT32_MAX, .factor = 1 };
	v->device = device ? strdup(device) : NULL;
	v->what = what && *what ? strdup(what) : NULL;
	return v;
}

void bmc_event(struct bmc *b, const char *what, const char *fmt, ...)
{
	uint32_t i = b->events;
	va_list ap;

	if (i == BMC_EVENTS) {
		b->events_lost++;
		return;
	}
	b->events++;
	snprintf(b->event[i].what, sizeof(b->event[i].what), "%s", what);
	va_start(ap, fmt);
	vsnprintf(b->event[i].text, sizeof(b->event[i].text), fmt, ap);
	va_end(ap);
}

void bmc_looked(struct bmc *b, bool fine, uint64_t began_ns)
{
	uint64_t now = clock_mono_ns();

	if (fine != b->up || (!fine && !b->look_ns))
		bmc_event(b, fine ? "bmc-up" : "bmc-down", "%s", fine ? "answers" : b->why);
	b->up = fine;
	b->look_ns = now - began_ns;
	if (fine) {
		b->seen_ns = now;
		b->why[0] = '\0';
	}
}

void bmc_fact(struct bmc *b, const char *key, const char *value)
{
	uint32_t lo = 0, hi = b->facts;
	char *k, *v;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (strcmp(b->fact[mid].key, key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < b->facts && !strcmp(b->fact[lo].key, key)) {
		if (!strcmp(b->fact[lo].value, value))
			return;
		v = strdup(value);
		if (!v)
			return;
		bmc_event(b, "changed", "%s: %s was %s", key, value, b->fact[lo].value);
		free(b->fact[lo].value);
		b->fact[lo].value = v;
		return;
	}
	k = strdup(key);
	v = strdup(value);
	if (!k || !v || b->facts == BMC_FACTS) {
		b->dropped += b->facts == BMC_FACTS;
		free(k);
		free(v);
		return;
	}
	memmove(&b->fact[lo + 1], &b->fact[lo], (b->facts - lo) * sizeof(*b->fact));
	b->fact[lo] = (struct bmc_fact){ k, v };
	b->facts++;
}

/* --- to the reader --- */

static void labels_of(const struct bmc *b, const struct bmc_value *v,
		      char out[SERIES_LABELS_MAX + 1])
{
	out[0] = '\0';
	series_label(out, "bmc", b->conf->name);
	if (*b->conf->rack)
		series_label(out, "rack", b->conf->rack);
	if (*b->conf->position)
		series_label(out, "position", b->conf->position);
	if (v && v->what && v->label)
		series_label(out, v->label, v->what);
}

static void emit_value(const struct bmc *b, struct bmc_value *v, struct emit *e)
{
	char labels[SERIES_LABELS_MAX + 1];

	if (v->id == UINT32_MAX) {
		if (v->flags & REDFISH_QUIET && v->v == 0)
			return;
		labels_of(b, v, labels);
		v->id = emit_series(e, v->metric, v->device, labels);
		if (v->id == EMIT_NONE) /* never again */
			v->metric = NULL;
	}
	emit_set(e, v->id, v->v);
}

static void emit_own(const struct bmc *b, const char *metric, double v, struct emit *e)
{
	char labels[SERIES_LABELS_MAX + 1] = "";

	if (*b->conf->rack)
		series_label(labels, "rack", b->conf->rack);
	if (*b->conf->position)
		series_label(labels, "position", b->conf->position);
	emit_set(e, emit_series(e, metric, b->conf->name, labels), v);
}

void bmc_emit(struct bmc *b, struct emit *e)
{
	uint64_t now = clock_mono_ns();

	pthread_mutex_lock(&b->lock);
	for (uint32_t i = 0; i < b->values; i++) {
		struct bmc_value *v = &b->value[i];

		if (bmc_value_holds(b, v, now))
			emit_value(b, v, e);
	}
	emit_own(b, "bmc_up", b->up, e);
	if (b->seen_ns)
		emit_own(b, "bmc_age_seconds", (double)(now - b->seen_ns) / 1e9, e);
	emit_own(b, "bmc_requests_total", (double)b->requests, e);
	emit_own(b, "bmc_failed_total", (double)b->failed, e);
	emit_own(b, "bmc_stale", b->stale, e);
	emit_own(b, "bmc_left_out_total", (double)b->dropped, e);
	for (uint32_t i = 0; i < b->events; i++)
		emit_event(e, b->event[i].what, "%s: %s", b->conf->name, b->event[i].text);
	b->events = 0;
	pthread_mutex_unlock(&b->lock);
}
