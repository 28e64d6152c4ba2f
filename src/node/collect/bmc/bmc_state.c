/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmc_state.c - a BMC in a few numbers, as a file for aon rack: power, temperature, faults; and its
 * components, for aon validate.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "collect/bmc/bmc.h"

#define GPUS     64u
#define WRITE_NS 29000000000ull /* between two of its files, once it is known and well */

struct gpu {
	const char *name; /* "GPU_0"; borrowed */
	double celsius, watts, mhz;
};

struct sum {
	double watts, inlet, hottest, fan_low, errors;
	const char *hottest_at, *sick_at;
	unsigned fans, up, down, health, leak;
	struct gpu gpu[GPUS];
	unsigned gpus;
};

/* Whether the device is of the GPU: its name stands in it, and no digit follows. */
static bool is_of(const char *device, const char *gpu)
{
	size_t n = strlen(gpu);

	for (const char *at = device; (at = strstr(at, gpu)); at += n)
		if (at[n] < '0' || at[n] > '9')
			return true;
	return false;
}

/* "Systems/HGX_Baseboard_0/GPU_0/ProcessorType" is "GPU". */
static void find_gpus(struct sum *s, const struct bmc *b)
{
	static const char end[] = "/ProcessorType";
	static _Thread_local char names[GPUS][32];

	for (uint32_t i = 0; i < b->facts && s->gpus < GPUS; i++) {
		const char *key = b->fact[i].key;
		size_t n = strlen(key), from;

		if (strcmp(b->fact[i].value, "GPU") || n <= sizeof(end) ||
		    strcmp(key + n - (sizeof(end) - 1), end))
			continue;
		n -= sizeof(end) - 1;
		for (from = n; from && key[from - 1] != '/'; from--)
			;
		snprintf(names[s->gpus], sizeof(names[0]), "%.*s", (int)(n - from), key + from);
		s->gpu[s->gpus] = (struct gpu){ names[s->gpus], NAN, NAN, NAN };
		s->gpus++;
	}
}

static void higher(double *at, double v)
{
	if (isnan(*at) || v > *at)
		*at = v;
}

static void add_gpu(struct sum *s, const struct bmc_value *v)
{
	for (unsigned i = 0; i < s->gpus; i++) {
		struct gpu *g = &s->gpu[i];

		if (!is_of(v->device, g->name) || strstr(v->device, "DRAM") ||
		    strstr(v->device, "Memory"))
			continue;
		if (!strcmp(v->metric, "bmc_temperature_celsius"))
			higher(&g->celsius, v->v);
		else if (!strcmp(v->metric, "bmc_power_watts"))
			higher(&g->watts, v->v);
		else if (!strcmp(v->metric, "bmc_clock_mhz"))
			higher(&g->mhz, v->v);
	}
}

static void add(struct sum *s, const struct bmc_value *v)
{
	const char *m = v->metric + 4; /* behind "bmc_" */

	if (!strcmp(m, "temperature_celsius")) {
		if ((strcasestr(v->device, "inlet") || strcasestr(v->device, "intake") ||
		     strcasestr(v->device, "ambient")) &&
		    (isnan(s->inlet) || v->v < s->inlet))
			s->inlet = v->v;
		if (isnan(s->hottest) || v->v > s->hottest) {
			s->hottest = v->v;
			s->hottest_at = v->device;
		}
	} else if (!strcmp(m, "power_watts")) {
		higher(&s->watts, v->v); /* what comes in is more than what any part draws */
	} else if (!strcmp(m, "fan_rpm")) {
		s->fans++;
		if (isnan(s->fan_low) || v->v < s->fan_low)
			s->fan_low = v->v;
	} else if (!strcmp(m, "link_up")) {
		s->up += v->v != 0;
		s->down += v->v == 0;
	} else if (!strcmp(m, "errors_total")) {
		s->errors += v->v;
	} else if (!strcmp(m, "leak")) {
		s->leak = v->v > s->leak ? (unsigned)v->v : s->leak;
	} else if (!strcmp(m, "health") && v->v > s->health) {
		s->health = (unsigned)v->v;
		s->sick_at = v->device;
	}
	if (s->gpus)
		add_gpu(s, v);
}

static void write_gpus(struct json *j, const struct sum *s)
{
	json_open(j, "gpus", '[');
	for (unsigned i = 0; i < s->gpus; i++)
		json_object(j, NULL, J_STR("name", s->gpu[i].name),
			    J_REAL("celsius", s->gpu[i].celsius), J_REAL("watts", s->gpu[i].watts),
			    J_REAL("mhz", s->gpu[i].mhz));
	json_close(j);
}

static void write_state(const struct bmc *b, const struct sum *s, uint64_t now, FILE *f)
{
	static const char *const words[] = { "OK", "Warning", "Critical" };
	struct json j;

	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_STR("bmc", b->conf->name), J_STR("kind", b->conf->kind),
		     J_STR("rack", b->conf->rack), J_STR("position", b->conf->position),
		     J_BOOL("up", b->up), J_STR("why", b->why), J_U64("t", (uint64_t)time(NULL)),
		     J_REAL("age_s", b->seen_ns ? (double)(now - b->seen_ns) / 1e9 : NAN),
		     J_REAL("watts", s->watts), J_REAL("inlet_celsius", s->inlet),
		     J_REAL("hottest_celsius", s->hottest), J_STR("hottest", s->hottest_at),
		     J_U64("fans", s->fans), J_REAL("slowest_fan_rpm", s->fan_low),
		     J_U64("links_up", s->up), J_U64("links_down", s->down),
		     J_U64("errors", (uint64_t)s->errors),
		     J_STR("leak", words[s->leak > 2 ? 2 : s->leak]),
		     J_STR("health", words[s->health > 2 ? 2 : s->health]),
		     J_STR("unwell", s->sick_at), J_U64("stale", b->stale),
		     J_U64("resources", b->resources), J_U64("requests", b->requests),
		     J_U64("failed", b->failed), J_U64("left_out", b->dropped),
		     J_BOOL("complete", b->discovered));
	write_gpus(&j, s);
	json_open(&j, "facts", '{');
	for (uint32_t i = 0; i < b->facts; i++)
		json_str(&j, b->fact[i].key, b->fact[i].value);
	json_end(&j);
}

/* As text, to be freed; NULL: no memory. What is written to waits for nothing while the lock is held. */
static char *state_text(struct bmc *b, uint64_t now, size_t *n)
{
	struct sum s = { .watts = NAN, .inlet = NAN, .hottest = NAN, .fan_low = NAN };
	char *text = NULL;
	FILE *f = open_memstream(&text, n);

	if (!f)
		return NULL;
	pthread_mutex_lock(&b->lock);
	find_gpus(&s, b);
	for (uint32_t i = 0; i < b->values; i++)
		if (bmc_value_holds(b, &b->value[i], now))
			add(&s, &b->value[i]);
	write_state(b, &s, now, f);
	pthread_mutex_unlock(&b->lock);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static int replace(const char *dir, const char *name, const char *text, size_t n)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	snprintf(fresh, sizeof(fresh), "%s/.%s.new", dir, name);
	f = fopen(fresh, "we");
	if (!f)
		return -errno;
	err = fwrite(text, 1, n, f) == n ? 0 : -EIO;
	if (fclose(f) || err || rename(fresh, path) < 0) {
		unlink(fresh);
		return -EIO;
	}
	return 0;
}

int bmc_write(struct bmc *b, const char *dir)
{
	uint64_t now = clock_mono_ns();
	char *text;
	size_t n;
	bool due;
	int err;

	pthread_mutex_lock(&b->lock);
	due = !b->written_ns || now - b->written_ns >= WRITE_NS || !b->written_up || !b->up;
	if (due) {
		b->written_ns = now;
		b->written_up = b->up && b->discovered;
	}
	pthread_mutex_unlock(&b->lock);
	if (!due)
		return 0;
	text = state_text(b, now, &n);
	err = text ? replace(dir, b->conf->name, text, n) : -ENOMEM;
	free(text);
	return err;
}
