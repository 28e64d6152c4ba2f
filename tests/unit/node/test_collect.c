/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "collect/emit.h"
#include "collect/wire.h"
#include "t.h"

/* --- the other end --- */

struct heard {
	struct wire_in in;
	struct series series[64];
	double value[64];
	uint32_t samples, ends, events;
	char event[WIRE_TEXT + 1];
};

static int on_series(void *arg, uint32_t number, const struct series *s)
{
	struct heard *x = arg;

	if (number < 64) {
		x->series[number] = *s;
		x->value[number] = NAN;
	}
	return 0;
}

static int on_sample(void *arg, uint64_t t_ns, uint32_t number, double value)
{
	struct heard *x = arg;

	(void)t_ns;
	x->samples++;
	if (number < 64)
		x->value[number] = value;
	return 0;
}

static int on_event(void *arg, uint64_t t_ns, const char *what, const char *text)
{
	struct heard *x = arg;

	(void)t_ns;
	x->events++;
	snprintf(x->event, sizeof(x->event), "%s: %s", what, text);
	return 0;
}

static int on_end(void *arg)
{
	((struct heard *)arg)->ends++;
	return 0;
}

static const struct wire_fns fns = { NULL, on_series, NULL, on_sample, on_event, on_end };

static int listen_to(struct heard *x, int fd)
{
	size_t room;
	void *to = wire_room(&x->in, &room);
	ssize_t n = read(fd, to, room);

	return n > 0 ? wire_got(&x->in, (size_t)n, &fns, x) : -EPIPE;
}

/* --- the wire --- */

static void test_changes(void)
{
	static struct heard x;
	struct emit *e;
	uint32_t a, b, slow;
	int fd[2];

	T_OK(pipe(fd) == 0 && emit_new(&e) == 0, "a collector's way out is made");
	emit_to(e, fd[1], "host", 1000);
	emit_begin(e, 100);
	a = emit_series(e, "node_load1", "", "");
	b = emit_series(e, "node_cpu_seconds_total", "0", "mode=\"idle\"");
	T_OK(emit_series(e, "node_load1", "", "") == a, "a series is declared once");
	emit_set(e, a, 0.424);
	emit_set(e, b, 17);
	emit_group(e, 3);
	slow = emit_series(e, "node_edac_correctable_errors_total", "0", "");
	emit_set(e, slow, 5);
	T_OK(emit_end(e) == 0 && listen_to(&x, fd[0]) == 0, "a poll is told and understood");
	T_OK(x.in.series == 3 && x.samples == 3 && x.ends == 1, "all of it is new");
	T_OK(x.value[a] == 0.42, "a value has the digits of its metric");
	T_OK(!strcmp(x.series[b].device, "0") && !strcmp(x.series[b].labels, "mode=\"idle\""),
	     "device and labels arrive");

	x.samples = 0;
	emit_begin(e, 200);
	emit_set(e, a, 0.42);
	emit_set(e, b, 18);
	emit_event(e, "xid", "GPU %d fell off", 3);
	T_OK(emit_end(e) == 0 && listen_to(&x, fd[0]) == 0 && x.samples == 1 && x.value[b] == 18,
	     "only what changed is told");
	T_OK(x.events == 1 && !strcmp(x.event, "xid: GPU 3 fell off"), "an event is told");
	T_OK(x.value[slow] == 5, "a group that was not looked at stays as it was");

	emit_begin(e, 300);
	emit_set(e, a, 4294967295.0);
	emit_group(e, 3);
	T_OK(emit_end(e) == 0 && listen_to(&x, fd[0]) == 0 && isnan(x.value[a]),
	     "a value that stands for none is as if it were not there");
	T_OK(isnan(x.value[b]) && isnan(x.value[slow]), "what a poll does not set is gone");

	T_OK(emit_series(e, "node_nonsense", "", "") == EMIT_NONE, "an unknown metric is refused");
	T_OK(emit_series(e, "node_load1", "x", "") == EMIT_NONE,
	     "a device of a metric without one is refused");
	T_OK(emit_series(e, "node_edac_correctable_errors_total", "1", "a=b") == EMIT_NONE,
	     "labels that are none are refused");
	T_OK(emit_dropped(e) == 3, "what was refused is counted");
	close(fd[0]);
	emit_begin(e, 400);
	emit_set(e, a, 9);
	close(fd[1]);
	T_OK(emit_end(e) < 0, "that nobody listens any more is said");
	emit_free(e);
}

/* Series of processes end, and others come, until there is no room. */
static void test_worn(void)
{
	FILE *f = fopen("/dev/null", "we");
	char labels[32];
	struct emit *e;
	bool early;

	T_OK(f && emit_new(&e) == 0, "a table of series is made");
	emit_print(e, f);
	emit_begin(e, 1);
	for (uint32_t i = 0; i < WIRE_SERIES; i++) {
		snprintf(labels, sizeof(labels), "pid=\"%u\"", i);
		emit_set(e, emit_series(e, "aon_gpu_process_memory_bytes", "card0", labels), 1);
	}
	emit_end(e);
	early = emit_is_worn(e);
	emit_begin(e, 2);
	emit_end(e);
	T_OK(!early && emit_is_worn(e), "a full table is worn when most of its series have ended");
	emit_free(e);
	fclose(f);
}

static struct wire_head head(uint8_t type, uint16_t count, uint32_t len)
{
	return (struct wire_head){ WIRE_MAGIC, type, WIRE_VERSION, count, len };
}

/* A frame behind HELLO. */
static int say(struct wire_head h, const void *body, size_t len)
{
	static struct wire_in in;
	static struct heard x;
	struct wire_head hello = head(WIRE_HELLO, 0, 8);
	size_t room, n = 0;
	uint8_t *to;

	memset(&in, 0, sizeof(in));
	to = wire_room(&in, &room);
	memcpy(to, &hello, sizeof(hello));
	memcpy(to + sizeof(hello), "\0\1\0\0host", 8);
	n = sizeof(hello) + 8;
	memcpy(to + n, &h, sizeof(h));
	memcpy(to + n + sizeof(h), body, len);
	return wire_got(&in, n + sizeof(h) + len, &fns, &x);
}

static void test_lies(void)
{
	static const uint8_t series[] = { 0x39, 0x75, 0, 0, 0, 0, 0, 0 }; /* 30009: node_load1 */
	uint8_t body[64] = { 0 };
	struct wire_head h = head(WIRE_END, 0, 0);

	T_OK(say(h, body, 0) == 0, "a frame that is right is believed");
	T_OK(say(head(WIRE_SERIES_OF, 1, 8), series, 8) == 0, "so is a series");
	T_OK(say(head(WIRE_SERIES_OF, 2, 8), series, 8) == -EBADMSG, "more series than bytes: not");
	T_OK(say(head(WIRE_SERIES_OF, 0, 8), series, 8) == -EBADMSG,
	     "bytes that nobody counts: not");
	body[0] = 7;
	T_OK(say(head(WIRE_SERIES_OF, 1, 8), body, 8) == -EBADMSG, "a metric that is none: not");
	T_OK(say(head(WIRE_SAMPLES, 1, 20), body, 20) == -EBADMSG, "a series never declared: not");
	T_OK(say(head(WIRE_EVENT, 0, 12), body, 12) == -EBADMSG, "an event without a word: not");
	T_OK(say(head(WIRE_TYPES, 0, 0), body, 0) == -EBADMSG, "a type that is none: not");
	T_OK(say(head(WIRE_HELLO, 0, 8), "\0\1\0\0host", 8) == -EBADMSG, "a second greeting: not");
	T_OK(say(head(WIRE_END, 0, WIRE_BODY + 1), body, 0) == -EBADMSG, "a body too long: not");
	h.version = 2;
	T_OK(say(h, body, 0) == -EBADMSG, "another version: not");
	h = head(WIRE_END, 0, 0);
	h.magic++;
	T_OK(say(h, body, 0) == -EBADMSG, "no magic: not");
}

/* --- metrics and labels --- */

static void test_metrics(void)
{
	bool sorted = true, named = true;
	char labels[SERIES_LABELS_MAX + 1] = "", value[64];

	for (size_t i = 1; i < metrics_n; i++)
		sorted &= metrics[i - 1].number < metrics[i].number;
	for (size_t i = 0; i < metrics_n; i++)
		named &= metric_by_name(metrics[i].name) == &metrics[i] &&
			 metric_get(metrics[i].number) == &metrics[i];
	T_OK(sorted, "metrics are sorted by number");
	T_OK(named, "each is found by its number and by its name, which no other has");
	series_label(labels, "a", "x\"y\\z");
	series_label(labels, "b", "1\n2");
	T_OK(!strcmp(labels, "a=\"x\\\"y\\\\z\",b=\"1?2\"") && series_labels_ok(labels),
	     "labels are escaped");
	T_OK(series_label_get(labels, "a", value, sizeof(value)) && !strcmp(value, "x\"y\\z"),
	     "and read back");
	T_OK(!series_label_get(labels, "c", value, sizeof(value)), "a label that is not there");
	for (int i = 0; i < 40; i++)
		series_label(labels, "much", "0123456789");
	T_OK(series_labels_ok(labels) && strlen(labels) <= SERIES_LABELS_MAX,
	     "what does not fit is left out whole");
}

static void test_none(void)
{
	static const struct {
		const char *name;
		double v;
		bool none;
	} cases[] = {
		/* clang-format off */
		{ "0",                          0,                     false },
		{ "a temperature",              41,                    false },
		{ "NVIDIA's BMC: 1.5e-254",     1.5e-254,              true  },
		{ "32 ones",                    4294967295.0,          true  },
		{ "64 ones",                    (double)UINT64_MAX,    true  },
		{ "DCGM_INT32_BLANK",           0x7ffffff0,            true  },
		{ "DCGM_INT64_BLANK",           (double)0x7ffffffffffffff0ll, true },
		{ "DCGM_FP64_BLANK",            140737488355328.0,     true  },
		{ "not a number",               NAN,                   true  },
		{ "infinite",                   INFINITY,              true  },
		{ "a large counter",            9007199254740991.0,    false },
		{ "a small ratio",              1e-9,                  false },
		/* clang-format on */
	};

	for (size_t i = 0; i < T_LEN(cases); i++)
		T_OK(telemetry_is_none(cases[i].v) == cases[i].none, "%s %s", cases[i].name,
		     cases[i].none ? "is no value" : "is a value");
}

int main(void)
{
	test_changes();
	test_worn();
	test_lies();
	test_metrics();
	test_none();
	return t_done();
}
