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
	}
	return true;
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
	check_any();
	return t_done();
}
