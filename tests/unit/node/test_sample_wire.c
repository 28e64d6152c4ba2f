/* SPDX-License-Identifier: Apache-2.0 */
/* What aond and aon-sample say is read as it was written, and what lies is refused whole. */
#include "sample/wire.h"

#include <errno.h>
#include <string.h>

#include "t.h"

static _Alignas(8) uint8_t msg[SWIRE_BYTES];
static struct swire_target target[SWIRE_TARGETS];
static struct swire_sample sample[2000];
static size_t got;
static bool same;

static int on_targets(void *arg, const struct swire_target *t, size_t n)
{
	(void)arg;
	got = n;
	same = !memcmp(t, target, n * sizeof(*t));
	return 0;
}

static int on_stack(void *arg, uint32_t id, const struct swire_frame *f, size_t n)
{
	const struct swire_frame *want = arg;

	got = n;
	same = id == 7;
	for (size_t i = 0; i < n; i++)
		same = same && f[i].kind == want[i].kind && f[i].flags == want[i].flags &&
		       f[i].line == want[i].line && f[i].name_len == want[i].name_len &&
		       f[i].file_len == want[i].file_len &&
		       !memcmp(f[i].name, want[i].name, f[i].name_len) &&
		       !memcmp(f[i].file, want[i].file, f[i].file_len);
	return 0;
}

static int on_samples(void *arg, const struct swire_sample *s, size_t n)
{
	(void)arg;
	got = n;
	same = !memcmp(s, sample, n * sizeof(*s));
	return 0;
}

static int on_status(void *arg, const struct swire_status *s)
{
	(void)arg;
	got = s->reason_len;
	same = s->cpu_ns == 1 && s->samples == 2 && s->missed == 3 &&
	       !memcmp(s->reason, "no", s->reason_len);
	return -ECANCELED;
}

static int on_budget(void *arg, uint32_t permille)
{
	(void)arg;
	got = permille;
	return 0;
}

static const struct swire_fns fns = { on_targets, on_stack, on_samples, on_status, on_budget };

static void test_there_and_back(void)
{
	const struct swire_frame f[2] = {
		{ .kind = FRAME_PYTHON,
		  .flags = FRAME_USER,
		  .line = 42,
		  .name = "load",
		  .name_len = 4,
		  .file = "data.py",
		  .file_len = 7 },
		{ .kind = FRAME_NATIVE, .name = "read", .name_len = 4, .file = "" },
	};
	const struct swire_status st = { 1, 2, 3, "no", 2 };
	int n;

	for (uint32_t i = 0; i < SWIRE_TARGETS; i++)
		target[i] = (struct swire_target){ 1 + i, 2 + i, 4900, 0 };
	for (uint32_t i = 0; i < 2000; i++)
		sample[i] = (struct swire_sample){ .t_ns = i,
						   .pid = 1,
						   .tid = 2,
						   .stack = i,
						   .centihertz = 1000,
						   .blame = UINT32_MAX,
						   .state = SAMPLE_GIL,
						   .flags = SAMPLE_GC,
						   .detail = 9 };
	n = swire_put_targets(msg, target, SWIRE_TARGETS);
	T_OK(n > 0 && !swire_read(msg, (size_t)n, &fns, NULL) && got == SWIRE_TARGETS && same,
	     "targets");
	n = swire_put_targets(msg, target, 0);
	T_OK(n == 8 && !swire_read(msg, 8, &fns, NULL) && got == 0, "no targets");
	T_OK(swire_put_targets(msg, target, SWIRE_TARGETS + 1) == -EMSGSIZE, "too many targets");
	n = swire_put_stack(msg, 7, f, 2);
	T_OK(n > 0 && !swire_read(msg, (size_t)n, &fns, (void *)(uintptr_t)f) && got == 2 && same,
	     "a stack");
	n = swire_put_samples(msg, sample, 1600);
	T_OK(n > 0 && !swire_read(msg, (size_t)n, &fns, NULL) && got == 1600 && same, "samples");
	T_OK(swire_put_samples(msg, sample, 2000) == -EMSGSIZE, "too many samples for a message");
	n = swire_put_status(msg, &st);
	T_OK(n > 0 && swire_read(msg, (size_t)n, &fns, NULL) == -ECANCELED && got == 2 && same,
	     "a status, and what its function returned");
}

/* One byte of a good message changed, or its length. */
static void test_lies(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t to;
	} lie[] = {
		{ "another magic", 0, 0 },
		{ "another version", 5, 9 },
		{ "an unknown type", 4, 77 },
		{ "a count that is too high", 6, 2 },
		{ "no pid", 16, 0 },
		{ "no thread", 20, 0 },
		{ "a stack that cannot be", 27, 1 },
		{ "a state that is not", 36, 200 },
		{ "no state", 36, 0 },
		{ "a rate that cannot be", 31, 1 },
		{ "what must be 0", 38, 1 },
	};
	struct swire_sample s = { .t_ns = 1, .pid = 1, .tid = 2, .centihertz = 4900, .state = 1 };
	int n = swire_put_samples(msg, &s, 1);
	uint8_t was;

	for (size_t i = 0; i < T_LEN(lie); i++) {
		was = msg[lie[i].at];
		msg[lie[i].at] = lie[i].to;
		T_OK(swire_read(msg, (size_t)n, &fns, NULL) == -EBADMSG, "%s is refused",
		     lie[i].what);
		msg[lie[i].at] = was;
	}
	T_OK(swire_read(msg, (size_t)n - 1, &fns, NULL) == -EBADMSG, "cut short");
	T_OK(swire_read(msg, 3, &fns, NULL) == -EBADMSG, "cut in its head");
	T_OK(!swire_read(msg, (size_t)n, &fns, NULL), "and the good one is not");
}

static void test_budget(void)
{
	int n = swire_put_budget(msg, 15);

	T_OK(n == 16 && !swire_read(msg, 16, &fns, NULL) && got == 15, "a budget");
	T_OK(swire_read(msg, 15, &fns, NULL) == -EBADMSG, "half a budget is refused");
	msg[12] = 1;
	T_OK(swire_read(msg, 16, &fns, NULL) == -EBADMSG, "what must be 0 in it");
	T_OK(swire_put_budget(msg, 1001) == -EMSGSIZE, "more than a CPU is not written");
	swire_put_budget(msg, 1000);
	msg[8]++;
	T_OK(swire_read(msg, 16, &fns, NULL) == -EBADMSG, "nor believed");
}

static void test_texts(void)
{
	struct swire_frame f = { .name = "a\0b", .name_len = 3, .file = "" };
	char longest[SWIRE_TEXT + 1];
	int n = swire_put_stack(msg, 1, &f, 1);

	T_OK(swire_read(msg, (size_t)n, &fns, &f) == -EBADMSG, "a NUL in a name is refused");
	memset(longest, 'x', sizeof(longest));
	f = (struct swire_frame){ .name = longest, .name_len = SWIRE_TEXT + 1, .file = "" };
	T_OK(swire_put_stack(msg, 1, &f, 1) == -EMSGSIZE, "too long a name is not written");
	f.kind = FRAME_KINDS;
	f.name_len = 1;
	n = swire_put_stack(msg, 1, &f, 1);
	T_OK(swire_read(msg, (size_t)n, &fns, &f) == -EBADMSG, "an unknown kind is refused");
	f.kind = 0;
	n = swire_put_stack(msg, 0, &f, 1);
	T_OK(swire_read(msg, (size_t)n, &fns, &f) == -EBADMSG, "stack 0 is refused");
}

int main(void)
{
	test_there_and_back();
	test_lies();
	test_budget();
	test_texts();
	return t_done();
}
