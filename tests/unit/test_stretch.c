/* SPDX-License-Identifier: Apache-2.0 */
/* An insight made stretch by stretch says what one made at once says, wherever it is cut. */
#include "insight/stretch.h"

#include <stdlib.h>
#include <string.h>

#include "insight/finding.h"
#include "read/json.h"
#include "t.h"
#include "tracekit.h"

#define RANKS 2
#define STEPS 12

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* --- a training run, made up --- */

struct made {
	struct kit k;
	uint64_t now;           /* of the launching thread */
	uint64_t free_ns[2][3]; /* of each device's streams */
	uint32_t corr, sequence, ext;
};

static void host(struct made *m, uint64_t tid, uint32_t kind, uint64_t a, uint64_t b,
		 uint64_t start, uint64_t dur, uint32_t corr, const char *name)
{
	struct event e = { .start_ns = start,
			   .dur_ns = dur,
			   .a = a,
			   .b = b,
			   .corr = corr,
			   .kind = (uint8_t)kind,
			   .name = kit_name(&m->k, name) };

	kit_add(&m->k, &e, -1, tid);
}

/* Work begins when its stream is free, some time after the call; now and then its clock is off. */
static void work(struct made *m, uint32_t kind, uint32_t corr, uint64_t called, const char *name)
{
	uint32_t device = rnd(8) ? 0 : 1, stream = rnd(3);
	uint64_t *last = &m->free_ns[device][stream];
	uint64_t start = called + (rnd(20) ? rnd(30000) : rnd(2000000));
	struct event e = { .corr = corr, .kind = (uint8_t)kind, .name = kit_name(&m->k, name) };

	if (start > 5000 && !rnd(30))
		start -= 5000;
	e.start_ns = start > *last ? start : *last;
	e.dur_ns = rnd(6) ? rnd(40000) : rnd(400000);
	*last = e.start_ns + e.dur_ns + (rnd(3) ? rnd(3000) : 0);
	if (kind == EVENT_COPY) {
		e.a = rnd(1u << 20);
		e.flags = (uint8_t)((1 + rnd(2)) << EVENT_COPY_SHIFT);
		e.b = rnd(2) ? TRACE_PAGEABLE : 0;
	}
	kit_add(&m->k, &e, (int)device, 7 + stream);
}

static void launch(struct made *m, uint64_t tid, const char *kernel)
{
	uint32_t corr = rnd(40) ? ++m->corr : 0;
	uint64_t dur = 2000 + rnd(6000);

	if (!rnd(12)) {
		host(m, tid, EVENT_API, 0, 0, m->now, dur, corr, "cudaGraphLaunch");
		for (uint32_t i = 0; i < 4; i++)
			work(m, EVENT_KERNEL, corr, m->now + dur, kernel);
	} else if (!rnd(10)) {
		host(m, tid, EVENT_API, 0, 0, m->now, dur, corr, "cudaMemcpyAsync");
		work(m, EVENT_COPY, corr, m->now + dur, "Memcpy HtoD");
	} else {
		host(m, tid, EVENT_API, 0, 0, m->now, dur, corr, "cudaLaunchKernel");
		if (!rnd(5)) /* the driver's call has the same id */
			host(m, tid, EVENT_API, 0, 0, m->now + 100, dur - 200, corr,
			     "cuLaunchKernel");
		if (rnd(50))
			work(m, EVENT_KERNEL, corr, m->now + dur, kernel);
	}
	m->now += dur + rnd(3000);
	if (!rnd(25)) {
		dur = rnd(500000);
		host(m, tid, EVENT_SYNC, 0, 0, m->now, dur, 0, "cudaStreamSynchronize");
		m->now += dur + rnd(20000);
	}
	if (!rnd(30))
		host(m, tid, EVENT_API, 0, 0, m->now++, 1, ++m->corr, "cudaMalloc");
}

static void op(struct made *m, uint64_t tid, bool backward, const char *name, uint32_t sequence)
{
	static const char *const kernel[] = { "gemm_a", "elementwise_b", "layer_norm_c",
					      "ncclDevKernel_AllReduce" };
	uint64_t from = m->now++;
	uint32_t n = rnd(4);

	for (uint32_t i = 0; i < n; i++)
		launch(m, tid, kernel[rnd(4)]);
	m->now += rnd(8000);
	host(m, tid, EVENT_RANGE, TRACE_OP, trace_op(backward, sequence, 0), from, m->now - from, 0,
	     name);
	m->now++;
}

static void forward(struct made *m, uint32_t *first)
{
	static const char *const module[] = { "net.a", "net.b", "net.c" };

	*first = m->sequence + 1;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t from = m->now++;
		uint32_t n = 1 + rnd(4);

		for (uint32_t k = 0; k < n; k++)
			op(m, 1, false, k % 2 ? "aten::mm" : "aten::add", ++m->sequence);
		host(m, 1, EVENT_RANGE, TRACE_MODULE, 0, from, m->now - from, 0, module[i]);
		m->now += rnd(30000);
	}
}

static void backward(struct made *m, uint32_t first)
{
	for (uint32_t s = m->sequence; s >= first; s--) {
		uint64_t from = m->now++;

		op(m, 2, true, "MmBackward0", s);
		if (rnd(2))
			launch(m, 2, "add_grad");
		host(m, 2, EVENT_RANGE, TRACE_OP, trace_op(true, 0, 0), from, m->now - from, 0,
		     "autograd::engine::evaluate_function: MmBackward0");
		m->now += rnd(5000);
	}
}

/* An operator of another thread that a launch names by its External id. */
static void external(struct made *m)
{
	uint32_t id = ++m->ext + 1000000;
	uint64_t dur = 2000 + rnd(100);

	host(m, 3, EVENT_RANGE, TRACE_OP, 0, m->now, 500, id, "aten::external");
	m->now += rnd(2) ? 600 : 3000000;
	host(m, 4, EVENT_API, 0, id, m->now, dur, ++m->corr, "cudaLaunchKernel");
	work(m, EVENT_KERNEL, m->corr, m->now + dur, "external_kernel");
	m->now += dur;
}

static void one_step(struct made *m, uint64_t number)
{
	uint64_t from = m->now, dur;
	uint32_t first;

	dur = rnd(3) ? rnd(50000) : rnd(3000000);
	host(m, 1, EVENT_RANGE, TRACE_USER, 0, m->now, dur, 0, "enumerate(DataLoader)#next");
	m->now += dur;
	if (!rnd(3)) {
		dur = rnd(1500000);
		host(m, 1, EVENT_RANGE, TRACE_USER, 0, m->now, dur, 0, "torch.compile f");
		m->now += dur;
	}
	forward(m, &first);
	if (rnd(2))
		external(m);
	backward(m, first);
	host(m, 1, EVENT_API, 0, 0, m->now, 3000, ++m->corr, "cudaLaunchKernel");
	work(m, EVENT_KERNEL, m->corr, m->now + 3000, "ncclDevKernel_ReduceScatter");
	m->now += 3000;
	host(m, 1, EVENT_COUNTER, number << 25, 0, m->now, 0, 0, "[memory] allocated");
	if (!rnd(4))
		m->now += rnd(9000000); /* the host does something that nobody recorded */
	if (rnd(6))
		host(m, 1, EVENT_STEP, number, 0, from, m->now - from, 0, "step");
	m->now += rnd(2) ? rnd(60000) : 1;
}

static struct trace *make(uint64_t with)
{
	struct made m = { .now = 0 };

	seed = with;
	kit_must(trace_new(&m.k.t) == 0, "trace");
	for (int r = 0; r < RANKS; r++) {
		kit_file(&m.k, r);
		memset(m.free_ns, 0, sizeof(m.free_ns));
		m.now = 5000000 + rnd(1000);
		m.corr = 0;
		for (uint64_t s = 0; s < STEPS; s++)
			one_step(&m, s + 1);
	}
	kit_must(trace_seal(m.k.t) == 0, "seal");
	return m.k.t;
}

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

static char *say(const struct insight *in)
{
	struct findings *fs = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct json j;

	kit_must(f && findings_new(&fs, in) == 0, "findings");
	json_init(&j, f);
	json_open(&j, NULL, '{');
	insight_json(&j, in);
	findings_json(&j, in->t, fs, NULL, 0);
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
	struct trace *t = make(with);
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
	T_OK(in->waits.matched >= STEPS, "run %llu has collectives of both ranks",
	     (unsigned long long)with);
	rows = in->roll[ROLL_KERNEL].rows;
	row = malloc(rows * sizeof(*row));
	memcpy(row, in->roll[ROLL_KERNEL].row, rows * sizeof(*row));
	insight_free(in);
	for (size_t p = 0; p < T_LEN(parts); p++) {
		uint64_t cut[200];
		bool same;

		for (size_t i = 0; i + 1 < parts[p]; i++)
			cut[i] = 1 + ((uint64_t)rnd(1u << 30) << 8) % end;
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
