/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - aon-gpu-check: one check of this node's GPU and its CUPTI per process, for `aon doctor
 * --gpu`. A check may crash or hang; then that is its result.
 *
 *	main.c    the table of checks     say.c    how a check tells its result
 *	driver.c  CUDA's driver, kernels  tool.c   a tool on CUPTI that counts, as the probe is one
 *	inject.c  a module of its own: the driver loads it, as it loads the probe
 *
 * A check tells in lines of text: say (what was found), fact KEY VALUE, set KEY VALUE (a line of
 * gpu.conf), fix (what to change), and last its result. cli/node/gpu_result.h reads them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/cuda/cuda.h"

/* --- say.c --- */

enum verdict { PASS, FAIL, UNKNOWN };

void say_init(void); /* what libraries print goes nowhere */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fact(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void setting(const char *key, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fix(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void verdict(enum verdict v);
_Noreturn void unknown(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How much work: `n` on a GPU, less in tests (AON_GPU_SCALE divides it), at least `least`. */
unsigned scaled(unsigned n, unsigned least);
void nap_ms(unsigned ms);

/* Another process, with an arm of check.tbl.h: its numbers, "name value" by line.
 * Setting a variable to NULL removes it. False: it did not end well. */
struct number {
	char name[32];
	int64_t value;
};
struct again {
	const char *env[8][2];
	const char *python;      /* NULL, or a program for python3 in place of this one */
	const char *const *argv; /* NULL, or another program, with its path */
	struct number got[96];
	unsigned n;
};
bool again(struct again *a, const char *arm);
int64_t again_number(const struct again *a, const char *name, int64_t none);
void number(const char *name, int64_t value); /* by such a check */

/* --- driver.c --- */

/* clang-format off */
#define DRIVER_MUST(F) \
	F(cuInit,                      unsigned flags) \
	F(cuDriverGetVersion,          int *version) \
	F(cuDeviceGetCount,            int *count) \
	F(cuDeviceGet,                 int *device, int index) \
	F(cuDeviceGetName,             char *name, int len, int device) \
	F(cuDeviceGetAttribute,        int *value, int attribute, int device) \
	F(cuDevicePrimaryCtxRetain,    void **ctx, int device) \
	F(cuCtxSetCurrent,             void *ctx) \
	F(cuCtxSynchronize,            void) \
	F(cuModuleLoadData,            void **module, const void *image) \
	F(cuModuleUnload,              void *module) \
	F(cuModuleGetFunction,         void **function, void *module, const char *name) \
	F(cuStreamCreate,              void **stream, unsigned flags) \
	F(cuStreamSynchronize,         void *stream) \
	F(cuStreamBeginCapture_v2,     void *stream, int mode) \
	F(cuStreamEndCapture,          void *stream, void **graph) \
	F(cuGraphInstantiateWithFlags, void **exec, void *graph, unsigned long long flags) \
	F(cuGraphLaunch,               void *exec, void *stream) \
	F(cuGraphExecDestroy,          void *exec) \
	F(cuGraphDestroy,              void *graph) \
	F(cuMemAlloc_v2,               unsigned long long *ptr, size_t bytes) \
	F(cuMemcpyDtoH_v2,             void *to, unsigned long long from, size_t bytes) \
	F(cuMemGetInfo_v2,             size_t *left, size_t *total) \
	F(cuLaunchKernel,              void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
				       unsigned by, unsigned bz, unsigned shared, void *stream, \
				       void **args, void **extra)
#define DRIVER_MAY(F) \
	F(cuLaunchKernel_ptsz,         void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
				       unsigned by, unsigned bz, unsigned shared, void *stream, \
				       void **args, void **extra) \
	F(cuLaunchCooperativeKernel,   void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
				       unsigned by, unsigned bz, unsigned shared, void *stream, \
				       void **args) \
	F(cuLaunchKernelEx,            const struct launch_config *config, void *function, void **args, \
				       void **extra) \
	F(cuGetErrorName,              int error, const char **name)
/* clang-format on */

struct launch_config { /* CUlaunchConfig */
	unsigned grid[3], block[3], shared;
	void *stream, *attrs;
	unsigned nattrs;
};

struct driver {
#define F(name, ...) int (*name)(__VA_ARGS__);
	DRIVER_MUST(F)
	DRIVER_MAY(F)
#undef F
	int version, devices, cc;
	char name[96];
	void *module, *empty, *spin; /* functions: empty(), spin_ns(ns, where) */
	unsigned long long where;    /* two words: when spin_ns() began and ended, by the GPU */
};

extern struct driver cu;
extern const char driver_ptx[];

void driver_load(void); /* the library; no GPU is touched. Ends the check without one */
/* The CUDA runtime, which programs have loaded: the probe takes the libcupti of its major version.
 * NULL: neither the loader nor python3 has one. */
void *driver_runtime(void);
void driver_init(void);    /* cuInit() and the first device's name */
void driver_context(void); /* a context and the kernels */
void *driver_stream(void);
void *driver_graph(unsigned nodes, void *stream); /* of empty kernels, instantiated */
void driver_launch(void *function, void *stream);
void driver_spin(uint64_t ns, void *stream);
void driver_wait(void);
/* Ends the check if a call of the driver failed. */
void must(int error, const char *call);

/* --- tool.c --- */

#define TOOL_STEPS 32u

struct tool {
	struct cupti api;
	const char *why; /* NULL: there is a libcupti */
	void *sub;
	bool open;
	uint16_t stride[CK_MAX];
	unsigned strides;
	uint32_t buffer_bytes;
	bool check_walk; /* compare our walk with CUPTI's */
	struct {
		const char *call;
		int kind, error;
	} step[TOOL_STEPS];
	unsigned steps;
	pid_t tid;                          /* of the thread on which it was opened */
	void (*on_kernel)(const uint8_t *); /* each record of a kernel, one at a time */
	void (*on_launch)(uint32_t correlation);
	_Atomic uint64_t records[CK_MAX], untimed, strays, walks, walk_faults, dropped;
	_Atomic uint64_t callbacks, requests;
	_Atomic int64_t lent;
};

extern struct tool tool;

enum { TOOL_CALLBACKS = 1, TOOL_KERNELS = 2, TOOL_COPIES = 4, TOOL_SYNC = 8, TOOL_API = 16 };
#define TOOL_PROBE (TOOL_CALLBACKS | TOOL_KERNELS | TOOL_COPIES | TOOL_SYNC) /* as the probe */

/* Lets the driver load our injection, which opens the tool during cuInit(). */
void tool_inject(unsigned what, uint32_t buffer_bytes);
void tool_must(void); /* ends the check if the tool did not open */
int tool_enable(int kind, bool on);
void tool_flush(void);
uint64_t tool_kernels(void);
uint64_t tool_seen(int kind);
/* Flushes until as many records of that kind came, or none has come for a while. How many there are. */
uint64_t tool_await(int kind, uint64_t want);

static inline uint32_t at32(const uint8_t *r, unsigned at)
{
	uint32_t v;

	__builtin_memcpy(&v, r + at, sizeof(v));
	return v;
}

static inline uint64_t at64(const uint8_t *r, unsigned at)
{
	uint64_t v;

	__builtin_memcpy(&v, r + at, sizeof(v));
	return v;
}

/* Of a record of a kernel. */
enum { AT_START = 16, AT_END = 24, AT_CORRELATION = 92, AT_NAME = 104 };

/* --- the checks --- */

#define CHECK(name, what) void check_##name(void);
#define ARM(name)         void arm_##name(void);
#include "gpucheck/check.tbl.h"
