/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_gpu.c - finds the vendors' libraries, by looking at files only.
 *
 * Loading CUPTI to test for it would take its only subscription; and a library from the user's
 * directories must not run in this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/cupti_path.h"
#include "abi/gpu_conf.h"
#include "base/num.h"
#include "cli/capture/fabric.h"
#include "cli/core/probe.h"

#define LD_CACHE "/etc/ld.so.cache"

/* The first path of the loader's cache whose file begins so. */
static bool in_cache(const char *begins, char *path, size_t cap)
{
	int fd = open(LD_CACHE, O_RDONLY | O_CLOEXEC);
	char needle[64], *map = MAP_FAILED;
	bool found = false;
	struct stat sb;

	snprintf(needle, sizeof(needle), "/%s", begins);
	if (fd >= 0 && fstat(fd, &sb) == 0 && sb.st_size > 0)
		map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED) {
		const char *end = map + sb.st_size;
		const char *at = memmem(map, (size_t)sb.st_size, needle, strlen(needle));

		if (at) {
			const char *begin = at;

			while (begin > map && begin[-1])
				begin--;
			snprintf(path, cap, "%.*s", (int)strnlen(begin, (size_t)(end - begin)),
				 begin);
			found = access(path, F_OK) == 0;
		}
		munmap(map, (size_t)sb.st_size);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static bool by_glob(const char *pattern, char *path, size_t cap)
{
	bool found = false;
	glob_t g;

	if (glob(pattern, 0, NULL, &g) == 0) {
		found = g.gl_pathc > 0;
		if (found)
			snprintf(path, cap, "%s", g.gl_pathv[g.gl_pathc - 1]);
		globfree(&g);
	}
	return found;
}

/* In a colon-separated list of directories. */
static bool in_list(const char *list, const char *begins, char *path, size_t cap)
{
	char pattern[PATH_MAX];

	while (list && *list) {
		size_t len = strcspn(list, ":");

		snprintf(pattern, sizeof(pattern), "%.*s/%s*", (int)len, list, begins);
		if (len && by_glob(pattern, path, cap))
			return true;
		list += len + (list[len] == ':');
	}
	return false;
}

/* What the loader would open: "libcupti.so.12". */
static bool by_loader(const char *begins, char *path, size_t cap)
{
	return in_list(getenv("LD_LIBRARY_PATH"), begins, path, cap) || in_cache(begins, path, cap);
}

static bool find_library(const char *name, char *path, size_t cap)
{
	static const char *const place[] = {
		"/usr/local/cuda*/lib64/%s.so*",
		"/usr/local/cuda*/extras/CUPTI/lib64/%s.so*",
		"/usr/local/lib/python3*/*-packages/nvidia/*/lib/%s.so*",
		"/usr/lib/python3*/*-packages/nvidia/*/lib/%s.so*",
	};
	const char *venv = getenv("VIRTUAL_ENV"), *home = getenv("HOME");
	char pattern[PATH_MAX];

	snprintf(pattern, sizeof(pattern), "%s.so", name);
	if (by_loader(pattern, path, cap))
		return true;
	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		const char *hole = strstr(place[i], "%s");

		snprintf(pattern, sizeof(pattern), "%.*s%s%s", (int)(hole - place[i]), place[i],
			 name, hole + 2);
		if (by_glob(pattern, path, cap))
			return true;
	}
	snprintf(pattern, sizeof(pattern), "%s/lib/python3*/site-packages/nvidia/*/lib/%s.so*",
		 venv ? venv : "/nonexistent", name);
	if (venv && by_glob(pattern, path, cap))
		return true;
	snprintf(pattern, sizeof(pattern),
		 "%s/.local/lib/python3*/site-packages/nvidia/*/lib/%s.so*",
		 home ? home : "/nonexistent", name);
	return home && by_glob(pattern, path, cap);
}

/*
 * The probe's own choice (abi/cupti_path.h), for a program that loads the CUDA runtime which is found
 * here. A name without a folder is for the loader.
 */
static bool find_cupti(const char *unused, char *path, size_t cap)
{
	const char *set = getenv("AON_CUPTI");
	struct cupti_view v = { .driver = true };
	char name[CUPTI_PATH];

	(void)unused;
	if (set && *set) {
		snprintf(path, cap, "%s", set);
		return access(path, F_OK) == 0;
	}
	if (find_library("libcudart", path, cap))
		cupti_see(&v, path);
	for (unsigned n = 0; cupti_candidate(&v, n, name, sizeof(name)); n++) {
		if (strchr(name, '/')) {
			snprintf(path, cap, "%s", name);
			if (access(path, F_OK) == 0)
				return true;
		} else if (by_loader(name, path, cap)) {
			return true;
		}
	}
	return false;
}

/* clang-format off */
static const struct {
	const char *id, *name, *library, *so, *fix;
} wanted[] = {
	{ "cuda", "CUDA driver", "libcuda", "no NVIDIA GPU can be used here, nor watched",
	  "install the NVIDIA driver, or give the container its GPUs (--gpus all)" },
	{ "cupti", "CUPTI", "libcupti", "CUDA kernels and copies would not be seen",
	  "pip install nvidia-cuda-cupti-cu12, or install the CUDA toolkit" },
	{ "nvml", "NVML", "libnvidia-ml", "no clocks, power, heat or memory of GPUs",
	  "comes with the NVIDIA driver" },
	{ "nccl", "NCCL", "libnccl", "no collectives to watch",
	  "comes with PyTorch, or: pip install nvidia-nccl-cu12" },
	{ "opencl", "OpenCL loader", "libOpenCL", "no OpenCL program can run",
	  "apt install ocl-icd-libopencl1" },
};
/* clang-format on */

static void check_opencl(struct doctor *d)
{
	char path[PATH_MAX];
	const char *layers = getenv("OPENCL_LAYERS");

	if (by_glob("/etc/OpenCL/vendors/*.icd", path, sizeof(path)))
		doctor_put(d, "opencl_icd", HEALTH_OK, NULL, NULL, "OpenCL device driver %s", path);
	else
		doctor_put(d, "opencl_icd", HEALTH_OFF, "OpenCL programs find no device",
			   "install the vendor's driver, or PoCL for the CPU: apt install "
			   "pocl-opencl-icd",
			   "no OpenCL device driver in /etc/OpenCL/vendors");
	if (layers && *layers)
		doctor_put(d, "opencl_layers", HEALTH_OK, NULL, NULL, "OPENCL_LAYERS is %s",
			   layers);
	else if (by_glob("/etc/OpenCL/layers/*.lay", path, sizeof(path)))
		doctor_put(d, "opencl_layers", HEALTH_OK, NULL, NULL, "OpenCL layer %s", path);
}

static void check_counters(struct doctor *d)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	char line[256];
	int locked = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RmProfilingAdminOnly: %d", &locked);
	if (f)
		fclose(f);
	if (locked == 0 || (locked == 1 && geteuid() == 0))
		doctor_put(d, "counters", HEALTH_OK, NULL, NULL, "hardware counters allowed");
	else if (locked == 1)
		doctor_put(d, "counters", HEALTH_OFF,
			   "kernels get \"bound by\" from the model, not from counters",
			   "to allow: options nvidia NVreg_RestrictProfilingToAdminUsers=0, then "
			   "reload "
			   "the driver",
			   "hardware counters: the driver allows root only");
}

/* What aon doctor --gpu has proved, and whether it still holds for the driver. */
static void check_proof(struct doctor *d)
{
	const char *set = getenv(GPU_CONF_ENV), *path = set && *set ? set : GPU_CONF_FILE;
	const char *so = "the CUDA probe records as carefully as without it";
	struct gpu_conf g;
	char driver[32];
	int err = gpu_conf_read(&g, path);

	gpu_conf_driver(driver);
	if (err == -ENOENT)
		return;
	if (err < 0)
		doctor_put(d, "gpu_conf", HEALTH_WARN, so, "aon doctor --gpu writes it anew",
			   "%s is ignored: it cannot be read", path);
	else if (strcmp(driver, g.driver) != 0)
		doctor_put(d, "gpu_conf", HEALTH_WARN, so, "aon doctor --gpu",
			   "%s of %s is ignored: it was proved for driver %s, here is %s", path,
			   g.date, g.driver, driver);
	else if (g.fidelity == GPU_FIDELITY_HEARTBEAT)
		doctor_put(d, "gpu_conf", HEALTH_WARN, "CUDA kernels and copies are not recorded",
			   "aon doctor --gpu", "%s of %s: the check %s failed", path, g.date,
			   g.why);
	else
		doctor_put(d, "gpu_conf", HEALTH_OK, NULL, NULL,
			   "%s of %s, for CUPTI %u: ps says if a program has another", path, g.date,
			   g.cupti);
}

static void check_perf(struct doctor *d)
{
	char value[32];
	long level;

	if (!doctor_read("/proc/sys/kernel/perf_event_paranoid", value, sizeof(value))) {
		doctor_put(d, "perf", HEALTH_OFF, "no CPU samples",
			   "use a kernel with CONFIG_PERF_EVENTS", "perf: not in this kernel");
		return;
	}
	level = num_front_i64(value, NULL);
	if (level <= 2 || geteuid() == 0)
		doctor_put(d, "perf", HEALTH_OK, NULL, NULL,
			   "perf events of your own processes (perf_event_paranoid %ld)", level);
	else
		doctor_put(d, "perf", HEALTH_OFF, "no CPU samples for you",
			   "to allow: sudo sysctl kernel.perf_event_paranoid=2",
			   "perf events: root only (perf_event_paranoid %ld)", level);
}

void doctor_sources(struct doctor *d)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool cupti = !strcmp(wanted[i].id, "cupti");

		if ((cupti ? find_cupti : find_library)(wanted[i].library, path, sizeof(path)))
			doctor_put(d, wanted[i].id, HEALTH_OK, NULL, NULL, "%s %s", wanted[i].name,
				   path);
		else
			doctor_put(d, wanted[i].id, HEALTH_OFF, wanted[i].so, wanted[i].fix,
				   "%s: not found", wanted[i].name);
	}
	probe_doctor(d);
	fabric_doctor(d);
	check_opencl(d);
	check_counters(d);
	check_proof(d);
	check_perf(d);
}
