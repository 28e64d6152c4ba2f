/* SPDX-License-Identifier: Apache-2.0 */
/* look.c - the checks env and inject: what there is, and what the probe's start costs and gets. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpucheck/check.h"

#define INJECT_MS 200 /* that the start of every program with a GPU may take longer */
#define ROUNDS    3u

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- env --- */

static void see_variables(void)
{
	static const char *const name[] = {
		"CUDA_VISIBLE_DEVICES",   "CUDA_INJECTION64_PATH",
		"NVTX_INJECTION64_PATH",  "CUDA_DEVICE_MAX_CONNECTIONS",
		"CUDA_LAUNCH_BLOCKING",   "CUDA_MODULE_LOADING",
		"NVIDIA_VISIBLE_DEVICES", "AON_CUPTI",
		"AON_CUDA_GRAPHS",        "AON_CUDA_MULTI",
		"AON_CUDA_PULSE",         "AON_CUDA_HES",
		"AON_CUDA_BUFFER_KIB",    "AON_CUDA_KIB",
	};
	char key[64];

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		const char *v = getenv(name[i]);

		snprintf(key, sizeof(key), "env.%s", name[i]);
		if (v && *v)
			fact(key, "%s", base_name(v));
	}
}

/* Whether the driver lets root alone read counters; -1: not known. */
static int root_only(void)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	char line[256];
	int value = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RmProfilingAdminOnly: %d", &value);
	if (f)
		fclose(f);
	return value;
}

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void see_place(void)
{
	bool container = there("/.dockerenv") || there("/run/.containerenv") ||
			 getenv("KUBERNETES_SERVICE_HOST");
	bool mps = getenv("CUDA_MPS_PIPE_DIRECTORY") || there("/tmp/nvidia-mps/control");
	char driver[32];

	gpu_conf_driver(driver);
	fact("driver", "%s", driver);
	fact("container", "%d", container);
	fact("mps", "%d", mps);
	fact("wsl", "%d", there("/dev/dxg"));
	fact("mig", "%d", strstr(cu.name, "MIG") != NULL);
	fact("vgpu", "%d", strstr(cu.name, "GRID") || strstr(cu.name, "vGPU"));
	fact("counters_root_only", "%d", root_only());
}

/* Which runtime programs have here; the checks after this one open the same. */
static void see_runtime(void)
{
	void *lib = driver_runtime();
	int (*get)(int *) = NULL, version = 0;
	Dl_info info = { .dli_fname = "" };

	if (lib)
		*(void **)&get = dlsym(lib, "cudaRuntimeGetVersion");
	if (!get)
		return;
	if (!get(&version))
		fact("runtime", "%d", version);
	dladdr(*(void **)&get, &info);
	fact("runtime_file", "%s", info.dli_fname);
}

/* Every libcupti where frameworks and toolkits put it. Their count. */
static unsigned see_cuptis(void)
{
	static const char *const place[] = {
		"/usr/local/cuda*/lib64/libcupti.so.[1-9]*",
		"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.[1-9]*",
		"/usr/lib/x86_64-linux-gnu/libcupti.so.[1-9]*",
		"/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcupti.so.[1-9]*",
		"/usr/lib/python3*/*-packages/nvidia/*/lib/libcupti.so.[1-9]*",
	};
	unsigned n = 0;
	char key[32];

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		glob_t g;

		if (glob(place[i], 0, NULL, &g))
			continue;
		for (size_t k = 0; k < g.gl_pathc && n < 8; k++, n++) {
			snprintf(key, sizeof(key), "libcupti.%u", n);
			fact(key, "%s", g.gl_pathv[k]);
		}
		globfree(&g);
	}
	return n;
}

void check_env(void)
{
	struct cupti api = { .lib = NULL };
	Dl_info info = { .dli_fname = "" };
	uint32_t version = 0;
	const char *why;
	unsigned n;

	see_variables();
	unsetenv("CUDA_INJECTION64_PATH");
	driver_load();
	driver_init();
	fact("gpus", "%d", cu.devices);
	fact("gpu", "%s", cu.name);
	fact("cc", "%d.%d", cu.cc / 10, cu.cc % 10);
	fact("cuda", "%d", cu.version);
	see_place();
	see_runtime();
	n = see_cuptis();
	why = load_cupti(&api);
	if (why) {
		say("%s; %u libcupti in the usual folders", why, n);
		fix("pip install nvidia-cuda-cupti of the CUDA runtime's major version, or "
		    "AON_CUPTI=FILE");
		setting("fidelity", "heartbeat");
		verdict(FAIL);
	}
	if (!api.GetVersion(&version))
		fact("cupti", "%u", version);
	dladdr((void *)api.GetVersion, &info);
	fact("cupti_file", "%s", info.dli_fname);
	say("%d x %s, CUDA %d.%d, CUPTI %u from %s", cu.devices, cu.name, cu.version / 1000,
	    cu.version % 1000 / 10, version, base_name(info.dli_fname));
}

/* --- inject --- */

/* cuInit() alone, with the variables that the check has set. */
void arm_init(void)
{
	bool with = getenv("AON_GPU_INJECT");
	uint64_t begin;

	if (with)
		tool_inject(TOOL_PROBE, 0);
	driver_load();
	begin = clock_mono_ns();
	must(cu.cuInit(0), "cuInit");
	number("init_ns", (int64_t)(clock_mono_ns() - begin));
	if (!with)
		return;
	number("loaded", tool.steps != 0 || tool.why);
	number("here", tool.tid == getpid());
	number("steps", tool.steps);
	for (unsigned i = 0; i < tool.steps; i++) {
		char key[64];

		snprintf(key, sizeof(key), "%s:%d", tool.step[i].call, tool.step[i].kind);
		number(key, tool.step[i].error);
	}
	tool_must();
}

static int64_t init_once(struct again *a, bool with)
{
	*a = (struct again){ .env = { { "CUDA_INJECTION64_PATH", NULL },
				      { "AON_GPU_INJECT", with ? "1" : NULL } } };
	if (!again(a, "init")) {
		say("the program %s at its start %s the injection", "ended badly",
		    with ? "with" : "without");
		setting("fidelity", with ? "heartbeat" : "all");
		verdict(with ? FAIL : UNKNOWN);
	}
	return again_number(a, "init_ns", 0);
}

/* The first call that was refused, if one was. */
static bool refused(const struct again *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		const struct number *n = &a->got[i];

		if (!strchr(n->name, ':') || !n->value)
			continue;
		say("cupti%s: error %d: %s", n->name, (int)n->value, session_why((int)n->value));
		fix("%s", session_why((int)n->value));
		return true;
	}
	return false;
}

void check_inject(void)
{
	int64_t off = INT64_MAX, on = INT64_MAX, t;
	struct again a;
	int ms;

	for (unsigned i = 0; i < ROUNDS; i++) { /* the least of each: what nothing disturbed */
		t = init_once(&a, false);
		off = t < off ? t : off;
		t = init_once(&a, true);
		on = t < on ? t : on;
	}
	ms = (int)((on - off) / 1000000);
	fact("init_ms", "%d", (int)(off / 1000000));
	fact("added_ms", "%d", ms);
	fact("thread", "%s", again_number(&a, "here", 0) ? "the caller's" : "another");
	if (!again_number(&a, "loaded", 0)) {
		say("the driver does not load CUDA_INJECTION64_PATH");
		fix("run programs where the driver may load libraries (no setuid, no static "
		    "driver)");
		setting("fidelity", "heartbeat");
		verdict(FAIL);
	}
	if (refused(&a)) {
		setting("fidelity", "heartbeat");
		verdict(FAIL);
	}
	say("%d calls of CUPTI, all 0; cuInit() takes %d ms longer",
	    (int)again_number(&a, "steps", 0), ms);
	if (ms < INJECT_MS)
		return;
	fix("AON_OFF=1 for short programs: their start takes %d ms longer, more than %d", ms,
	    INJECT_MS);
	verdict(FAIL);
}
