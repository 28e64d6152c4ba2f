/* SPDX-License-Identifier: Apache-2.0 */
/* find_host.c - rules on GPUs that wait for their host: input, launches, code, synchronization. */
#include <stdio.h>
#include <string.h>

#include "insight/find/finding.h"
#include "names/code.h"

static bool launches_seen(const struct insight_device *d)
{
	return d->launch.launched > 0 || d->sampled;
}

static uint64_t cause(const struct insight_device *d, enum account_cause c)
{
	return launches_seen(d) ? d->account.ns[c] : UINT64_MAX;
}

static const struct insight_host *host_of(const struct insight *in, const struct finding *f)
{
	return &in->host[in->t->device[f->on->device].process];
}

static const char *event_name(const struct insight *in, const struct event *e)
{
	return e->kind == EVENT_NONE ? "?" : trace_text(in->t, e->name);
}

/* --- input --- */

static uint64_t input_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return cause(d, ACCOUNT_INPUT);
}

static bool input_fill(const struct insight *in, struct finding *f)
{
	const struct insight_host *h = host_of(in, f);
	const char *name = event_name(in, &h->input_longest);

	if (!h->inputs)
		return false;
	SAY(title, "The GPU waits for the next batch");
	finding_seen(f, "idle while the host fetched input: %s%s (%s %% of the time)",
		     T(f->cost_ns), finding_per(f), P(f->share));
	finding_seen(f, "a batch takes %s to fetch, %s seen; the longest in %s",
		     D(h->input_ns / h->inputs), N(h->inputs),
		     finding_name(name, (char[NAME_LEN]){ 0 }));
	finding_facts(f, FACT_N("input_idle_ns", f->cost_ns), FACT_N("batches", h->inputs),
		      FACT_N("batch_ns", h->input_ns / h->inputs));
	finding_gaps(f, IDLE_INPUT);
	finding_code(in, f, 1u << IDLE_INPUT); /* what the loader does; the remedy is the same */
	if (h->loaded == LOADED_HERE)
		SAY(action, "load in other processes: DataLoader(num_workers=4, pin_memory=True)");
	else if (h->loaded == LOADED_ELSEWHERE)
		SAY(action,
		    "the workers are too slow: more of them (num_workers), prefetch_factor, "
		    "cheaper transforms, data on a faster disk");
	else
		SAY(action,
		    "prepare batches ahead, in other processes: a DataLoader with "
		    "num_workers, prefetch_factor, pin_memory; cheaper transforms in %s",
		    finding_name(name, (char[NAME_LEN]){ 0 }));
	return true;
}

const struct rule rule_INPUT = { input_cost, input_fill };

/* --- launching, and code of the host: one cause, which has a name if most is in one place --- */

/* A frame that lasts nearly all the time is the loop itself, and no culprit in it. */
#define LOOP_SHARE 0.8

/* Functions of modules launch, and so does the code that a compiler generates from them: their time is
 * what launching costs. */
static bool is_module(const char *name)
{
	static const char *const end[] = { ": forward", ": __call__", "_call_impl", ": wrapper",
					   ": decorate_context" };
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		if (n >= strlen(end[i]) && !strcmp(name + n - strlen(end[i]), end[i]))
			return true;
	return !strncmp(name, "aten::", 6) || !strncmp(name, "nn.Module", 9) ||
	       strstr(name, "Torch-Compiled Region") || strstr(name, "CompiledFxGraph") ||
	       !strncmp(name, "CompiledFunction", 16) || code_is_generated(name);
}

static bool is_culprit(const struct insight *in, const struct insight_device *d,
		       const struct insight_frame *f)
{
	return f->name && (double)f->span_ns < LOOP_SHARE * (double)d->account.base_ns &&
	       !is_module(trace_text(in->t, f->name));
}

static bool is_named(const struct insight *in, const struct insight_device *d)
{
	return is_culprit(in, d, &d->host_own) || is_culprit(in, d, &d->host_in);
}

/* A launch takes 2 to 10 us, and an operator of a framework 20 to 100 on the host: beyond this for
 * each piece of work the host does something else. */
#define LAUNCH_MOST_NS 200000u

static bool is_code(const struct insight *in, const struct insight_device *d)
{
	uint64_t host = d->account.ns[ACCOUNT_HOST] + d->account.ns[ACCOUNT_LAUNCH];
	uint64_t work = d->b.kernels + d->b.copies + d->b.memsets;

	return is_named(in, d) || host / LAUNCH_MOST_NS > work;
}

static uint64_t host_cost(const struct insight *in, const struct insight_device *d, bool code)
{
	if (!launches_seen(d))
		return UINT64_MAX;
	if (is_code(in, d) != code)
		return UINT64_MAX;
	return d->account.ns[ACCOUNT_HOST] + d->account.ns[ACCOUNT_LAUNCH];
}

static uint64_t launch_cost(const struct insight *in, const struct insight_device *d)
{
	return host_cost(in, d, false);
}

static bool launch_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	uint64_t work = d->b.kernels + d->b.copies + d->b.memsets;
	uint64_t kernel = d->b.kernels ? d->b.compute_ns / d->b.kernels : 0;
	uint64_t every = work ? d->b.span_ns / work : 0;

	SAY(title, "The host launches work more slowly than the GPU executes it");
	finding_seen(f, "idle before launches: %s%s (%s %% of the time), %s in gaps below 200 us",
		     T(f->cost_ns), finding_per(f), P(f->share),
		     T(d->short_gap_ns < f->cost_ns ? d->short_gap_ns : f->cost_ns));
	finding_seen(f, "a kernel runs for %s, one starts every %s; %.1f are queued on average",
		     D(kernel), D(every), ratio(d->launch.queued_ns, d->b.span_ns));
	if (d->host_in.name)
		finding_seen(f, "%s of this in %s", T(d->host_in.ns), CODE(d->host_in.name));
	finding_facts(f, FACT_N("host_idle_ns", f->cost_ns),
		      FACT_N("short_gap_ns", d->short_gap_ns), FACT_N("short_gaps", d->short_gaps),
		      FACT_N("kernels", d->b.kernels), FACT_N("mean_kernel_ns", kernel),
		      FACT_N("launch_calls", d->launch.calls),
		      FACT_N("launch_call_ns", d->launch.call_ns),
		      FACT_X("mean_queue_depth", ratio(d->launch.queued_ns, d->b.span_ns)));
	finding_gaps(f, IDLE_HOST);
	SAY(action, "launch less, or in one call: CUDA graphs, "
		    "torch.compile(mode=\"reduce-overhead\"), larger batches");
	return true;
}

const struct rule rule_LAUNCH = { launch_cost, launch_fill };

static uint64_t cpu_cost(const struct insight *in, const struct insight_device *d)
{
	return host_cost(in, d, true);
}

/* What samples name goes before the range around it. */
static void cpu_action(const struct insight *in, struct finding *f, enum code_seen code)
{
	static const char *const how[] = {
		[CODE_NONE] =
			("record with aon, or aon attach PID while it runs: what the host does "
			 "between launches is not in this trace"),
		[CODE_FEW] = "record for longer: the launching thread is sampled all the time",
		[CODE_NAMED] = "no function stands out; list them: aon report --by stack --gap",
	};
	const struct insight_device *d = f->on;
	const struct insight_frame *own =
		is_culprit(in, d, &d->host_own) ? &d->host_own : &d->host_in;

	if (!*f->action && is_named(in, d))
		SAY(action, "make %s cheaper or take it out of the loop", CODE(own->name));
	else if (!*f->action && d->host_in.name && code == CODE_NONE)
		SAY(action, "look at %s: most of this time is spent there", CODE(d->host_in.name));
	else if (!*f->action)
		SAY(action, "%s", how[code]);
}

static void say_frame(const struct insight *in, struct finding *f, const struct insight_frame *fr)
{
	finding_seen(f, "%s of this in %s (%s calls, %s in all)", T(fr->ns), CODE(fr->name),
		     N(fr->count), D(fr->span_ns));
	finding_facts(f, FACT_N("frame_ns", fr->ns), FACT_N("frame_calls", fr->count),
		      FACT_N("frame_total_ns", fr->span_ns));
}

static bool cpu_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	const struct insight_gap *gap = &d->longest[0];
	enum code_seen code;

	SAY(title, "The GPU waits for the host");
	finding_seen(f, "idle while the host did something else: %s%s (%s %% of the time)",
		     T(f->cost_ns), finding_per(f), P(f->share));
	code = finding_code(in, f, 1u << IDLE_HOST | 1u << IDLE_LAUNCH);
	if (d->host_in.name && code != CODE_NAMED)
		say_frame(in, f, &d->host_in);
	if (d->host_own.name && d->host_own.name != d->host_in.name && code != CODE_NAMED)
		say_frame(in, f, &d->host_own);
	if (gap->end_ns > gap->start_ns)
		finding_seen(f, "the longest gap is %s, before %s", D(gap->end_ns - gap->start_ns),
			     finding_name(event_name(in, &gap->after), (char[NAME_LEN]){ 0 }));
	finding_facts(f, FACT_N("host_idle_ns", f->cost_ns),
		      FACT_N("short_gap_ns", d->short_gap_ns),
		      FACT_N("longest_gap_ns", gap->end_ns - gap->start_ns));
	finding_gaps(f, IDLE_HOST);
	finding_gaps(f, IDLE_LAUNCH);
	cpu_action(in, f, code);
	return true;
}

const struct rule rule_CPU = { cpu_cost, cpu_fill };

/* --- waits for the GPU --- */

static uint64_t sync_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return cause(d, ACCOUNT_SYNC);
}

static bool sync_fill(const struct insight *in, struct finding *f)
{
	const struct insight_host *h = host_of(in, f);
	const struct insight_frame *own = &f->on->sync_own;
	char where[NAME_LEN] = "";

	if (h->sync_longest.kind == EVENT_NONE)
		return false;
	SAY(title, "The host waits for the GPU in the middle of the work");
	finding_seen(f, "idle after waits that left nothing queued: %s%s (%s %%)", T(f->cost_ns),
		     finding_per(f), P(f->share));
	finding_seen(f, "%s waits%s, %s in all; the longest is %s in %s", N(h->syncs / f->steps),
		     finding_per(f), D(h->sync_ns), event_name(in, &h->sync_longest),
		     finding_name(trace_text(in->t, h->sync_in), where));
	if (own->name)
		finding_seen(f, "%s of this in %s", T(own->ns), CODE(own->name));
	finding_facts(f, FACT_N("sync_idle_ns", f->cost_ns), FACT_N("syncs", h->syncs),
		      FACT_N("sync_ns", h->sync_ns));
	finding_event(f, &h->sync_longest);
	finding_gaps(f, IDLE_SYNC);
	finding_code(in, f, 1u << IDLE_SYNC);
	SAY(action,
	    "do not wait for the GPU there (%s): keep values on the GPU and read them every 100 "
	    "steps (.item(), print(loss), .cpu(), nonzero), copy with non_blocking=True",
	    where);
	return true;
}

const struct rule rule_SYNC = { sync_cost, sync_fill };

/* --- dependencies --- */

static uint64_t dependency_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return cause(d, ACCOUNT_DEPENDENCY);
}

static bool dependency_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;

	(void)in;
	f->most = SURE_LOW; /* what it waited for is often not in the trace */
	SAY(title, "Work that was launched in time waits for something else");
	finding_seen(f, "idle with work queued: %s%s (%s %% of the time)", T(f->cost_ns),
		     finding_per(f), P(f->share));
	finding_seen(f, "%s streams; from a call to the start it takes %s (median)", N(d->streams),
		     D(sketch_quantile(&d->launch.delay, 0.5)));
	finding_facts(f, FACT_N("dependency_idle_ns", f->cost_ns), FACT_N("streams", d->streams),
		      FACT_N("median_launch_delay_ns", sketch_quantile(&d->launch.delay, 0.5)));
	finding_gaps(f, IDLE_DEPENDENCY);
	SAY(action, "look at what the first kernel after each gap waits for: events of other "
		    "streams, other GPUs, host functions");
	return true;
}

const struct rule rule_DEPENDENCY = { dependency_cost, dependency_fill };

/* --- what the host is known to do --- */

static const struct known {
	enum account_cause cause;
	enum idle_cause idle;
	const char *title, *fact, *action;
} known[FAMILIES] = {
	[FAMILY_COMPILING] = { ACCOUNT_COMPILE, IDLE_COMPILE,
			       "The GPU waits while functions are compiled", "compile_idle_ns",
			       "compile before the loop, and once: mark sizes that change "
			       "(dynamic=True, mark_dynamic), pad batches, keep Python numbers "
			       "out, "
			       "keep the compile cache; record after the first steps" },
	[FAMILY_CHECKPOINT] = { ACCOUNT_CHECKPOINT, IDLE_CHECKPOINT,
				"The GPU waits for checkpoints", "checkpoint_idle_ns",
				"write checkpoints in the background (torch.distributed.checkpoint."
				"async_save), less often, or of fewer tensors" },
	[FAMILY_GC] = { ACCOUNT_GC, IDLE_GC, "The GPU waits for Python's garbage collection",
			"gc_idle_ns",
			"control garbage collection: gc.freeze() after the set-up, gc.disable(), "
			"and "
			"gc.collect() every few hundred steps on all ranks together" },
	[FAMILY_ALLOC] = { ACCOUNT_ALLOC, IDLE_ALLOC, "The GPU waits while memory is allocated",
			   "alloc_idle_ns",
			   "allocate once: keep buffers, let the caching allocator keep memory "
			   "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True), pad varying "
			   "shapes, "
			   "free nothing in the loop (torch.cuda.empty_cache)" },
	[FAMILY_CAPTURE] = { ACCOUNT_CAPTURE, IDLE_CAPTURE,
			     "This recording is of capturing graphs, not of running them",
			     "capture_idle_ns",
			     "record after the graphs are captured to see what a step costs; to "
			     "start "
			     "faster, capture fewer sizes" },
	[FAMILY_WARM_UP] = { ACCOUNT_WARM_UP, IDLE_WARM_UP,
			     "The GPU waits while code is loaded on its first use",
			     "warm_up_idle_ns",
			     "record after a few steps of warm-up to see what a step costs; to "
			     "start "
			     "faster, CUDA_MODULE_LOADING=EAGER or a warm-up before the first "
			     "request" },
};

static uint64_t known_cost(const struct insight_device *d, enum family k)
{
	uint64_t ns = cause(d, known[k].cause);

	return ns;
}

/* The allocator had run out of memory. */
static void say_retries(const struct insight_host *h, struct finding *f)
{
	SAY(title, "The GPU waits while the allocator frees memory and allocates again");
	finding_seen(f,
		     "%s times%s memory was freed and allocated again without a launch between: "
		     "the allocator's cached blocks did not fit",
		     N(h->retries), f->on->account.steps ? " in all steps" : "");
	finding_facts(f, FACT_N("retries", h->retries));
	SAY(action,
	    "need less memory at the peak: a smaller batch, activation checkpointing; against "
	    "fragments PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and pad shapes that "
	    "vary");
}

static bool known_fill(const struct insight *in, struct finding *f)
{
	const struct known *k = &known[f->family];
	const struct insight_host *h = host_of(in, f);

	if (f->family == FAMILY_CAPTURE || f->family == FAMILY_WARM_UP)
		f->sure = SURE_HIGH; /* the calls themselves say so */
	SAY(title, "%s", k->title);
	finding_seen(f, "idle meanwhile: %s%s (%s %% of the time)", T(f->cost_ns), finding_per(f),
		     P(f->share));
	finding_facts(f, FACT_N(k->fact, f->cost_ns), FACT_N("base_ns", f->on->account.base_ns));
	if (f->family == FAMILY_ALLOC) {
		finding_seen(f, "%s calls allocate or free, %s in all", N(h->allocs),
			     D(h->alloc_ns));
		finding_facts(f, FACT_N("alloc_calls", h->allocs), FACT_N("alloc_ns", h->alloc_ns));
	}
	finding_gaps(f, k->idle);
	finding_code(in, f, 1u << k->idle);
	SAY(action, "%s", k->action);
	if (f->family == FAMILY_ALLOC && h->retries)
		say_retries(h, f);
	return true;
}

#define KNOWN(ID, cost)                                                                \
	static uint64_t cost(const struct insight *in, const struct insight_device *d) \
	{                                                                              \
		(void)in;                                                              \
		return known_cost(d, FAMILY_##ID);                                     \
	}                                                                              \
	const struct rule rule_##ID = { cost, known_fill }

KNOWN(COMPILING, compiling_cost);
KNOWN(CHECKPOINT, checkpoint_cost);
KNOWN(GC, gc_cost);
KNOWN(ALLOC, alloc_cost);
KNOWN(CAPTURE, capture_cost);
KNOWN(WARM_UP, warm_up_cost);
