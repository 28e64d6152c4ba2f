/* SPDX-License-Identifier: Apache-2.0 */
/* find_host.c - rules on GPUs that wait for their host: input, launches, CPU, synchronization. */
#include <string.h>

#include "insight/find/finding.h"

#define NAME 60 /* of a name in a sentence */

static bool launches_seen(const struct insight_device *d)
{
	return d->launch.launched > 0;
}

static uint64_t cause(const struct insight_device *d, enum idle_cause c)
{
	return launches_seen(d) ? d->idle_ns[c] : UINT64_MAX;
}

/* Where all launches were seen, idle causes are sure. */
static enum sureness sureness(const struct insight_device *d)
{
	return ratio(d->b.attributed, d->b.kernels) >= 0.9 ? SURE_HIGH : SURE_MEDIUM;
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
	return cause(d, IDLE_INPUT);
}

static bool input_fill(const struct insight *in, struct finding *f)
{
	const struct insight_host *h = host_of(in, f);
	const char *name = event_name(in, &h->input_longest);

	if (!h->inputs)
		return false;
	f->sure = sureness(f->on);
	SAY(title, "The GPU waits for the next batch");
	finding_seen(f, "idle while the host fetched input: %s%s (%s %% of the time)",
		     T(f->cost_ns), finding_per(f), P(f->share));
	finding_seen(f, "a batch takes %s to fetch, %s seen; the longest in %.*s",
		     D(h->input_ns / h->inputs), N(h->inputs), NAME, name);
	finding_facts(f, FACT_N("input_idle_ns", f->cost_ns), FACT_N("batches", h->inputs),
		      FACT_N("batch_ns", h->input_ns / h->inputs));
	finding_gaps(f, IDLE_INPUT);
	finding_code(in, f, 1u << IDLE_INPUT); /* what the loader does; the remedy is the same */
	if (strstr(name, "SingleProcess"))
		SAY(action, "load in other processes: DataLoader(num_workers=4, pin_memory=True)");
	else
		SAY(action, "prepare batches ahead: more loader workers, prefetch_factor, "
			    "pin_memory, cheaper transforms");
	return true;
}

const struct rule rule_INPUT = { input_cost, input_fill };

/* --- launching --- */

static uint64_t launch_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return launches_seen(d) ? d->short_gap_ns : UINT64_MAX;
}

static bool launch_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	uint64_t work = d->b.kernels + d->b.copies + d->b.memsets;
	uint64_t kernel = d->b.kernels ? d->b.compute_ns / d->b.kernels : 0;
	uint64_t every = work ? d->b.span_ns / work : 0;

	(void)in;
	if (!d->short_gaps)
		return false;
	f->sure = sureness(d);
	SAY(title, "The host launches work more slowly than the GPU executes it");
	finding_seen(f, "idle before launches: %s%s in %s gaps below 200 us, mean %s",
		     T(f->cost_ns), finding_per(f), N(d->short_gaps / f->steps),
		     D(f->cost_ns / d->short_gaps));
	finding_seen(f, "a kernel runs for %s, one starts every %s; %.1f are queued on average",
		     D(kernel), D(every), ratio(d->launch.queued_ns, d->b.span_ns));
	finding_facts(f, FACT_N("short_gap_ns", f->cost_ns), FACT_N("short_gaps", d->short_gaps),
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

/* --- CPU --- */

static uint64_t cpu_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	if (!launches_seen(d))
		return UINT64_MAX;
	return d->idle_ns[IDLE_HOST] + d->idle_ns[IDLE_LAUNCH] - d->short_gap_ns - d->queued_gap_ns;
}

/* What is known of some that a host is busy with; NULL: nothing. */
static const char *remedy(const char *name)
{
	static const struct {
		const char *prefix, *action;
	} known[] = {
		{ "torch.compile ", "compile before the loop, and once: mark sizes that change "
				    "(dynamic=True, mark_dynamic), pad batches, keep Python "
				    "numbers out; aon report lists the causes" },
		{ "Python GC",
		  "control garbage collection: gc.freeze() after the set-up, gc.disable(), and "
		  "gc.collect() every few hundred steps on all ranks together" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(name, known[i].prefix, strlen(known[i].prefix)))
			return known[i].action;
	return NULL;
}

/* What is known to help goes before what samples name, and that before the range around it. */
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
	const struct insight_host *h = host_of(in, f);
	const char *name = trace_text(in->t, d->host_name);

	if (h->alloc_ns > f->cost_ns / 5)
		SAY(action,
		    "allocate once: %s calls that allocate or free took %s; warm up before you "
		    "measure",
		    N(h->allocs), D(h->alloc_ns));
	else if (d->host_name_ns > f->cost_ns / 2 && remedy(name))
		SAY(action, "%s", remedy(name));
	else if (!*f->action && d->host_name_ns > f->cost_ns / 2)
		SAY(action, "make %.*s cheaper or take it out of the loop", NAME, name);
	else if (!*f->action)
		SAY(action, "%s", how[code]);
}

static bool cpu_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	const struct insight_host *h = host_of(in, f);
	const char *name = trace_text(in->t, d->host_name);
	const struct insight_gap *gap = &d->longest[0];
	enum code_seen code;

	f->sure = sureness(d);
	SAY(title, "The GPU waits for the host");
	finding_seen(f, "idle in gaps of 200 us or longer: %s%s (%s %% of the time)", T(f->cost_ns),
		     finding_per(f), P(f->share));
	code = finding_code(in, f, 1u << IDLE_HOST | 1u << IDLE_LAUNCH);
	if (d->host_name_ns && code != CODE_NAMED)
		finding_seen(f, "%s of all waiting while the host was in %.*s", T(d->host_name_ns),
			     NAME, name);
	finding_seen(f, "the longest gap is %s, before %.*s", D(gap->end_ns - gap->start_ns), NAME,
		     event_name(in, &gap->after));
	finding_facts(f, FACT_N("long_gap_ns", f->cost_ns),
		      FACT_N("longest_gap_ns", gap->end_ns - gap->start_ns),
		      FACT_N("busiest_host_range_ns", d->host_name_ns),
		      FACT_N("alloc_calls", h->allocs), FACT_N("alloc_ns", h->alloc_ns));
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
	return cause(d, IDLE_SYNC);
}

static bool sync_fill(const struct insight *in, struct finding *f)
{
	const struct insight_host *h = host_of(in, f);

	if (h->sync_longest.kind == EVENT_NONE)
		return false;
	f->sure = sureness(f->on);
	SAY(title, "The host waits for the GPU in the middle of the work");
	finding_seen(f, "idle after waits that left nothing queued: %s%s (%s %%)", T(f->cost_ns),
		     finding_per(f), P(f->share));
	finding_seen(f, "%s waits%s, %s in all; the longest in %.*s", N(h->syncs / f->steps),
		     finding_per(f), D(h->sync_ns), NAME, trace_text(in->t, h->sync_in));
	finding_facts(f, FACT_N("sync_idle_ns", f->cost_ns), FACT_N("syncs", h->syncs),
		      FACT_N("sync_ns", h->sync_ns));
	finding_event(f, &h->sync_longest);
	finding_gaps(f, IDLE_SYNC);
	finding_code(in, f, 1u << IDLE_SYNC);
	SAY(action, "do not read values back each step (.item(), print(loss), .cpu(), nonzero): "
		    "keep them on the GPU, read them every 100 steps");
	return true;
}

const struct rule rule_SYNC = { sync_cost, sync_fill };

/* --- dependencies --- */

static uint64_t dependency_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return cause(d, IDLE_DEPENDENCY);
}

static bool dependency_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;

	(void)in;
	f->sure = SURE_LOW;
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
