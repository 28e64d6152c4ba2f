/* SPDX-License-Identifier: Apache-2.0 */
/* find_live.c - rules on the account of a stepping thread: what a process without a GPU spends time in. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "insight/find/finding.h"
#include "insight/live/find_live.h"

#define BIT(c) (1u << ACCOUNT_##c)
#define OWN    (BIT(CODE) | BIT(RANGE) | BIT(SLEEP) | BIT(IO) | BIT(LOCK))

static uint64_t sum(const struct host_account *a, uint32_t causes)
{
	uint64_t ns = 0;

	for (uint32_t c = 0; c < ACCOUNT_CAUSES; c++)
		ns += causes & 1u << c ? a->on.account.ns[c] : 0;
	return ns;
}

static double error_of(const struct host_account *a, uint32_t causes)
{
	double e = 0;

	for (uint32_t c = 0; c < ACCOUNT_CAUSES; c++)
		e += causes & 1u << c ? a->error_ns[c] : 0;
	return e;
}

/* How sure: ranges are exact; of samples, their error decides. */
void live_judge(const struct host_account *a, struct finding *f, uint32_t causes)
{
	double e = error_of(a, causes);

	f->sure = e <= (double)f->cost_ns / 6   ? SURE_HIGH
		  : e <= (double)f->cost_ns / 3 ? SURE_MEDIUM
						: SURE_LOW;
	f->gain_lo_ns = (uint64_t)(0.8 * (double)f->cost_ns);
	f->gain_hi_ns = f->cost_ns;
}

int host_blame(struct samples_sum *out, const struct insight *in, const struct host_account *a,
	       uint32_t causes)
{
	struct samples_want w = { SAMPLES_ALL, SAMPLES_ALL, 0, 0 };
	struct insight some = *in;
	int err;

	some.samples.rows = 0;
	some.samples.row = calloc(a->rows + 1, sizeof(*some.samples.row));
	if (!some.samples.row)
		return -ENOMEM;
	for (size_t i = 0; i < a->rows; i++) {
		const struct host_sample *r = &a->row[i];

		if (!(causes & 1u << r->cause))
			continue;
		some.samples.row[some.samples.rows++] = (struct sample_row){
			.process = a->process,
			.track = a->track,
			.stack = r->stack,
			.holder = r->holder,
			.state = r->state,
			.flags = r->flags,
			.count = r->count,
			.ns = r->ns,
			.ns2 = r->ns2,
		};
	}
	err = samples_blame(out, &some, &w);
	free(some.samples.row);
	return err;
}

/* The code that these causes blame most. */
struct culprit {
	bool named;
	struct sample_blame b;
	struct share all; /* in all of its states */
	uint64_t count;   /* samples of these causes */
	char code[FRAME_LABEL];
	char in[FRAME_LABEL]; /* the library's function that it calls most; "": none */
	uint32_t
		taker; /* who had the CPUs that it waited for, as text of the trace; 0: not known */
	double took;   /* of that time */
};

/* Who evaluates, not the model: the outermost function of the program but its main one. */
static void outermost(const struct trace *t, struct sample_blame *b)
{
	struct stack_row s = trace_stack(t, b->stack);

	for (uint32_t i = s.n; i--;) {
		const char *name = trace_text(t, s.frame[i].name);

		if (!(s.frame[i].flags & FRAME_USER) || s.frame[i].kind != FRAME_PYTHON ||
		    !strcmp(name, "<module>") || !strcmp(name, "main") ||
		    !strncmp(name, "train", 5))
			continue;
		b->frame = s.frame[i];
		return;
	}
}

/* Few samples fall into short waits. They give no share, but who holds most is certain from two errors on. */
static bool holds_mostly(const struct sample_blame *b, const struct share *all)
{
	return b->held && all->count >= SAMPLES_ENOUGH / 3 && all->share - 2 * all->error > 0.5;
}

/* What the function does when it has a CPU, or needs none: that it lacks one is not what it does. */
static enum sample_state state_of(const struct samples_sum *s, const struct sample_blame *b)
{
	enum sample_state best = b->state;
	double most = 0;

	for (size_t i = 0; i < s->rows; i++) {
		const struct sample_blame *r = &s->row[i];

		if (r->frame.name != b->frame.name || r->frame.file != b->frame.file ||
		    r->state == SAMPLE_RUNNABLE || r->state == SAMPLE_THROTTLED || r->ns <= most)
			continue;
		most = r->ns;
		best = r->state;
	}
	return best;
}

static void find_culprit(struct culprit *c, const struct insight *in, const struct host_account *a,
			 uint32_t causes)
{
	struct samples_sum s;

	memset(c, 0, sizeof(*c));
	if (host_blame(&s, in, a, causes) < 0)
		return;
	c->count = s.count;
	c->taker = s.taker;
	c->took = s.took.share;
	if (s.rows) {
		const struct sample_blame *b = samples_first(&s, &c->all);

		c->b = *b;
		c->b.state = state_of(&s, b);
		c->named =
			b->frame.name && (s.count + (b->held ? a->holders : 0) >= SAMPLES_ENOUGH ||
					  holds_mostly(b, &c->all));
		if (causes == BIT(EVALUATION))
			outermost(in->t, &c->b);
		frame_called(in->t, &c->b.frame, c->code);
		if (b->in.name)
			frame_library(in->t, &b->in, c->in);
	}
	samples_fini(&s);
}

/* "62 % (+-4) of 480 samples: in load_item (dataset.py:42), running". */
static void say_culprit(const struct insight *in, struct finding *f, const struct culprit *c)
{
	char what[BLAME_LABEL];

	if (c->named)
		finding_seen(f, "%s %% (+-%s) of its %s samples: %.120s", P(c->all.share),
			     P(c->all.error), N(c->count), blame_text(in->t, &c->b, &c->all, what));
	else if (c->count >= SAMPLES_ENOUGH)
		finding_seen(f, "by %s samples, which have no stack", N(c->count));
	else if (c->count)
		finding_seen(f, "not enough samples to name the code: %s, and %u are needed",
			     N(c->count), SAMPLES_ENOUGH);
	finding_facts(f, FACT_N("samples", c->count));
	if (c->named)
		finding_facts(f, FACT_X("code_share", c->all.share),
			      FACT_X("code_error", c->all.error));
}

bool live_code(const struct insight *in, const struct host_account *a, uint32_t causes,
	       char out[FRAME_LABEL])
{
	struct culprit c;

	find_culprit(&c, in, a, causes);
	if (c.named)
		memcpy(out, c.code, FRAME_LABEL);
	return c.named;
}

bool live_say_code(const struct insight *in, struct finding *f, uint32_t causes)
{
	struct culprit c;

	find_culprit(&c, in, f->on->host, causes);
	say_culprit(in, f, &c);
	return c.named;
}

/* The first line of every finding: its part of the step, beside the largest other parts. */
void live_say_parts(struct finding *f, const struct host_account *a, uint32_t causes)
{
	char others[120] = "";
	size_t used = 0;
	bool told[ACCOUNT_CAUSES] = { false };

	for (size_t n = 0; n < 3; n++) {
		uint32_t best = ACCOUNT_CAUSES;

		for (uint32_t c = 0; c < ACCOUNT_CAUSES; c++)
			if (!told[c] && !(causes & 1u << c) &&
			    (best == ACCOUNT_CAUSES ||
			     a->on.account.ns[c] > a->on.account.ns[best]))
				best = c;
		if (best == ACCOUNT_CAUSES || a->on.account.ns[best] < a->on.account.base_ns / 50)
			break;
		told[best] = true;
		used += (size_t)snprintf(others + used, sizeof(others) - used, "%s%s %% %s",
					 used ? ", " : "",
					 P(ratio(a->on.account.ns[best], a->on.account.base_ns)),
					 account_table[best].people);
		used = used < sizeof(others) ? used : sizeof(others) - 1;
	}
	finding_seen(f, "%s%s of %s (%s %%)%s%s", T(f->cost_ns), finding_per(f),
		     T(a->on.account.base_ns), P(f->share), *others ? "; also " : "", others);
	finding_facts(f, FACT_N("base_ns", a->on.account.base_ns), FACT_N("of_it_ns", f->cost_ns));
}

/* --- input --- */

/* Who waits for workers is not to blame: what the most sampled of them does is, if that is known. */
static bool worker_culprit(struct culprit *c, const struct insight *in,
			   const struct host_account *a)
{
	uint64_t pid = in->t->process[a->process].pid;
	const struct host_account *most = NULL;
	struct culprit w = { 0 };

	for (size_t i = 0; i < in->hosts.n; i++)
		if (in->hosts.v[i].works_for == pid &&
		    (!most || in->hosts.v[i].samples > most->samples))
			most = &in->hosts.v[i];
	if (most)
		find_culprit(&w, in, most, UINT32_MAX);
	if (w.named)
		*c = w;
	return w.named;
}

static bool input_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	struct culprit c;
	bool single = a->fetches && !a->workers;
	bool again = live_starts_workers(in, a), theirs;

	find_culprit(&c, in, a, BIT(INPUT));
	theirs = a->workers && !again && worker_culprit(&c, in, a);
	live_judge(a, f, BIT(INPUT));
	if (again && c.named)
		SAY(title, "The step waits while its loader starts workers again: %.110s", c.code);
	else if (c.named && !strstr(c.code, "__next__"))
		SAY(title, "The step waits for its input%s: %.110s%s",
		    single ? " (num_workers=0)" : "", c.code, theirs ? " in its workers" : "");
	else
		SAY(title, "The step waits for its input%s", single ? " (num_workers=0)" : "");
	live_say_parts(f, a, BIT(INPUT));
	say_culprit(in, f, &c);
	live_say_when(in, f, BIT(INPUT), NULL);
	if (single) /* how many CPUs are idle is not known */
		SAY(expect,
		    "%s to %s a step, now %s, if batches took no time; workers need idle CPUs",
		    T(a->on.account.base_ns - f->gain_hi_ns),
		    T(a->on.account.base_ns - f->gain_lo_ns), T(a->on.account.base_ns));
	if (single)
		SAY(action,
		    "DataLoader(num_workers=4, persistent_workers=True): workers prepare batches "
		    "while the step computes%s%.80s",
		    c.named ? "; or make cheaper: " : "", c.named ? c.code : "");
	else if (again)
		SAY(action,
		    "keep the workers: DataLoader(persistent_workers=True), made once before the "
		    "loop; or longer epochs");
	else if (a->workers)
		SAY(action, "more workers (num_workers is %s), or make %.100s cheaper",
		    N(a->workers), theirs ? c.code : "what they do");
	else if (c.named)
		SAY(action,
		    "prepare the next batch meanwhile, in another thread or process, or make "
		    "%.80s cheaper",
		    c.code);
	else
		SAY(action, "prepare the next batch meanwhile, in another thread or process");
	return true;
}

/* --- the program's own code --- */

static const char *doing(enum sample_state s)
{
	return s == SAMPLE_SLEEP   ? "sleeps"
	       : s == SAMPLE_LOCK  ? "waits for a lock"
	       : s == SAMPLE_IO    ? "waits for a file"
	       : s == SAMPLE_WAIT  ? "waits"
	       : s == SAMPLE_FAULT ? "waits for memory"
				   : "runs";
}

static const char *own_remedy(enum sample_state s)
{
	return s == SAMPLE_SLEEP  ? "take the sleep in %.100s out of the step"
	       : s == SAMPLE_LOCK ? "see who holds the lock that %.100s waits for"
	       : s == SAMPLE_IO ? "do what %.100s reads or writes less often, or in another thread"
	       : s == SAMPLE_WAIT
		       ? "do what %.100s waits for ahead, in another thread or process"
		       : "make %.100s cheaper (vectorise it, do it less often), or take it out of "
			 "the step: ahead, in another process";
}

static bool range_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;

	f->cost_ns = a->range[0].ns;
	f->share = ratio(f->cost_ns, a->on.account.base_ns);
	live_judge(a, f, 0);
	SAY(title, "The program's range %.80s takes longest", trace_text(in->t, a->range[0].name));
	live_say_parts(f, a, OWN);
	finding_seen(f, "its own time, without ranges inside it, of %zu ranges of the program",
		     a->ranges);
	SAY(action, "make %.80s cheaper; ranges inside it (aon_range_push) split its time",
	    trace_text(in->t, a->range[0].name));
	return f->share >= live_least(FAMILY_CPU);
}

/* The function that compiled code called back most, if that is most of these causes. */
static uint32_t most_called(const struct host_account *a, uint32_t causes, double *share)
{
	double all = 0, most = 0;
	uint32_t name = 0;

	for (size_t i = 0; i < a->rows; i++) {
		double sum = 0;

		if (!(causes & 1u << a->row[i].cause))
			continue;
		all += a->row[i].ns;
		for (size_t k = 0; a->row[i].called && k < a->rows; k++)
			sum += a->row[k].called == a->row[i].called ? a->row[k].ns : 0;
		if (sum > most) {
			most = sum;
			name = a->row[i].called;
		}
	}
	*share = all > 0 ? most / all : 0;
	return *share > 0.5 ? name : 0;
}

static bool called_fill(const struct insight *in, struct finding *f, uint32_t name, double share)
{
	const struct host_account *a = f->on->host;
	const char *code = strstr(trace_text(in->t, name), ": ");

	f->cost_ns = (uint64_t)(share * (double)f->cost_ns);
	f->share = ratio(f->cost_ns, a->on.account.base_ns);
	code = code ? code + 2 : trace_text(in->t, name);
	live_judge(a, f, OWN);
	SAY(title, "Compiled code calls back into Python: %.110s", code);
	live_say_parts(f, a, OWN);
	finding_seen(f, "the step waits meanwhile: %s %% of its own code", P(share));
	finding_facts(f, FACT_X("code_share", share));
	SAY(action,
	    "do without the callback: write %.100s with jax.numpy, or call it after the step, "
	    "less often",
	    code);
	return f->share >= live_least(FAMILY_CPU);
}

static bool code_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	const char *text;
	struct culprit c;
	uint64_t with = 0;
	double share;
	uint32_t name;

	name = most_called(a, OWN, &share);
	if (name)
		return called_fill(in, f, name, share);
	find_culprit(&c, in, a, OWN);
	if (!c.named && a->on.account.ns[ACCOUNT_RANGE] >= f->cost_ns / 2 && a->ranges)
		return range_fill(in, f);
	if (!c.named)
		return false;
	if (live_whole(in, a, OWN, &c.b, &c.all, &with))
		frame_called(in->t, &c.b.frame, c.code);
	if (c.all.share >= 0.25) { /* else many functions share it */
		f->cost_ns = (uint64_t)(c.all.share * (double)f->cost_ns) + with;
		f->share = ratio(f->cost_ns, a->on.account.base_ns);
	}
	if (f->share < live_least(FAMILY_CPU))
		return false;
	live_judge(a, f, OWN);
	text = strstr(own_remedy(c.b.state), "%.100s");
	SAY(title, "%.120s %s%s", c.code, doing(c.b.state), f->on->steps ? " in the steps" : "");
	live_say_parts(f, a, OWN);
	say_culprit(in, f, &c);
	live_say_when(in, f, OWN, &c.b.frame);
	if (live_unjitted(in, a, OWN))
		SAY(action, "%.100s calls operations of JAX one by one: put it under jax.jit",
		    c.code);
	else
		SAY(action, "%.*s%.100s%s", (int)(text - own_remedy(c.b.state)),
		    own_remedy(c.b.state), c.code, text + strlen("%.100s"));
	return true;
}

/* --- what needs a sentence and an action only --- */

struct plain {
	uint32_t causes;
	const char *title; /* with the code behind it, if there is one */
	const char *named; /* an action; %.100s is the code */
	const char *other; /* an action without it */
};

static const struct plain plain[FAMILIES] = {
	/* clang-format off */
	[FAMILY_CHECKPOINT] = { BIT(CHECKPOINT), "The step waits while checkpoints are written",
		"write them less often, or in another thread or process (torch.distributed.checkpoint.async_save): %.100s",
		"write them less often, or in another thread or process (torch.distributed.checkpoint.async_save)" },
	[FAMILY_EVALUATION] = { BIT(EVALUATION), "The model is evaluated between steps",
		"evaluate less often or on fewer batches: %.100s", "evaluate less often or on fewer batches" },
	[FAMILY_LOGGING] = { BIT(LOGGING), "Each step writes logs",
		"log every 50th step, and fewer values: %.100s", "log every 50th step, and fewer values" },
	[FAMILY_COMPILING] = { BIT(COMPILE), "Code is compiled while the program runs",
		"compile once and keep the result: build programs outside the loop, keep shapes the same: %.100s",
		"compile once and keep the result: build programs outside the loop, keep shapes the same" },
	[FAMILY_GC] = { BIT(GC), "Python's garbage collector runs in the steps",
		"gc.freeze() after setup, gc.disable() in the loop and gc.collect() every 1000th step; it runs in %.100s",
		"gc.freeze() after setup, gc.disable() in the loop and gc.collect() every 1000th step" },
	[FAMILY_GIL] = { BIT(GIL), "The step waits for the GIL",
		"move %.100s to another process, or to code that releases the GIL",
		"move other threads' Python code to another process, or to code that releases the GIL" },
	[FAMILY_PREEMPTED] = { BIT(PREEMPTED), "The step waits for a CPU",
		"", "give it CPUs of its own: fewer threads (OMP_NUM_THREADS, num_workers), fewer programs beside it, "
		"taskset or a higher priority" },
	[FAMILY_THROTTLED] = { BIT(THROTTLED), "The CPU quota of its container stops the step",
		"", "raise the container's CPU limit (cpu.max), or use fewer threads than it allows" },
	[FAMILY_OPTIMIZER] = { BIT(OPTIMIZER), "The optimizer takes a large part of the step",
		"fused=True (or foreach=True) for the optimizer; a larger batch; called by %.100s",
		"fused=True (or foreach=True) for the optimizer; a larger batch" },
	/* clang-format on */
};

static void say_action(struct finding *f, const char *text, const char *code)
{
	const char *slot = strstr(text, "%.100s");

	if (slot)
		SAY(action, "%.*s%.100s%s", (int)(slot - text), text, code,
		    slot + strlen("%.100s"));
	else
		SAY(action, "%s", text);
}

#define SMALL_OP_NS 30000u /* a call of an operator takes 5 to 20 us by itself */

/* It must still be done: fused, many small operations become few. Large ones gain little. */
static void optimizer_gain(struct finding *f, const struct host_account *a)
{
	uint64_t ops = a->ops[HOST_PART_OPTIMIZER];
	uint64_t each = ops ? a->op_ns[HOST_PART_OPTIMIZER] / ops : 0;
	bool small = ops && each < SMALL_OP_NS;

	if (ops)
		finding_seen(f, "its operators take %s each", D(each));
	f->sure = small ? SURE_HIGH : SURE_LOW;
	f->gain_lo_ns = small ? f->cost_ns / 2 : f->cost_ns / 10;
	f->gain_hi_ns = small ? f->cost_ns / 10 * 8 : f->cost_ns / 5;
}

static bool plain_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	const struct plain *p = &plain[f->family];
	bool other = !*p->named; /* that code is not to blame */
	struct culprit c;

	find_culprit(&c, in, a, p->causes);
	live_judge(a, f, p->causes);
	if (c.named && f->family == FAMILY_GIL && c.b.held)
		SAY(title, "%s, which %.110s holds", p->title, c.code);
	else if (c.named && !other)
		SAY(title, "%s: %.110s", p->title, c.code);
	else
		SAY(title, "%s", p->title);
	live_say_parts(f, a, p->causes);
	if (!other)
		say_culprit(in, f, &c);
	else
		finding_facts(f, FACT_N("samples", c.count));
	if (other)
		finding_seen(f, "by %s samples of its thread", N(c.count));
	live_say_when(in, f, p->causes, NULL);
	say_action(f, c.named && !other ? p->named : p->other, c.code);
	if (f->family == FAMILY_OPTIMIZER)
		optimizer_gain(f, a);
	return true;
}

/* --- who has the CPUs --- */

/* "python3 (pid 17)", of a process that this one started. */
static bool is_child(const struct insight *in, const struct host_account *a, const char *taker)
{
	const char *at = strstr(taker, "(pid ");
	uint64_t pid = at ? num_front(at + 5, NULL) : 0;

	for (uint32_t i = 0; pid && i < in->t->processes; i++)
		if (in->t->process[i].pid == pid &&
		    in->t->process[i].parent == in->t->process[a->process].pid)
			return true;
	return false;
}

static bool preempted_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	const char *taker;
	struct culprit c;
	bool own, child;

	plain_fill(in, f);
	find_culprit(&c, in, a, BIT(PREEMPTED));
	if (!c.taker)
		return true;
	taker = trace_text(in->t, c.taker);
	own = !strcmp(taker, "its own threads");
	child = is_child(in, a, taker);
	SAY(title, "The step waits for a CPU, which %.100s %s%s", taker,
	    own || !strstr(taker, "(pid ") ? "have" : "has",
	    child ? ", a process that it started itself" : "");
	finding_seen(f, "%.100s took most of the CPU time that it waited for: %s %% of its samples",
		     taker, P(c.took));
	if (own)
		SAY(action, "use as many threads as it has CPUs: OMP_NUM_THREADS, "
			    "torch.set_num_threads()");
	else if (child)
		SAY(action, "start fewer processes (num_workers), or give them other CPUs than the "
			    "loop (taskset)");
	else
		SAY(action, "give it CPUs of its own: move %.80s away, or taskset", taker);
	return true;
}

/* --- costs --- */

static uint64_t input_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return d->account.ns[ACCOUNT_INPUT];
}

static uint64_t code_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return sum(d->host, OWN);
}

/* The process's memory, as the kernel counts it: as of a GPU's. */
static uint64_t memory_cost(const struct insight *in, const struct insight_device *d)
{
	return rule_MEMORY.cost(in, d);
}

static bool memory_fill(const struct insight *in, struct finding *f)
{
	return rule_MEMORY.fill(in, f);
}

#define PLAIN_COST(ID)                                                                      \
	static uint64_t cost_##ID(const struct insight *in, const struct insight_device *d) \
	{                                                                                   \
		(void)in;                                                                   \
		return sum(d->host, plain[FAMILY_##ID].causes);                             \
	}
PLAIN_COST(CHECKPOINT)
PLAIN_COST(EVALUATION)
PLAIN_COST(LOGGING)
PLAIN_COST(GC)
PLAIN_COST(GIL)
PLAIN_COST(PREEMPTED)
PLAIN_COST(THROTTLED)
PLAIN_COST(OPTIMIZER)

const struct rule *live_rule(enum family k)
{
	static const struct rule rule[FAMILIES] = {
		[FAMILY_INPUT] = { input_cost, input_fill },
		[FAMILY_MEMORY] = { memory_cost, memory_fill },
		[FAMILY_CPU] = { code_cost, code_fill },
		[FAMILY_COMPILE] = { live_again_cost, live_again_fill },
		[FAMILY_COMPILING] = { live_compiling_cost, plain_fill },
		[FAMILY_CHECKPOINT] = { cost_CHECKPOINT, plain_fill },
		[FAMILY_EVALUATION] = { cost_EVALUATION, plain_fill },
		[FAMILY_LOGGING] = { cost_LOGGING, plain_fill },
		[FAMILY_GC] = { cost_GC, plain_fill },
		[FAMILY_GIL] = { cost_GIL, plain_fill },
		[FAMILY_PREEMPTED] = { cost_PREEMPTED, preempted_fill },
		[FAMILY_THROTTLED] = { cost_THROTTLED, plain_fill },
		[FAMILY_OPTIMIZER] = { cost_OPTIMIZER, plain_fill },
		[FAMILY_LAYER] = { live_layer_cost, live_layer_fill },
		[FAMILY_SMALL] = { live_small_cost, live_small_fill },
		[FAMILY_COMM] = { live_comm_cost, live_comm_fill },
		[FAMILY_STRAGGLER] = { live_straggler_cost, live_straggler_fill },
		[FAMILY_IMBALANCE] = { live_imbalance_cost, live_imbalance_fill },
	};

	return rule[k].cost ? &rule[k] : NULL;
}

/* docs/insights.md says why. */
double live_least(enum family k)
{
	static const double least[FAMILIES] = {
		[FAMILY_INPUT] = 0.05,      [FAMILY_CPU] = 0.10, [FAMILY_COMPILING] = 0.05,
		[FAMILY_CHECKPOINT] = 0.05, [FAMILY_GC] = 0.05,  [FAMILY_SMALL] = 0.40,
	};

	return least[k] > 0 ? least[k] : family_table[k].least;
}

/* Rules of find.tbl.h on devices; these have nothing to say of any. */
static uint64_t no_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	(void)d;
	return UINT64_MAX;
}

#define RULE(ID, ...) const struct rule rule_##ID = { no_cost, plain_fill };
#include "insight/live/find_live.tbl.h"
