/* SPDX-License-Identifier: Apache-2.0 */
/* An insight made stretch by stretch says what one made at once says, wherever it is cut. */
#include "insight/stretch.h"

#include <stdlib.h>
#include <string.h>

#include "insight/find/finding.h"
#include "read/json.h"
#include "runkit.h"
#include "t.h"

/* --- what is said of it --- */

/* Quantiles of durations are a sketch's in stretches: they go. */
static void blank(char *text, const char *key)
{
	for (char *at = text; (at = strstr(at, key)) != NULL;)
		for (at += strlen(key); *at >= '0' && *at <= '9'; at++)
			*at = '#';
}

/* Digits may be more or less. */
static char *squeeze(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at != '#' || to == text || to[-1] != '#')
			*to++ = *at;
	*to = '\0';
	return text;
}

/* Without the replay, which is of the newest steps if there are stretches. */
static char *say(struct insight *in)
{
	bool parted = in->parted;
	struct findings *fs = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct json j;

	in->parted = true;
	kit_must(f && findings_new(&fs, in) == 0, "findings");
	in->parted = parted;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	insight_json(&j, in);
	findings_json(&j, in->t, fs, 0);
	for (size_t i = 0; i < in->waits.ranks; i++) {
		json_u64(&j, "comm_ns", in->waits.rank[i].comm_ns);
		json_u64(&j, "waited_ns", in->waits.rank[i].waited_ns);
		json_u64(&j, "late_ns", in->waits.rank[i].late_ns);
	}
	json_end(&j);
	fclose(f);
	findings_free(fs);
	blank(text, "\"p50_ns\":");
	blank(text, "\"p99_ns\":");
	return squeeze(text);
}

static void fill(struct insight *in, struct trace *t, const struct event *all, size_t n,
		 uint64_t lo, uint64_t hi)
{
	trace_clear(t, 0);
	kit_must(insight_carried(in, t) == 0, "carried");
	for (size_t i = 0; i < n; i++) {
		struct event e = all[i];

		if (trace_stretch(t, &e, lo, hi))
			kit_must(trace_add(t, &e, 0) == 0, "add");
	}
	kit_must(trace_seal(t) == 0 && insight_stretch(in, lo, hi) == 0, "stretch");
}

static struct insight *in_stretches(struct trace *t, const struct event *all, size_t n,
				    const uint64_t *cut, size_t cuts, size_t *most)
{
	struct insight *in;

	trace_clear(t, 0);
	for (size_t i = 0; i < n; i++)
		if (all[i].kind == EVENT_STEP)
			kit_must(trace_add(t, &all[i], 0) == 0, "add");
	kit_must(trace_seal(t) == 0 && insight_open(&in, t) == 0, "open");
	for (size_t i = 0; i < n; i++)
		kit_must(insight_reading(in, &all[i]) == 0, "reading");
	for (size_t i = 0; i <= cuts; i++) {
		fill(in, t, all, n, i ? cut[i - 1] : 0, i < cuts ? cut[i] : UINT64_MAX);
		*most = t->events > *most ? t->events : *most;
	}
	kit_must(insight_close(in) == 0, "close");
	return in;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Where the two texts part, for whoever has to find out why. */
static void show(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	i = i > 300 ? i - 300 : 0;
	fprintf(stderr, "whole:     %.420s\nstretches: %.420s\n", a + i, b + i);
}

static bool close_to(uint64_t a, uint64_t b)
{
	uint64_t far = a > b ? a - b : b - a;

	return far <= a / 64 + 1;
}

static bool same_quantiles(const struct insight_row *a, size_t n, const struct insight_table *b)
{
	bool same = n == b->rows;

	for (size_t i = 0; i < n && same; i++)
		same = b->row[i].count < 100 || (close_to(a[i].p50_ns, b->row[i].p50_ns));
	return same;
}

static void compare(uint64_t with)
{
	static const size_t parts[] = { 2, 3, 8, 40, 200 };
	struct trace *t = run_make(with);
	size_t n = t->events, rows, most = 0;
	struct event *all = malloc(n * sizeof(*all));
	struct insight_row *row;
	struct insight *in;
	uint64_t end = 0;
	char *want, *got;

	kit_must(all && insight_new(&in, t) == 0, "insight");
	memcpy(all, t->event, n * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		end = all[i].start_ns + all[i].dur_ns > end ? all[i].start_ns + all[i].dur_ns : end;
	want = say(in);
	T_OK(in->waits.matched >= RUN_STEPS, "run %llu has collectives of both ranks",
	     (unsigned long long)with);
	rows = in->roll[ROLL_KERNEL].rows;
	row = malloc(rows * sizeof(*row));
	memcpy(row, in->roll[ROLL_KERNEL].row, rows * sizeof(*row));
	insight_free(in);
	for (size_t p = 0; p < T_LEN(parts); p++) {
		uint64_t cut[200];
		bool same;

		for (size_t i = 0; i + 1 < parts[p]; i++)
			cut[i] = 1 + ((uint64_t)run_rnd(1u << 30) << 8) % end;
		qsort(cut, parts[p] - 1, sizeof(*cut), by_value);
		in = in_stretches(t, all, n, cut, parts[p] - 1, &most);
		got = say(in);
		same = !strcmp(want, got);
		T_OK(same, "run %llu of %zu events in %zu stretches says the same",
		     (unsigned long long)with, n, parts[p]);
		if (!same)
			show(want, got);
		T_OK(same_quantiles(row, rows, &in->roll[ROLL_KERNEL]),
		     "and its medians are as close as a sketch's");
		insight_free(in);
		free(got);
	}
	free(row);
	free(want);
	free(all);
	trace_free(t);
}

int main(int argc, char **argv)
{
	uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 12;

	for (uint64_t with = 1; with <= runs; with++)
		compare(with);
	return t_done();
}
