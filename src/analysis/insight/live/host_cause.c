/* SPDX-License-Identifier: Apache-2.0 */
/* host_cause.c - gives each sample of a thread its cause, and each part's time to the causes in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "insight/live/live_priv.h"
#include "insight/state.h"

/* Parts by ranges, then two of what no range tells: in a range of the program, in none. */
#define MARKED HOST_PARTS
#define BARE   (HOST_PARTS + 1u)
#define SLOTS  (HOST_PARTS + 2u)

static const uint8_t cause_of_part[HOST_PARTS] = {
	[HOST_PART_DATA] = ACCOUNT_INPUT,
	[HOST_PART_FORWARD] = ACCOUNT_FORWARD,
	[HOST_PART_BACKWARD] = ACCOUNT_BACKWARD,
	[HOST_PART_OPTIMIZER] = ACCOUNT_OPTIMIZER,
	[HOST_PART_COLLECTIVE] = ACCOUNT_COMM_SEND,
	[HOST_PART_CHECKPOINT] = ACCOUNT_CHECKPOINT,
	[HOST_PART_EVALUATION] = ACCOUNT_EVALUATION,
	[HOST_PART_LOGGING] = ACCOUNT_LOGGING,
	[HOST_PART_COMPILE] = ACCOUNT_COMPILE,
	[HOST_PART_GC] = ACCOUNT_GC,
	[HOST_PART_REST] = ACCOUNT_UNKNOWN,
	[HOST_PART_OUTSIDE] = ACCOUNT_UNKNOWN,
};

static bool has_word(const char *text, const char *const *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, word[i]))
			return true;
	return false;
}

/* The innermost frame of Python; NULL: there is none. */
static const struct stack_frame *leaf_of(const struct stack_row *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->frame[i].kind == FRAME_PYTHON)
			return &s->frame[i];
	return NULL;
}

/* Inside a framework that computes: by the file of its Python code, or by what that called. */
static bool computes(const struct trace *t, const struct stack_row *s)
{
	static const char *const file[] = { "/torch/",      "/jax/",  "/jaxlib/", "/tinygrad/",
					    "/tensorflow/", "/flax/", "/optax/",  "/pyopencl/" };
	static const char *const native[] = { "gomp",   "libomp", "iomp", "torch", "mkl",
					      "at::",   "c10",    "jax",  "xla",   "pjrt",
					      "oneapi", "dnnl",   "pocl" };
	const struct stack_frame *leaf = leaf_of(s);

	if (leaf && has_word(trace_text(t, leaf->file), file, sizeof(file) / sizeof(file[0])))
		return true;
	for (uint32_t i = 0; i < s->n && s->frame[i].kind == FRAME_NATIVE; i++)
		if (has_word(trace_text(t, s->frame[i].name), native,
			     sizeof(native) / sizeof(native[0])) ||
		    has_word(trace_text(t, s->frame[i].file), native,
			     sizeof(native) / sizeof(native[0])))
			return true;
	return false;
}

static bool has_native(const struct stack_row *s)
{
	return s->n && s->frame[0].kind == FRAME_NATIVE;
}

static bool is_blocked(uint8_t state)
{
	return state == SAMPLE_LOCK || state == SAMPLE_WAIT || state == SAMPLE_IO ||
	       state == SAMPLE_SYSCALL || state == SAMPLE_FAULT;
}

/* Blocked in the model or in the rest of a step: by itself, or inside an operator? */
static enum account_cause blocked(const struct trace *t, const struct host_sample *r,
				  const struct stack_row *s, enum account_cause work)
{
	if (r->state == SAMPLE_FAULT)
		return work;
	if (r->state == SAMPLE_IO) /* no operator reads or writes files */
		return r->writes ? ACCOUNT_LOGGING : ACCOUNT_IO;
	if (computes(t, s) || (work != ACCOUNT_CODE && !has_native(s)))
		return work == ACCOUNT_CODE ? ACCOUNT_COMPUTE : work;
	if (r->writes)
		return ACCOUNT_LOGGING;
	return r->state == SAMPLE_LOCK ? ACCOUNT_LOCK : ACCOUNT_IO;
}

/* What is done with CPU time that no name of a part tells. */
static enum account_cause rest(const struct trace *t, const struct host_sample *r,
			       const struct stack_row *s)
{
	if (computes(t, s))
		return ACCOUNT_COMPUTE;
	if (s->n && stack_blame(s->frame, s->n) != UINT32_MAX)
		return ACCOUNT_CODE;
	return r->range ? ACCOUNT_RANGE : ACCOUNT_UNKNOWN;
}

/* A function of the program that autograd calls: a hook, a Function's backward(). Not a module that is
 * computed again there (checkpointing): that is the model. */
static bool is_called_back(const struct trace *t, const struct stack_row *s)
{
	bool own = false;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct stack_frame *f = &s->frame[i];
		const char *file = trace_text(t, f->file);

		if (f->kind != FRAME_PYTHON)
			continue;
		if (f->flags & FRAME_USER && !file_is_library(file))
			own = true;
		else if (own && strstr(file, "/torch/nn/modules/module.py"))
			return false;
		else if (strstr(file, "/torch/autograd/") &&
			 strstr(trace_text(t, f->name), "backward"))
			return own;
	}
	return false;
}

static bool is_without_cpu(uint8_t state)
{
	return state == SAMPLE_RUNNABLE || state == SAMPLE_THROTTLED;
}

static enum account_cause without_cpu(uint8_t state)
{
	return state == SAMPLE_RUNNABLE ? ACCOUNT_PREEMPTED : ACCOUNT_THROTTLED;
}

/* It lacks a CPU that threads of its own have: those of a framework that it called, as Python's would need
 * the GIL. So a line of the main loop calls compiled code then. */
static bool own_threads_run(const struct trace *t, const struct host_sample *r)
{
	return r->state == SAMPLE_RUNNABLE && r->holder &&
	       !strcmp(trace_text(t, r->holder), "its own threads");
}

/* Who lacks a CPU in what need not be done at all lacks it because of that: it goes with its cause. */
static enum account_cause cause_of(struct insight *in, const struct host_sample *r)
{
	struct stack_row s = trace_stack(in->t, r->stack);
	uint8_t part = r->part != HOST_PARTS ? r->part : insight_stack_part(in, r->stack);
	enum account_cause work;

	if (r->called)
		return ACCOUNT_CODE;
	/* Who collects holds the GIL: that the interpreter collects while this one waits is another's. */
	if (r->state == SAMPLE_GIL)
		return ACCOUNT_GIL;
	if (r->flags & SAMPLE_GC && !is_blocked(r->state) && r->state != SAMPLE_SLEEP)
		return ACCOUNT_GC;
	work = part < HOST_PART_REST ? cause_of_part[part] : ACCOUNT_CODE;
	if (work != ACCOUNT_CODE && !(HOST_WORK & 1u << work))
		return work;
	if (work == ACCOUNT_BACKWARD && is_called_back(in->t, &s)) {
		if (!is_blocked(r->state) && r->state != SAMPLE_SLEEP)
			return ACCOUNT_CODE; /* with the operators that it calls */
		work = ACCOUNT_CODE;
	}
	if (work == ACCOUNT_CODE && is_without_cpu(r->state)) {
		enum account_cause c = rest(in->t, r, &s);

		return c == ACCOUNT_CODE ? c : without_cpu(r->state);
	}
	if (is_without_cpu(r->state))
		return without_cpu(r->state);
	if (r->in_collective && is_blocked(r->state))
		return ACCOUNT_COMM_SEND;
	if (r->state == SAMPLE_SLEEP)
		return ACCOUNT_SLEEP;
	if (is_blocked(r->state))
		return blocked(in->t, r, &s, work);
	return work == ACCOUNT_CODE ? rest(in->t, r, &s) : work;
}

static size_t slot_of(const struct host_sample *r)
{
	return r->part != HOST_PARTS ? r->part : r->range ? MARKED : BARE;
}

/* --- code of the program that calls operators --- */

/* While Python runs, a sample cannot tell whether its innermost line computes or calls an operator. Steps
 * whose operators were recorded can: do operators fill the time of such lines, after that of
 * frameworks' own lines? `part` is as of part_ns. True: it is mostly the program's own code. */
static bool is_own_code(const struct host_account *a, size_t part, double own, double library)
{
	double ops = a->window_ns[part] ? (double)a->op_ns[part] / (double)a->window_ns[part] : -1;

	if (ops < 0)
		return part == HOST_PARTS; /* not known: of a model, that it computes */
	ops -= library;
	return own - (ops > 0 ? ops : 0) > own / 2;
}

/* The innermost function of the program; NULL: none, or only its main loop. */
static const struct stack_frame *own_function(const struct trace *t, uint32_t stack)
{
	struct stack_row s = trace_stack(t, stack);

	for (uint32_t i = 0; i < s.n; i++) {
		const struct stack_frame *f = &s.frame[i];
		const char *name = trace_text(t, f->name);

		if (f->kind != FRAME_PYTHON || !(f->flags & FRAME_USER) ||
		    file_is_library(trace_text(t, f->file)))
			continue;
		return !strcmp(name, "<module>") || !strcmp(name, "main") ||
				       !strncmp(name, "train", 5)
			       ? NULL
			       : f;
	}
	return NULL;
}

/* Lines of the program that run, in the model or in the rest, are CODE or not, all of a part alike. */
static void judge_code(const struct insight *in, struct host_account *a, size_t part)
{
	double own = 0, library = 0, all = 0;
	bool code;

	for (int turn = 0; turn < 2; turn++) {
		code = turn && own > 0 && is_own_code(a, part, own / all, library / all);
		for (size_t i = 0; i < a->rows; i++) {
			struct host_sample *r = &a->row[i];
			struct stack_row s = trace_stack(in->t, r->stack);
			const struct stack_frame *leaf = leaf_of(&s);
			bool lacks = is_without_cpu(r->state);
			bool runs = (lacks || r->state == SAMPLE_RUNNING) && leaf &&
				    !(r->flags & SAMPLE_GC) && !r->called;
			bool calls = part == HOST_PARTS && own_threads_run(in->t, r) &&
				     !own_function(in->t, r->stack);

			if (r->part != part || (part != HOST_PARTS && r->cause == ACCOUNT_CODE) ||
			    (part == HOST_PARTS && r->cause != ACCOUNT_CODE &&
			     r->cause != ACCOUNT_COMPUTE && r->cause != ACCOUNT_PREEMPTED &&
			     r->cause != ACCOUNT_THROTTLED))
				continue;
			if (turn && runs && leaf->flags & FRAME_USER)
				r->cause = (uint8_t)(calls                ? ACCOUNT_COMPUTE
						     : code               ? ACCOUNT_CODE
						     : lacks              ? without_cpu(r->state)
						     : part == HOST_PARTS ? ACCOUNT_COMPUTE
									  : r->cause);
			if (turn)
				continue;
			all += r->ns;
			own += runs && !calls && leaf->flags & FRAME_USER ? r->ns : 0;
			library += runs && computes(in->t, &s) ? r->ns : 0;
		}
	}
}

/* --- what goes with its line --- */

/* The innermost line of Python, as a key; 0: there is none. */
static uint64_t line_key(const struct trace *t, const struct host_sample *r)
{
	struct stack_row s = trace_stack(t, r->stack);
	const struct stack_frame *f = leaf_of(&s);

	return f ? hash_mix((uint64_t)f->file << 32 | f->line, f->name) : 0;
}

/* A line that mostly waits inside a framework calls it: while it runs it is in that call, too. What such a
 * call does without Python's frames looks like the line's own work. */
static void judge_lines(const struct insight *in, struct host_account *a)
{
	struct map waits = { 0 }, runs = { 0 };

	for (size_t i = 0; i < a->rows; i++) {
		const struct host_sample *r = &a->row[i];
		struct map *to = r->cause == ACCOUNT_COMPUTE && is_blocked(r->state) ? &waits
				 : r->cause == ACCOUNT_CODE && !r->called            ? &runs
										     : NULL;
		uint64_t key = to ? line_key(in->t, r) : 0;
		uint64_t *sum = key ? map_at(to, key) : NULL;

		if (sum)
			*sum += (uint64_t)r->ns;
	}
	for (size_t i = 0; i < a->rows; i++) {
		struct host_sample *r = &a->row[i];
		uint64_t key = r->cause == ACCOUNT_CODE && !r->called && !is_blocked(r->state)
				       ? line_key(in->t, r)
				       : 0;

		if (key && map_get(&waits, key) > map_get(&runs, key))
			r->cause = (uint8_t)(is_without_cpu(r->state) ? without_cpu(r->state)
								      : ACCOUNT_COMPUTE);
	}
	map_fini(&waits);
	map_fini(&runs);
}

/* --- what goes with its function --- */

static uint64_t function_key(const struct stack_frame *f, bool checkpoint)
{
	return hash_mix((uint64_t)f->name << 32 | f->file, checkpoint);
}

/* The time of each function: in checkpoints, and in what it computes or calls. */
static void sum_functions(struct map *ns, const struct trace *t, const struct host_account *a)
{
	for (size_t i = 0; i < a->rows; i++) {
		uint8_t cause = a->row[i].cause;
		bool saves = cause == ACCOUNT_CHECKPOINT;
		const struct stack_frame *f =
			saves || cause == ACCOUNT_COMPUTE || cause == ACCOUNT_CODE
				? own_function(t, a->row[i].stack)
				: NULL;
		uint64_t *sum = f ? map_at(ns, function_key(f, saves)) : NULL;

		if (sum)
			*sum += (uint64_t)a->row[i].ns;
	}
}

#define CALLS_LEAST 0.2    /* of all samples: a loss is computed outside the model, too */
#define LOOP_LEAST  0.05   /* if so many small operators are called there that it is a loop */
#define LOOP_OPS    100u   /* a step */
#define LOOP_OP_NS  20000u /* a call of an operator takes 5 to 20 us by itself */

static double calls_least(const struct host_account *a)
{
	uint64_t ops = a->ops[HOST_PARTS];

	return a->windows && ops / a->windows >= LOOP_OPS &&
			       a->window_ns[HOST_PARTS] / ops < LOOP_OP_NS
		       ? LOOP_LEAST
		       : CALLS_LEAST;
}

/* Operators that one function calls outside of a model are the program's own code, if the model is known:
 * a loop over rows, say. Waits for files of a function that writes a checkpoint are of the checkpoint. */
static void judge_functions(const struct insight *in, struct host_account *a)
{
	struct map ns = { 0 };
	double all = 0;

	sum_functions(&ns, in->t, a);
	for (size_t i = 0; i < a->rows; i++)
		all += a->row[i].ns;
	for (size_t i = 0; i < a->rows; i++) {
		struct host_sample *r = &a->row[i];
		bool calls = r->cause == ACCOUNT_COMPUTE && a->part_ns[HOST_PART_FORWARD];
		bool files = r->cause == ACCOUNT_IO || (r->cause == ACCOUNT_LOGGING && r->writes);
		const struct stack_frame *f = r->part == HOST_PARTS && (calls || files)
						      ? own_function(in->t, r->stack)
						      : NULL;

		if (f && files && map_get(&ns, function_key(f, true)))
			r->cause = ACCOUNT_CHECKPOINT;
		else if (f && calls &&
			 (double)map_get(&ns, function_key(f, false)) >= calls_least(a) * all)
			r->cause = ACCOUNT_CODE;
	}
	map_fini(&ns);
}

/* --- from samples to time --- */

static uint64_t slot_ns(const struct host_account *a, size_t slot)
{
	uint64_t marked = 0;

	if (slot < HOST_PARTS)
		return a->part_ns[slot];
	for (size_t i = 0; i < a->ranges; i++)
		marked += a->range[i].ns;
	marked = marked < a->part_ns[HOST_PARTS] ? marked : a->part_ns[HOST_PARTS];
	return slot == MARKED ? marked : a->part_ns[HOST_PARTS] - marked;
}

static void spread(struct host_account *a, size_t slot)
{
	double ns[ACCOUNT_CAUSES] = { 0 }, all = 0, all2 = 0, n;
	uint64_t time = slot_ns(a, slot), left = time;
	uint8_t whole = slot < HOST_PARTS ? cause_of_part[slot]
			: slot == MARKED  ? ACCOUNT_RANGE
					  : ACCOUNT_UNKNOWN;
	uint64_t count = 0;

	for (size_t i = 0; i < a->rows; i++) {
		if (slot_of(&a->row[i]) != slot)
			continue;
		ns[a->row[i].cause] += a->row[i].ns;
		all += a->row[i].ns;
		all2 += a->row[i].ns2;
		count += a->row[i].count;
		a->count[a->row[i].cause] += a->row[i].count;
	}
	/* Of what only samples tell, too few tell nothing. */
	if (slot == BARE && count < SAMPLES_ENOUGH && a->samples < SAMPLES_ENOUGH)
		all = 0;
	n = all2 > 0 ? all * all / all2 : 0;
	for (size_t c = 0; all > 0 && c < ACCOUNT_CAUSES; c++) {
		double share = ns[c] / all, near = (share * n + 0.5) / (n + 1);
		uint64_t some = (uint64_t)(share * (double)time);

		if (ns[c] <= 0)
			continue;
		some = some < left ? some : left;
		a->on.account.ns[c] += some;
		left -= some;
		a->error_ns[c] += near * (1 - near) / n * (double)time * (double)time;
		if (ns[c] >= ns[whole])
			whole = (uint8_t)c; /* what rounding leaves */
	}
	a->on.account.ns[whole] += left;
}

/* A collective ends for all together: what a rank spends in it beyond the one that came last. */
static void split_waiting(const struct insight *in, struct host_account *a)
{
	const struct rank_wait *w =
		in->waits.matched ? &in->waits.rank[in->t->process[a->process].file] : NULL;
	uint64_t ns;

	if (!w || !w->comm_ns)
		return;
	ns = (uint64_t)((double)a->on.account.ns[ACCOUNT_COMM_SEND] * (double)w->waited_ns /
			(double)w->comm_ns);
	a->on.account.ns[ACCOUNT_COMM_SEND] -= ns;
	a->on.account.ns[ACCOUNT_COMM_WAIT] = ns;
}

void host_causes(struct insight *in, struct host_account *a)
{
	for (size_t i = 0; i < a->rows; i++)
		a->row[i].cause = (uint8_t)cause_of(in, &a->row[i]);
	judge_code(in, a, HOST_PART_FORWARD);
	judge_code(in, a, HOST_PART_BACKWARD);
	judge_code(in, a, HOST_PART_OPTIMIZER);
	judge_code(in, a, HOST_PARTS);
	judge_lines(in, a);
	judge_functions(in, a);
	for (size_t slot = 0; slot < SLOTS; slot++)
		spread(a, slot);
	/* One rank does not tell waiting from sending. */
	for (size_t p = 0; a->samples < SAMPLES_ENOUGH && p <= HOST_PARTS; p++)
		account_move(&a->on.account, p < HOST_PARTS ? cause_of_part[p] : ACCOUNT_UNKNOWN,
			     ACCOUNT_COMM, a->comm_ns[p]);
	for (size_t c = 0; c < ACCOUNT_CAUSES; c++)
		a->error_ns[c] = sqrt(a->error_ns[c]);
	split_waiting(in, a);
}
