/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - calls of modules: where the steps of an inference begin and end.
 *
 * A class of modules calls its objects through a slot of its type, which CPython fills with one
 * function for all classes that have a __call__. We put ours there, which calls that one. A
 * program, pickle or torch.compile sees no difference, and a call costs some nanoseconds more.
 * __init_subclass__ of nn.Module reports classes that are defined later. Setting nn.Module.__call__
 * (torch.fx does, for a while) makes CPython refill all slots, which is noticed when the next class
 * is defined.
 *
 * The outermost call with gradients off is a step, but not in a process that trains. While operators
 * are recorded, so is each call, by the path of the module in the outermost one.
 */
#include <errno.h>
#include <stddef.h>

#include "base/clock.h"
#include "pool/emit.h"
#include "probe/torch/torch.h"

#define SLOT_CALL   50  /* Py_tp_call, of the stable ABI */
#define SLOT_OFFSET 128 /* of tp_call in PyTypeObject; looked at before it is believed */
#define ASK_FIRST   16u /* calls, before each of which we ask whether somebody trains */
#define NAME_OFFSET 24  /* of tp_name */

#define MODULES      16384u
#define MODULE_TRIES 16u
#define ASK_SITES    64u /* models, whose parts are asked for at their first call */
#define TELL_AGAIN   16u /* windows, after which paths are asked for again */

typedef void *call_fn(void *self, void *args, void *kw);

static call_fn *call_object; /* what was in the slots */
static void *module_type;    /* nn.Module; owned for good, as is */
static void *ask_trains;     /* a function: has the program made an optimizer? */
static void *tell_names;     /* a function: paths of a module's parts, to aon_torch_module() */

/* --- what is called --- */

static bool asked_trains(void)
{
	void *said = py.call_with(ask_trains, NULL);
	bool yes = said && py.is_true(said) == 1;

	if (!said)
		py.clear();
	else
		py.dec_ref(said);
	return yes;
}

static uint64_t step_begin(void)
{
	uint64_t done;

	if (torch.grad_enabled() || !user_infers(&done))
		return 0;
	if ((done < ASK_FIRST || !(done & (done - 1))) && asked_trains()) {
		user_trains();
		return 0;
	}
	return user_call_begin();
}

/* In a process that trains, the outermost call is a forward pass, or of an evaluation. Returns the range's
 * name; 0: none. */
static uint32_t pass_begin(void)
{
	static uint32_t name[2];
	bool grad = torch.grad_enabled();

	if (!aon_wants(AON_WANT_RANGE))
		return 0;
	if (!name[grad])
		name[grad] = aon_name(grad ? "forward" : "evaluation");
	aon_range_push_id(name[grad]);
	return name[grad];
}

/* --- paths, with Python's lock --- */

static struct module {
	const void *self, *type; /* NULL: free. Both, as another object may come to lie there. */
	uint64_t window;         /* when the path was sent */
	uint32_t name;
	uint32_t site, generation; /* of what it allocates */
	bool placed;               /* the line that calls it was asked for */
} modules[MODULES];

static uint64_t window; /* how many there were */

void call_window(void)
{
	window++;
}

static const void *type_of(const void *o)
{
	return ((void *const *)o)[1];
}

/* Where it is, or may be put; NULL: no room. */
static struct module *module_at(const void *self)
{
	uint64_t h = (uint64_t)(uintptr_t)self / 16 * 0x9e3779b97f4a7c15ull >> 40;

	for (uint32_t i = 0; i < MODULE_TRIES; i++) {
		struct module *m = &modules[(h + i) % MODULES];

		if (!m->self || m->self == self)
			return m;
	}
	return NULL;
}

AON_API void aon_torch_module(const void *self, const char *path);

AON_API void aon_torch_module(const void *self, const char *path)
{
	struct module *m = module_at(self);

	if (m)
		*m = (struct module){ .self = self,
				      .type = type_of(self),
				      .window = window,
				      .name = aon_name(path),
				      .site = *path ? site_module(path) : AON_MEMORY_FORWARD,
				      .generation = block_generation(),
				      .placed = !*path };
}

static bool is_known(const struct module *m, const void *self)
{
	return m && m->self == self && m->type == type_of(self);
}

static const char *class_of(const void *self)
{
	return *(const char *const *)((const char *)type_of(self) + NAME_OFFSET);
}

static void ask_names(void *self)
{
	void *done = py.call_with(tell_names, self, NULL);

	if (done)
		py.dec_ref(done);
	else
		py.clear();
}

/* Without a reported path, the name of the class. */
static uint32_t module_name(void *self, bool outermost)
{
	struct module *m = module_at(self);

	if (outermost && (!is_known(m, self) || window - m->window >= TELL_AGAIN))
		ask_names(self);
	return is_known(m, self) ? m->name : aon_name(class_of(self));
}

/* --- where it allocates --- */

static bool has_site(const struct module *m, const void *self)
{
	return is_known(m, self) && m->generation == block_generation();
}

__attribute__((cold, noinline)) static void make_site(struct module *m, void *self, bool outermost)
{
	static uint32_t asked;

	if (outermost && asked < ASK_SITES) { /* a program may make modules all the time */
		asked++;
		ask_names(self);
	}
	if (m && !has_site(m, self))
		aon_torch_module(self, class_of(self));
}

static uint32_t site_of(void *self, bool outermost)
{
	struct module *m = module_at(self);

	if (!has_site(m, self))
		make_site(m, self, outermost);
	if (!has_site(m, self))
		return AON_MEMORY_FORWARD;
	if (!m->placed) {
		m->placed = true;
		site_ask_place(m->site);
	}
	return m->site;
}

/* --- the call --- */

static void *module_call(void *self, void *args, void *kw)
{
	struct torch_thread *t = thread_self();
	uint64_t number = 0, begin_ns = 0, begin_tsc = 0;
	uint32_t name = 0, pass = 0, site = t ? t->site : 0;
	void *out;

	if (!t)
		return call_object(self, args, kw);
	if (!t->calls && start_deaf())
		user_heed();
	if (!t->calls && (number = step_begin()))
		begin_ns = clock_mono_ns();
	else if (!t->calls)
		pass = pass_begin();
	if (block_on()) {
		if (!t->calls && torch.grad_enabled())
			site_batch(args, kw);
		t->site = site_of(self, !t->calls);
	}
	if (op_window()) {
		name = module_name(self, !t->calls);
		begin_tsc = aon_tsc();
	}
	t->calls++;
	t->called++;
	out = call_object(self, args, kw);
	if (t->calls) /* else this is a child that was forked within */
		t->calls--;
	t->site = site;
	if (name)
		op_module(t, name, begin_tsc);
	if (pass)
		aon_range_pop_id(pass);
	if (number)
		user_call_end(t, number, begin_ns);
	return out;
}

/* --- the slots --- */

static call_fn **call_slot(void *type)
{
	return (call_fn **)(void *)((char *)type + SLOT_OFFSET);
}

static void watch(void *type)
{
	if (*call_slot(type) == call_object)
		*call_slot(type) = module_call;
}

static void watch_all(void *type)
{
	void *method = py.get(type, "__subclasses__");
	void *list = method ? py.call_with(method, NULL) : NULL;
	long n = list ? py.list_size(list) : -1;

	watch(type);
	for (long i = 0; i < n; i++)
		watch_all(py.list_item(list, i));
	if (n < 0)
		py.clear();
	if (list)
		py.dec_ref(list);
	if (method)
		py.dec_ref(method);
}

/* __init_subclass__ of nn.Module: what would have been called without it, then our part. */
static void *new_class(void *type, void *args, void *kw)
{
	void *next = py.call_with(py.super, module_type, type, NULL), *f, *done;

	if (!next)
		return NULL;
	f = py.get(next, "__init_subclass__");
	py.dec_ref(next);
	if (!f)
		return NULL;
	done = py.call(f, args, kw);
	py.dec_ref(f);
	if (done && *call_slot(module_type) == call_object)
		watch_all(module_type);
	else if (done)
		watch(type);
	return done;
}

static void *call_nothing(void *self, void *args, void *kw)
{
	(void)args;
	(void)kw;
	return self;
}

/* What module_call() adds to a call, at its best. Nobody comes through it yet. */
static void calibrate(void)
{
	enum { CALLS = 256, TURNS = 16 };
	struct torch_thread *t = thread_self();
	uint64_t best = UINT64_MAX;
	void *nobody[] = { NULL, NULL };

	if (!t)
		return;
	t->calls++; /* as of a part: the outermost is one of many */
	call_object = call_nothing;
	aon_torch_module(nobody, "");
	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t from = clock_mono_ns(), took;

		for (int i = 0; i < CALLS; i++)
			module_call(nobody, NULL, NULL);
		took = clock_mono_ns() - from;
		best = took < best ? took : best;
	}
	t->calls--;
	t->called = 0;
	stay_call_costs(best * 16 / CALLS);
}

int call_start(void *type, void *trains, void *name)
{
	static struct py_method method = { "__init_subclass__", new_class, PY_METH_KEYWORDS, NULL };
	void *hook;

	if (module_type)
		return 0;
	if (!torch.grad_enabled || !python_find(&py))
		return -ENOSYS;
	calibrate();
	call_object = (call_fn *)py.get_slot(type, SLOT_CALL);
	if (!call_object || *call_slot(type) != call_object)
		return -ENOSYS; /* a Python with another layout */
	hook = py.class_method(type, &method);
	if (!hook || py.set(type, "__init_subclass__", hook) < 0) {
		py.clear();
		return -ENOMEM;
	}
	py.dec_ref(hook);
	py.inc_ref(type);
	py.inc_ref(trains);
	py.inc_ref(name);
	module_type = type;
	ask_trains = trains;
	tell_names = name;
	watch_all(type);
	return 0;
}
