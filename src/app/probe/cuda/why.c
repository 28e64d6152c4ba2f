/* SPDX-License-Identifier: Apache-2.0 */
/* why.c - what CUPTI's errors mean, in words. */
#include "probe/cuda/cuda.h"

static const char *const reasons[48] = {
	[CUPTI_OUT_OF_MEMORY] = "out of device memory",
	[CUPTI_NOT_COMPATIBLE] = "this libcupti and the driver do not fit together",
	[CUPTI_NOT_INITIALIZED] = "this libcupti is newer than the driver, or cannot start",
	[CUPTI_HARDWARE_BUSY] = "another tool uses the GPU's profiling hardware",
	[CUPTI_NOT_SUPPORTED] = "this device or driver does not support tracing",
	[CUPTI_VGPU_NOT_SUPPORTED] = "virtual GPUs of this kind cannot be traced",
	[CUPTI_INSUFFICIENT_PRIVILEGES] =
		"no permission: ask for NVreg_RestrictProfilingToAdminUsers=0",
	[CUPTI_TAKEN] = "another tool has CUPTI",
	[CUPTI_VGPU_PRIVILEGES] = "no permission: tracing is off for this virtual GPU",
	[CUPTI_CONFIDENTIAL] = "confidential computing does not allow tracing",
	[CUPTI_CMP] = "mining processors cannot be traced",
	[CUPTI_MIG] = "this MIG instance cannot be traced",
	[CUPTI_SLI] = "SLI devices cannot be traced",
	[CUPTI_WSL] = "not supported under WSL",
};

const char *session_why(int error)
{
	if (error > 0 && error < (int)(sizeof(reasons) / sizeof(reasons[0])) && reasons[error])
		return reasons[error];
	return error == CUPTI_UNKNOWN ? "CUPTI cannot start: no usable driver or GPU"
				      : "CUPTI refused";
}

const char *counters_why(int error)
{
	if (error == CUPTI_NOT_INITIALIZED)
		return "CUPTI cannot load libnvperf_host.so and libnvperf_target.so";
	if (error == CUPTI_INVALID_METRIC)
		return "this device has none of the counters";
	return session_why(error);
}
