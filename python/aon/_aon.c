// SPDX-License-Identifier: Apache-2.0
/*
 * _aon.c - the calls of libaon for Python, in the stable ABI of 3.10: one binary for all later ones.
 *
 * While nothing is recorded, a call only reads the gate. A name's id is cached with the str object
 * that was last used for it, so that a literal is hashed once. A range that is not recorded is a
 * shared object, whose __enter__ and __exit__ need no bound method: that saves half the cost of
 * `with`.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

#include <aon/aon.h>

#define NAMES 1024u

static PyObject *none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

/* --- names --- */

static struct {
	PyObject *text; /* owned: while it lives, nobody else has its address */
	PyObject *idle; /* owned; a range of that name which nobody wants */
	uint32_t id;
} names[NAMES];

static size_t name_slot(PyObject *text)
{
	return (size_t)text / 16 % NAMES;
}

/* 0 with an exception when it is no text. */
static int name_id(PyObject *text, uint32_t *id)
{
	size_t i = name_slot(text);
	PyObject *bytes, *old = names[i].text, *idle = names[i].idle;

	if (old == text) {
		*id = names[i].id;
		return 1;
	}
	bytes = PyUnicode_AsUTF8String(text);
	if (!bytes) { /* not a str, or half of a character */
		if (!PyUnicode_Check(text))
			return 0;
		PyErr_Clear();
		bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
		if (!bytes)
			return 0;
	}
	*id = aon_name(PyBytes_AsString(bytes));
	Py_DecRef(bytes);
	Py_IncRef(text);
	names[i].text = text;
	names[i].idle = NULL;
	names[i].id = *id;
	Py_XDECREF(old);
	Py_XDECREF(idle);
	return 1;
}

static int text_only(PyObject *name)
{
	if (PyUnicode_Check(name))
		return 1;
	PyErr_SetString(PyExc_TypeError, "a name is a str");
	return 0;
}

/* A type whose __enter__ and __exit__ are functions, not methods: `with` calls them as they are. */
static PyTypeObject *make_type(PyType_Spec *spec, PyMethodDef with[2])
{
	PyObject *type = PyType_FromSpec(spec), *f;
	int bad = !type;

	for (size_t i = 0; !bad && i < 2; i++) {
		f = PyCFunction_NewEx(&with[i], NULL, NULL);
		bad = !f || PyObject_SetAttrString(type, with[i].ml_name, f);
		Py_XDECREF(f);
	}
	return bad ? NULL : (PyTypeObject *)type;
}

/* --- ranges --- */

struct range {
	PyObject_HEAD PyObject *name; /* owned */
	int pushed;                   /* how often: a decorated function may call itself */
};

static PyTypeObject *range_type, *idle_type; /* owned, for good */
static PyObject *wrap;                       /* owned: aon._wrap.wrap, for decorators */

static PyObject *range_enter(PyObject *self, PyObject *unused)
{
	struct range *r = (struct range *)self;
	uint32_t id;

	(void)unused;
	if (aon_wants_(AON_WANT_RANGE)) {
		if (!name_id(r->name, &id))
			return NULL;
		r->pushed++;
		aon_range_push_id(id);
	}
	Py_IncRef(self);
	return self;
}

static PyObject *range_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	struct range *r = (struct range *)self;

	(void)args;
	(void)n;
	if (r->pushed) {
		r->pushed--;
		aon_range_pop();
	}
	return none();
}

static void range_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_DecRef(((struct range *)self)->name);
	release(self);
	Py_DecRef((PyObject *)type);
}

static PyObject *new_range(PyTypeObject *type, PyObject *name)
{
	struct range *r = (struct range *)PyType_GenericAlloc(type, 0);

	if (!r)
		return NULL;
	Py_IncRef(name);
	r->name = name;
	return (PyObject *)r;
}

/* As a decorator: each call is a range, whether or not it is wanted now. */
static PyObject *range_call(PyObject *self, PyObject *args, PyObject *kw)
{
	PyObject *f;

	(void)kw;
	if (!PyArg_ParseTuple(args, "O", &f))
		return NULL;
	return PyObject_CallFunctionObjArgs(wrap, f, ((struct range *)self)->name, NULL);
}

static PyMethodDef range_methods[] = {
	{ "__enter__", range_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))range_exit, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot range_slots[] = {
	{ Py_tp_dealloc, (void *)range_free },
	{ Py_tp_methods, range_methods },
	{ Py_tp_call, (void *)range_call },
	{ 0, NULL },
};

static PyType_Spec range_spec = { "aon.Range", sizeof(struct range), 0,
				  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				  range_slots };

static PyObject *idle_enter(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return none();
}

static PyObject *idle_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	(void)self;
	(void)args;
	(void)n;
	return none();
}

static PyMethodDef idle_methods[] = {
	{ "__enter__", idle_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))idle_exit, METH_FASTCALL, NULL },
};

static PyType_Slot idle_slots[] = {
	{ Py_tp_dealloc, (void *)range_free },
	{ Py_tp_call, (void *)range_call },
	{ 0, NULL },
};

static PyType_Spec idle_spec = { "aon.Idle", sizeof(struct range), 0,
				 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				 idle_slots };

__attribute__((cold, noinline)) static PyObject *idle_range(PyObject *name)
{
	uint32_t id;
	size_t i;

	if (!name_id(name, &id))
		return NULL;
	i = name_slot(name);
	if (!names[i].idle)
		names[i].idle = new_range(idle_type, name);
	Py_XINCREF(names[i].idle);
	return names[i].idle;
}

static PyObject *py_range(PyObject *self, PyObject *name)
{
	size_t i = name_slot(name);

	(void)self;
	if (!aon_wants_(AON_WANT_RANGE)) {
		if (names[i].text != name || !names[i].idle)
			return text_only(name) ? idle_range(name) : NULL;
		Py_INCREF(names[i].idle);
		return names[i].idle;
	}
	return text_only(name) ? new_range(range_type, name) : NULL;
}

/* --- steps --- */

static struct {
	uint64_t number;
	int open;
	int said;        /* the first one was told to `first` */
	PyObject *first; /* owned, NULL: none */
} steps;

static PyTypeObject *step_type; /* owned, for good */
static PyObject *the_step;      /* owned */

static void end_step(void)
{
	if (steps.open)
		aon_step_end(steps.number);
	steps.open = 0;
}

static int begin_step(PyObject *number)
{
	PyObject *done;

	if (number) {
		uint64_t n = PyLong_AsUnsignedLongLong(number);

		if (n == (uint64_t)-1 && PyErr_Occurred())
			return 0;
		end_step();
		steps.number = n;
	} else {
		end_step();
		steps.number++;
	}
	if (!steps.said && steps.first) {
		steps.said = 1;
		done = PyObject_CallNoArgs(steps.first);
		if (!done)
			return 0;
		Py_DecRef(done);
	}
	aon_step_begin(steps.number);
	steps.open = 1;
	return 1;
}

static PyObject *py_step(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	(void)self;
	if (n > 1) {
		PyErr_SetString(PyExc_TypeError, "step() takes a number, a function, or nothing");
		return NULL;
	}
	if (n == 1 && PyCallable_Check(args[0]))
		return PyObject_CallFunctionObjArgs(wrap, args[0], Py_None, NULL);
	if (!begin_step(n == 1 && args[0] != Py_None ? args[0] : NULL))
		return NULL;
	Py_IncRef(the_step);
	return the_step;
}

/* `with aon.step():` has begun it. */
static PyObject *step_enter(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	Py_INCREF(the_step);
	return the_step;
}

static PyObject *step_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	(void)self;
	(void)args;
	(void)n;
	end_step();
	return none();
}

static PyMethodDef step_methods[] = {
	{ "__enter__", step_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))step_exit, METH_FASTCALL, NULL },
};

static PyType_Slot step_slots[] = { { 0, NULL } };
static PyType_Spec step_spec = { "aon.Step", sizeof(PyObject), 0,
				 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				 step_slots };

/* --- moments and values --- */

static PyObject *py_mark(PyObject *self, PyObject *name)
{
	uint32_t id;

	(void)self;
	if (!text_only(name))
		return NULL;
	if (aon_wants_(AON_WANT_MARK)) {
		if (!name_id(name, &id))
			return NULL;
		aon_mark_id(id, 0, 0, 0);
	}
	return none();
}

/* What is no int is asked for its value as a float; a text is neither. */
static int as_float(PyObject *value, uint64_t *bits)
{
	PyObject *f = PyUnicode_Check(value) ? NULL : PyNumber_Float(value);
	double d;

	if (!f && !PyErr_Occurred())
		PyErr_SetString(PyExc_TypeError, "a counter's value is a number");
	if (!f)
		return 0;
	d = PyFloat_AsDouble(f);
	__builtin_memcpy(bits, &d, sizeof(d));
	Py_DecRef(f);
	return 1;
}

/* An int is recorded as one of 64 bits. */
static PyObject *py_counter(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	uint64_t bits = 0;
	uint32_t id;
	int whole;

	(void)self;
	if (n != 2) {
		PyErr_SetString(PyExc_TypeError, "counter() takes a name and a value");
		return NULL;
	}
	if (!text_only(args[0]))
		return NULL;
	whole = PyLong_Check(args[1]);
	if (!whole && !as_float(args[1], &bits))
		return NULL;
	if (whole)
		bits = (uint64_t)PyLong_AsLongLong(args[1]);
	if (whole && bits == (uint64_t)-1 && PyErr_Occurred())
		return NULL;
	if (!aon_wants_(AON_WANT_COUNTER))
		return none();
	if (!name_id(args[0], &id))
		return NULL;
	aon_emit_(whole ? AON_COUNT_I_ : AON_COUNT_F_, id, 0, bits, 0);
	return none();
}

static PyObject *py_joined(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyBool_FromLong(aon_joined());
}

static PyObject *py_version(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	return PyUnicode_FromString(aon_version());
}

/* (wrapper for decorators, what to call at the first step) */
static PyObject *py_setup(PyObject *self, PyObject *args)
{
	PyObject *w, *f;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO", &w, &f))
		return NULL;
	Py_IncRef(w);
	Py_IncRef(f);
	wrap = w;
	steps.first = f;
	return none();
}

static PyMethodDef methods[] = {
	{ "range", py_range, METH_O,
	  "range(name)\n--\n\nA range of this thread: `with aon.range(\"load\"):`, or a "
	  "decorator." },
	{ "step", (PyCFunction)(void (*)(void))py_step, METH_FASTCALL,
	  "A step begins, and the one before it ends, if it has not: `with aon.step():` ends it, "
	  "too.\n"
	  "aon.step(n) says its number. As a decorator, without brackets, each call is a step." },
	{ "mark", py_mark, METH_O, "mark(name)\n--\n\nA moment." },
	{ "counter", (PyCFunction)(void (*)(void))py_counter, METH_FASTCALL,
	  "counter(name, value)\n--\n\nA value: an int of 64 bits, or a float." },
	{ "joined", py_joined, METH_NOARGS,
	  "joined()\n--\n\nTrue if this process has a session with aond now." },
	{ "version", py_version, METH_NOARGS, "version()\n--\n\nThe version of libaon." },
	{ "_setup", py_setup, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "_aon", NULL, -1, methods, NULL, NULL, NULL, NULL
};

PyMODINIT_FUNC PyInit__aon(void);

PyMODINIT_FUNC PyInit__aon(void)
{
	range_type = (PyTypeObject *)PyType_FromSpec(&range_spec);
	idle_type = make_type(&idle_spec, idle_methods);
	step_type = make_type(&step_spec, step_methods);
	if (!range_type || !idle_type || !step_type)
		return NULL;
	the_step = PyType_GenericAlloc(step_type, 0);
	return the_step ? PyModule_Create(&module) : NULL;
}
