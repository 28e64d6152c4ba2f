/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_dump events|columns STORE: its breakdown to the nanosecond, by either way, to compare. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "insight/insight.h"
#include "model/trace_demangle.h"
#include "read/sweep.h"
#include "store/store.h"
#include "store/trace.h"

static void dump(const struct breakdown *b)
{
	const uint64_t n[] = {
		b->first_ns,        b->last_ns, b->span_ns,   b->busy_ns,    b->idle_ns,
		b->compute_ns,      b->comm_ns, b->memory_ns, b->overlap_ns, b->exposed_comm_ns,
		b->exposed_copy_ns, b->kernels, b->copies,    b->memsets,    b->gaps,
	};

	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		printf(" %" PRIu64, n[i]);
	putchar('\n');
}

static void dump_all(const struct insight *in)
{
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];

		printf("device %u %d", d->device, d->rank);
		dump(&d->b);
		for (size_t c = 0; c < CLASSES; c++)
			printf("%s %" PRIu64 " %" PRIu64 "\n", class_word[c], d->class[c].count,
			       d->class[c].ns);
	}
	for (size_t i = 0; i < in->streams; i++) {
		printf("stream %u", in->stream[i].track);
		dump(&in->stream[i].b);
	}
}

int main(int argc, char *argv[])
{
	struct insight *in = NULL;
	struct store_why why;
	struct store *st;
	struct trace *t;
	int err;

	if (argc != 3 || store_open_ro(&st, argv[2], &why) < 0 || trace_new(&t) < 0)
		return 2;
	if (!strcmp(argv[1], "columns")) {
		/* cut as often as there are blobs: small stores would be one stretch */
		err = read_sweep(t, st, argv[2], NULL, false, 1, &in);
	} else {
		err = store_trace(t, st, argv[2], NULL, NULL);
		err = err ? err : trace_seal(t);
		if (!err)
			demangle_trace(t);
		err = err ? err : insight_new_breakdown(&in, t);
	}
	if (!err)
		dump_all(in);
	insight_free(in);
	trace_free(t);
	store_close(st);
	return err ? 1 : 0;
}
