/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline of two stages and two replicas, one step, with times worked out by hand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/stages.h"
#include "t.h"

#define TRACK(pid, tid, stage)                                     \
	"{\"name\":\"thread_name\",\"pid\":" #pid ",\"tid\":" #tid \
	",\"ph\":\"M\",\"args\":{\"name\":\"PP rank " #stage ", TP rank 0, compute\"}},"
#define SPAN(name, pid, tid, ts, dur, mb)                                                       \
	"{\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
	",\"ph\":\"X\",\"args\":{\"step\":7,\"mb_id\":" #mb "}}"

/* Threads are named behind the first events. */
static const char text[] = "[" SPAN("forward-compute", 0, 1, 100, 40, 0) "," TRACK(0, 1, 0) TRACK(
	1, 2, 0) TRACK(0, 3, 1) TRACK(1, 4, 1)
	SPAN("forward-compute", 0, 1, 140, 40, 1) "," SPAN("forward-send", 0, 1, 180, 2, -1) "," SPAN(
		"forward-recv",
		0, 3, 150, 32,
		-1) "," SPAN("backward-compute", 0, 3, 182, 60,
			     0) "," SPAN("forward-compute", 1, 2, 100, 45,
					 0) "," SPAN("grads-reduce-scatter", 0, 1, 250, 10,
						     -1) "," SPAN("grads-reduce-"
								  "scatter",
								  1, 2, 245, 15,
								  -1) "," SPAN("backwar"
									       "d-"
									       "comput"
									       "e",
									       1, 4, 190, 50,
									       0) "," SPAN("unknow"
											   "n",
											   1, 4,
											   900, 50,
											   0) "]";

static struct step_rec got[8];
static size_t n, calls;

static int take(void *arg, const struct step_rec *rec, size_t count)
{
	(void)arg;
	calls++;
	n = count;
	memcpy(got, rec, count * sizeof(*rec));
	return 0;
}

static const struct step_slot *slot(const struct step_rec *r, enum step_op op)
{
	for (uint32_t i = 0; i < r->slots; i++)
		if (r->slot[i].op == op)
			return &r->slot[i];
	return NULL;
}

int main(void)
{
	uint32_t world = 0;
	const struct step_slot *send, *recv;

	T_OK(stages_is(text, sizeof(text) - 1) && !stages_is("[{\"name\":\"x\"}]", 14),
	     "it is known by its content");
	T_OK(stages_read(text, sizeof(text) - 1, &world, take, NULL) == 0 && world == 4 &&
		     calls == 1 && n == 4,
	     "two stages of two replicas are four ranks of one step");
	T_OK(got[0].rank == 0 && got[1].rank == 1 && got[2].rank == 2 && got[0].step == 7,
	     "by stage, then by replica");
	T_OK(got[0].t.compute == 80e3f && got[2].t.compute == 60e3f && got[0].t.pass == 80e3f &&
		     got[0].micro_batches == 2,
	     "compute is that of its passes, in nanoseconds");
	T_OK(got[0].t.step == 160e3f && got[3].t.step == 160e3f,
	     "the step lasts from the first event to the end of the last, for all");
	send = slot(&got[0], STEP_OP_SEND);
	recv = slot(&got[2], STEP_OP_RECV);
	T_OK(send && recv && send->comm == recv->comm && send->peer == 2 && recv->peer == 0 &&
		     send->members == 2,
	     "both ends of a send are one communicator");
	T_OK(slot(&got[0], STEP_OP_REDUCE_SCATTER)->comm ==
			     slot(&got[1], STEP_OP_REDUCE_SCATTER)->comm &&
		     got[1].slot[0].probe[0].dur == 15e3f,
	     "replicas of a stage share one, and keep their own stay");
	T_OK(got[0].t.exposed == 10e3f, "what is sent is hidden, what is waited for is not");
	T_OK(stages_read("{}", 2, &world, take, NULL) == -EINVAL &&
		     stages_read("[1,2", 4, &world, take, NULL) == -EINVAL,
	     "what is none is refused");
	return t_done();
}
