/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace.h - any bytes as a trace, of JSON through a window of a size that they choose, and what
 * is found in it. */
#ifndef AON_FUZZ_TRACE_H
#define AON_FUZZ_TRACE_H
#include <errno.h>
#include <stdlib.h>

#include "import/import.h"
#include "insight/heap.h"
#include "insight/replay.h"
#include "model/trace.h"

/* What is said of a trace does not contradict itself, whatever the trace says. */
static inline void fuzz_insight(const struct trace *t)
{
	struct findings *fs = NULL;
	struct replay *r = NULL;
	struct heaps *hs = NULL;
	struct insight *in;
	int err;

	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0 || heaps_new(&hs, in) < 0)
		abort();
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];
		uint64_t idle = 0, all = 0;

		for (enum account_cause c = 0; c < ACCOUNT_CAUSES; c++)
			all += d->account.ns[c];
		if (all != d->account.base_ns)
			abort();
		for (enum idle_cause c = 0; c < IDLE_CAUSES; c++)
			idle += d->idle_ns[c];
		if (d->b.busy_ns > d->b.span_ns || d->b.busy_ns + d->b.idle_ns != d->b.span_ns ||
		    d->b.overlap_ns > d->b.comm_ns || idle != d->b.idle_ns)
			abort();
	}
	for (size_t i = 0; i < fs->n; i++)
		if (!*fs->f[i].title || !*fs->f[i].seen[0] || !*fs->f[i].action ||
		    !(fs->f[i].share >= 0))
			abort();
	err = replay_new(&r, t, in);
	if (err < 0 && err != -ENODATA)
		abort();
	for (size_t i = 0; i < hs->n; i++)
		if (!hs->h[i].points || hs->h[i].peak_at >= hs->h[i].points)
			abort();
	heaps_free(hs);
	replay_free(r);
	findings_free(fs);
	insight_free(in);
}

static inline int fuzz_trace(const char *path, const uint8_t *data, size_t size)
{
	struct import_opts o = { .window = 64 + (size ? data[size / 2] : 0) * 3u };
	struct import_why why = { "" };
	struct trace *t;

	if (trace_new(&t) < 0)
		return 0;
	if (import_bytes(t, path, data, size, &o, &why) < 0) {
		if (!*why.text || t->files)
			abort();
	} else {
		const struct trace_file *f = t->file;

		if (t->files != 1 || f->rows != f->imported + f->left + f->lost)
			abort();
		if (trace_seal(t) < 0)
			abort();
		for (size_t i = 0; i < t->events; i++)
			if (t->event[i].name >= t->names || t->event[i].start_ns > INT64_MAX ||
			    t->event[i].dur_ns > INT64_MAX)
				abort();
		fuzz_insight(t);
	}
	trace_free(t);
	return 0;
}

#endif /* AON_FUZZ_TRACE_H */
