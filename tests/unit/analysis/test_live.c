/* SPDX-License-Identifier: Apache-2.0 */
/* Processes without a GPU: the account of their stepping thread, and what findings say of it. */
#include <string.h>

#include "insight/find/finding.h"
#include "insight/insight.h"
#include "insight/live/account_host.h"
#include "insight/live/answer.h"
#include "insight/live/find_live.h"
#include "t.h"
#include "tracekit.h"

#define MS 1000000ul

/* 1 dataset, 2 the model, 3 backward, 4 own code, 5 sleep, 6 logging, 7 a holder of the GIL, 8 checkpoint */
static const char stacks[] =
	"stack __getitem__@/home/me/dataset.py:42! "
	"fetch@/v/site-packages/torch/utils/data/fetch.py:9 "
	"main@/home/me/train.py:7!;"
	"stack forward@/v/site-packages/torch/nn/modules/linear.py:134 "
	"_call_impl@/v/site-packages/torch/nn/modules/module.py:9 main@/home/me/train.py:8!;"
	"stack _engine_run_backward@/v/site-packages/torch/autograd/graph.py:3 "
	"main@/home/me/train.py:9!;"
	"stack reweight@/home/me/train.py:30! main@/home/me/train.py:10!;"
	"stack poll@/home/me/train.py:40! main@/home/me/train.py:11!;"
	"stack emit@/usr/lib/python3.11/logging/__init__.py:1100 report@/home/me/train.py:50! "
	"main@/home/me/train.py:12!;"
	"stack watch@/home/me/monitor.py:5! run@/usr/lib/python3.11/threading.py:3;"
	"stack _save@/v/site-packages/torch/serialization.py:9 main@/home/me/train.py:13!;"
	"stack synchronize@/v/site-packages/torch/cuda/__init__.py:9 step@/home/me/train.py:60! "
	"main@/home/me/train.py:14!;"
	"stack cat@/v/site-packages/torch/functional.py:9 by_rows@/home/me/train.py:70! "
	"main@/home/me/train.py:15!;"
	"stack _save@/v/site-packages/torch/serialization.py:9 save@/v/aon_hook_torch.py:1! "
	"store@/home/me/train.py:80! main@/home/me/train.py:16!;"
	"stack ~fsync@libc.so:0 store@/home/me/train.py:81! main@/home/me/train.py:16!;"
	"stack match@<string>:3! score@/home/me/train.py:90! main@/home/me/train.py:17!;"
	"stack __call__@/home/me/lib/jax/_src/numpy/ufunc_api.py:9! update@/home/me/train.py:95! "
	"main@/home/me/train.py:18!;"
	"stack clip@/home/me/train.py:100! "
	"_engine_run_backward@/v/site-packages/torch/autograd/graph.py:3 "
	"main@/home/me/train.py:9!;"
	"stack forward@/home/me/model.py:5! "
	"_call_impl@/v/site-packages/torch/nn/modules/module.py:9 "
	"_engine_run_backward@/v/site-packages/torch/autograd/graph.py:3 main@/home/me/train.py:9!;"
	"stack ~clock_nanosleep@libc.so.6:0 ~settle@prog:0 ~main@prog:0 ~_start@prog:0;"
	"stack ~xla::Wait@libjax.so:0 loop@/home/me/train.py:110!;"
	"stack loop@/home/me/train.py:110!;"
	/* 20 a generator of a function, 21 a key of it, 22 a loop that has the model, too, 23 the model in it */
	"stack candidates@/home/me/beam.py:4! score@/home/me/beam.py:8! main@/home/me/train.py:20!;"
	"stack score.<locals>.<lambda>@/home/me/beam.py:9! score@/home/me/beam.py:9! "
	"main@/home/me/train.py:20!;"
	"stack reweight@/home/me/train.py:30! fit@/home/me/fit.py:3! main@/home/me/train.py:21!;"
	"stack forward@/v/site-packages/torch/nn/modules/linear.py:134 "
	"_call_impl@/v/site-packages/torch/nn/modules/module.py:9 fit@/home/me/fit.py:4! "
	"main@/home/me/train.py:21!;"
	/* 24 a function of the program, 25 an operator that it calls, 26 another in the loop, 27 a copy */
	"stack norms@/home/me/norms.py:5! main@/home/me/train.py:22!;"
	"stack ~xla::Wait@libjax.so:0 norms@/home/me/norms.py:6! main@/home/me/train.py:22!;"
	"stack clip@/home/me/fit.py:30! fit@/home/me/fit.py:5! main@/home/me/train.py:21!;"
	/* 28 a line of the main loop */
	"stack enqueue_copy@/v/site-packages/pyopencl/__init__.py:9 upload@/home/me/cl.py:7! "
	"main@/home/me/train.py:23!;"
	"stack <module>@/home/me/train.py:24!;";

static char text[1 << 20];

/* 100 steps of 100 ms on thread 101, which is the process's first. In each: a range of `range_ms` from
 * its begin on, and five samples, 20 ms apart, in these states and stacks. */
struct made {
	const char *name, *range;
	unsigned range_ms;
	unsigned state[5], stack[5];
	const char *family, *word; /* of the first finding, and what its title has; "": none */
	unsigned cost_ms;          /* a step */
};

#define R  SAMPLE_RUNNING
#define W  SAMPLE_RUNNABLE
#define TH SAMPLE_THROTTLED

static const struct made cases[] = {
	/* clang-format off */
	{ "a loader", "DataLoader fetch", 60, { R, R, R, R, R }, { 1, 1, 1, 2, 3 },
	  "input_bound", "num_workers=0): __getitem__ (dataset.py:42)", 60 },
	{ "a loader that lacks a CPU is still the loader", "DataLoader fetch", 60, { W, W, W, R, R }, { 1, 1, 1, 2, 3 },
	  "input_bound", "__getitem__ (dataset.py:42)", 60 },
	{ "code of the program", "Optimizer.step#SGD.step", 0, { R, R, R, R, R }, { 4, 4, 2, 3, 3 },
	  "host_code", "reweight (train.py:30) runs", 40 },
	{ "a sleep", "Optimizer.step#SGD.step", 0, { 8, 8, 8, R, R }, { 5, 5, 5, 2, 3 },
	  "host_code", "poll (train.py:40) sleeps", 60 },
	{ "logging", "Optimizer.step#SGD.step", 0, { R, R, R, R, R }, { 6, 6, 2, 3, 3 },
	  "logging", "report (train.py:50)", 40 },
	{ "a checkpoint", "torch.save", 50, { R, 6, R, R, R }, { 8, 8, 2, 3, 3 },
	  "checkpoint", "main (train.py:13)", 50 },
	{ "a program that others preempt", "Optimizer.step#SGD.step", 0, { W, W, R, R, W }, { 2, 3, 3, 2, 3 },
	  "preempted", "waits for a CPU", 60 },
	{ "a quota", "Optimizer.step#SGD.step", 0, { TH, TH, R, R, R }, { 2, 3, 3, 2, 3 },
	  "throttled", "CPU quota", 40 },
	{ "garbage collection", "Python GC", 40, { R, R, R, R, R }, { 4, 4, 3, 2, 3 },
	  "gc", "garbage collector", 40 },
	{ "operators that a function calls beside the model", "forward", 20, { R, R, R, R, R }, { 2, 10, 10, 10, 3 },
	  "host_code", "by_rows (train.py:70) runs", 60 },
	{ "files of a checkpoint", "torch.save", 20, { R, 6, 6, R, R }, { 11, 12, 12, 3, 3 },
	  "checkpoint", "store (train.py:81)", 60 },
	{ "generated code is its caller's", "Optimizer.step#SGD.step", 0, { R, R, R, R, R }, { 13, 13, 2, 3, 3 },
	  "host_code", "score (train.py:90) runs", 40 },
	{ "operations of JAX", "Optimizer.step#SGD.step", 0, { R, R, R, R, R }, { 14, 14, 2, 3, 3 },
	  "host_code", "update (train.py:95) runs", 40 },
	{ "a hook of the backward pass", "backward", 80, { R, R, R, R, R }, { 15, 15, 3, 3, 2 },
	  "host_code", "clip (train.py:100) runs", 40 },
	{ "a module that is computed again in the backward pass", "backward", 80, { R, R, R, R, R }, { 16, 16, 3, 3, 2 },
	  "", "80 % backward pass", 0 },
	{ "a file that is read in the model", "forward", 60, { 6, 6, R, R, R }, { 4, 4, 2, 3, 3 },
	  "host_code", "reweight (train.py:30) waits for a file", 40 },
	{ "a native program is to blame, not libc", "Optimizer.step#SGD.step", 0, { 8, 8, 8, R, R }, { 17, 17, 17, 2, 3 },
	  "host_code", "settle (prog) sleeps", 60 },
	{ "a line that waits in a framework is in that call while it runs", "Optimizer.step#SGD.step", 0,
	  { 5, 5, 5, R, R }, { 18, 18, 18, 19, 19 }, "", "100 % computing", 0 },
	{ "a sleep that ends late, as others have the CPU", "Optimizer.step#SGD.step", 0, { 8, W, W, R, R }, { 5, 5, 5, 2, 3 },
	  "host_code", "poll (train.py:40) sleeps", 60 },
	{ "a function with all that it calls", "Optimizer.step#SGD.step", 0, { R, R, R, R, R }, { 20, 20, 21, 2, 3 },
	  "host_code", "score (beam.py:8) runs", 60 },
	{ "a loop that has the model, too, is not to blame", "Optimizer.step#SGD.step", 0, { R, R, R, R, R },
	  { 22, 22, 26, 23, 23 }, "host_code", "reweight (train.py:30) runs", 40 },
	{ "operators that a function of the program waits for", "Optimizer.step#SGD.step", 0, { R, R, 5, R, R },
	  { 24, 24, 25, 2, 3 }, "host_code", "norms (norms.py:5) runs", 60 },
	{ "a healthy program", "forward", 40, { R, R, R, R, R }, { 2, 2, 3, 3, 3 },
	  "", "Nothing stands out: a step of 100 ms is 60 % backward pass, 40 % forward pass", 0 },
	/* clang-format on */
};

static void make(const struct made *m)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);

	for (unsigned long i = 0; i < 100; i++) {
		unsigned long at = (1000 + i * 100) * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", at, 100 * MS, i + 1);
		if (m->range_ms)
			n += (size_t)sprintf(text + n, "user 101 %lu %lu 0 %s;", at,
					     m->range_ms * MS, m->range);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;",
					     at + (20 * k + 10) * MS, 20 * MS, m->state[k],
					     m->stack[k]);
	}
}

static uint64_t sum(const struct time_account *a)
{
	uint64_t ns = 0;

	for (size_t c = 0; c < ACCOUNT_CAUSES; c++)
		ns += a->ns[c];
	return ns;
}

static void try(const struct made *m)
{
	struct short_answer answer;
	struct findings *fs;
	struct insight *in;
	struct trace *t;
	const struct finding *f;

	make(m);
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	answer_of(&answer, in, fs);
	T_OK(in->hosts.n == 1 && in->hosts.v[0].on.account.base_ns == 9900 * MS &&
		     in->hosts.v[0].on.account.steps == 99 &&
		     sum(&in->hosts.v[0].on.account) == in->hosts.v[0].on.account.base_ns,
	     "%s: every nanosecond of its steps but the first is in one cause", m->name);
	f = fs->n ? &fs->f[0] : NULL;
	T_OK(*m->family ? f && !strcmp(family_table[f->family].word, m->family) : !f,
	     "%s: the first finding is %s", m->name, *m->family ? m->family : "none");
	T_OK(strstr(answer.what, m->word) != NULL, "%s is named: %s", m->name, answer.what);
	T_OK(!f || (f->cost_ns / f->steps >= m->cost_ms * MS * 95 / 100 &&
		    f->cost_ns / f->steps <= m->cost_ms * MS * 105 / 100),
	     "%s has its cost", m->name);
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* The holder of the GIL is another thread: it is named, not who waits; by few samples that agree, too. */
static void test_gil(unsigned long steps, unsigned waits)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct short_answer answer;
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < steps; i++) {
		unsigned long at = (1000 + i * 100) * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", at, 100 * MS, i + 1);
		for (unsigned k = 0; k < 5; k++) {
			unsigned long s = at + (20 * k + 10) * MS;

			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u %u;", s, 20 * MS,
					     k < waits ? SAMPLE_GIL : SAMPLE_RUNNING, 2,
					     k < waits ? 102 : 0);
			if (k < waits)
				n += (size_t)sprintf(text + n, "at 102 %lu %lu 1 7 0 4;", s,
						     20 * MS);
		}
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	answer_of(&answer, in, fs);
	T_OK(fs->n && !strcmp(family_table[fs->f[0].family].word, "gil") &&
		     strstr(answer.what, "watch (monitor.py:5) holds"),
	     "the GIL's holder is named: %s", answer.what);
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* The collector runs in the thread that holds the GIL: who waits for the GIL does not collect. */
static void test_gc_of_another(void)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 100; i++) {
		unsigned long at = (1000 + i * 100) * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", at, 100 * MS, i + 1);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u %u %u;",
					     at + (20 * k + 10) * MS, 20 * MS,
					     k < 3   ? SAMPLE_GIL
					     : k < 4 ? SAMPLE_WAIT
						     : R,
					     2, 0, k < 4 ? SAMPLE_GC : 0);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	T_OK(fs->n && fs->f[0].family == FAMILY_GIL && !in->hosts.v[0].on.account.ns[ACCOUNT_GC],
	     "a thread that waits does not collect garbage");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* 100 steps of 100 ms with five samples each; those of `stack` are the first grow(step). */
static const char *seen_when(unsigned (*grow)(unsigned long step), char out[FINDING_TEXT])
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 100; i++) {
		unsigned long at = (1000 + i * 100) * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", at, 100 * MS, i + 1);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;",
					     at + (20 * k + 10) * MS, 20 * MS, R,
					     k < grow(i) ? 4 : 3);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	*out = '\0';
	if (fs->n)
		snprintf(out, FINDING_TEXT, "%s", fs->f[0].seen[2]);
	findings_free(fs);
	insight_free(in);
	trace_free(t);
	return out;
}

static unsigned always(unsigned long step)
{
	(void)step;
	return 2;
}

static unsigned more(unsigned long step)
{
	return (unsigned)(step / 20);
}

static unsigned tenth(unsigned long step)
{
	return step % 10 == 9 ? 5 : 0;
}

static void test_when(void)
{
	char out[FINDING_TEXT];

	T_OK(!*seen_when(always, out), "a cause of each step has no rhythm: %s", out);
	T_OK(strstr(seen_when(more, out), "it grows: "), "one that grows: %s", out);
	T_OK(strstr(seen_when(tenth, out), "in one of 10 steps: 99.5 ms each time"),
	     "one of every tenth step: %s", out);
}

/* A step of ten seconds that compiles, and 300 of 50 ms, in which two of five samples are the program's own
 * code. `at`: which step compiles. */
static enum family compiled_once(unsigned long at, const char **title)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	static char first[FINDING_TEXT];
	unsigned long now = 1000 * MS;
	enum family f;
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 300; i++) {
		unsigned long dur = i == at ? 10000 * MS : 50 * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", now, dur, i + 1);
		if (i == at)
			n += (size_t)sprintf(text + n, "user 101 %lu %lu 0 jax compile: f;", now,
					     dur);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;",
					     now + (2 * k + 1) * dur / 10, dur / 5, R,
					     i == at ? 2
					     : k < 2 ? 4
						     : 3);
		now += dur;
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	snprintf(first, sizeof(first), "%s", fs->n ? fs->f[0].title : "none");
	*title = first;
	f = fs->n ? fs->f[0].family : FAMILIES;
	findings_free(fs);
	insight_free(in);
	trace_free(t);
	return f;
}

static void test_once(void)
{
	const char *title;

	T_OK(compiled_once(1, &title) == FAMILY_CPU,
	     "what is compiled as the loop begins is no cost of its steps: %s", title);
	T_OK(compiled_once(200, &title) == FAMILY_COMPILING, "what is compiled later is: %s",
	     title);
}

/* Compiled code calls a function of the program on another thread, and the step waits for it. */
static void test_called_back(void)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 100; i++) {
		unsigned long at = (1000 + i * 100) * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", at, 100 * MS, i + 1);
		n += (size_t)sprintf(text + n, "user 102 %lu %lu 0 jax callback: score (a.py:3);",
				     at + 20 * MS, 60 * MS);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u 18;",
					     at + (20 * k + 10) * MS, 20 * MS, SAMPLE_LOCK);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	T_OK(fs->n && fs->f[0].family == FAMILY_CPU && strstr(fs->f[0].title, "score (a.py:3)") &&
		     fs->f[0].cost_ns / fs->f[0].steps == 60 * MS,
	     "a callback on another thread: %s", fs->n ? fs->f[0].title : "nothing");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* 20 steps of 10 ms with a forward pass of 9 ms, in which so many operators are called. */
static enum family with_ops(unsigned long ops)
{
	size_t n = 0;
	enum family first;
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 20; i++) {
		unsigned long at = (1000 + i * 10) * MS;

		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;user 101 %lu %lu 0 forward;",
				     at, 10 * MS, i + 1, at, 9 * MS);
		for (unsigned long k = 0; k < ops; k++)
			n += (size_t)sprintf(text + n, "op 101 %lu %lu 0 add;",
					     at + k * 9 * MS / ops, 9 * MS / ops / 2);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	first = fs->n ? fs->f[0].family : FAMILIES;
	findings_free(fs);
	insight_free(in);
	trace_free(t);
	return first;
}

/* Two layers of one block that take most are named by it. */
static void test_block(void)
{
	static const char *const name[] = { "net.wide.0", "net.wide.2", "net.first", "net.last" };
	size_t n = 0;
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 20; i++) {
		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", i * 100 * MS, 100 * MS,
				     i + 1);
		for (unsigned long k = 0; k < 4; k++)
			n += (size_t)sprintf(text + n, "module 101 %lu %lu 0 %s;",
					     i * 100 * MS + (k < 2 ? k * 45 : 86 + k * 2) * MS,
					     (k < 2 ? 45 : 2) * MS, name[k]);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	T_OK(fs->n && fs->f[0].family == FAMILY_LAYER &&
		     strstr(fs->f[0].title, "One block takes most of the model's time: net.wide"),
	     "a block of layers: %s", fs->n ? fs->f[0].title : "nothing");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* What a program does after its last step is of no step. */
static void test_open_step(void)
{
	size_t n = 0;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 20; i++)
		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", i * 100 * MS,
				     (i == 19 ? 5000 : 100) * MS, i + 1);
	t = kit_trace(text);
	if (insight_new(&in, t) < 0)
		abort();
	T_OK(in->hosts.v[0].on.account.steps == 18 &&
		     in->hosts.v[0].on.account.base_ns == 1800 * MS,
	     "a last step that does not end is left out");
	insight_free(in);
	trace_free(t);
}

/* Without samples ranges still tell; what is in none is not known, and is said to be so. */
static void test_few(void)
{
	struct short_answer answer;
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	t = kit_trace("step 101 0 100000000 1;step 101 100000000 100000000 2;"
		      "user 101 0 20000000 0 forward;at 101 5000000 20000000 1 0;");
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	answer_of(&answer, in, fs);
	T_OK(!fs->n && strstr(answer.what, "Not enough samples") &&
		     in->hosts.v[0].on.account.base_ns == 200 * MS &&
		     in->hosts.v[0].on.account.ns[ACCOUNT_UNKNOWN] == 180 * MS,
	     "few samples name nothing: %s", answer.what);
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* Collectives on threads of their own, while the thread that has the steps waits in its backward pass: what
 * no operator of any thread covers is communication. */
static void test_gloo(void)
{
	const struct finding *f;
	struct findings *fs;
	struct insight *in;
	struct trace *t;
	size_t n = 0;

	for (unsigned long i = 0; i < 5; i++) {
		unsigned long at = i * 100;

		n += (size_t)sprintf(
			text + n,
			"step 101 %lu %lu %lu;user 101 %lu %lu 0 backward;"
			"op 101 %lu %lu 0 aten::mm;user 201 %lu %lu 0 gloo:all_reduce;"
			"user 202 %lu %lu 0 gloo:all_reduce;op 203 %lu %lu 0 aten::mul;",
			at * MS, 100 * MS, i + 1, (at + 10) * MS, 80 * MS, (at + 10) * MS, 30 * MS,
			(at + 30) * MS, 40 * MS, (at + 50) * MS, 35 * MS, (at + 60) * MS, 10 * MS);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	f = fs->n ? &fs->f[0] : NULL;
	T_OK(f && f->family == FAMILY_COMM && f->cost_ns == 5 * 35 * MS &&
		     sum(&in->hosts.v[0].on.account) == 500 * MS,
	     "collectives that no operator hides, without samples: %s", f ? f->title : "none");
	T_OK(f && strstr(f->seen[1], "gloo:all_reduce") && strstr(f->seen[1], "backward"),
	     "they are named: %s", f ? f->seen[1] : "");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* --- a device without calls that launch: samples in its gaps tell --- */

/* 100 rounds of 100 ms. In each, `works` kernels of the first 50 ms, one behind the other or each with a gap
 * of its length behind it, and ten samples of the thread: of those in gaps the stack `idle`, of the others `busy`. */
struct gaps {
	const char *name;
	unsigned works;
	bool each;
	unsigned idle, busy;
	const char *family, *word;
	unsigned cause; /* that has the half of the time that is idle */
};

static const struct gaps gaps[] = {
	{ "code", 4, false, 4, 9, "host_code", "reweight (train.py:30)", ACCOUNT_HOST },
	{ "a loader", 4, false, 1, 9, "input_bound", "__getitem__ (dataset.py:42)", ACCOUNT_INPUT },
	{ "a checkpoint", 4, false, 8, 9, "checkpoint", "checkpoints", ACCOUNT_CHECKPOINT },
	{ "a wait after each", 5, true, 4, 9, "host_sync", "step (train.py:60)", ACCOUNT_SYNC },
	{ "code after each, without waits", 5, true, 4, 4, "host_code", "reweight", ACCOUNT_HOST },
	{ "launching", 1000, true, 4, 4, "launch_bound", "reweight", ACCOUNT_LAUNCH },
};

static void make_gaps(const struct gaps *g)
{
	unsigned long each = 50 * MS / g->works;
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);

	for (unsigned long i = 0; i < (g->works > 100 ? 10 : 100); i++) {
		unsigned long at = (1000 + i * 100) * MS;

		for (unsigned long k = 0; k < g->works; k++)
			n += (size_t)sprintf(text + n, "kernel 0 7 %lu %lu 0 scale;",
					     at + k * each * (g->each ? 2 : 1), each);
		for (unsigned long k = 0; k < 10;
		     k++) { /* at odd places of a thousand there are gaps */
			unsigned long s = at + k * 10 * MS + (g->works > 100 ? k % 2 * each : 0);
			bool idle = g->works > 100 ? k % 2 : g->each ? k % 2 : k >= 5;

			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;", s + each / 2,
					     10 * MS, R, idle ? g->idle : g->busy);
		}
	}
}

static void try_gaps(const struct gaps *g)
{
	struct short_answer answer;
	struct findings *fs;
	struct insight *in;
	struct trace *t;
	const struct time_account *a;

	make_gaps(g);
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	answer_of(&answer, in, fs);
	a = &in->device[0].account;
	T_OK(sum(a) == a->base_ns && a->ns[g->cause] > a->base_ns / 100 * 45,
	     "gaps by %s: the account is closed and has it", g->name);
	T_OK(fs->n && !strcmp(family_table[fs->f[0].family].word, g->family) &&
		     strstr(answer.what, g->word),
	     "gaps by %s: %s", g->name, answer.what);
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

/* A line of the main loop calls compiled code, whose threads then have the CPUs: it computes. A function of
 * the program is charged with what it calls. */
static uint64_t own_code(unsigned stack, const char *taker)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct insight *in;
	struct trace *t;
	uint32_t name;
	uint64_t ns;

	for (unsigned long i = 0; i < 100; i++) {
		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", (1000 + i * 100) * MS,
				     100 * MS, i + 1);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;",
					     (1010 + i * 100 + 20 * k) * MS, 20 * MS,
					     k < 3 ? SAMPLE_RUNNABLE : R, stack);
	}
	t = kit_trace(text);
	if (trace_name(t, taker, strlen(taker), &name) < 0)
		abort();
	for (size_t i = 0; i < t->events; i++)
		if (t->event[i].kind == EVENT_SAMPLE &&
		    sample_state(t->event[i].b) == SAMPLE_RUNNABLE)
			t->event[i].b = sample_b(SAMPLE_RUNNABLE, 0, name);
	if (insight_new(&in, t) < 0)
		abort();
	ns = account_step_ns(&in->hosts.v[0].on.account) *
	     in->hosts.v[0].on.account.ns[ACCOUNT_CODE] / in->hosts.v[0].on.account.base_ns;
	insight_free(in);
	trace_free(t);
	return ns / MS;
}

/* Two ranks of 100 steps of 100 ms. The first waits for 40 ms for the second, of whose samples so many
 * more are its own code. */
static uint64_t straggler(unsigned more)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct insight *in;
	struct trace *t;
	uint64_t ns;

	for (unsigned rank = 0; rank < 2; rank++) {
		n += (size_t)sprintf(text + n, "%s", rank ? "file 1;" : "");
		for (unsigned long i = 0; i < 100; i++) {
			unsigned long at = (1000 + i * 100) * MS;

			n += (size_t)sprintf(text + n, "step %u %lu %lu %lu;", 101 + rank, at,
					     100 * MS, i + 1);
			for (unsigned k = 0; k < 5; k++)
				n += (size_t)sprintf(text + n, "at %u %lu %lu %u %u;", 101 + rank,
						     at + (20 * k + 10) * MS, 20 * MS, R,
						     rank && k < more ? 4 : 3);
		}
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0)
		abort();
	free(in->waits.rank);
	in->waits.rank = calloc(2, sizeof(*in->waits.rank));
	if (!in->waits.rank)
		abort();
	in->waits.ranks = 2;
	in->waits.late = 1;
	in->waits.matched = 100;
	in->waits.total_ns = in->waits.rank[1].blamed_ns = 4000 * MS;
	in->waits.rank[1].last = 90;
	in->waits.rank[0].comm_ns = in->waits.rank[1].comm_ns = 1;
	in->hosts.v[0].on.account.ns[ACCOUNT_COMM_WAIT] = 99 * 40 * MS;
	ns = live_straggler_cost(in, &in->hosts.v[0].on);
	insight_free(in);
	trace_free(t);
	return ns / MS;
}

/* Input whose samples are in the loader's start of workers (`starts`) or in its wait for a batch. */
static void with_workers(bool starts, char title[FINDING_TEXT])
{
	size_t n = (size_t)snprintf(
		text, sizeof(text),
		"stack _launch@/usr/lib/python3.11/multiprocessing/popen_fork.py:9 "
		"DataLoader.__iter__@/v/site-packages/torch/utils/data/dataloader.py:9 "
		"epochs@/home/me/feed.py:5! main@/home/me/train.py:9!;"
		"stack wait@/usr/lib/python3.11/multiprocessing/connection.py:9 "
		"_BaseDataLoaderIter.__next__@/v/site-packages/torch/utils/data/dataloader.py:9 "
		"epochs@/home/me/feed.py:6! main@/home/me/train.py:9!;");
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 100; i++) {
		n += (size_t)sprintf(text + n, "step 101 %lu %lu %lu;", (1000 + i * 100) * MS,
				     100 * MS, i + 1);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;",
					     (1010 + i * 100 + 20 * k) * MS, 20 * MS,
					     starts && k < 3 ? R : SAMPLE_WAIT,
					     starts && k < 3 ? 1 : 2);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0)
		abort();
	in->hosts.v[0].workers = 2;
	if (findings_new(&fs, in) < 0)
		abort();
	snprintf(title, FINDING_TEXT, "%.90s %.100s", fs->n ? fs->f[0].title : "",
		 fs->n ? fs->f[0].action : "");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

static void test_workers(void)
{
	char title[FINDING_TEXT];

	with_workers(true, title);
	T_OK(strstr(title, "starts workers again: epochs (feed.py:5)") &&
		     strstr(title, "persistent_workers"),
	     "a loader that starts workers: %s", title);
	with_workers(false, title);
	T_OK(strstr(title, "more workers (num_workers is 2)") && !strstr(title, "again"),
	     "one that waits for them: %s", title);
}

/* 100 rounds of 100 ms: a copy of 50 ms, which a function of the program waits for, then a kernel. */
static void test_copies(void)
{
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", stacks);
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned long i = 0; i < 100; i++) {
		unsigned long at = (1000 + i * 100) * MS;

		n += (size_t)sprintf(text + n, "copy 0 7 %lu %lu 0 1000000 1;", at, 60 * MS);
		n += (size_t)sprintf(text + n, "kernel 0 7 %lu %lu 0 scale;", at + 60 * MS,
				     30 * MS);
		for (unsigned k = 0; k < 5; k++)
			n += (size_t)sprintf(text + n, "at 101 %lu %lu %u %u;",
					     at + (20 * k + 12) * MS, 20 * MS,
					     k < 3 ? SAMPLE_LOCK : R, k < 3 ? 27 : 4);
	}
	t = kit_trace(text);
	if (insight_new(&in, t) < 0 || findings_new(&fs, in) < 0)
		abort();
	T_OK(fs->n && fs->f[0].family == FAMILY_COPY && strstr(fs->f[0].title, "upload (cl.py:7)"),
	     "copies: who waits for them is named: %s", fs->n ? fs->f[0].title : "none");
	findings_free(fs);
	insight_free(in);
	trace_free(t);
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(gaps); i++)
		try_gaps(&gaps[i]);
	for (size_t i = 0; i < T_LEN(cases); i++)
		try(&cases[i]);
	test_gil(100, 3);
	test_gil(13, 1);
	T_OK(with_ops(600) == FAMILY_SMALL, "many small operators");
	T_OK(with_ops(30) == FAMILIES, "a few large ones are a model");
	test_when();
	test_once();
	test_workers();
	T_OK(own_code(28, "its own threads") < 50,
	     "a line of the main loop that lacks a CPU which the program's threads have computes");
	T_OK(own_code(28, "hog (pid 7)") == 100 && own_code(4, "its own threads") == 100,
	     "one that others preempt, and one of a function, is the program's own code");
	T_OK(straggler(2) == 99 * 40, "a rank that does more is late");
	T_OK(!straggler(0), "one that does what the other does is not to blame");
	test_copies();
	test_called_back();
	test_block();
	test_open_step();
	test_gc_of_another();
	test_few();
	test_gloo();
	return t_done();
}
