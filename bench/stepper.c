/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepper.c - the cost of step records for aond, per event of a process that has steps.
 *
 *	step_record_ns   kernels of a step on two streams, as buffers deliver them, some collectives
 *
 * It also prints the size of a record on the wire.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agg/stepper.h"
#include "lib/bench.h"

#define STEPS   400
#define KERNELS 5000
#define COLLS   60
#define STEP_NS 100000000ull
#define BAR_NS  50.0

enum { THREAD = 1, STREAM, STREAM_2, GROUP };

static struct step_means means[] = {
	{ .kernel = STEP_CLASS_OTHER, .op = STEP_NO_OP },
	{ .kernel = STEP_CLASS_GEMM, .op = STEP_NO_OP },
	{ .kernel = STEP_CLASS_POINTWISE, .op = STEP_NO_OP },
	{ .op = STEP_OP_ALL_REDUCE },
};
static const struct step_names names = { means, 4 };
static struct event ev[KERNELS + COLLS];
static uint64_t bytes, records;

static void on_record(void *arg, struct step_rec *r, uint64_t begin_ns, uint64_t end_ns)
{
	(void)arg, (void)begin_ns, (void)end_ns;
	bytes += step_rec_size(r->slots);
	records++;
}

/* One stream's buffer after the other, a quarter of the step each. */
static size_t fill(uint64_t start)
{
	uint64_t gap = STEP_NS / (KERNELS / 2);
	size_t n = 0;

	for (uint64_t part = 0; part < 4; part++)
		for (uint32_t track = STREAM; track <= STREAM_2; track++)
			for (uint64_t i = 0; i < KERNELS / 8; i++)
				ev[n++] = (struct event){ .start_ns =
								  start +
								  (part * (KERNELS / 8) + i) * gap +
								  (track == STREAM_2) * gap / 3,
							  .dur_ns = gap * 3 / 4,
							  .name = 1 + (i & 1),
							  .track = track,
							  .kind = EVENT_KERNEL };
	for (uint64_t i = 0; i < COLLS; i++)
		ev[n++] = (struct event){ .start_ns = start + i * (STEP_NS / COLLS),
					  .dur_ns = STEP_NS / COLLS / 2,
					  .a = 1 << 20,
					  .b = i + 1,
					  .name = 3,
					  .track = GROUP,
					  .kind = EVENT_COLLECTIVE };
	return n;
}

int main(void)
{
	struct track a = { .id = STREAM, .stream = 1 }, b = { .id = STREAM_2, .stream = 2 };
	struct track g = { .id = GROUP, .stream = 3 };
	struct stepper *s;
	struct step_rec head;
	uint64_t cpu = 0, events = 0;

	if (stepper_new(&s, &names) < 0)
		bench_die("stepper", 0);
	stepper_track(s, &a, "");
	stepper_track(s, &b, "");
	stepper_track(s, &g, "NCCL world 0/8");
	step_rec_init(&head);
	head.world = 8;
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t start = (i + 10) * STEP_NS, t0;
		struct event step = { .start_ns = start,
				      .dur_ns = STEP_NS,
				      .a = i,
				      .track = THREAD,
				      .kind = EVENT_STEP };
		size_t n = fill(start);

		t0 = bench_cpu_ns(0);
		stepper_events(s, ev, n);
		stepper_step(s, &step, false);
		if (i % 10 == 9) /* a second has passed */
			stepper_make(s, start - 5 * STEP_NS, &head, on_record, NULL);
		cpu += bench_cpu_ns(0) - t0;
		events += n;
	}
	stepper_free(s);
	bench_row("step_record_ns", (double)cpu / (double)events, "ns an event", BAR_NS,
		  (double)cpu / (double)events <= BAR_NS,
		  "%d steps of %d kernels on two streams and %d exchanges; %.0f bytes a record, "
		  "%.2f ms of CPU",
		  STEPS, KERNELS, COLLS, (double)bytes / (double)records,
		  (double)cpu / 1e6 / (double)records);
	return 0;
}
