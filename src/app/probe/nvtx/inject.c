/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - how NVTX finds this library, and another injection library through it.
 *
 * Every library of a process that was built with NVTX has its own tables and calls us once, on any
 * thread. The other injection library is called first, each time: what it puts into a table is
 * moved to nvtx_theirs[], and our function takes its place. The other library has one set of
 * functions; if it fills a place differently another time, the place stays its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <aon/provider.h>

#include "probe/nvtx/nvtx.h"

#define ENV_CHAIN  "AON_NVTX_CHAIN"
#define INIT       "InitializeInjectionNvtx2"
#define INIT_EXT   "InitializeInjectionNvtxExtension"
#define PLACES_MAX 16u

typedef int init_ext_fn(void *module);

AON_API int InitializeInjectionNvtx2(nvtx_export_fn *get);
AON_API int InitializeInjectionNvtxExtension(void *module);

_Atomic(nvtx_fn *) nvtx_theirs[CALLS];

struct module {
	nvtx_fn ***place; /* NVTX's; NULL: it has none */
	unsigned int count;
	nvtx_fn *before[PLACES_MAX]; /* before the other injection came */
};

static const struct {
	uint8_t module, place;
} where[CALLS] = {
#define CALL(module, place, name) [CALL_##name] = { NVTX_##module, place },
#include "probe/nvtx/calls.tbl.h"
};

/* The address of NVTX's pointer for a call, NULL when this NVTX is older than the call. */
static nvtx_fn **slot(const struct module m[NVTX_MODULES], enum nvtx_call call)
{
	const struct module *t = &m[where[call].module];

	return t->place && where[call].place < t->count ? t->place[where[call].place] : NULL;
}

static bool find_modules(nvtx_export_fn *get, struct module m[NVTX_MODULES])
{
	const struct nvtx_callbacks *cb = get ? get(NVTX_ET_CALLBACKS) : NULL;
	static const int wanted[] = { NVTX_CORE, NVTX_CORE2 };

	if (!cb || cb->size < sizeof(*cb) || !cb->table)
		return false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (cb->table(wanted[i], &m[wanted[i]].place, &m[wanted[i]].count) != 1)
			m[wanted[i]].place = NULL;
	for (int c = 0; c < CALLS; c++) {
		nvtx_fn **at = slot(m, (enum nvtx_call)c);

		if (at)
			m[where[c].module].before[where[c].place] = *at;
	}
	return true;
}

/* A function of the other injection; the loader knows a library that is there already. */
static void *find_theirs(const char *name, const void *ours)
{
	const char *path = secure_getenv(ENV_CHAIN);
	void *lib, *fn;

	if (!path || !*path)
		return NULL;
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	/* Some images name libcupti: it would subscribe, and leave no place for anybody. */
	fn = lib && !dlsym(lib, "cuptiSubscribe") ? dlsym(lib, name) : NULL;
	return fn == ours ? NULL : fn;
}

/* Puts our function into a place. What the other injection had put there is called by ours. */
static void take(enum nvtx_call call, nvtx_fn **at, nvtx_fn *before, bool chained)
{
	nvtx_fn *theirs = chained && *at != before ? *at : NULL, *known = NULL;

	if (theirs &&
	    !atomic_compare_exchange_strong_explicit(&nvtx_theirs[call], &known, theirs,
						     memory_order_relaxed, memory_order_relaxed) &&
	    known != theirs)
		return;
	/* Threads that call NVTX while it starts load it: they see nvtx_theirs[], too. */
	__atomic_store_n(at, theirs || !nvtx_alone[call] ? nvtx_ours[call] : nvtx_alone[call],
			 __ATOMIC_RELEASE);
}

static void say(bool asked, bool chained)
{
	aon_note("nvtx", "on",
		 !asked    ? ""
		 : chained ? "another injection gets every call, too"
			   : "the injection in " ENV_CHAIN " did not start");
}

AON_API int InitializeInjectionNvtx2(nvtx_export_fn *get)
{
	struct module m[NVTX_MODULES] = { { NULL, 0, { NULL } } };
	const char *chain = secure_getenv(ENV_CHAIN);
	int saved = errno;
	nvtx_init_fn *init;
	bool chained;

	if (!find_modules(get, m))
		return 0;
	init = (nvtx_init_fn *)find_theirs(INIT, (const void *)InitializeInjectionNvtx2);
	chained = init && init(get);
	for (int c = 0; c < CALLS; c++) {
		nvtx_fn **at = slot(m, (enum nvtx_call)c);

		if (at)
			take((enum nvtx_call)c, at, m[where[c].module].before[where[c].place],
			     chained);
	}
	say(chain && *chain, chained);
	errno = saved;
	return 1;
}

/*
 * NVTX's extensions are not recorded; another injection may want them. Without one, success with
 * nothing taken is what makes nvtxDomainIsEnabled() say yes, which Python's nvtx asks for.
 */
AON_API int InitializeInjectionNvtxExtension(void *module)
{
	init_ext_fn *init = (init_ext_fn *)find_theirs(
		INIT_EXT, (const void *)InitializeInjectionNvtxExtension);

	return init ? init(module) : 1;
}
