/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user.c - USER_SCOPE: ranges named by torch itself and by the program. These few events per step give
 * the steps, the wait for data, and the collectives.
 *
 * Ranges nest on a thread but for the works of process groups, which may end on another one: see
 * work.c.
 */
#include <stddef.h>
#include <string.h>

#include <aon/provider.h>

#include "base/clock.h"
#include "base/hash.h"
#include "probe/resident.h"
#include "probe/torch/torch.h"

#define WINDOW_NONE  0u
#define WINDOW_ENDED UINT64_MAX /* its call has ended, it was not closed yet */

enum user_kind { USER_RANGE, USER_TEST, USER_OPTIMIZER, USER_ZERO, USER_FETCH, USER_WORK };

static const struct {
	const char *prefix;
	enum user_kind kind;
} known[] = {
	{ "Optimizer.step#", USER_OPTIMIZER },
	{ "Optimizer.zero_grad#", USER_ZERO },
	{ "enumerate(DataLoader)#", USER_FETCH },
	{ "gloo:", USER_WORK },
	{ "nccl:", USER_WORK },
	{ "mpi:", USER_WORK },
	{ "ucc:", USER_WORK },
	{ "aon: self-test", USER_TEST },
};

static struct {
	_Atomic uint32_t busy; /* whoever finds it taken leaves: nobody waits */
	struct step_clock clock;
	_Atomic uint64_t number; /* of steps that have ended, or begun with the call of a module */
	uint64_t id;             /* of the optimizer that the hook told of; 0: none */
	uint32_t off;            /* the program says its steps itself */
	bool hooked;             /* no ranges come: an optimizer has ended when its hook says so */
	bool told, bare;         /* a hook has told of an optimizer; one ended without */
	_Atomic uint32_t trains; /* an optimizer was seen */
	_Atomic uint64_t window; /* number of the call whose operators are recorded, or WINDOW_* */
} steps;

_Atomic uint32_t user_seen;

static enum user_kind kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strncmp(name, known[i].prefix, strlen(known[i].prefix)))
			return known[i].kind;
	return USER_RANGE;
}

/* --- steps --- */

static bool take_steps(void)
{
	uint32_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&steps.busy, &nobody, 1,
						       memory_order_acquire, memory_order_relaxed);
}

static void give_steps(void)
{
	atomic_store_explicit(&steps.busy, 0, memory_order_release);
}

static void put_step(struct torch_thread *t, uint64_t number, const struct step_span *s)
{
	if (aon_wants(AON_WANT_STEP) && !steps.off)
		aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
						.kind = AON_ACT_STEP,
						.track = thread_track(t),
						.bytes = number,
						.start_ns = s->begin_ns,
						.end_ns = s->end_ns });
}

/*
 * A step begins: does it need ranges? While there is a listener, torch copies the list of listeners at
 * every node of a backward pass: most of the residual overhead of an unsampled step. So in such steps,
 * and where only the heartbeat is wanted, the optimizer hooks alone find its end. Not with process
 * groups: the last collective of a rank that hangs must be known.
 */
static bool hears_all(void)
{
	return !steps.told || steps.bare || steps.id || steps.off || work_groups();
}

static void hear(void)
{
	start_hear(aon_wants(AON_WANT_MARK) || hears_all());
}

/* Steps have ended: say so, and let operators in or out where the next one begins. */
static void put_steps(struct torch_thread *t, const struct step_span *s, int n)
{
	for (int i = 0; i < n; i++)
		put_step(t, ++steps.number, &s[i]);
	if (n) {
		stay_step(t, hears_all());
		if (!steps.off)
			aon_heartbeat_step(steps.number + 1);
		hear();
		op_step(steps.number + 1);
		memory_step(steps.off ? 0 : steps.number);
		resident_step();
	}
}

void user_heed(void)
{
	if (!aon_wants(AON_WANT_MARK) || !take_steps())
		return;
	hear();
	give_steps();
}

static void on_begin(struct torch_thread *t, enum user_kind kind, uint64_t now)
{
	struct step_span span;

	if (kind == USER_ZERO)
		user_trains();
	if (t->quiet || !take_steps())
		return;
	if (kind == USER_ZERO)
		put_steps(t, &span, step_zero(&steps.clock, now, &span));
	else if (kind == USER_FETCH)
		put_steps(t, &span, step_fetch(&steps.clock, now, &span));
	else
		step_touch(&steps.clock, now);
	give_steps();
}

static void optimizer_ended(struct torch_thread *t, uint64_t id)
{
	struct step_span span[2];

	user_trains();
	if (!take_steps())
		return;
	put_steps(t, span, step_optimizer(&steps.clock, id, clock_mono_ns(), span));
	give_steps();
}

/* The hook comes just before the range's end. Where there is no range (a compiled optimizer),
 * the next hook finds the id still there. */
void user_optimizer(uint64_t id)
{
	struct torch_thread *t = user_enter();
	uint64_t left = steps.id;

	steps.told = true;
	if (steps.hooked || start_deaf()) {
		if (t)
			optimizer_ended(t, id);
		return;
	}
	steps.id = id;
	if (t && left)
		optimizer_ended(t, left);
}

static void on_optimizer(struct torch_thread *t, const char *name)
{
	uint64_t id = steps.id ? steps.id : fnv_text(FNV_BASIS, name) | 1;

	steps.bare |= !steps.id;
	steps.id = 0;
	optimizer_ended(t, id);
}

/* No range will come. */
void user_hooks(void)
{
	steps.hooked = true;
	step_touch(&steps.clock, clock_mono_ns());
}

AON_API void aon_torch_own_steps(void);

/* The program says its steps itself: none of ours, but windows of operators go on by them. */
AON_API void aon_torch_own_steps(void)
{
	steps.off = 1;
}

void user_finish(void)
{
	struct torch_thread *t = thread_self();
	struct step_span span;

	if (!t || thread_is_child() || !take_steps())
		return;
	if (step_finish(&steps.clock, &span))
		put_step(t, ++steps.number, &span);
	give_steps();
	site_ended();
}

/* --- steps that are calls of modules: on any thread, also several at a time --- */

bool user_infers(uint64_t *done)
{
	user_enter();
	*done = atomic_load_explicit(&steps.number, memory_order_relaxed);
	return !atomic_load_explicit(&steps.trains, memory_order_relaxed);
}

void user_trains(void)
{
	atomic_store_explicit(&steps.trains, 1, memory_order_relaxed);
}

/* Whoever finds the steps taken leaves it to the next. */
static void window_end(void)
{
	if (steps.window != WINDOW_ENDED || !take_steps())
		return;
	op_close();
	steps.window = WINDOW_NONE;
	give_steps();
}

uint64_t user_call_begin(void)
{
	uint64_t number = 1 + atomic_fetch_add_explicit(&steps.number, 1, memory_order_relaxed);

	if (!steps.off)
		aon_heartbeat_step(number);
	window_end();
	if (take_steps()) {
		if (steps.window == WINDOW_NONE && op_step(number))
			steps.window = number;
		give_steps();
	}
	return number;
}

void user_call_end(struct torch_thread *t, uint64_t number, uint64_t begin_ns)
{
	put_step(t, number, &(struct step_span){ begin_ns, clock_mono_ns() });
	if (take_steps()) {
		memory_step(steps.off ? 0 : number);
		give_steps();
	}
	if (steps.window == number)
		steps.window = WINDOW_ENDED;
	window_end();
}

/* --- the callbacks --- */

static void reset_after_fork(void)
{
	memset(&steps.clock, 0, sizeof(steps.clock));
	steps.number = 0;
	steps.id = 0;
	steps.trains = 0;
	steps.told = steps.bare = false;
	steps.window = WINDOW_NONE;
	give_steps();
	memory_forked();
	work_forget();
}

struct torch_thread *user_enter(void)
{
	if (__builtin_expect(thread_is_child(), 0) && thread_forked())
		reset_after_fork();
	return thread_self();
}

static void *range_start(void **context, const struct record_function *rf)
{
	struct torch_thread *t = user_enter();
	const char *name = torch.name(rf);
	enum user_kind kind;

	*context = NULL;
	if (!t || !name)
		return context;
	atomic_fetch_add_explicit(&user_seen, 1, memory_order_relaxed);
	kind = kind_of(name);
	if (kind == USER_WORK)
		work_begin(t, rf, name, clock_mono_ns());
	if (kind == USER_WORK || kind == USER_TEST)
		return context;
	on_begin(t, kind, clock_mono_ns());
	t->quiet += kind == USER_OPTIMIZER;
	if (t->users < USER_DEPTH) {
		t->user[t->users++] = rf;
		aon_range_push(name);
	}
	return context;
}

/* Which of the thread's open ranges it is, from the last: users for none. */
static uint32_t above(const struct torch_thread *t, const struct record_function *rf)
{
	for (uint32_t n = 0; n < t->users; n++)
		if (t->user[t->users - 1 - n] == rf)
			return n;
	return t->users;
}

void *user_start(void **context, const struct record_function *rf)
{
	uint64_t begin = stay_begin();
	void *out = range_start(context, rf);

	stay_end(begin);
	return out;
}

static void range_end(const struct record_function *rf)
{
	struct torch_thread *t = user_enter();
	uint32_t later, at;
	const char *name;

	if (!t)
		return;
	atomic_fetch_add_explicit(&user_seen, 1, memory_order_relaxed);
	name = torch.name(rf);
	if (name && kind_of(name) == USER_OPTIMIZER && t->quiet) {
		t->quiet--;
		if (!t->quiet)
			on_optimizer(t, name);
	}
	later = above(t, rf);
	if (later == t->users) {
		work_end(t, rf);
		return;
	}
	at = t->users - 1 - later;
	memmove(&t->user[at], &t->user[at + 1], later * sizeof(t->user[0]));
	t->users--;
	if (name)
		aon_range_pop_id(aon_name(name));
	else if (aon_wants(AON_WANT_RANGE))
		aon_emit_(AON_POP_, 0, later, 0, 0);
}

void user_end(const struct record_function *rf, void *context)
{
	uint64_t begin = stay_begin();

	(void)context;
	range_end(rf);
	stay_end(begin);
}
