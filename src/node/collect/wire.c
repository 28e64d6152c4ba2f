/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - reads frames of collectors, which are untrusted. */
#include "collect/wire.h"

#include <errno.h>
#include <string.h>

struct bytes {
	const uint8_t *p, *end;
};

/* Copies `n` bytes out. False: there are not so many. */
static bool take(struct bytes *b, void *out, size_t n)
{
	if ((size_t)(b->end - b->p) < n)
		return false;
	memcpy(out, b->p, n);
	b->p += n;
	return true;
}

/* The same of a text, which has no NUL in it. */
static bool take_text(struct bytes *b, char *out, size_t n, size_t max)
{
	if (n > max || !take(b, out, n) || memchr(out, '\0', n))
		return false;
	out[n] = '\0';
	return true;
}

static int get_hello(struct wire_in *in, struct bytes *b, const struct wire_fns *fns, void *arg)
{
	char name[WIRE_NAME + 1];
	uint32_t interval_ms;

	if (in->hello || !take(b, &interval_ms, sizeof(interval_ms)) ||
	    !take_text(b, name, (size_t)(b->end - b->p), WIRE_NAME) || !*name)
		return -EBADMSG;
	for (const char *p = name; *p; p++)
		if ((*p < 'a' || *p > 'z') && (*p < '0' || *p > '9'))
			return -EBADMSG;
	in->hello = true;
	return fns->hello ? fns->hello(arg, name, interval_ms) : 0;
}

static int get_series(struct wire_in *in, struct bytes *b, unsigned count,
		      const struct wire_fns *fns, void *arg)
{
	struct series s = { .id = 0 };
	const struct metric *m;
	uint16_t len[2];
	int err = 0;

	for (unsigned i = 0; i < count && !err; i++) {
		if (in->series == WIRE_SERIES || !take(b, &s.metric, sizeof(s.metric)) ||
		    !take(b, len, sizeof(len)) ||
		    !take_text(b, s.device, len[0], SERIES_DEVICE_MAX) ||
		    !take_text(b, s.labels, len[1], SERIES_LABELS_MAX))
			return -EBADMSG;
		m = metric_get(s.metric);
		if (!m || !series_device_ok(m, s.device) || !series_labels_ok(s.labels))
			return -EBADMSG;
		err = fns->series ? fns->series(arg, in->series, &s) : 0;
		in->series++;
	}
	return err;
}

static int get_samples(struct wire_in *in, struct bytes *b, unsigned count,
		       const struct wire_fns *fns, void *arg)
{
	uint64_t t_ns;
	int err = 0;

	/* A poll of many frames has one time. */
	if (!take(b, &t_ns, sizeof(t_ns)) || t_ns < in->t_ns)
		return -EBADMSG;
	in->t_ns = t_ns;
	err = fns->tick ? fns->tick(arg, t_ns) : 0;
	for (unsigned i = 0; i < count && !err; i++) {
		uint32_t number;
		double value;

		if (!take(b, &number, sizeof(number)) || !take(b, &value, sizeof(value)) ||
		    number >= in->series)
			return -EBADMSG;
		err = fns->sample ? fns->sample(arg, t_ns, number, value) : 0;
	}
	return err;
}

static int get_event(struct bytes *b, const struct wire_fns *fns, void *arg)
{
	char what[WIRE_WHAT + 1], text[WIRE_TEXT + 1];
	uint64_t t_ns;
	uint16_t len;

	if (!take(b, &t_ns, sizeof(t_ns)) || !take(b, &len, sizeof(len)) ||
	    !take_text(b, what, len, WIRE_WHAT) || !*what ||
	    !take_text(b, text, (size_t)(b->end - b->p), WIRE_TEXT))
		return -EBADMSG;
	return fns->event ? fns->event(arg, t_ns, what, text) : 0;
}

static int get_frame(struct wire_in *in, const struct wire_head *h, const uint8_t *body,
		     const struct wire_fns *fns, void *arg)
{
	struct bytes b = { body, body + h->len };
	int err;

	if (!in->hello && h->type != WIRE_HELLO)
		return -EBADMSG;
	switch (h->type) {
	case WIRE_HELLO:
		err = get_hello(in, &b, fns, arg);
		break;
	case WIRE_SERIES_OF:
		err = get_series(in, &b, h->count, fns, arg);
		break;
	case WIRE_SAMPLES:
		err = get_samples(in, &b, h->count, fns, arg);
		break;
	case WIRE_EVENT:
		err = get_event(&b, fns, arg);
		break;
	case WIRE_END:
		err = fns->end ? fns->end(arg) : 0;
		break;
	default:
		return -EBADMSG;
	}
	return err ? err : b.p == b.end ? 0 : -EBADMSG;
}

int wire_got(struct wire_in *in, size_t n, const struct wire_fns *fns, void *arg)
{
	size_t at = 0;
	int err = 0;

	in->n += n;
	while (!err && in->n - at >= sizeof(struct wire_head)) {
		struct wire_head h;

		memcpy(&h, in->buf + at, sizeof(h));
		if (h.magic != WIRE_MAGIC || h.version != WIRE_VERSION || h.len > WIRE_BODY)
			return -EBADMSG;
		if (in->n - at < sizeof(h) + h.len)
			break;
		err = get_frame(in, &h, in->buf + at + sizeof(h), fns, arg);
		at += sizeof(h) + h.len;
	}
	in->n -= at;
	memmove(in->buf, in->buf + at, in->n);
	return err;
}
