/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a step says what its events say: times as unions, classes, exchanges by number. */
#include <string.h>

#include "agg/stepper.h"
#include "daemon/stream/step_recorder.h"
#include "names/class.h"
#include "names/step_names.h"
#include "t.h"

#define MS 1000000ull

enum {
	GEMM = 1,
	ADD,
	NCCL,
	NCCL_P2P,
	LAUNCH,
	SYNC,
	MALLOC,
	INPUT,
	GC,
	SAVE,
	FORWARD,
	TOKENS,
	GLOO,
	REDUCE,
	SEND,
	RECV,
	NAMES
};
enum { THREAD = 1, STREAM, STREAM_2, COMM, GROUP, GROUP_2 };

static const char *const text[NAMES] = {
	[GEMM] = "sm90_xmma_gemm_f32",
	[ADD] = "vectorized_elementwise_kernel",
	[NCCL] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	[NCCL_P2P] = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
	[LAUNCH] = "cudaLaunchKernel",
	[SYNC] = "cudaStreamSynchronize",
	[MALLOC] = "cudaMalloc",
	[INPUT] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
	[GC] = "Python GC",
	[SAVE] = "save_checkpoint",
	[FORWARD] = "DistributedDataParallel.forward",
	[TOKENS] = "tokens",
	[GLOO] = "gloo:all_reduce f32",
	[REDUCE] = "AllReduce f32 RING LL",
	[SEND] = "Send f32 to 3",
	[RECV] = "Recv f32 from 1",
};

static struct recorder_names names;
static struct step_rec got[512];
static size_t gots;

static void on_record(void *arg, struct step_rec *r, uint64_t begin_ns, uint64_t end_ns)
{
	(void)arg, (void)begin_ns, (void)end_ns;
	if (gots < T_LEN(got))
		got[gots++] = *r;
}

static struct event ev(uint8_t kind, uint32_t name, uint32_t track, uint64_t start, uint64_t dur)
{
	return (struct event){
		.kind = kind, .name = name, .track = track, .start_ns = start, .dur_ns = dur
	};
}

static void add(struct stepper *s, struct event e)
{
	stepper_events(s, &e, 1);
}

static void step(struct stepper *s, uint64_t number, uint64_t start, uint64_t dur)
{
	struct event e = ev(EVENT_STEP, 0, THREAD, start, dur);

	e.a = number;
	stepper_step(s, &e, false);
}

/* Steps of 100 ms from 1 s on; the first one only begins it. */
static uint64_t at(uint64_t number)
{
	return 1000 * MS + number * 100 * MS;
}

static struct stepper *make(bool gpu)
{
	struct track stream = { .id = STREAM, .device = 0, .stream = 7 };
	struct track stream2 = { .id = STREAM_2, .device = 0, .stream = 8 };
	struct track comm = { .id = COMM, .device = 0, .stream = 0xabc };
	struct track group = { .id = GROUP, .device = TRACK_HOST, .stream = 99 };
	struct track group2 = { .id = GROUP_2, .device = TRACK_HOST, .stream = 100 };
	struct stepper *s;

	if (stepper_new(&s, &names.means) < 0)
		abort();
	if (gpu) {
		stepper_track(s, &stream, "");
		stepper_track(s, &stream2, "");
		stepper_track(s, &comm, "NCCL world 1/4");
	}
	stepper_track(s, &group, "gloo 0 1/2");
	stepper_track(s, &group2, "gloo 0 1/2"); /* a group has several threads */
	gots = 0;
	step(s, 0, at(0), 100 * MS);
	return s;
}

static void finish(struct stepper *s)
{
	struct step_rec head;

	step_rec_init(&head);
	head.world = 4;
	head.rank = 1;
	stepper_make(s, UINT64_MAX, &head, on_record, NULL);
}

static bool is(float v, double ms)
{
	return v > ms * 1e6 - 64 && v < ms * 1e6 + 64;
}

static void test_times(void)
{
	struct stepper *s = make(true);
	uint64_t t = at(1);
	struct event e;

	/* In no order of time, as buffers come. */
	add(s, ev(EVENT_KERNEL, NCCL, STREAM_2, t + 25 * MS, 20 * MS));
	add(s, ev(EVENT_KERNEL, GEMM, STREAM, t + 10 * MS, 10 * MS));
	add(s, ev(EVENT_KERNEL, GEMM, STREAM, t + 20 * MS, 10 * MS));
	add(s, ev(EVENT_KERNEL, ADD, STREAM_2, t + 15 * MS, 5 * MS)); /* beside the first */
	add(s, ev(EVENT_COPY, 0, STREAM, t + 60 * MS, 5 * MS));
	add(s, ev(EVENT_MEMSET, 0, STREAM, t + 62 * MS, 5 * MS));
	add(s, ev(EVENT_RANGE, INPUT, THREAD, t, 8 * MS));
	add(s, ev(EVENT_API, SYNC, THREAD, t + 70 * MS, 10 * MS));
	add(s, ev(EVENT_API, MALLOC, THREAD, t + 9 * MS, 1 * MS));
	add(s, ev(EVENT_RANGE, GC, THREAD, t + 80 * MS, 2 * MS));
	add(s, ev(EVENT_RANGE, SAVE, THREAD, t + 82 * MS, 3 * MS));
	e = ev(EVENT_COUNTER, TOKENS, THREAD, t + 50 * MS, 0);
	e.a = 2048;
	add(s, e);
	add(s, e);
	/* Reaches into the next step. */
	add(s, ev(EVENT_KERNEL, GEMM, STREAM, t + 95 * MS, 10 * MS));
	step(s, 1, t, 100 * MS);
	step(s, 2, at(2), 100 * MS);
	finish(s);
	T_OK(gots == 2 && got[0].step == 1 && got[1].step == 2 && got[0].world == 4,
	     "a record for each step");
	T_OK(is(got[0].t.step, 100) && is(got[0].t.compute, 25), "compute is a union: %f",
	     (double)got[0].t.compute);
	T_OK(is(got[0].t.comm, 20) && is(got[0].t.exposed, 15),
	     "what of an exchange no kernel hid");
	T_OK(is(got[0].t.copy, 7) && is(got[0].t.idle, 100 - 35 - 5 - 7), "idle is the rest: %f",
	     (double)got[0].t.idle);
	T_OK(is(got[0].t.input, 8) && is(got[0].t.sync, 10) && is(got[0].t.alloc, 1) &&
		     is(got[0].t.gc, 2) && is(got[0].t.ckpt, 3) && got[0].flags & STEP_F_CKPT,
	     "what the host was in");
	T_OK(is(got[0].t.host, 53 - 8 - 10 - 3), "of idle, what no wait explains: %f",
	     (double)got[0].t.host);
	T_OK(is(got[0].t.stall, 28), "the longest piece of idle: %f", (double)got[0].t.stall);
	T_OK(got[0].tokens == 4096, "tokens by a counter");
	T_OK(got[0].class[STEP_CLASS_GEMM].count == 3 &&
		     is(got[0].class[STEP_CLASS_GEMM].sum, 30) &&
		     got[0].class[STEP_CLASS_POINTWISE].count == 1 &&
		     got[0].class[STEP_CLASS_COPY].count == 1,
	     "kernels by class, where they begin");
	T_OK(is(got[1].t.compute, 5) && !got[1].class[STEP_CLASS_GEMM].count,
	     "what reaches into the next step counts there, too, as time");
	stepper_free(s);
}

static void test_launches(void)
{
	struct stepper *s = make(true);
	uint64_t t = at(1);
	struct event e;

	add(s, ev(EVENT_RANGE, FORWARD, THREAD, t, 10 * MS));
	e = ev(EVENT_API, LAUNCH, THREAD, t + 1 * MS, 1 * MS);
	e.corr = 5;
	add(s, e);
	e = ev(EVENT_KERNEL, GEMM, STREAM, t + 20 * MS, 8 * MS);
	e.corr = 5;
	add(s, e);
	e = ev(EVENT_API, LAUNCH, THREAD, t + 30 * MS, 1 * MS);
	e.corr = 6;
	add(s, e);
	e = ev(EVENT_KERNEL, GEMM, STREAM, t + 33 * MS, 4 * MS);
	e.corr = 6;
	add(s, e);
	step(s, 1, t, 100 * MS);
	finish(s);
	T_OK(gots == 1 && is(got[0].t.launch, 2) && is(got[0].t.issue, 10),
	     "calls that launch, and how long kernels wait: %f", (double)got[0].t.issue);
	T_OK(is(got[0].t.pass, 8), "what was launched in the forward pass: %f",
	     (double)got[0].t.pass);
	stepper_free(s);
}

static struct event coll(uint32_t name, uint32_t track, uint64_t start, uint64_t dur, uint64_t seq)
{
	struct event e = ev(EVENT_COLLECTIVE, name, track, start, dur);

	e.a = 4096;
	e.b = seq;
	return e;
}

static void test_host_exchanges(void)
{
	struct stepper *s = make(false);
	uint64_t t = at(1);

	add(s, coll(GLOO, GROUP_2, t + 30 * MS, 10 * MS, 12));
	add(s, coll(GLOO, GROUP, t + 10 * MS, 5 * MS, 11));
	add(s, coll(GLOO, GROUP, t + 60 * MS, 20 * MS, 13));
	step(s, 1, t, 100 * MS);
	finish(s);
	T_OK(gots == 1 && got[0].slots == 1, "threads of a group are one communicator");
	T_OK(got[0].slot[0].count == 3 && got[0].slot[0].members == 2 &&
		     got[0].slot[0].op == STEP_OP_ALL_REDUCE && got[0].slot[0].kib == 12,
	     "its exchanges");
	T_OK(is(got[0].slot[0].sum, 35) && is(got[0].slot[0].min, 5) &&
		     is(got[0].slot[0].max, 20) && is(got[0].slot[0].exposed, 35),
	     "sum, least and longest");
	T_OK(is(got[0].slot[0].probe[0].start, 10) && is(got[0].slot[0].probe[1].start, 60) &&
		     got[0].slot[0].issued == 13 && got[0].slot[0].done == 13,
	     "the first and the last, by number");
	T_OK(is(got[0].t.comm, 35), "without a GPU, hosts' exchanges are what there is");
	stepper_free(s);
}

static void test_nccl(void)
{
	struct stepper *s = make(true);
	uint64_t t = at(1);

	add(s, coll(REDUCE, COMM, t + 1 * MS, 0, 41));
	add(s, coll(REDUCE, COMM, t + 2 * MS, 0, 42));
	add(s, coll(SEND, COMM, t + 50 * MS, 0, 0));
	add(s, coll(RECV, COMM, t + 50 * MS + 1000, 0, 0));
	add(s, ev(EVENT_KERNEL, NCCL, STREAM_2, t + 30 * MS, 4 * MS));
	add(s, ev(EVENT_KERNEL, NCCL, STREAM_2, t + 10 * MS, 6 * MS));
	add(s, ev(EVENT_KERNEL, NCCL_P2P, STREAM_2, t + 60 * MS, 2 * MS));
	add(s, ev(EVENT_KERNEL, GEMM, STREAM, t + 12 * MS, 2 * MS));
	step(s, 1, t, 100 * MS);
	finish(s);
	T_OK(gots == 1 && got[0].slots == 3,
	     "an exchange that was enqueued has its kernel's time: %u", got[0].slots);
	for (uint32_t i = 0; i < got[0].slots; i++) {
		const struct step_slot *x = &got[0].slot[i];

		if (x->op == STEP_OP_ALL_REDUCE)
			T_OK(x->count == 2 && is(x->sum, 10) && is(x->exposed, 8) &&
				     x->issued == 42 && is(x->probe[0].dur, 6) && x->members == 4,
			     "the n-th kernel is the n-th number");
		else
			T_OK(x->members == 2 && is(x->sum, 2) && x->issued == 1 &&
				     x->peer == (x->op == STEP_OP_SEND ? 3 : 1),
			     "sends and receives of a group share a kernel, each with its peer");
	}
	stepper_free(s);
}

static void test_pairs(void)
{
	struct step_means send = means_of_text(names.names, "Send bf16 to 2");
	struct stepper *s = make(true), *r;
	uint64_t t = at(1), mine;
	struct track other = { .id = COMM, .device = 0, .stream = 0xabc };

	T_OK(send.op == STEP_OP_SEND && send.peer == 2, "the peer stands in the name");
	add(s, coll(SEND, COMM, t + MS, MS, 0)); /* rank 1 to 3 */
	step(s, 1, t, 100 * MS);
	finish(s);
	mine = got[0].slot[0].comm;
	stepper_free(s);
	r = make(true);
	stepper_track(r, &other, "NCCL world 3/4");
	add(r, coll(RECV, COMM, t + MS, MS, 0)); /* rank 3 from 1 */
	step(r, 1, t, 100 * MS);
	finish(r);
	T_OK(gots == 1 && got[0].slot[0].comm == mine, "both ends of a pair compute the same hash");
	stepper_free(r);
}

static void test_partial(void)
{
	struct step_words w = { .step = 2, .comm = 0xabc, .sequence = 43 };
	struct stepper *s = make(true);
	struct step_rec head, r;
	uint64_t t = at(1), begin;

	add(s, coll(REDUCE, COMM, t + 1 * MS, 5 * MS, 42));
	step(s, 1, t, 100 * MS);
	step_rec_init(&head);
	head.world = 4;
	stepper_make(s, at(6), &head, on_record, NULL);
	add(s, ev(EVENT_KERNEL, GEMM, STREAM, at(2) + 10 * MS, 10 * MS));
	T_OK(stepper_partial(s, at(60), &w, &head, &r, &begin) && r.flags & STEP_F_PARTIAL &&
		     r.step == 2 && begin == at(2) && is(r.t.compute, 10),
	     "a step that does not end, as far as it was seen");
	T_OK(r.slots == 1 && r.slot[0].issued == 43 && r.slot[0].done == 42 && r.slot[0].what,
	     "what was issued and is not done");
	w = (struct step_words){ .step = 2, .comm = 0xabc, .sequence = 42 };
	T_OK(stepper_partial(s, at(60), &w, &head, &r, &begin) && r.slot[0].issued == 42 &&
		     r.slot[0].done == 42 && !r.slot[0].what,
	     "who has not come to it stands at the one before");
	stepper_free(s);
}

static void test_bounds(void)
{
	struct stepper *s = make(true);

	for (uint64_t i = 0; i < 2 * STEPPER_KEYS; i++)
		add(s, ev(EVENT_KERNEL, GEMM, STREAM, at(1) + i * 200, 100));
	for (uint64_t i = 0; i < 2 * STEPPER_COLLS; i++)
		add(s, coll(GLOO, GROUP, at(1) + i, 1, i));
	step(s, 1, at(1), 100 * MS);
	finish(s);
	T_OK(gots == 1 && got[0].lost[1] == UINT16_MAX,
	     "of more than fits the oldest go, and are lost");
	stepper_free(s);
	s = make(true);
	for (uint64_t i = 1; i <= 4096; i++) { /* a step a millisecond */
		step(s, i, at(1) + i * MS, MS);
		if (i % 64 == 0)
			finish(s);
	}
	T_OK(gots > 4 && gots < 200, "of fast steps some have a record: %zu of 4096", gots);
	for (size_t i = 1; i < gots; i++)
		if (got[i].step % 32)
			gots = 0;
	T_OK(gots, "those of which all ranks think alike");
	stepper_free(s);
}

static void test_unsampled(void)
{
	struct stepper *s = make(true);
	struct event e = ev(EVENT_STEP, 0, THREAD, at(1), 100 * MS);

	stepper_step(s, &e, true);
	step(s, 2, at(2), 100 * MS);
	finish(s);
	T_OK(gots == 1 && got[0].step == 2, "a step of which nothing was recorded has no record");
	stepper_free(s);
}

static void test_pause(void)
{
	struct stepper *s = make(true);

	step(s, 1, at(1), 80 * MS); /* 20 ms to the next one */
	step(s, 2, at(2), 80 * MS); /* then an evaluation */
	step(s, 3, at(9), 80 * MS);
	finish(s);
	T_OK(gots == 3 && is(got[0].t.step, 100) && is(got[1].t.step, 80),
	     "a step lasts to the next one's begin, but not over a long pause");
	stepper_free(s);
}

int main(void)
{
	if (recorder_names_init(&names, 1000) < 0)
		return 1;
	for (uint32_t i = 1; i < NAMES; i++)
		recorder_name(&names, i, text[i]);
	test_times();
	test_launches();
	test_host_exchanges();
	test_nccl();
	test_pairs();
	test_partial();
	test_bounds();
	test_unsampled();
	test_pause();
	recorder_names_fini(&names);
	return t_done();
}
