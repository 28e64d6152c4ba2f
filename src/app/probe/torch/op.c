/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.c - operators, in windows of one whole step.
 *
 * The callbacks are added where a step begins and removed where it ends: torch makes a
 * RecordFunction for an operator only while somebody listens, and that is most of the price. One
 * callback is for the backward pass and one for the rest, so that we need not ask which it is. A
 * RecordFunction keeps its callbacks from construction to end: every start has its end on the
 * same thread, also after the removal, and a stack a thread is enough.
 *
 * The sequence number links a forward operator with its backward node. Where it lies in a
 * RecordFunction is found in the first operators: at the offset that holds what
 * at::sequence_number::peek() says, time and again.
 */
#include <string.h>

#include <aon/provider.h>

#include "base/clock.h"
#include "pool/emit.h"
#include "probe/torch/torch.h"

#define SEQ_FIRST  128u /* offsets that are tried, by 8 */
#define SEQ_TRIES  14u
#define SEQ_SURE   4u
#define SEQ_ENOUGH 100000u

static struct {
	uint64_t forward, backward; /* handles; 0: no window */
	_Atomic uint32_t open;      /* for calls of modules, on any thread */
	_Atomic uint32_t nodes;     /* of the backward pass, so far */
	bool shapes;
	uint64_t tsc0, ns0; /* a moment long ago, for the rate */
	uint64_t tsc, ns;   /* a moment at the window's begin */
	uint64_t rate;      /* ns a tick, in 2^-32 */
} win;

/* --- the clock: HOST records are stamped in ticks, activities in nanoseconds --- */

void op_calibrate(void)
{
	win.ns0 = clock_mono_ns();
	win.tsc0 = aon_tsc();
}

static void clock_set(void)
{
	win.ns = clock_mono_ns();
	win.tsc = aon_tsc();
	win.rate = (uint64_t)((double)(win.ns - win.ns0) / (double)(win.tsc - win.tsc0) *
			      4294967296.0);
}

/* Of a moment in the window, or one that began before it. */
static inline uint64_t to_ns(uint64_t tsc)
{
	return win.ns + (uint64_t)((__int128)(int64_t)(tsc - win.tsc) * (int64_t)win.rate >> 32);
}

/* --- the sequence number --- */

static struct {
	uint32_t seen; /* operators */
	struct {
		int64_t last;    /* number that it held and peek() said */
		uint32_t agreed; /* how many different ones */
		bool wrong;      /* it held something else */
	} at[SEQ_TRIES];
	_Atomic uint32_t busy, done; /* one thread is enough */
} seq;

static int64_t field(const struct record_function *rf, uint32_t off)
{
	int64_t v;

	memcpy(&v, (const uint8_t *)rf + off, sizeof(v));
	return v;
}

static void seq_choose(void)
{
	uint32_t found = 0, off = 0;

	for (uint32_t i = 0; i < SEQ_TRIES; i++)
		if (!seq.at[i].wrong && seq.at[i].agreed >= SEQ_SURE) {
			found++;
			off = SEQ_FIRST + 8 * i;
		}
	if (found == 1)
		torch.seq_off = off;
	if (found == 1 || seq.seen > SEQ_ENOUGH)
		atomic_store_explicit(&seq.done, 1, memory_order_relaxed);
}

/* Without gradients, and inside another operator, the number is -1; what is no operator may have
 * that of another. */
static void seq_learn(const struct record_function *rf)
{
	int64_t now = torch.sequence_peek ? torch.sequence_peek() : 0;
	const char *name = now > 1 ? torch.name(rf) : NULL;

	if (!name || strncmp(name, "aten::", 6) ||
	    atomic_exchange_explicit(&seq.busy, 1, memory_order_acquire))
		return;
	seq.seen++;
	for (uint32_t i = 0; i < SEQ_TRIES; i++) {
		int64_t v = field(rf, SEQ_FIRST + 8 * i);

		seq.at[i].wrong |= v != now && v != -1;
		seq.at[i].agreed += v == now && v != seq.at[i].last;
		if (v == now)
			seq.at[i].last = v;
	}
	seq_choose();
	atomic_store_explicit(&seq.busy, 0, memory_order_release);
}

static uint32_t sequence(const struct record_function *rf)
{
	int64_t v = torch.seq_off ? field(rf, torch.seq_off) : 0;

	return v > 0 ? (uint32_t)v : 0;
}

/* --- the callbacks --- */

static inline void begin(const struct record_function *rf, uint32_t backward)
{
	struct torch_thread *t = thread_self();

	if (!t)
		return;
	if (!backward && !atomic_load_explicit(&seq.done, memory_order_relaxed))
		seq_learn(rf);
	if (t->ops < OP_DEPTH)
		t->op[t->ops] = (struct op_frame){ .backward = backward,
						   .shapes = win.shapes ? shape_arguments(rf) : 0,
						   .start_tsc = aon_tsc() };
	t->ops++;
}

static void *op_start(void **context, const struct record_function *rf)
{
	*context = NULL;
	begin(rf, 0);
	return context;
}

static void *op_start_backward(void **context, const struct record_function *rf)
{
	*context = NULL;
	atomic_fetch_add_explicit(&win.nodes, 1, memory_order_relaxed);
	begin(rf, 1);
	return context;
}

static void op_end(const struct record_function *rf, void *context)
{
	struct torch_thread *t = thread_self();
	const struct op_frame *f;
	const char *name;

	(void)context;
	if (!t || !t->ops || --t->ops >= OP_DEPTH)
		return;
	f = &t->op[t->ops];
	name = torch.name(rf);
	if (!name || !aon_wants(AON_WANT_OP))
		return;
	t->act.end_ns = to_ns(aon_tsc());
	t->act.start_ns = to_ns(f->start_tsc);
	t->act.track = thread_track(t);
	t->act.name = shape_name(name);
	t->act.corr = sequence(rf);
	t->act.dir = f->backward;
	t->act.bytes = win.shapes ? shape_id(rf, f->shapes) : 0;
	aon_act_emit(&t->act);
}

/* --- modules --- */

bool op_window(void)
{
	return atomic_load_explicit(&win.open, memory_order_relaxed);
}

void op_module(struct torch_thread *t, uint32_t name, uint64_t start_tsc)
{
	if (aon_wants(AON_WANT_OP))
		aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
						.kind = AON_ACT_MODULE,
						.name = name,
						.track = thread_track(t),
						.start_ns = to_ns(start_tsc),
						.end_ns = to_ns(aon_tsc()) });
}

/* --- the window --- */

static uint64_t add(record_start_fn *start, bool backward)
{
	struct record_callback cb = { .start = start, .end = op_end, .probability = 1.0 };

	cb.scope[backward ? SCOPE_BACKWARD : SCOPE_FUNCTION] = 1;
	cb.scope[SCOPE_SCRIPT] = !backward;
	cb.needs[RECORD_NEEDS_INPUTS] = win.shapes && !backward;
	cb.needs[RECORD_NEEDS_OUTPUTS] = win.shapes && !backward && torch.results;
	return torch.add(cb);
}

/* Only a capture asks for calls, and pays for shapes. */
static bool wants_shapes(void)
{
	return aon_wants(AON_WANT_API) && torch.sizes;
}

static void open_window(void)
{
	clock_set();
	win.shapes = wants_shapes();
	win.forward = add(op_start, false);
	win.backward = add(op_start_backward, true);
	call_window();
	atomic_store_explicit(&win.open, 1, memory_order_relaxed);
}

void op_close(void)
{
	if (!win.forward)
		return;
	atomic_store_explicit(&win.open, 0, memory_order_relaxed);
	torch.remove(win.forward);
	torch.remove(win.backward);
	win.forward = win.backward = 0;
}

static int told = -1;

void op_every(int steps)
{
	told = steps;
}

/* A short run is to have operators, too. The first steps have what is done once. */
static bool is_early(uint64_t number)
{
	return number == 5 || number == 20;
}

/* Every step: the window stays open, and its clock is set anew. */
bool op_step(uint64_t number)
{
	uint32_t every = told < 0 ? aon_ops_every() : (uint32_t)told;
	bool want = every && (number % every == 0 || (told < 0 && is_early(number)));

	if (win.forward) /* a whole step was in it */
		stay_nodes(atomic_exchange_explicit(&win.nodes, 0, memory_order_relaxed));
	/* A capture may have begun, or ended, while it was open. */
	if (!want || (win.forward && win.shapes != wants_shapes()))
		op_close();
	if (!want)
		return false;
	if (!win.forward)
		open_window();
	else
		clock_set();
	return want;
}
