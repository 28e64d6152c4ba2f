/* SPDX-License-Identifier: Apache-2.0 */
/* Why a GPU was idle: what a report says of a gap and what the timeline says of it are the same. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "insight/insight.h"
#include "t.h"
#include "tile/tile.h"
#include "tilekit.h"
#include "tracekit.h"

#define DATA "../../shared/data"

static const char *const recorded[] = {
	"kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
	"kineto/kineto_tb/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
	"kineto/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
	"nsys/nsys_ai/h100_2gpu_1s.sqlite",
	"nsys/pipit/perlmutter-cloverleaf-cuda.sqlite",
};

static uint64_t seed = 1;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void put(struct kit *k, struct event e, int device, const char *name)
{
	e.name = kit_name(k, name);
	kit_add(k, &e, device, device < 0 ? 1 : 7);
}

/* A thread that fetches input, waits, launches and sometimes has an unsampled step. */
static struct trace *made_up(void)
{
	struct kit k = { 0 };
	uint64_t t = 1000, gpu = 0;

	kit_must(trace_new(&k.t) == 0, "trace");
	kit_file(&k, 0);
	for (uint32_t i = 1; i < 400; i++) {
		uint64_t dur = 1 + below(60000);
		struct event e = { .start_ns = t, .dur_ns = dur };

		switch (below(6)) {
		case 0:
			e.kind = EVENT_RANGE;
			put(&k, e, -1,
			    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
			break;
		case 1:
			e.kind = EVENT_API;
			put(&k, e, -1, below(2) ? "cudaDeviceSynchronize" : "cudaMemcpy");
			break;
		case 2:
			e.kind = EVENT_STEP;
			e.flags = EVENT_UNSAMPLED;
			put(&k, e, -1, "step");
			break;
		default:
			e.kind = EVENT_API;
			e.corr = i;
			e.dur_ns = 1 + below(9000);
			put(&k, e, -1, "cudaLaunchKernel");
			e.kind = EVENT_KERNEL;
			e.start_ns = t + below(90000);
			e.start_ns = e.start_ns > gpu ? e.start_ns : gpu + below(2);
			e.dur_ns = 1 + below(30000);
			e.corr = below(9) ? i : 0;
			gpu = e.start_ns + e.dur_ns;
			put(&k, e, 0, "kernel");
		}
		t += dur + below(3000);
	}
	kit_must(trace_seal(k.t) == 0, "seal");
	return k.t;
}

static const struct view_track *track_of(const struct tile_view *v, const struct trace *t,
					 const struct insight_device *d)
{
	const struct trace_device *x = &t->device[d->device];

	for (size_t i = 0; i < v->tracks; i++)
		if (v->track[i]->pub.kind == TRACK_WHY && v->track[i]->process == x->process &&
		    v->feed->track[v->track[i]->track].device == x->device)
			return v->track[i];
	return NULL;
}

static bool has_gap(const struct tile_view *v, const struct view_track *t,
		    const struct insight_gap *g)
{
	for (size_t i = 0; i < t->gaps; i++)
		if (t->gap[i].start_ns + v->t0_ns == g->start_ns &&
		    t->gap[i].end_ns + v->t0_ns == g->end_ns)
			return t->gap[i].cause == g->cause;
	return false;
}

/* How many gaps differ. */
static size_t compare(const struct trace *t, size_t *gaps)
{
	struct tile_opts o = { .later = false };
	struct tile_view *v;
	struct insight *in;
	size_t bad = 0;

	kit_must(tile_open_trace(&v, t, &o) == 0 && insight_new(&in, t) == 0, "open");
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];
		const struct view_track *why = track_of(v, t, d);
		uint64_t idle = 0;

		for (size_t k = 0; why && k < why->gaps; k++)
			idle += why->gap[k].end_ns - why->gap[k].start_ns;
		for (size_t k = 0; why && k < INSIGHT_GAPS && d->longest[k].end_ns; k++, ++*gaps)
			bad += !has_gap(v, why, &d->longest[k]);
		bad += why && idle != d->b.idle_ns;
	}
	insight_free(in);
	tile_close(v);
	return bad;
}

static void check_recorded(const char *tests)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < T_LEN(recorded); i++) {
		struct import_why no;
		struct trace *t;
		size_t gaps = 0;

		snprintf(path, sizeof(path), "%s/" DATA "/%s", tests, recorded[i]);
		kit_must(trace_new(&t) == 0, "trace");
		if (import_path(t, path, NULL, &no) < 0 || trace_seal(t) < 0) {
			printf("ok %d - %s # SKIP ../shared/data is not there\n", ++t_count,
			       recorded[i]);
		} else {
			size_t bad = compare(t, &gaps);

			T_OK(!bad && gaps, "%s: %zu gaps, %zu differ", recorded[i], gaps, bad);
		}
		trace_free(t);
	}
}

int main(int argc, char *argv[])
{
	size_t bad = 0, gaps = 0;

	for (int i = 0; i < 50; i++) {
		struct trace *t = made_up();

		bad += compare(t, &gaps);
		trace_free(t);
	}
	T_OK(!bad && gaps > 100, "made-up runs: %zu gaps, %zu differ", gaps, bad);
	check_recorded(argc > 1 ? argv[1] : ".");
	return t_done();
}
