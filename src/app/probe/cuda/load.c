/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - opens a libcupti: the one that the process has loaded, or the one that a setting names,
 * or the first candidate of abi/cupti_path.h; never a second one, because two of them in a process break
 * each other. One that says that it is newer than the driver is closed, and the next one is tried.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti_path.h"
#include "probe/cuda/cuda.h"

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	cupti_see(arg, info->dlpi_name);
	return 0;
}

uint32_t load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *fn;
	int (*get)(int *version), version = 0;

	fn = lib ? dlsym(lib, "cuDriverGetVersion") : NULL;
	memcpy(&get, &fn, sizeof(get));
	if (fn && get(&version))
		version = 0;
	return version > 0 ? (uint32_t)version : 0;
}

/* From the n-th candidate on. */
static void *open_next(struct cupti *api, const struct cupti_view *v)
{
	char path[CUPTI_PATH];
	void *lib = NULL;

	while (!lib && cupti_candidate(v, api->candidate, path, sizeof(path))) {
		api->candidate++;
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return lib;
}

static const char *open_cupti(struct cupti *api, struct cupti_view *v)
{
	const char *set = secure_getenv(CUDA_ENV_CUPTI);

	if (v->loaded[0]) {
		if (v->major && cupti_major(v->loaded) && cupti_major(v->loaded) != v->major)
			return "the libcupti of this process is of another major version than its "
			       "CUDA runtime: kernels would lose their times";
		api->lib = dlopen(v->loaded, RTLD_NOW | RTLD_NOLOAD);
	} else if (set && *set) {
		api->lib = dlopen(set, RTLD_NOW | RTLD_LOCAL);
	} else {
		api->is_ours = true;
		api->lib = open_next(api, v);
	}
	return api->lib ? NULL
			: "no libcupti that fits: pip install nvidia-cuda-cupti (of the CUDA "
			  "runtime's major version), or set " CUDA_ENV_CUPTI;
}

uint32_t load_caps(const struct cupti *api)
{
	uint32_t v = api->version, caps = 0;

	if (v >= 21 && api->ActivitySetAttribute)
		caps |= CAP_PER_THREAD;
	if (api->ActivitySetAttribute)
		caps |= CAP_ZEROED;
	if (v >= 20)
		caps |= CAP_STATE;
	if (v >= 130200 && api->ActivityEnable_v2 && api->ActivityDisable_v2 &&
	    api->ActivityRegisterCallbacks_v2 && api->ActivitySetAttribute_v2 && api->Subscribe_v2)
		caps |= CAP_V2;
	/* 13.2 has the parameter, its driver has not. */
	if (caps & CAP_V2 && v >= 130300)
		caps |= CAP_MULTI | CAP_USER_RECORDS;
	if (api->ActivityGetStructSize)
		caps |= CAP_STRUCT_SIZE;
	if (api->ActivityEnableHWTrace)
		caps |= CAP_HES;
	if (api->ActivityEnableLatencyTimestamps)
		caps |= CAP_LATENCY;
	return caps;
}

const char *load_cupti(struct cupti *api)
{
	static const struct {
		const char *name;
		size_t at;
		bool must;
	} fns[] = {
#define MUST                 true
#define MAY                  false
#define FN(name, need, args) { "cupti" #name, offsetof(struct cupti, name), need },
#include "probe/cuda/fn.tbl.h"
#undef MUST
#undef MAY
	};
	struct cupti_view v = { .driver = false };
	const char *why;

	dl_iterate_phdr(look, &v);
	/* CUPTI 13.2 without a driver recurses until the stack ends: never call it then. */
	if (!v.driver)
		return "no CUDA driver in this process";
	v.driver_most = (int)(load_driver() / 1000);
	why = open_cupti(api, &v);
	if (why)
		return why;
	for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
		void *fn = dlsym(api->lib, fns[i].name);

		if (!fn && fns[i].must)
			return "this libcupti is too old: 11.8 or later is needed";
		memcpy((char *)api + fns[i].at, &fn, sizeof(fn));
	}
	return NULL;
}

bool load_another(struct cupti *api)
{
	struct cupti next = { .candidate = api->candidate };

	if (!api->is_ours)
		return false;
	dlclose(api->lib);
	if (load_cupti(&next) || next.GetVersion(&next.version))
		return false;
	next.caps = load_caps(&next);
	*api = next;
	return true;
}
