/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - finds torch in the process and begins to listen.
 *
 * Called by Python (aon_hook.py) once `import torch` is done. The struct of a callback is the
 * same from 1.13 on; for versions that were not tried, Python tests it in a child first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <aon/provider.h>

#include "probe/torch/torch.h"

#define RESULTS_OFFSET 80 /* sequence number, arguments, arguments by name, results */

struct torch_abi torch;

static uint64_t user_handle; /* 0: none */
static bool deaf;            /* for now: it would be there else */
static bool hooked;          /* Python's hooks are all there is */

AON_API int aon_torch_start(void);
AON_API void aon_torch_stop(const char *why);
AON_API void aon_torch_hooks(const char *why);
AON_API uint32_t aon_torch_seen(void);
AON_API int aon_torch_calls(void *module_type, void *trains, void *name);
AON_API void aon_torch_version(int version);
AON_API void aon_torch_fork(void);
AON_API void aon_torch_mode(int listens, int ops_every);
AON_API void aon_torch_tensor(const void *impl, uint64_t numel, uint32_t dtype);
AON_API void aon_torch_group(const char *name, uint32_t rank, uint32_t size, const uint32_t *tid,
			     uint32_t n);

static int find_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char **path = arg, *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (!slash || strncmp(slash + 1, "libtorch_cpu.so", 15))
		return 0;
	*path = info->dlpi_name;
	return 1;
}

/* Torch is loaded already: the loader finds it by its path. */
static void *find_torch(void)
{
	const char *path = NULL;

	dl_iterate_phdr(find_path, &path);
	return path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
}

static int find_symbols(void *lib)
{
	const struct {
		void *place;
		const char *name;
		bool must;
	} want[] = {
		{ &torch.add, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", true },
		{ &torch.remove, "_ZN2at14removeCallbackEm", true },
		{ &torch.name, "_ZNK2at14RecordFunction4nameEv", true },
		{ &torch.is_async, "_ZNK2at14RecordFunction7isAsyncEv", false },
		{ &torch.sequence_peek, "_ZN2at15sequence_number4peekEv", false },
		{ &torch.grad_enabled, "_ZN3c108GradMode10is_enabledEv", false },
		{ &torch.undefined, "_ZN3c1019UndefinedTensorImpl10_singletonE", false },
		{ &torch.numel, "aoti_torch_get_numel", false },
		{ &torch.dtype, "aoti_torch_get_dtype", false },
		{ &torch.dim, "aoti_torch_get_dim", false },
		{ &torch.sizes, "aoti_torch_get_sizes", false },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		void *f = dlsym(lib, want[i].name);

		if (!f && want[i].must)
			return -ENOSYS;
		memcpy(want[i].place, &f, sizeof(f));
	}
	return 0;
}

static uint64_t listen(void)
{
	struct record_callback cb = { .start = user_start, .end = user_end, .probability = 1.0 };

	cb.scope[SCOPE_USER] = 1;
	cb.needs[RECORD_NEEDS_IDS] = 1; /* in the order of the program's calls */
	return torch.add(cb);
}

/* 0, or -ENOENT: no torch here, -ENOSYS: one that we do not know, -ENOTSUP: not this CPU. */
AON_API int aon_torch_start(void)
{
	void *lib;
	int err;

#if !defined(__x86_64__)
	return -ENOTSUP; /* a C function cannot return an object the way start must */
#endif
	if (user_handle)
		return 0;
	lib = find_torch();
	if (!lib)
		return -ENOENT;
	err = find_symbols(lib);
	if (err)
		return err;
	if (!thread_init())
		return -ENOMEM;
	op_calibrate();
	work_learn_handle();
	user_handle = listen();
	aon_note("torch", "on", "");
	return 0;
}

bool start_deaf(void)
{
	return deaf;
}

/* What is under way ends as it began. */
void start_hear(bool yes)
{
	if (yes && deaf) {
		user_handle = listen();
		deaf = false;
	} else if (!yes && user_handle) {
		torch.remove(user_handle);
		user_handle = 0;
		deaf = true;
	}
}

AON_API void aon_torch_stop(const char *why)
{
	op_close();
	start_hear(false);
	deaf = false;
	aon_note("torch", "off", why);
}

/* Instead of aon_torch_start(): what Python's hooks tell alone. */
AON_API void aon_torch_hooks(const char *why)
{
	if (!thread_init())
		return;
	op_every(0);
	user_hooks();
	hooked = true;
	aon_note("torch", "steps only", why);
}

AON_API uint32_t aon_torch_seen(void)
{
	return atomic_load_explicit(&user_seen, memory_order_relaxed);
}

/* The class of modules, and two functions: whether the program has made an optimizer, and one that
 * tells aon_torch_module() of all parts of a module. */
AON_API int aon_torch_calls(void *module_type, void *trains, void *name)
{
	int err = call_start(module_type, trains, name);

	if (err < 0 && !hooked) /* what is left is already reported */
		aon_note("torch", "on", "calls of modules are not seen, nor steps of an inference");
	return err;
}

/* 100 * major + minor, of one that we were tried with. Before 2.4 there was less before the results. */
AON_API void aon_torch_version(int version)
{
	torch.results = version >= 204 ? RESULTS_OFFSET : 0;
}

AON_API void aon_torch_tensor(const void *impl, uint64_t numel, uint32_t dtype)
{
	work_learn_tensor(impl, numel, dtype);
}

/* A process group was made, and these threads came with it. */
AON_API void aon_torch_group(const char *name, uint32_t rank, uint32_t size, const uint32_t *tid,
			     uint32_t n)
{
	user_enter();
	work_group(name, rank, size, tid, n);
	start_hear(true); /* of its works */
}

/* For benchmarks: listen or not, and to the operators of every so many steps, whatever aond says. */
AON_API void aon_torch_mode(int listens, int ops_every)
{
	op_close();
	op_every(ops_every);
	deaf = false;
	if (user_handle && !listens) {
		torch.remove(user_handle);
		user_handle = 0;
	} else if (!user_handle && listens) {
		user_handle = listen();
	}
}

/* Before a fork: a child that runs operators all its life must not inherit a window, nor be deaf. */
AON_API void aon_torch_fork(void)
{
	op_close();
	start_hear(true);
}

__attribute__((destructor)) static void finish(void)
{
	if (user_handle || deaf || hooked)
		user_finish();
}
