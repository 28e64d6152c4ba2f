/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.tbl.h - functions and objects of Python's stable ABI that probes use.
 *
 *	PY(result, field, arguments, symbol)
 */
/* clang-format off */
PY(void *,             new_function, (struct py_method *m, void *self, void *module), PyCFunction_NewEx)
PY(void *,             class_method, (void *type, struct py_method *m),    PyDescr_NewClassMethod)
PY(void *,             bind,         (void *function),                     PyInstanceMethod_New)
PY(void *,             get_slot,     (void *type, int slot),               PyType_GetSlot)
PY(void *,             call,         (void *f, void *args, void *kw),      PyObject_Call)
PY(void *,             call_with,    (void *f, ...),                       PyObject_CallFunctionObjArgs)
PY(void *,             get,          (void *o, const char *name),          PyObject_GetAttrString)
PY(int,                set,          (void *o, const char *name, void *v), PyObject_SetAttrString)
PY(int,                is_true,      (void *o),                            PyObject_IsTrue)
PY(void,               inc_ref,      (void *o),                            Py_IncRef)
PY(void,               dec_ref,      (void *o),                            Py_DecRef)
PY(void,               clear,        (void),                               PyErr_Clear)
PY(int,                add_pending,  (int (*call)(void *), void *arg),     Py_AddPendingCall)
PY(long,               list_size,    (void *list),                         PyList_Size)
PY(void *,             list_item,    (void *list, long i),                 PyList_GetItem)
PY(void *,             dict_get,     (void *dict, const char *key),        PyDict_GetItemString)
PY(void *,             new_tuple,    (long n),                             PyTuple_New)
PY(int,                set_item,     (void *tuple, long i, void *item),    PyTuple_SetItem)
PY(long,               tuple_size,   (void *tuple),                        PyTuple_Size)
PY(void *,             tuple_item,   (void *tuple, long i),                PyTuple_GetItem)
PY(int,                dict_next,    (void *dict, long *at, void **key, void **value), PyDict_Next)
PY(long,               as_long,      (void *number),                       PyLong_AsLong)
PY(unsigned long long, number,       (void *number),                       PyLong_AsUnsignedLongLong)
PY(void *,             new_number,   (unsigned long n),                    PyLong_FromUnsignedLong)
PY(int,                compare,      (void *text, const char *ascii),      PyUnicode_CompareWithASCIIString)
PY(const char *,       utf8,         (void *text, long *len),              PyUnicode_AsUTF8AndSize)
/* clang-format on */
#undef PY
