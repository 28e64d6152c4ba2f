/* SPDX-License-Identifier: Apache-2.0 */
/* aon rack - the BMCs of racks at a glance, from what aon-collect last saw of each (collect/bmc/bmc_state.c). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/num.h"
#include "base/vec.h"
#include "cli/core/out.h"

#define RACK_DIR   "/run/aon/bmc"
#define FILE_BYTES (1u << 20)
#define OLD_S      60 /* of a file: aon-collect does not write it any more */

struct tray {
	char name[64], kind[16], rack[48], position[24], why[160], hottest[112], unwell[112];
	char health[16], leak[16];
	double t, age, watts, inlet, hot, fan_low, fans, up_links, down_links, errors, stale;
	unsigned gpus;
	double gpu_hot;
	bool up;
	char *text; /* owned: the file, for --json */
	size_t len;
};

static void take_gpus(struct tray *b, struct json_tok list)
{
	const char *p = list.s + 1, *end = list.s + list.len, *q;
	struct json_tok gpu, key, value;
	double v;

	while (json_item(&p, end, &gpu)) {
		b->gpus++;
		q = gpu.s + 1;
		while (*gpu.s == '{' && json_pair(&q, gpu.s + gpu.len, &key, &value))
			if (json_tok_is(key, "celsius") && *value.s != 'n' &&
			    json_tok_real(value, &v) && !(v <= b->gpu_hot))
				b->gpu_hot = v;
	}
}

static void take(struct tray *b, struct json_tok key, struct json_tok value)
{
	const struct {
		const char *key;
		char *text;
		size_t cap;
		double *number;
	} fields[] = {
		{ "bmc", b->name, sizeof(b->name), NULL },
		{ "kind", b->kind, sizeof(b->kind), NULL },
		{ "rack", b->rack, sizeof(b->rack), NULL },
		{ "position", b->position, sizeof(b->position), NULL },
		{ "why", b->why, sizeof(b->why), NULL },
		{ "hottest", b->hottest, sizeof(b->hottest), NULL },
		{ "unwell", b->unwell, sizeof(b->unwell), NULL },
		{ "health", b->health, sizeof(b->health), NULL },
		{ "leak", b->leak, sizeof(b->leak), NULL },
		{ "t", NULL, 0, &b->t },
		{ "age_s", NULL, 0, &b->age },
		{ "watts", NULL, 0, &b->watts },
		{ "inlet_celsius", NULL, 0, &b->inlet },
		{ "hottest_celsius", NULL, 0, &b->hot },
		{ "slowest_fan_rpm", NULL, 0, &b->fan_low },
		{ "fans", NULL, 0, &b->fans },
		{ "links_up", NULL, 0, &b->up_links },
		{ "links_down", NULL, 0, &b->down_links },
		{ "errors", NULL, 0, &b->errors },
		{ "stale", NULL, 0, &b->stale },
	};

	if (json_tok_is(key, "up"))
		b->up = json_tok_is(value, "true");
	else if (json_tok_is(key, "gpus") && *value.s == '[')
		take_gpus(b, value);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (json_tok_is(key, fields[i].key)) {
			if (fields[i].number && *value.s != 'n') /* null: not known */
				json_tok_real(value, fields[i].number);
			else if (!fields[i].number && *value.s == '"')
				fields[i].text[json_tok_unescape(fields[i].text, fields[i].cap - 1,
								 json_tok_text(value))] = '\0';
		}
}

/* One file; false: it is none of a BMC. */
static bool read_tray(struct tray *b, const char *path)
{
	struct json_tok key, value;
	const char *p, *end, *q;

	*b = (struct tray){
		.age = NAN, .watts = NAN, .inlet = NAN, .hot = NAN, .fan_low = NAN, .gpu_hot = NAN
	};
	if (file_regular(&b->text, &b->len, AT_FDCWD, path, 0, FILE_BYTES) < 0)
		return false;
	memset(b->text + b->len, '"', JSON_PAD);
	end = b->text + b->len;
	p = json_space(b->text, end);
	q = p < end && *p == '{' ? json_skip(p, end) : NULL;
	if (q && q <= end) {
		b->len = (size_t)(q - b->text);
		for (p++; json_pair(&p, end, &key, &value);)
			take(b, key, value);
	}
	if (*b->name)
		return true;
	free(b->text);
	return false;
}

static long number_in(const char *s)
{
	while (*s && !isdigit((unsigned char)*s))
		s++;
	return *s ? num_front_i64(s, NULL) : LONG_MAX;
}

static int by_place(const void *x, const void *y)
{
	const struct tray *a = x, *b = y;
	int c = strcmp(a->rack, b->rack);
	long p = number_in(a->position), q = number_in(b->position);

	return c ? c : p != q ? (p < q ? -1 : 1) : strcmp(a->name, b->name);
}

static int load(struct tray **out, size_t *n, const char *dir)
{
	DIR *d = opendir(dir);
	struct tray *all = NULL;
	struct dirent *e;
	char path[PATH_MAX];

	*n = 0;
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (*e->d_name == '.' || len < 6 || strcmp(e->d_name + len - 5, ".json"))
			continue;
		if (vec_more(&all, *n, sizeof(*all)) < 0)
			break;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		*n += read_tray(&all[*n], path);
	}
	closedir(d);
	if (*n)
		qsort(all, *n, sizeof(*all), by_place);
	*out = all;
	return 0;
}

/* --- text --- */

static const struct col cols[] = { COL_TEXT("at", 0),      COL_TEXT("BMC", 0),
				   COL_TEXT("kind", 8),    COL_NUM("power", 0),
				   COL_NUM("inlet", 2),    COL_NUM("hottest", 1),
				   COL_NUM("GPUs", 3),     COL_NUM("hottest GPU", 4),
				   COL_NUM("fans", 7),     COL_NUM("slowest", 6),
				   COL_NUM("links up", 5), COL_NUM("errors", 9),
				   COL_NAME("state", 0) };

static void add(struct table *t, double v, unsigned decimals)
{
	if (isnan(v))
		table_add(t, "-");
	else
		table_add(t, "%.*f", (int)decimals, v);
}

static void state_of(const struct tray *b, char *out, size_t cap)
{
	double file_age = difftime(time(NULL), (time_t)b->t);

	if (file_age > OLD_S)
		snprintf(out, cap, "not looked at for %.0f s: does aon-collect run?", file_age);
	else if (!b->up)
		snprintf(out, cap, "down: %s", b->why);
	else if (strcmp(b->leak, "OK"))
		snprintf(out, cap, "leak: %s", b->leak);
	else if (strcmp(b->health, "OK"))
		snprintf(out, cap, "%s: %s", b->health, b->unwell);
	else if (b->down_links > 0)
		snprintf(out, cap, "%.0f links down", b->down_links);
	else
		snprintf(out, cap, "ok%s", b->stale > 0 ? ", some readings are stale" : "");
}

static void add_row(struct table *t, const struct out *out, const struct tray *b)
{
	char state[320];

	table_add_text(t, out, *b->position ? b->position : "-");
	table_add_text(t, out, b->name);
	table_add_text(t, out, b->kind);
	add(t, b->watts, 0);
	add(t, b->inlet, 0);
	add(t, b->hot, 0);
	table_add(t, b->gpus ? "%u" : "-", b->gpus);
	add(t, b->gpu_hot, 0);
	add(t, b->fans, 0);
	add(t, b->fan_low, 0);
	table_add(t, "%.0f/%.0f", b->up_links, b->up_links + b->down_links);
	add(t, b->errors, 0);
	state_of(b, state, sizeof(state));
	table_add_text(t, out, state);
}

static size_t show_rack(const struct out *out, const struct tray *b, size_t n)
{
	double watts = 0;
	size_t m = 0, up = 0;
	unsigned gpus = 0;
	struct table t;

	table_init(&t, cols, sizeof(cols) / sizeof(cols[0]));
	t.unit[3] = "W";
	t.unit[4] = t.unit[5] = t.unit[7] = "C";
	t.unit[9] = "rpm";
	for (; m < n && !strcmp(b[m].rack, b[0].rack); m++) {
		add_row(&t, out, &b[m]);
		up += b[m].up;
		gpus += b[m].gpus;
		watts += !isnan(b[m].watts) && strcmp(b[m].kind, "power") ? b[m].watts : 0;
	}
	out_line(out, OUT_BOLD, "%s%s  %zu of %zu BMCs answer  %u GPUs  %.1f kW",
		 *b[0].rack ? "Rack " : "No rack", b[0].rack, up, m, gpus, watts / 1000);
	table_done(&t, out, 2);
	return m;
}

static void show_json(const struct tray *b, size_t n)
{
	struct json j;

	json_begin(&j, stdout, "aon.rack/1");
	json_open(&j, "bmcs", '[');
	for (size_t i = 0; i < n; i++)
		json_raw(&j, NULL, b[i].text, b[i].len);
	json_end(&j);
}

int cmd_rack(const struct opts *o)
{
	const char *dir = o->argc ? o->argv[0] : RACK_DIR;
	struct tray *b = NULL;
	struct out out;
	size_t n;
	int err;

	if (o->argc > 1)
		return cli_misuse("takes one folder at most");
	err = load(&b, &n, dir);
	if (err || !n) {
		free(b);
		return cli_say(CLI_FAIL,
			       "%s: %s. Name BMCs in /etc/aon/bmc.conf and run aon-collect redfish "
			       "(docs/bmc.md)",
			       dir, err ? strerror(-err) : "no BMC was looked at");
	}
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON])
		show_json(b, n);
	for (size_t i = 0; !o->val[OPT_JSON] && i < n;)
		i += show_rack(&out, &b[i], n - i);
	for (size_t i = 0; i < n; i++)
		free(b[i].text);
	free(b);
	return CLI_OK;
}
