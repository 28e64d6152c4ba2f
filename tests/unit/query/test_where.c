/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a store: the code that a GPU waited for, read as a whole and stretch by stretch. With an
 * argument it only writes that store, for tests of commands.
 */
#include "storekit.h"

#include "insight/insight.h"
#include "read/json.h"
#include "read/stretch.h"
#include "store/trace.h"

#define MS    1000000ull
#define T0    1000000000000ull
#define STEPS 60u

enum { THREAD = 1, STREAM, HOLDER };

static uint32_t name(struct store *st, const char *text)
{
	uint32_t id;

	if (store_name(st, text, strlen(text), &id) < 0)
		abort();
	return id;
}

static uint32_t stack(struct store *st, const char *const (*f)[2], const uint32_t *line, uint32_t n)
{
	struct stack_frame frame[8] = { 0 };
	uint32_t id;

	for (uint32_t i = 0; i < n; i++) {
		frame[i].name = name(st, f[i][0]);
		frame[i].file = name(st, f[i][1]);
		frame[i].line = line[i];
		frame[i].kind = line[i] ? FRAME_PYTHON : FRAME_NATIVE;
		frame[i].flags = strstr(f[i][1], "/home/") ? FRAME_USER : 0;
	}
	if (store_stack(st, frame, n, &id) < 0 || !id)
		abort();
	return id;
}

/* A thread's track, or a stream's. */
static uint32_t track(struct store *st, const struct process *p, uint32_t device, uint64_t stream)
{
	struct track l = { .process = p->id, .device = device, .stream = stream };
	uint32_t id;

	if (store_track(st, &l, &id) < 0)
		abort();
	return id;
}

struct made {
	uint32_t track[HOLDER + 1], loader, resize, main, holder, launch, kernel, step;
};

/* 100 ms: 40 of a loader, 30 of the loop's own code, 30 of GPU work. A sample each 10 ms. */
static size_t one_step(const struct made *m, uint32_t i, struct event *ev)
{
	uint64_t at = T0 + i * 100 * MS;
	size_t n = 0;

	ev[n++] = (struct event){ .kind = EVENT_STEP,
				  .start_ns = at,
				  .dur_ns = 100 * MS,
				  .a = i,
				  .track = m->track[THREAD],
				  .flags = EVENT_ONE };
	ev[n++] = (struct event){ .kind = EVENT_RANGE,
				  .start_ns = at,
				  .dur_ns = 40 * MS,
				  .name = m->loader,
				  .track = m->track[THREAD],
				  .depth = 1 };
	for (uint32_t k = 0; k < 10; k++) {
		struct event e = {
			.kind = EVENT_SAMPLE,
			.start_ns = (at + (k * 10 + 5) * MS) / SAMPLE_TICK_NS * SAMPLE_TICK_NS,
			.dur_ns = 10 * MS,
			.a = k < 4 ? m->resize : m->main,
			.name = m->loader,
			.b = sample_b(k < 7 ? SAMPLE_RUNNING : SAMPLE_GIL, 0, k < 7 ? 0 : 77),
			.track = m->track[THREAD]
		};

		ev[n++] = e;
		if (k < 7)
			continue;
		e.track = m->track[HOLDER];
		e.a = m->holder;
		e.b = sample_b(SAMPLE_RUNNING, SAMPLE_HOLDER, 0);
		ev[n++] = e;
	}
	ev[n++] = (struct event){ .kind = EVENT_API,
				  .start_ns = at + 70 * MS,
				  .dur_ns = 5000,
				  .name = m->launch,
				  .corr = i + 1,
				  .track = m->track[THREAD] };
	ev[n++] = (struct event){ .kind = EVENT_KERNEL,
				  .start_ns = at + 70 * MS + 10000,
				  .dur_ns = 29 * MS,
				  .name = m->kernel,
				  .corr = i + 1,
				  .track = m->track[STREAM] };
	return n;
}

static void make(const char *path)
{
	static const char *const resize[][2] = {
		{ "resize", "/v/lib/python3.11/site-packages/PIL/Image.py" },
		{ "__getitem__", "/home/me/dataset.py" },
		{ "fetch", "/v/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py" },
		{ "main", "/home/me/train.py" }
	};
	static const char *const loop[][2] = { { "log", "/home/me/train.py" },
					       { "main", "/home/me/train.py" } };
	static const char *const held[][2] = { { "pickle_loads", "libpickle.so" },
					       { "unpack", "/home/me/worker.py" } };
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 4711);
	struct made m = { .track = { [THREAD] = track(st, &p, TRACK_HOST, 4711),
				     [HOLDER] = track(st, &p, TRACK_HOST, 77),
				     [STREAM] = track(st, &p, 0, 7) },
			  .loader = name(st, "enumerate(DataLoader)#_SingleProcess.__next__"),
			  .launch = name(st, "cudaLaunchKernel"),
			  .kernel = name(st, "gemm"),
			  .resize = stack(st, resize, (uint32_t[]){ 9, 42, 3, 7 }, 4),
			  .main = stack(st, loop, (uint32_t[]){ 30, 8 }, 2),
			  .holder = stack(st, held, (uint32_t[]){ 0, 5 }, 2) };
	struct event ev[32];
	struct blob_packer *z;
	struct blob_enc *e;

	if (blob_enc_new(&e) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (uint32_t i = 0; i < STEPS; i++) {
		size_t n = one_step(&m, i, ev);
		struct blob b;

		if (blob_add(e, ev, n) != n || blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0 ||
		    store_blob(st, p.id, &b) < 0)
			abort();
		p.account.emitted += b.records;
		p.account.stored += b.records;
		blob_fini(&b);
	}
	p.first_ns = T0;
	p.last_ns = T0 + STEPS * 100 * MS;
	p.connected = 0;
	if (store_process(st, &p) < 0 || store_commit(st, p.last_ns) < 0)
		abort();
	blob_enc_free(e);
	blob_packer_free(z);
	store_close(st);
}

static uint64_t counted(const struct insight *in, uint32_t parts, uint32_t causes, char *first)
{
	struct samples_want w = { SAMPLES_ALL, SAMPLES_ALL, parts, causes };
	struct samples_sum s;
	struct share all;
	uint64_t n;

	if (samples_blame(&s, in, &w) < 0)
		abort();
	n = s.count;
	*first = '\0';
	if (s.rows)
		blame_text(in->t, samples_first(&s, &all), &all, first);
	samples_fini(&s);
	return n;
}

static void check(const struct insight *in, const char *how)
{
	char first[BLAME_LABEL];

	T_OK(counted(in, 0, 0, first) == STEPS * 10 &&
		     !strcmp(first, "in __getitem__ (dataset.py:42), running"),
	     "%s: all samples are there", how);
	T_OK(counted(in, 0, 1u << IDLE_INPUT, first) == STEPS * 4 &&
		     !strcmp(first, "in __getitem__ (dataset.py:42), running"),
	     "%s: what the GPU waited for in the loader", how);
	T_OK(counted(in, 0, 1u << IDLE_HOST, first) == STEPS * 3 &&
		     !strcmp(first, "in log (train.py:30), running"),
	     "%s: and in the loop", how);
	T_OK(counted(in, 1u << HOST_PART_DATA, 0, first) == STEPS * 4 &&
		     counted(in, 1u << HOST_PART_REST, 0, first) == STEPS * 6,
	     "%s: parts of a step", how);
}

static void test_read(void)
{
	struct stretch_opts so = { .events = 64 };
	struct insight *in;
	struct trace *t;
	struct store *st;

	make(kit_path("where"));
	if (store_open_ro(&st, kit_path("where"), NULL) < 0 || trace_new(&t) < 0)
		abort();
	if (store_trace(t, st, "where", NULL, NULL) < 0 || trace_seal(t) < 0 ||
	    insight_new(&in, t) < 0)
		abort();
	check(in, "as a whole");
	insight_free(in);
	trace_free(t);
	if (trace_new(&t) < 0 || read_stretches(t, st, "where", &so, &in) < 0)
		abort();
	check(in, "stretch by stretch");
	insight_free(in);
	trace_free(t);
	store_close(st);
}

int main(int argc, char *argv[])
{
	if (argc > 1) {
		make(argv[1]);
		return 0;
	}
	kit_begin();
	test_read();
	return kit_end();
}
