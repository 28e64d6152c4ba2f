/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - the table of a collector's series, and frames with the changed values. */
#include "collect/emit.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/wire.h"

#define EVENTS_A_POLL 20u
#define OUT_BYTES     (64u << 10) /* gathered before they are sent */

struct entry {
	uint64_t hash;
	const struct metric *metric;
	uint32_t text; /* in `texts`: device, NUL, labels, NUL */
	uint32_t poll; /* in which it was last set */
	uint32_t group;
	double value; /* of this poll, or the last that set it */
	double sent;  /* NAN: not there, as far as the other side knows */
};

struct emit {
	int fd;               /* borrowed; -1 */
	FILE *text;           /* borrowed; NULL */
	struct entry *entry;  /* owned */
	uint32_t n, told;     /* told: declared on this stream */
	struct lookup by_key; /* of entry */
	char *texts;          /* owned */
	size_t texts_n, texts_cap;
	uint32_t poll, group, looked; /* looked: groups of this poll, a bit each */
	uint32_t events;
	uint64_t t_ns, dropped;
	int err;
	size_t out_n;
	uint8_t out[OUT_BYTES + WIRE_FRAME];
};

int emit_new(struct emit **out)
{
	struct emit *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->fd = -1;
	*out = e;
	return 0;
}

void emit_free(struct emit *e)
{
	if (!e)
		return;
	free(e->entry);
	lookup_fini(&e->by_key);
	free(e->texts);
	free(e);
}

uint64_t emit_dropped(const struct emit *e)
{
	return e->dropped;
}

bool emit_is_worn(const struct emit *e)
{
	uint32_t ended = 0;

	if (e->n < WIRE_SERIES)
		return false;
	for (uint32_t i = 0; i < e->n; i++)
		ended += isnan(e->entry[i].sent);
	return ended > e->n / 2;
}

static const char *device_of(const struct emit *e, const struct entry *s)
{
	return e->texts + s->text;
}

static const char *labels_of(const struct emit *e, const struct entry *s)
{
	return device_of(e, s) + strlen(device_of(e, s)) + 1;
}

/* --- series --- */

static uint64_t hash_of(const char *metric, const char *device, const char *labels)
{
	uint64_t h = fnv_bytes(FNV_BASIS, metric, strlen(metric) + 1);

	return fnv_text(fnv_bytes(h, device, strlen(device) + 1), labels);
}

static int add_texts(struct emit *e, const char *device, const char *labels, uint32_t *at)
{
	size_t a = strlen(device) + 1, b = strlen(labels) + 1;

	if (vec_room(&e->texts, &e->texts_cap, e->texts_n + a + b, 1) < 0)
		return -ENOMEM;
	*at = (uint32_t)e->texts_n;
	memcpy(e->texts + e->texts_n, device, a);
	memcpy(e->texts + e->texts_n + a, labels, b);
	e->texts_n += a + b;
	return 0;
}

static uint32_t declare(struct emit *e, uint64_t hash, const struct metric *m, const char *device,
			const char *labels)
{
	struct entry *s;

	if (e->n == WIRE_SERIES || strlen(device) > SERIES_DEVICE_MAX ||
	    strlen(labels) > SERIES_LABELS_MAX || !series_device_ok(m, device) ||
	    !series_labels_ok(labels))
		goto drop;
	if (vec_more(&e->entry, e->n, sizeof(*e->entry)) < 0)
		goto drop;
	s = &e->entry[e->n];
	*s = (struct entry){
		.hash = hash, .metric = m, .group = e->group, .value = NAN, .sent = NAN
	};
	if (add_texts(e, device, labels, &s->text) < 0 || lookup_put(&e->by_key, hash, e->n) < 0)
		goto drop;
	return e->n++;
drop:
	e->dropped++;
	return EMIT_NONE;
}

uint32_t emit_series(struct emit *e, const char *metric, const char *device, const char *labels)
{
	uint64_t h = hash_of(metric, device, labels);
	const struct metric *m;
	uint32_t i;

	for (size_t at = 0; lookup_next(&e->by_key, h, &at, &i);) {
		const struct entry *s = &e->entry[i];

		if (s->hash == h && !strcmp(s->metric->name, metric) &&
		    !strcmp(device_of(e, s), device) && !strcmp(labels_of(e, s), labels))
			return i;
	}
	m = metric_by_name(metric);
	if (!m)
		e->dropped++;
	return m ? declare(e, h, m, device, labels) : EMIT_NONE;
}

void emit_set(struct emit *e, uint32_t id, double v)
{
	if (!telemetry_is_none(v))
		emit_count(e, id, v);
}

void emit_count(struct emit *e, uint32_t id, double v)
{
	struct entry *s;

	if (id >= e->n || !isfinite(v))
		return;
	s = &e->entry[id];
	s->value = metric_round(s->metric, v);
	s->poll = e->poll;
}

void emit_group(struct emit *e, unsigned group)
{
	e->group = group < EMIT_GROUPS ? group : 0;
	e->looked |= 1u << e->group;
}

/* --- frames --- */

static void send_all(struct emit *e)
{
	size_t at = 0;

	while (!e->err && at < e->out_n) {
		size_t chunk = e->out_n - at < WIRE_CHUNK ? e->out_n - at : WIRE_CHUNK;
		ssize_t n = send(e->fd, e->out + at, chunk, MSG_NOSIGNAL);

		if (n < 0 && errno == ENOTSOCK)
			n = write(e->fd, e->out + at, chunk);
		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno != EINTR)
			e->err = -errno;
	}
	e->out_n = 0;
}

/* Room for a frame's head and the longest body. */
static struct wire_head open_frame(struct emit *e, enum wire_type type)
{
	if (e->out_n > OUT_BYTES)
		send_all(e);
	e->out_n += sizeof(struct wire_head);
	return (struct wire_head){ WIRE_MAGIC, (uint8_t)type, WIRE_VERSION, 0, 0 };
}

static void put(struct emit *e, struct wire_head *h, const void *p, size_t n)
{
	memcpy(e->out + e->out_n, p, n);
	e->out_n += n;
	h->len += (uint32_t)n;
}

static void close_frame(struct emit *e, const struct wire_head *h)
{
	memcpy(e->out + e->out_n - h->len - sizeof(*h), h, sizeof(*h));
}

static void put_series(struct emit *e)
{
	while (e->told < e->n) {
		struct wire_head h = open_frame(e, WIRE_SERIES_OF);

		while (e->told < e->n &&
		       h.len + 8 + SERIES_DEVICE_MAX + SERIES_LABELS_MAX <= WIRE_BODY) {
			const struct entry *s = &e->entry[e->told++];
			const char *device = device_of(e, s), *labels = labels_of(e, s);
			uint16_t len[2] = { (uint16_t)strlen(device), (uint16_t)strlen(labels) };

			put(e, &h, &s->metric->number, sizeof(s->metric->number));
			put(e, &h, len, sizeof(len));
			put(e, &h, device, len[0]);
			put(e, &h, labels, len[1]);
			h.count++;
		}
		close_frame(e, &h);
	}
}

/* What the series is now: a poll that looked at its group and did not set it says that it is gone. */
static double now_of(const struct emit *e, const struct entry *s)
{
	if (s->poll == e->poll)
		return s->value;
	return e->looked >> s->group & 1 ? NAN : s->sent;
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void put_samples(struct emit *e)
{
	uint32_t i = 0;

	while (i < e->n) {
		struct wire_head h = open_frame(e, WIRE_SAMPLES);

		put(e, &h, &e->t_ns, sizeof(e->t_ns));
		for (; i < e->n && h.len + 12 <= WIRE_BODY; i++) {
			double v = now_of(e, &e->entry[i]);

			if (same(v, e->entry[i].sent))
				continue;
			e->entry[i].sent = v;
			put(e, &h, &i, sizeof(i));
			put(e, &h, &v, sizeof(v));
			h.count++;
		}
		close_frame(e, &h);
	}
}

static void print_samples(struct emit *e)
{
	for (uint32_t i = 0; i < e->n; i++) {
		struct entry *s = &e->entry[i];
		const char *device = device_of(e, s), *labels = labels_of(e, s);
		double v = now_of(e, s);

		if (same(v, s->sent))
			continue;
		s->sent = v;
		fprintf(e->text, "%s", s->metric->name);
		if (*device || *labels)
			fprintf(e->text, "{%s%s%s%s%s%s}", *device ? s->metric->device : "",
				*device ? "=\"" : "", device, *device ? "\"" : "",
				*device && *labels ? "," : "", labels);
		fprintf(e->text, " %.17g\n", v);
	}
}

void emit_to(struct emit *e, int fd, const char *name, uint32_t interval_ms)
{
	struct wire_head h;

	e->fd = fd;
	e->text = NULL;
	e->err = 0;
	e->told = 0;
	e->out_n = 0;
	for (uint32_t i = 0; i < e->n; i++)
		e->entry[i].sent = NAN;
	h = open_frame(e, WIRE_HELLO);
	put(e, &h, &interval_ms, sizeof(interval_ms));
	put(e, &h, name, strnlen(name, WIRE_NAME));
	close_frame(e, &h);
}

void emit_print(struct emit *e, FILE *f)
{
	e->text = f;
}

void emit_begin(struct emit *e, uint64_t t_ns)
{
	e->t_ns = t_ns;
	e->poll++;
	e->group = 0;
	e->looked = 1;
	e->events = 0;
}

int emit_end(struct emit *e)
{
	struct wire_head h;

	if (e->text) {
		print_samples(e);
		fflush(e->text);
		return 0;
	}
	put_series(e);
	put_samples(e);
	h = open_frame(e, WIRE_END);
	close_frame(e, &h);
	send_all(e);
	return e->err;
}

int emit_clear(struct emit *e, uint64_t t_ns)
{
	emit_begin(e, t_ns);
	e->looked = UINT32_MAX;
	return emit_end(e);
}

void emit_event(struct emit *e, const char *what, const char *fmt, ...)
{
	char text[WIRE_TEXT + 1];
	struct wire_head h;
	uint16_t len = (uint16_t)strnlen(what, WIRE_WHAT);
	va_list ap;

	if (++e->events > EVENTS_A_POLL) {
		e->dropped++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (e->text) {
		fprintf(e->text, "event %s: %s\n", what, text);
		return;
	}
	h = open_frame(e, WIRE_EVENT);
	put(e, &h, &e->t_ns, sizeof(e->t_ns));
	put(e, &h, &len, sizeof(len));
	put(e, &h, what, len);
	put(e, &h, text, strlen(text));
	close_frame(e, &h);
}
