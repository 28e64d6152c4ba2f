/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tile.c - any bytes as a question for tiles: "L&i&tracks&from", and what a small run answers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../unit/tilekit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tile_view *small_run(void)
{
	static const uint64_t start[] = { 5, 9, 700, 701, 1ull << 33, 1ull << 62, ~0ull - 3 };
	struct tile_opts o = { .live = true };
	struct tile_view *v;
	struct trace *t;
	uint32_t file, process, device, name;

	if (trace_new(&t) < 0 || trace_file_add(t, "f", &file) < 0 ||
	    trace_process(t, file, 1, &process) < 0 || trace_device(t, process, 0, &device) < 0 ||
	    trace_name(t, "gemm", 4, &name) < 0)
		abort();
	for (uint32_t i = 0; i < 21; i++) {
		struct trace_track l = { .process = process,
					 .device = i % 3 ? device : TRACK_HOST,
					 .stream = i % 3 };
		struct event e = { .kind = i % 3 ? EVENT_KERNEL : EVENT_RANGE,
				   .start_ns = start[i / 3],
				   .dur_ns = 1ull << i * 3 % 63,
				   .name = name };

		if (trace_track(t, &l, &e.track) < 0 || trace_add(t, &e, 0) < 0)
			abort();
	}
	if (trace_seal(t) < 0 || tile_open_trace(&v, t, &o) < 0)
		abort();
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tile_view *v;
	char *copy = malloc(size + 1), *part[4] = { copy, NULL, NULL, NULL };
	uint32_t track[TILE_ASK_MAX];
	struct tile_answer out;
	struct tile_ask a;
	const char *why;

	v = v ? v : small_run();
	memcpy(copy, data, size);
	copy[size] = '\0';
	for (int i = 1; i < 4; i++) {
		part[i] = part[i - 1] ? strchr(part[i - 1], '&') : NULL;
		if (part[i])
			*part[i]++ = '\0';
	}
	if (tile_ask_parse(&a, part[0], part[1], part[2], part[3], track, TILE_ASK_MAX, &why) ==
	    0) {
		a.bytes = 65536;
		a.ns = 1000000000;
		if (tile_answer(v, &a, &out) < 0)
			abort();
		if (out.next && out.next <= a.from)
			abort();
		free(out.bytes);
	} else if (!why) {
		abort();
	}
	free(copy);
	return 0;
}
