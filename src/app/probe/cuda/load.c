/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - chooses the libcupti: the one that the process has loaded, or the one that a setting
 * names, or the one that the loader finds; never a second one, because two of them in a process
 * break each other.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cuda/cuda.h"

struct seen {
	char path[512];
	bool cuda, cupti;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *base = slash ? slash + 1 : info->dlpi_name;
	struct seen *s = arg;

	(void)size;
	if (!strncmp(base, "libcuda.so", 10))
		s->cuda = true;
	if (!s->cupti && !strncmp(base, "libcupti.so", 11) &&
	    strlen(info->dlpi_name) < sizeof(s->path)) {
		strcpy(s->path, info->dlpi_name);
		s->cupti = true;
	}
	return 0;
}

static void *open_first(const struct seen *s)
{
	static const char *const name[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					    "libcupti.so" };
	const char *set = secure_getenv(CUDA_ENV_CUPTI);
	void *lib = NULL;

	if (s->cupti)
		return dlopen(s->path, RTLD_NOW | RTLD_NOLOAD);
	if (set && *set)
		return dlopen(set, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]) && !lib; i++)
		lib = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
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
	struct seen seen = { .cuda = false };

	dl_iterate_phdr(look, &seen);
	/* CUPTI 13.2 without a driver recurses until the stack ends: never call it then. */
	if (!seen.cuda)
		return "no CUDA driver in this process";
	api->lib = open_first(&seen);
	if (!api->lib)
		return "no libcupti: pip install nvidia-cuda-cupti, or set " CUDA_ENV_CUPTI;
	for (size_t i = 0; i < sizeof(fns) / sizeof(fns[0]); i++) {
		void *fn = dlsym(api->lib, fns[i].name);

		if (!fn && fns[i].must)
			return "this libcupti is too old: 11.8 or later is needed";
		memcpy((char *)api + fns[i].at, &fn, sizeof(fn));
	}
	return NULL;
}
