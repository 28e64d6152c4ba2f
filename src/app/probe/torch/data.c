/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.c - batches that a DataLoader fetches: in the program, or in its workers.
 *
 * Torch has a range for the wait for a batch, but none for the worker that makes it. The method
 * that fetches is replaced by a C function which calls it: it does not appear in tracebacks, and an
 * error of a dataset reads as before. In a process that is new to it, the function asks Python
 * whose worker the process is.
 */
#include <stddef.h>
#include <unistd.h>

#include <aon/provider.h>

#include "probe/torch/torch.h"

#define FETCHERS 2u /* of datasets with indices, and of those without */
#define FETCH    "DataLoader fetch"

static struct {
	void *fetch[FETCHERS]; /* torch's own; owned for good, as is */
	void *who;             /* a function that marks whose worker this is */
	pid_t said;            /* the process that it did so in */
} data;

static void say_who(void)
{
	pid_t pid = getpid();
	void *done;

	if (data.said == pid || !data.who)
		return;
	data.said = pid;
	done = py.call_with(data.who, NULL);
	if (done)
		py.dec_ref(done);
	else
		py.clear();
}

static void *fetch(uint32_t which, void *const *args, long n)
{
	uint32_t name = aon_wants(AON_WANT_RANGE) ? aon_name(FETCH) : 0;
	struct torch_thread *t = thread_self();
	uint32_t was = t ? site_enter(t, AON_MEMORY_DATA) : 0;
	void *out;

	if (name) {
		say_who();
		aon_range_push_id(name);
	}
	out = py.call_with(data.fetch[which], n > 0 ? args[0] : NULL, n > 1 ? args[1] : NULL, NULL);
	if (t)
		site_leave(t, was);
	if (name)
		aon_range_pop_id(name);
	return out;
}

static void *fetch_map(void *self, void *const *args, long n)
{
	(void)self;
	return fetch(0, args, n);
}

static void *fetch_iterable(void *self, void *const *args, long n)
{
	(void)self;
	return fetch(1, args, n);
}

AON_API void *aon_torch_fetch(uint32_t which, void *method, void *who);

/* Instead of a fetcher's method; NULL, and Python raises, if this Python lacks what it needs. */
AON_API void *aon_torch_fetch(uint32_t which, void *method, void *who)
{
	void *function, *bound;

	function = which < FETCHERS ? hook_make("fetch", which ? fetch_iterable : fetch_map) : NULL;
	bound = function ? py.bind(function) : NULL;
	if (!bound)
		return NULL;
	py.dec_ref(function); /* the method has its own */
	py.inc_ref(method);
	py.inc_ref(who);
	data.fetch[which] = method;
	data.who = who;
	return bound;
}
