/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - cuInit() with its injection, devices, versions, errors, cuGetProcAddress(). */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

static pthread_mutex_t init_lock; /* recursive: an injection may call cuInit() itself */
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static enum { BEFORE, UNDER_WAY, DONE } init_state;

static void make_init_lock(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&init_lock, &a);
	pthread_mutexattr_destroy(&a);
}

/* A library that cannot be loaded, or that says no, does not stop the program. */
static void inject(void)
{
	const char *path = sim_env("CUDA_INJECTION64_PATH");
	int (*init)(void);
	void *lib;

	if (!path)
		return;
	lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!lib)
		return;
	*(void **)&init = dlsym(lib, "InitializeInjection");
	if (init)
		init();
}

CUresult do_cuInit(unsigned flags)
{
	CUresult r = (CUresult)sim_env_int("SIM_INIT_ERROR", 0);

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	pthread_once(&init_once, make_init_lock);
	pthread_mutex_lock(&init_lock);
	if (init_state == BEFORE) {
		init_state = UNDER_WAY;
		sim_conf_devices();
		sim_call_init();
		if (sim_ndevices)
			inject();
		init_state = DONE;
		if (sim_ndevices)
			sim_resource(5, NULL, NULL, NULL);
	}
	r = sim_ndevices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
	pthread_mutex_unlock(&init_lock);
	return r;
}

static CUresult device_of(CUdevice dev, struct sim_device **out)
{
	if (init_state == BEFORE)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (dev < 0 || (uint32_t)dev >= sim_ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = &sim_devices[dev];
	return CUDA_SUCCESS;
}

CUresult do_cuDriverGetVersion(int *version)
{
	*version = (int)sim_env_int("SIM_DRIVER_VERSION", 13040);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGet(CUdevice *device, int ordinal)
{
	struct sim_device *d;
	CUresult r = device_of(ordinal, &d);

	if (!r)
		*device = ordinal;
	return r;
}

CUresult do_cuDeviceGetCount(int *count)
{
	if (init_state == BEFORE)
		return CUDA_ERROR_NOT_INITIALIZED;
	*count = (int)sim_ndevices;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = device_of(dev, &d);

	if (!r && len > 0)
		snprintf(name, (size_t)len, "%s", d->info.name);
	return r;
}

CUresult do_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = device_of(dev, &d);

	if (!r)
		*bytes = d->info.memory_mib << 20;
	return r;
}

CUresult do_cuDeviceGetPCIBusId(char *text, int len, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = device_of(dev, &d);

	if (!r && len > 0)
		snprintf(text, (size_t)len, "0000:%02X:00.0", d->id + 1);
	return r;
}

CUresult do_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = device_of(dev, &d);

	if (!r) {
		memcpy(uuid->bytes, "stand-in device", 16);
		uuid->bytes[15] = (char)d->id;
	}
	return r;
}

CUresult do_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return do_cuDeviceGetUuid(uuid, dev);
}

CUresult do_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	struct sim_device *d;
	CUresult r = device_of(dev, &d);

	if (!r)
		r = device_of(peer, &d);
	if (!r)
		*can = dev != peer;
	return r;
}

CUresult do_cuDeviceGetAttribute(int *value, int attrib, CUdevice dev)
{
	struct sim_device *d;
	CUresult r = device_of(dev, &d);
	const struct sim_device_info *i;

	if (r)
		return r;
	i = &d->info;
	const struct {
		int attrib;
		uint32_t value;
	} known[] = {
		{ 1, 1024 }, /* threads a block */
		{ 2, 1024 },
		{ 3, 1024 },
		{ 4, 64 },     /* block x, y, z */
		{ 8, 49152 },  /* shared memory a block */
		{ 10, 32 },    /* warp */
		{ 12, 65536 }, /* registers a block */
		{ 13, i->clock_khz },
		{ 15, 1 }, /* copies overlap kernels */
		{ 16, i->sms },
		{ 31, 1 },         /* concurrent kernels */
		{ 33, d->id + 1 }, /* PCI bus */
		{ 36, (uint32_t)(i->memory_kbs / 1000 / 768) * 1000 },
		{ 38, i->l2_kib * 1024 },
		{ 39, i->warps_per_sm * 32 },
		{ 40, 2 }, /* copy engines */
		{ 41, 1 }, /* unified addresses */
		{ 75, i->major },
		{ 76, i->minor },
		{ 81, i->smem_per_sm },
		{ 82, i->regs_per_sm },
		{ 115, 1 }, /* memory pools */
	};
	for (size_t k = 0; k < ARRAY_LEN(known); k++)
		if (known[k].attrib == attrib) {
			*value = (int)known[k].value;
			return CUDA_SUCCESS;
		}
	*value = 0;
	return attrib > 0 && attrib < 200 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const struct {
	CUresult error;
	const char *name, *text;
} errors[] = {
	/* clang-format off */
	{ 0,   "CUDA_SUCCESS",                  "no error" },
	{ 1,   "CUDA_ERROR_INVALID_VALUE",      "invalid argument" },
	{ 2,   "CUDA_ERROR_OUT_OF_MEMORY",      "out of memory" },
	{ 3,   "CUDA_ERROR_NOT_INITIALIZED",    "initialization error" },
	{ 100, "CUDA_ERROR_NO_DEVICE",          "no CUDA-capable device is detected" },
	{ 101, "CUDA_ERROR_INVALID_DEVICE",     "invalid device ordinal" },
	{ 201, "CUDA_ERROR_INVALID_CONTEXT",    "invalid device context" },
	{ 400, "CUDA_ERROR_INVALID_HANDLE",     "invalid resource handle" },
	{ 500, "CUDA_ERROR_NOT_FOUND",          "named symbol not found" },
	{ 600, "CUDA_ERROR_NOT_READY",          "device not ready" },
	{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS",    "an illegal memory access was encountered" },
	{ 719, "CUDA_ERROR_LAUNCH_FAILED",      "unspecified launch failure" },
	{ 801, "CUDA_ERROR_NOT_SUPPORTED",      "operation not supported" },
	{ 999, "CUDA_ERROR_UNKNOWN",            "unknown error" },
	/* clang-format on */
};

static CUresult error_text(CUresult error, const char **out, bool name)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].error == error) {
			*out = name ? errors[i].name : errors[i].text;
			return CUDA_SUCCESS;
		}
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGetErrorString(CUresult error, const char **text)
{
	return error_text(error, text, false);
}

CUresult do_cuGetErrorName(CUresult error, const char **text)
{
	return error_text(error, text, true);
}

CUresult do_cuGetProcAddress(const char *symbol, void **fn, int version, unsigned long long flags)
{
	(void)version;
	*fn = sim_call_find(symbol, flags & 2);
	return *fn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult do_cuGetProcAddress_v2(const char *symbol, void **fn, int version,
				unsigned long long flags, int *status)
{
	CUresult r = do_cuGetProcAddress(symbol, fn, version, flags);

	if (status)
		*status = r ? 1 : 0;
	return r;
}
