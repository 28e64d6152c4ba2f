/* SPDX-License-Identifier: Apache-2.0 */
/* late.c - the checks time and lateness: what records say, and when they come. */
#include <stdlib.h>

#include "base/clock.h"
#include "gpucheck/check.h"

#define SPIN_NS 1000000u /* of a kernel of known length */
#define SAMPLES 20u
#define TIME_NS \
	20000 /* that a record's time may be off; the GPU's own clock steps by a microsecond */
#define DRIFT_S    600u
#define PATIENCE   2000u
#define LATE_MS    100u /* the probe's exit waits that long without gpu.conf */
#define LATE_MOST  1000u
#define BATCH      100u
#define ROUNDS     3u
#define ALL        ((ROUNDS + 1) * BATCH + 1)
#define ENDLESS_NS 500000000u /* longer than the check looks */

static uint64_t start_ns, end_ns;

static void note_times(const uint8_t *r)
{
	start_ns = at64(r, AT_START);
	end_ns = at64(r, AT_END);
}

struct times {
	int64_t length, before, after, wait; /* worst deviations; the least wait before a start */
};

static void more(int64_t *worst, int64_t v)
{
	if (v > *worst)
		*worst = v;
}

/* One kernel: between two looks at CUPTI's clock, as long as the GPU itself says. */
static void sample(struct times *t)
{
	uint64_t had = tool_kernels(), t0 = 0, t1 = 0, own[2] = { 0, 0 };

	tool.api.GetTimestamp(&t0);
	driver_spin(SPIN_NS, NULL);
	driver_wait();
	tool.api.GetTimestamp(&t1);
	must(cu.cuMemcpyDtoH_v2(own, cu.where, sizeof(own)), "cuMemcpyDtoH");
	if (tool_await(CK_CONCURRENT_KERNEL, had + 1) != had + 1)
		unknown("the record of a kernel did not come");
	more(&t->length, llabs((int64_t)(end_ns - start_ns) - (int64_t)(own[1] - own[0])));
	more(&t->before, (int64_t)(t0 - start_ns));
	more(&t->after, (int64_t)(end_ns - t1));
	if ((int64_t)(start_ns - t0) < t->wait)
		t->wait = (int64_t)(start_ns - t0);
}

static struct times sample_all(void)
{
	struct times t = { 0, INT64_MIN, INT64_MIN, INT64_MAX };

	for (unsigned i = 0; i < SAMPLES; i++)
		sample(&t);
	return t;
}

void check_time(void)
{
	unsigned seconds = scaled(DRIFT_S, 1);
	struct times a, b;
	uint64_t now;
	int64_t worst, drift;

	tool.on_kernel = note_times;
	tool_inject(TOOL_PROBE, 0);
	driver_load();
	driver_init();
	tool_must();
	driver_context();
	a = sample_all();
	nap_ms(1000 * seconds);
	b = sample_all();
	drift = llabs(b.wait - a.wait);
	worst = a.length > b.length ? a.length : b.length;
	more(&worst, a.before);
	more(&worst, b.before);
	more(&worst, a.after);
	more(&worst, b.after);
	fact("length_off_ns", "%lld", (long long)(a.length > b.length ? a.length : b.length));
	fact("drift_ns", "%lld", (long long)drift);
	fact("timestamp_v1", "%d", tool.api.GetTimestamp(&now));
	fact("timestamp_v2", "%s", tool.api.GetTimestamp_v2 ? "there" : "not in this version");
	say("%u kernels of %u us: times at most %.1f us off, %.1f us of drift in %u s", 2 * SAMPLES,
	    SPIN_NS / 1000, (double)worst / 1e3, (double)drift / 1e3, seconds);
	if (worst < TIME_NS && drift < TIME_NS)
		return;
	setting("fidelity", "heartbeat");
	fix("fidelity=heartbeat: times of kernels are wrong; AON_CUDA_HES=1 may be right on "
	    "Blackwell");
	verdict(FAIL);
}

/* --- lateness --- */

/* How long it takes until that many records came, after one flush. */
static unsigned wait_records(uint64_t want)
{
	uint64_t begin = clock_mono_ms();

	tool_flush();
	while (tool_kernels() < want && clock_mono_ms() - begin < PATIENCE)
		nap_ms(1);
	return (unsigned)(clock_mono_ms() - begin);
}

static void launch_batch(void *stream)
{
	for (unsigned i = 0; i < BATCH; i++)
		driver_launch(cu.empty, stream);
	must(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

void check_lateness(void)
{
	unsigned soon = PATIENCE, tail, late;
	void *stream, *other;
	uint64_t had;

	tool_inject(TOOL_PROBE, 0);
	driver_load();
	driver_init();
	tool_must();
	driver_context();
	stream = driver_stream();
	other = driver_stream();
	for (unsigned i = 1; i <= ROUNDS; i++) { /* the least: what nothing disturbed */
		launch_batch(stream);
		late = wait_records(i * BATCH);
		soon = late < soon ? late : soon;
	}
	had = tool_kernels();
	driver_spin(ENDLESS_NS, other); /* holds back what shares its buffer */
	launch_batch(stream);
	tool_flush();
	nap_ms(2 * LATE_MS);
	fact("beside_endless", "%u of %u", (unsigned)(tool_kernels() - had), BATCH);
	driver_wait();
	tail = wait_records(ALL);
	fact("flush_ms", "%u", soon);
	fact("tail_ms", "%u", tail);
	fact("lent", "%lld", (long long)atomic_load(&tool.lent));
	if (tool_kernels() != ALL) {
		say("%u of %u records came", (unsigned)tool_kernels(), ALL);
		setting("fidelity", "heartbeat");
		fix("fidelity=heartbeat: the end of every program would be lost");
		verdict(FAIL);
	}
	say("all records come, %u ms after a flush", soon);
	if (soon <= LATE_MS)
		return;
	late = 2 * soon < LATE_MOST ? 2 * soon : LATE_MOST;
	setting("late_ms", "%u", late);
	fix("late_ms = %u in gpu.conf: programs' ends wait for their last records", late);
	verdict(FAIL);
}
