/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - Python's own effects on a program's time: garbage collections, and compilations, which
 * aon_hook_compile.py reports.
 *
 * A collection of the oldest generation is a range of the thread that runs it. Those of the younger
 * generations are many and short: one is a mark only if it took LONG_NS.
 */

#include <aon/provider.h>

#include "base/clock.h"
#include "probe/torch/torch.h"

#define LONG_NS  1000000u
#define OLDEST   2
#define GC_RANGE "Python GC"
#define GC_MARK  "Python GC of young objects"

static struct {
	uint64_t start_ns; /* of the collection under way; 0: none that is timed */
	bool pushed;
} gc;

static void gc_begin(void *info)
{
	void *number = py.dict_get(info, "generation");
	long generation = number ? py.as_long(number) : 0;

	if (generation >= OLDEST && aon_wants(AON_WANT_RANGE)) {
		gc.pushed = true;
		aon_range_push(GC_RANGE);
	} else {
		gc.start_ns = clock_mono_ns();
	}
}

static void gc_end(void)
{
	uint64_t ns = gc.start_ns ? clock_mono_ns() - gc.start_ns : 0;

	gc.start_ns = 0;
	if (gc.pushed)
		aon_range_pop_id(aon_name(GC_RANGE));
	else if (ns >= LONG_NS && aon_wants(AON_WANT_MARK))
		aon_mark_id(aon_name(GC_MARK), 0, ns, 0);
	gc.pushed = false;
}

/* (phase, info), under Python's lock and never inside itself */
static void *collecting(void *self, void *const *args, long n)
{
	uint64_t begin = stay_begin();

	(void)self;
	if (n >= 2 && !py.compare(args[0], "start"))
		gc_begin(args[1]);
	else
		gc_end();
	py.clear();
	stay_end(begin);
	return hook_none();
}

AON_API void *aon_torch_gc(void);
AON_API void aon_torch_push(const char *name);
AON_API void aon_torch_pop(void);
AON_API void aon_torch_mark(const char *name, uint64_t count);

/* For gc.callbacks; NULL: this Python lacks what it needs. */
AON_API void *aon_torch_gc(void)
{
	if (!python_find(&py))
		return hook_none();
	return hook_make("aon_collecting", collecting);
}

AON_API void aon_torch_push(const char *name)
{
	aon_range_push(name);
}

AON_API void aon_torch_pop(void)
{
	aon_range_pop();
}

AON_API void aon_torch_mark(const char *name, uint64_t count)
{
	if (aon_wants(AON_WANT_MARK))
		aon_mark_id(aon_name(name), 0, count, 0);
}
