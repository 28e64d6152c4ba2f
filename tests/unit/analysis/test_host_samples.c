/* SPDX-License-Identifier: Apache-2.0 */
/* Samples: whom they blame, with which error, in which gap and part of a step. */
#include <math.h>
#include <string.h>

#include "insight/find/finding.h"
#include "insight/insight.h"
#include "insight/stretch.h"
#include "t.h"
#include "tracekit.h"

#define MS 1000000u

/* clang-format off */
static const char stacks[] =
	"stack resize@/v/site-packages/PIL/Image.py:9 __getitem__@/home/me/dataset.py:42! main@/home/me/train.py:7!;"
	"stack sleep@/usr/lib/python3.11/time.py:1 main@/home/me/train.py:9!;"
	"stack ~clock_nanosleep@/lib/libc.so.6:0 run@/usr/lib/python3.11/threading.py:3;"
	"stack pickle@/home/me/worker.py:5! run@/usr/lib/python3.11/threading.py:3;"
	"stack __getitem__@/home/me/dataset.py:44! main@/home/me/train.py:7!;"
	"stack f.<locals>.<genexpr>@/home/me/a.py:5! f@/home/me/a.py:5! main@/home/me/train.py:7!;"
	"stack work@/v/site-packages/torch/utils/data/dataloader.py:1 main@/home/me/train.py:7!;";
/* clang-format on */

static const struct samples_want everything = { SAMPLES_ALL, SAMPLES_ALL, 0, 0 };

/* `stacks`, then `more`, understood. */
static struct insight *look(struct trace **t, const char *more)
{
	static char text[65536];
	struct insight *in;

	snprintf(text, sizeof(text), "%s%s", stacks, more);
	*t = kit_trace(text);
	if (insight_new(&in, *t) < 0)
		abort();
	return in;
}

static void done(struct insight *in, struct trace *t, struct samples_sum *s)
{
	samples_fini(s);
	insight_free(in);
	trace_free(t);
}

/* n samples of one kind, every 20 ms from `from` on. */
static char *some(char *out, size_t n, unsigned tid, unsigned from_ms, unsigned state,
		  unsigned stack)
{
	size_t used = strlen(out);

	for (size_t i = 0; i < n; i++)
		used += (size_t)sprintf(out + used, "at %u %lu %u %u %u;", tid,
					((unsigned long)from_ms + 20 * i) * MS, 20 * MS, state,
					stack);
	return out;
}

static void test_blame(void)
{
	char text[32768] = "", label[FRAME_LABEL];
	struct samples_sum s;
	struct trace *t;
	struct insight *in;

	some(text, 50, 1, 0, SAMPLE_RUNNING, 1);
	some(text, 12, 1, 1000, SAMPLE_RUNNING, 5);
	some(text, 38, 1, 2000, SAMPLE_SLEEP, 2);
	in = look(&t, text);
	T_OK(!samples_blame(&s, in, &everything) && s.count == 100 && s.rows == 2 && s.stacks == 3,
	     "lines of a function are one row, stacks stay apart");
	T_OK(fabs(s.row[0].s.share - 0.62) < 1e-9 && s.row[0].s.count == 62 &&
		     fabs(s.row[0].s.error - sqrt(0.62 * 0.38 / 100)) < 1e-3,
	     "a share has the error of a proportion");
	T_OK(!strcmp(frame_called(t, &s.row[0].frame, label), "__getitem__ (dataset.py:42)"),
	     "the program's own function is blamed, at its heaviest line");
	T_OK(!strcmp(frame_library(t, &s.row[0].in, label), "PIL.Image.resize"),
	     "the library's function stands beside it");
	T_OK(!strcmp(frame_placed(t, &s.row[1].frame, label), "train.py:9 main") &&
		     s.row[1].state == SAMPLE_SLEEP,
	     "states are told apart");
	T_OK(fabs(s.state[SAMPLE_SLEEP].share - 0.38) < 1e-9 && s.state[SAMPLE_SLEEP].count == 38,
	     "and add up by themselves");
	T_OK(samples_enough(&s), "a hundred samples are enough");
	done(in, t, &s);
}

static void test_first(void)
{
	char text[32768] = "", label[BLAME_LABEL];
	const struct sample_blame *b;
	struct samples_sum s;
	struct share all;
	struct trace *t;
	struct insight *in;

	some(text, 30, 1, 0, SAMPLE_RUNNING, 1);
	some(text, 28, 1, 1000, SAMPLE_RUNNABLE, 5);
	some(text, 42, 1, 2000, SAMPLE_SLEEP, 2);
	in = look(&t, text);
	T_OK(!samples_blame(&s, in, &everything) && (b = samples_first(&s, &all)) &&
		     s.row[0].state == SAMPLE_SLEEP && fabs(all.share - 0.58) < 1e-9 &&
		     !strcmp(blame_text(t, b, &all, label),
			     "in __getitem__ (dataset.py:42), mostly running"),
	     "the answer is the function that takes most in all of its states");
	done(in, t, &s);
}

static void test_weights(void)
{
	char text[32768] = "";
	struct samples_sum s;
	struct trace *t;
	struct insight *in;

	/* 49 Hz where the GPU waits, 10 Hz elsewhere: a sample counts for the time it stands for. */
	for (unsigned i = 0; i < 50; i++)
		sprintf(text + strlen(text), "at 1 %lu 20000000 1 1;", i * 20ul * MS);
	for (unsigned i = 0; i < 10; i++)
		sprintf(text + strlen(text), "at 1 %lu 100000000 8 2;", (1000 + i * 100ul) * MS);
	in = look(&t, text);
	T_OK(!samples_blame(&s, in, &everything) && fabs(s.row[0].s.share - 0.5) < 1e-9 &&
		     fabs(s.row[1].s.share - 0.5) < 1e-9,
	     "rare samples count for more time");
	T_OK(s.row[0].s.error > sqrt(0.25 / 60) && s.row[0].s.error < sqrt(0.25 / 20),
	     "and the error is larger than that of so many equal ones");
	done(in, t, &s);
}

static void test_few(void)
{
	char text[4096] = "", label[FRAME_LABEL];
	struct samples_sum s;
	struct trace *t;
	struct insight *in;

	some(text, 29, 1, 0, SAMPLE_RUNNING, 1);
	in = look(&t, text);
	T_OK(!samples_blame(&s, in, &everything) && !samples_enough(&s),
	     "29 samples are not enough");
	T_OK(s.row[0].s.share == 1 && s.row[0].s.error > 0.01, "all of a few is not certain");
	done(in, t, &s);
	in = look(&t, "");
	T_OK(!samples_blame(&s, in, &everything) && !s.rows && !s.count, "no samples, no rows");
	done(in, t, &s);
	in = look(&t, "at 1 5 20 1 6;");
	T_OK(!samples_blame(&s, in, &everything) && s.rows == 1 &&
		     !strcmp(frame_called(t, &s.row[0].frame, label), "f (a.py:5)") &&
		     !s.row[0].in.name,
	     "a generator is a part of its function");
	done(in, t, &s);
	in = look(&t, "at 1 5 20 1 0;at 1 25 20 1 99;");
	T_OK(!samples_blame(&s, in, &everything) && s.rows == 1 && !s.row[0].frame.name,
	     "a stack that is not there has no frame");
	done(in, t, &s);
}

static void test_gil(void)
{
	char text[32768] = "", label[FRAME_LABEL];
	struct samples_sum s;
	struct trace *t;
	struct insight *in;

	for (unsigned i = 0; i < 40; i++)
		sprintf(text + strlen(text), "at 1 %lu 20000000 4 2 77;at 77 %lu 20000000 1 4 0 4;",
			i * 20ul * MS, i * 20ul * MS + 30000);
	in = look(&t, text);
	T_OK(!samples_blame(&s, in, &everything) && s.count == 40 && s.rows == 1 &&
		     s.row[0].state == SAMPLE_GIL,
	     "who held the GIL is no sample of its own");
	T_OK(!strcmp(frame_called(t, &s.row[0].frame, label), "pickle (worker.py:5)"),
	     "but the cause of the wait");
	done(in, t, &s);
	in = look(&t, "at 1 0 20 4 2 77;at 77 900000000 20 1 4 0 4;");
	T_OK(!samples_blame(&s, in, &everything) &&
		     !strcmp(frame_called(t, &s.row[0].frame, label), "main (train.py:9)"),
	     "one of another time is not");
	done(in, t, &s);
}

static uint32_t name_of(const struct trace *t, const char *text)
{
	for (uint32_t i = 0; i < t->names; i++)
		if (!strcmp(trace_text(t, i), text))
			return i;
	abort();
}

static void test_taker(void)
{
	char text[32768] = "";
	struct samples_sum s;
	struct trace *t = kit_trace(stacks);
	uint32_t hog = name_of(t, "pickle"), other = name_of(t, "resize"); /* any names do */
	struct insight *in;

	trace_free(t);
	for (unsigned i = 0; i < 60; i++)
		sprintf(text + strlen(text), "at 1 %lu 20000000 %u 2 %u;", i * 20ul * MS,
			i < 30 ? SAMPLE_RUNNING : SAMPLE_RUNNABLE,
			i < 30   ? 0
			: i < 50 ? hog
			: i < 55 ? other
				 : 0);
	in = look(&t, text);
	T_OK(!samples_blame(&s, in, &everything) && s.rows == 2 && s.taker == hog &&
		     s.took.count == 20 && fabs(s.took.share - 20. / 30) < 1e-9,
	     "who ran most while it could not is named, and how much of that it is");
	done(in, t, &s);
}

/* A worker that was forked has its parent's frames around its own. */
static const char worker_stacks[] =
	"stack ~poll@/lib/libc.so.6:0 wait@/usr/lib/python3.11/multiprocessing/connection.py:1 "
	"_next_data@/v/site-packages/torch/utils/data/dataloader.py:1 batch@/home/me/train.py:30!;"
	"stack resize@/v/site-packages/PIL/Image.py:9 __getitem__@/home/me/dataset.py:42! "
	"BaseProcess._bootstrap@/usr/lib/python3.11/multiprocessing/process.py:3 "
	"batch@/home/me/train.py:30!;"
	"stack ~poll@/lib/libc.so.6:0 get@/usr/lib/python3.11/multiprocessing/queues.py:3 "
	"BaseProcess._bootstrap@/usr/lib/python3.11/multiprocessing/process.py:3 "
	"batch@/home/me/train.py:30!;"
	"stack ~poll@/lib/libc.so.6:0 recv@/home/me/net.py:8! batch@/home/me/train.py:30!;";

static void test_worker(void)
{
	char label[BLAME_LABEL];
	static char text[65536];
	struct samples_want w = { 0, SAMPLES_ALL, 0, 0 };
	struct samples_sum s;
	struct share all;
	struct insight *in;

	for (unsigned n = 20; n <= 40; n += 20) {
		struct trace *t;

		snprintf(text, sizeof(text), "%sfile 0;", worker_stacks);
		some(text, 50, 1, 0, SAMPLE_WAIT, 1);
		some(text, 10, 1, 2000, SAMPLE_WAIT, 4);
		strcat(text, "file 1;");
		some(text, n, 2, 0, SAMPLE_RUNNING, 2);
		some(text, 200, 2, 2000, SAMPLE_WAIT, 3);
		t = kit_trace(text);
		for (uint32_t i = 0; i < t->processes; i++)
			t->process[i].pid = 4711 + i;
		w.process = t->track[t->event[0].track].process;
		t->process[t->processes - 1].parent = t->process[w.process].pid;
		if (insight_new(&in, t) < 0 || samples_blame(&s, in, &w) < 0)
			abort();
		blame_text(t, samples_first(&s, &all), &all, label);
		if (n < SAMPLES_ENOUGH)
			T_OK(s.rows == 2 && !s.row[0].worker.pid,
			     "few samples of a worker say nothing");
		else
			T_OK(s.row[0].worker.pid &&
				     strstr(label, "batch (train.py:30), waiting for worker ") &&
				     strstr(label, ": __getitem__ (dataset.py:42)") &&
				     !s.row[1].worker.pid,
			     "who waits for a worker waits for what that does: %s", label);
		done(in, t, &s);
	}
}

/* Steps of 100 ms: 40 ms of a loader, 30 of host code, then the launch of 30 ms of GPU work. */
static const char *train(char *text, size_t cap, unsigned steps)
{
	size_t used = 0;

	for (unsigned i = 0; i < steps; i++) {
		unsigned long at = i * 100ul * MS;

		used += (size_t)snprintf(text + used, cap - used,
					 "step 1 %lu 100000000 %u;"
					 "user 1 %lu 40000000 0 enumerate(DataLoader)#next;"
					 "api 1 %lu 5000 %u 0 cudaLaunchKernel;"
					 "kernel 0 7 %lu 29000000 %u gemm;",
					 at, i, at, at + 70 * MS, i + 1, at + 70 * MS + 10000,
					 i + 1);
		for (unsigned k = 0; k < 5; k++)
			used += (size_t)snprintf(text + used, cap - used, "at 1 %lu 20000000 1 %u;",
						 at + (k * 20 + 3) * MS,
						 k < 2    ? 6
						 : k == 2 ? 1
							  : 2);
	}
	return text;
}

static uint64_t counted(const struct insight *in, uint32_t parts, uint32_t causes)
{
	struct samples_want w = { SAMPLES_ALL, SAMPLES_ALL, parts, causes };
	struct samples_sum s;
	uint64_t n;

	if (samples_blame(&s, in, &w) < 0)
		abort();
	n = s.count;
	samples_fini(&s);
	return n;
}

static void test_gaps(void)
{
	static char text[32768];
	struct samples_want w = { SAMPLES_ALL, SAMPLES_ALL, 0, 1u << IDLE_HOST };
	char label[FRAME_LABEL];
	struct samples_sum s;
	struct trace *t;
	struct insight *in = look(&t, train(text, sizeof(text), 40));

	T_OK(counted(in, 0, 0) == 200, "all samples are there");
	/* The time before the first work counts, too. At 3, 23: loader; 43, 63: host; 83: busy. */
	T_OK(counted(in, 0, 1u << IDLE_INPUT) == 40 * 2 &&
		     counted(in, 0, 1u << IDLE_HOST) == 40 * 2 &&
		     counted(in, 0, SAMPLES_IN_GAPS) == 40 * 4,
	     "samples have the cause of the gap they lie in");
	/* At 43 in no range, but in a dataset's __getitem__(). */
	T_OK(counted(in, 1u << HOST_PART_DATA, 0) == 120 &&
		     counted(in, 1u << HOST_PART_REST, 0) == 80,
	     "and the part of their step");
	T_OK(!samples_blame(&s, in, &w) && s.rows == 2 &&
		     !strcmp(frame_called(t, &s.row[0].frame, label),
			     "__getitem__ (dataset.py:42)"),
	     "the code that a GPU waited for is named");
	samples_fini(&s);
	T_OK(samples_thread(in, 0) != SAMPLES_ALL && t->track[samples_thread(in, 0)].stream == 1,
	     "of the thread that was sampled");
	done(in, t, &s);
}

static const struct finding *find(const struct findings *fs, enum family k)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->f[i].family == k)
			return &fs->f[i];
	return NULL;
}

static void test_finding(void)
{
	static char text[32768];
	const struct finding *f = NULL;
	struct findings *fs;
	struct trace *t;
	struct insight *in = look(&t, train(text, sizeof(text), 40));

	T_OK(!findings_new(&fs, in) && (f = find(fs, FAMILY_CPU)) &&
		     strstr(f->seen[1], "50 % (+-6) of 80 samples in these gaps: in __getitem__ "
					"(dataset.py:42), running"),
	     "a finding names the code, with error and count");
	T_OK(f && strstr(f->action, "make __getitem__ (dataset.py:42) cheaper"),
	     "and what to do about it");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
	in = look(&t, train(text, sizeof(text), 10));
	T_OK(!findings_new(&fs, in) && (f = find(fs, FAMILY_CPU)) &&
		     strstr(f->seen[1],
			    "not enough samples in these gaps to name the code: 20, and 30"),
	     "of too few samples it says so");
	T_OK(f && !strstr(f->action, "__getitem__"), "and blames nobody");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

static void test_parts(void)
{
	struct trace *t;
	struct insight *in = look(&t, "at 1 5 20 1 7;at 1 25 20 1 2;user 1 90 50 0 Model.forward;"
				      "at 1 95 20 1 2;user 1 200 50 0 loss.backward;at 1 205 9 1 2;"
				      "user 1 300 50 0 Optimizer.step#SGD.step;at 1 305 9 1 2;"
				      "user 1 400 50 0 gloo:all_reduce f32;at 1 405 9 1 2;"
				      "user 1 500 50 0 torch.save;at 1 505 9 1 2;");

	T_OK(counted(in, 1u << HOST_PART_DATA, 0) == 1, "frames tell the part where no range does");
	T_OK(counted(in, 1u << HOST_PART_OUTSIDE, 0) == 1, "others are of no step");
	T_OK(counted(in, 1u << HOST_PART_FORWARD, 0) == 1 &&
		     counted(in, 1u << HOST_PART_BACKWARD, 0) == 1 &&
		     counted(in, 1u << HOST_PART_OPTIMIZER, 0) == 1 &&
		     counted(in, 1u << HOST_PART_COLLECTIVE, 0) == 1 &&
		     counted(in, 1u << HOST_PART_CHECKPOINT, 0) == 1,
	     "ranges tell it by their names");
	insight_free(in);
	trace_free(t);
}

/* The same trace as a whole and in stretches that cut through gaps. */
static void test_stretches(void)
{
	static char text[32768];
	struct insight *whole, *cut;
	struct trace *t, *part;
	int err = 0;

	whole = look(&t, train(text, sizeof(text), 20));
	part = kit_trace(stacks);
	for (size_t i = 0; i < t->tracks && !err; i++) {
		uint32_t id;

		if (t->track[i].device != TRACK_HOST)
			err = trace_device(part, 0, 0, &id);
		err = err ? err : trace_track(part, &t->track[i], &id);
	}
	for (size_t i = 2; i < t->names && !err; i++) {
		uint32_t id;

		err = trace_name(part, t->name[i].s, t->name[i].len, &id);
	}
	for (size_t i = 0; i < t->events && !err; i++)
		if (t->event[i].kind == EVENT_STEP)
			err = trace_add(part, &t->event[i], 0);
	T_OK(!err && !trace_seal(part) && !insight_open(&cut, part), "stretches begin");
	for (uint64_t lo = 0; lo < 2000ul * MS && !err; lo += 150ul * MS) {
		uint64_t hi = lo + 150ul * MS >= 2000ul * MS ? UINT64_MAX : lo + 150ul * MS;

		trace_clear(part, 0);
		err = insight_carried(cut, part);
		for (size_t i = 0; i < t->events && !err; i++) {
			struct event e = t->event[i];

			if (trace_stretch(part, &e, lo, hi))
				err = trace_add(part, &e, 0);
		}
		err = err ? err : trace_seal(part);
		err = err ? err : insight_stretch(cut, lo, hi);
	}
	T_OK(!err && !insight_close(cut), "and end");
	for (uint32_t c = 0; c < IDLE_CAUSES; c++)
		err |= counted(whole, 0, 1u << c) != counted(cut, 0, 1u << c);
	for (uint32_t p = 0; p < HOST_PARTS; p++)
		err |= counted(whole, 1u << p, 0) != counted(cut, 1u << p, 0);
	T_OK(!err, "stretch by stretch gives the same");
	insight_free(whole);
	insight_free(cut);
	trace_free(t);
	trace_free(part);
}

int main(void)
{
	test_blame();
	test_first();
	test_weights();
	test_few();
	test_gil();
	test_taker();
	test_worker();
	test_gaps();
	test_finding();
	test_parts();
	test_stretches();
	return t_done();
}
