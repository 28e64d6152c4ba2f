/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire.c - any bytes as what a collector says, in messages of any length. */
#include <stdlib.h>
#include <string.h>

#include "collect/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
	if (!ok)
		abort();
}

struct seen {
	uint32_t series;
	uint64_t t_ns;
};

static int on_series(void *arg, uint32_t number, const struct series *s)
{
	struct seen *x = arg;

	must(number == x->series++ && metric_get(s->metric) && series_labels_ok(s->labels));
	must(strlen(s->device) <= SERIES_DEVICE_MAX && strlen(s->labels) <= SERIES_LABELS_MAX);
	return 0;
}

static int on_sample(void *arg, uint64_t t_ns, uint32_t number, double value)
{
	struct seen *x = arg;

	(void)value;
	must(number < x->series && t_ns >= x->t_ns);
	x->t_ns = t_ns;
	return 0;
}

static int on_event(void *arg, uint64_t t_ns, const char *what, const char *text)
{
	(void)arg, (void)t_ns;
	must(*what && strlen(what) <= WIRE_WHAT && strlen(text) <= WIRE_TEXT);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct wire_fns fns = { NULL, on_series, NULL, on_sample, on_event, NULL };
	struct wire_in *in = calloc(1, sizeof(*in));
	struct seen seen = { 0, 0 };
	size_t at = 0, step = size ? data[0] * 64u + 1 : 1;
	int err = 0;

	while (in && !err && at < size) {
		size_t room, n = size - at < step ? size - at : step;
		void *to = wire_room(in, &room);

		must(room >= WIRE_CHUNK);
		n = n < WIRE_CHUNK ? n : WIRE_CHUNK;
		memcpy(to, data + at, n);
		at += n;
		err = wire_got(in, n, &fns, &seen);
	}
	free(in);
	return 0;
}
