/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device's time goes: each nanosecond of the base is in one cause, whatever the trace. */
#include <inttypes.h>

#include "insight/insight.h"
#include "insight/stretch.h"
#include "t.h"
#include "tracekit.h"

/* Times are microseconds; `want` is of the first device. */
static const struct {
	const char *name, *text;
	uint64_t base, want[ACCOUNT_CAUSES];
} cases[] = {
	/* clang-format off */
	{ "the host's time before the first and after the last kernel counts",
	  "user 1 0 1000 0 main;api 1 300 5 1 0 cudaLaunchKernel;kernel 0 7 310 200 1 gemm",
	  1000, { [ACCOUNT_COMPUTE] = 200, [ACCOUNT_HOST] = 300 + 490, [ACCOUNT_LAUNCH] = 10 } },
	{ "a step is all of it",
	  "step 1 100 800 1;api 1 300 5 1 0 cudaLaunchKernel;kernel 0 7 310 200 1 gemm;user 1 0 2000 0 main",
	  800, { [ACCOUNT_COMPUTE] = 200, [ACCOUNT_HOST] = 200 + 390, [ACCOUNT_LAUNCH] = 10 } },
	{ "work that was in flight before the recording began: a cut-out",
	  "user 1 0 500 0 main;api 1 10 5 1 0 cudaLaunchKernel;kernel 0 7 300 200 1 gemm",
	  235, { [ACCOUNT_COMPUTE] = 200, [ACCOUNT_HOST] = 10, [ACCOUNT_LAUNCH] = 25 } },
	{ "a first kernel whose launch is not in the trace",
	  "user 1 0 500 0 main;kernel 0 7 300 200 1 gemm",
	  200, { [ACCOUNT_COMPUTE] = 200 } },
	{ "work of before the first step is not of the steps",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 190 1 gemm;step 1 100 300 1;"
	  "api 1 110 5 2 0 cudaLaunchKernel;kernel 0 7 200 200 2 gemm",
	  200, { [ACCOUNT_COMPUTE] = 200 } },
	{ "what the last step launched is of the steps",
	  "step 1 0 100 1;api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 390 1 gemm;"
	  "api 1 210 5 2 0 cudaLaunchKernel;kernel 0 7 400 200 2 gemm",
	  400, { [ACCOUNT_COMPUTE] = 390, [ACCOUNT_LAUNCH] = 10 } },
	{ "compute hides communication, and both hide copies",
	  "kernel 0 7 0 100 1 gemm;kernel 0 8 50 100 2 ncclKernel;copy 0 9 100 100 3 8 1",
	  200, { [ACCOUNT_COMPUTE] = 100, [ACCOUNT_COMM] = 50, [ACCOUNT_COPY] = 50 } },
	{ "a wait starves the queue: the launches that follow are its cost, up to what it lasted",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;sync 1 20 92 9 0 cudaStreamSynchronize;"
	  "api 1 130 5 2 0 cudaLaunchKernel;kernel 0 7 140 10 2 gemm;"
	  "api 1 180 5 3 0 cudaLaunchKernel;kernel 0 7 190 10 3 gemm;"
	  "api 1 230 5 4 0 cudaLaunchKernel;kernel 0 7 240 10 4 gemm",
	  250, { [ACCOUNT_COMPUTE] = 130, [ACCOUNT_SYNC] = 90, [ACCOUNT_HOST] = 10, [ACCOUNT_LAUNCH] = 20 } },
	{ "what has a name is that: a checkpoint, with all that it does inside",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "user 1 120 500 0 save_checkpoint;api 1 130 50 8 0 cudaMalloc;sync 1 200 50 9 0 cudaStreamSynchronize;"
	  "api 1 630 5 2 0 cudaLaunchKernel;kernel 0 7 640 10 2 gemm",
	  650, { [ACCOUNT_COMPUTE] = 110, [ACCOUNT_CHECKPOINT] = 500, [ACCOUNT_HOST] = 20, [ACCOUNT_LAUNCH] = 20 } },
	{ "a launch that takes milliseconds loads code",
	  "api 1 0 5000 1 0 cudaLaunchKernel;kernel 0 7 5000 100 1 gemm",
	  5100, { [ACCOUNT_COMPUTE] = 100, [ACCOUNT_WARM_UP] = 5000 } },
	{ "from begin to end of a capture nothing is launched",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;api 1 120 5 0 0 cudaStreamBeginCapture;"
	  "api 1 200 5 5 0 cudaLaunchKernel;api 1 310 5 0 0 cudaMalloc;api 1 415 5 0 0 cudaStreamEndCapture;"
	  "api 1 430 5 2 0 cudaGraphLaunch;kernel 0 7 440 10 2 gemm",
	  450, { [ACCOUNT_COMPUTE] = 110, [ACCOUNT_CAPTURE] = 300, [ACCOUNT_HOST] = 20, [ACCOUNT_LAUNCH] = 20 } },
	{ "the path of a Python function is not what it does",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;py 1 0 650 0 my_dataset/train.py(3): main;"
	  "py 1 120 300 0 torch/utils/data/dataloader.py(80): __next__;"
	  "py 1 430 100 0 torch/utils/data/dataloader.py(90): __init__;"
	  "api 1 630 5 2 0 cudaLaunchKernel;kernel 0 7 640 10 2 gemm",
	  650, { [ACCOUNT_COMPUTE] = 110, [ACCOUNT_INPUT] = 300, [ACCOUNT_HOST] = 220, [ACCOUNT_LAUNCH] = 20 } },
	{ "nothing ran in the steps",
	  "kernel 0 7 0 100 1 gemm;step 1 200 300 1;user 1 0 500 0 main",
	  300, { [ACCOUNT_HOST] = 300 } },
	/* clang-format on */
};

static void in_us(struct trace *t)
{
	for (size_t i = 0; i < t->events; i++) {
		t->event[i].start_ns *= 1000;
		t->event[i].dur_ns *= 1000;
	}
}

static void check_case(size_t i)
{
	struct trace *t = kit_trace(cases[i].text);
	const struct time_account *a;
	struct insight *in;
	bool same;

	in_us(t);
	if (insight_new(&in, t) < 0)
		abort();
	a = &in->device[0].account;
	same = a->base_ns == cases[i].base * 1000 && !a->rest_ns;
	for (size_t c = 0; c < ACCOUNT_CAUSES; c++)
		same &= a->ns[c] == cases[i].want[c] * 1000;
	T_OK(same, "%s", cases[i].name);
	if (!same)
		printf("# base %" PRIu64 ", rest %" PRIu64 "\n", a->base_ns, a->rest_ns);
	for (size_t c = 0; c < ACCOUNT_CAUSES && !same; c++)
		if (a->ns[c])
			printf("# %s: %" PRIu64 "\n", account_table[c].word, a->ns[c]);
	insight_free(in);
	trace_free(t);
}

/* --- any trace --- */

static void add_random(char *text, size_t cap, size_t *used, bool steps)
{
	static const char *const name[] = { "gemm", "ncclDevKernel", "elementwise" };
	static const char *const host[] = { "user 1 %d %d 0 next_batch\n", "py 1 %d %d 0 f\n",
					    "sync 1 %d %d 0 0 cudaDeviceSynchronize\n",
					    "user 2 %d %d 0 other\n" };
	int at = rand() % 400, ns = rand() % 60, corr = rand() % 9;
	size_t room = cap - *used;
	char *to = text + *used;

	switch (rand() % (steps ? 7 : 5)) {
	case 0:
		*used += (size_t)snprintf(to, room, host[rand() % 4], at, ns);
		break;
	case 1:
	case 2:
		*used += (size_t)snprintf(to, room, "api %d %d %d %d 0 cudaLaunchKernel\n",
					  1 + rand() % 2, at, ns / 8, corr);
		break;
	case 3:
		*used += (size_t)snprintf(to, room, "copy %d 9 %d %d %d 64 1\n", rand() % 2, at, ns,
					  corr);
		break;
	case 5:
	case 6:
		*used += (size_t)snprintf(to, room, "step 1 %d %d %d\n", at, ns * 2, at);
		break;
	default:
		*used += (size_t)snprintf(to, room, "kernel %d %d %d %d %d %s\n", rand() % 2,
					  7 + rand() % 2, at, ns, corr, name[rand() % 3]);
	}
}

/* A frame holds a device up for no longer than it lasts. */
static bool own_time(const struct insight *in, const struct insight_frame *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; f->name && i < in->t->events; i++)
		sum += in->t->event[i].kind == EVENT_RANGE && in->t->event[i].name == f->name
			       ? in->t->event[i].dur_ns
			       : 0;
	return f->ns <= sum;
}

static bool closes(const struct insight *in)
{
	for (size_t i = 0; i < in->devices; i++) {
		const struct time_account *a = &in->device[i].account;
		uint64_t sum = 0;

		for (size_t c = 0; c < ACCOUNT_CAUSES; c++)
			sum += a->ns[c];
		if (sum != a->base_ns || a->rest_ns ||
		    a->ns[ACCOUNT_COMPUTE] > in->device[i].b.compute_ns)
			return false;
		if (!own_time(in, &in->device[i].host_in) || !own_time(in, &in->device[i].sync_in))
			return false;
	}
	return true;
}

/* One function holds up the device in many gaps, another one is at the middle of each. */
static void check_frames(void)
{
	struct trace *t =
		kit_trace("api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 10 1 gemm;"
			  "py 1 0 2000 0 train.py(1): main;"
			  "py 1 30 900 0 train.py(9): log_metrics;py 1 470 20 0 json.py(2): dumps;"
			  "py 1 470 5 0 json.py(2): dumps;"
			  "api 1 1000 5 2 0 cudaLaunchKernel;kernel 0 7 1010 990 2 gemm");
	const struct insight_frame *f;
	struct insight *in;

	if (insight_new(&in, t) < 0)
		abort();
	f = &in->device[0].host_in;
	T_OK(!strcmp(trace_text(t, f->name), "train.py(9): log_metrics") && f->ns == 900 &&
		     f->span_ns == 900 && f->count == 1,
	     "the deepest frame that holds most of a gap is named, with what it holds");
	T_OK(in->device[0].host_own.name == f->name, "and it is the program's own");
	insight_free(in);
	trace_free(t);
}

static void check_any(void)
{
	static char text[8192];
	unsigned bad = 0, seen = 0;

	for (unsigned seed = 1; seed <= 2000; seed++) {
		struct insight *in;
		struct trace *t;
		size_t used = 0;

		srand(seed);
		text[0] = '\0';
		for (int n = rand() % 60; n > 0; n--)
			add_random(text, sizeof(text), &used, seed % 2);
		t = kit_trace(text);
		if (insight_new(&in, t) < 0)
			abort();
		seen += in->devices > 0;
		if (!closes(in) && !bad++)
			printf("# seed %u\n", seed);
		insight_free(in);
		trace_free(t);
	}
	T_OK(!bad, "the parts of %u random traces sum to their base, to the nanosecond", seen);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(i);
	check_frames();
	check_any();
	return t_done();
}
