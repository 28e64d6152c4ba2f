/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml_abi.c - our declarations of NVML against NVIDIA's header. */
#include <stddef.h>

#include "abi/nvml_abi.h"
#ifdef HAVE_NVML_H
#include <nvml.h>
#endif
#include "t.h"

int main(void)
{
#ifdef HAVE_NVML_H
#define SAME(ours, theirs) \
	T_OK(sizeof(struct ours) == sizeof(theirs), #ours " is as long as " #theirs)
#define AT(ours, field, theirs, member)                                                  \
	T_OK(offsetof(struct ours, field) == offsetof(theirs, member) &&                 \
		     sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->member), \
	     #ours "." #field " is " #member)
	SAME(nvml_utilization, nvmlUtilization_t);
	SAME(nvml_memory, nvmlMemory_t);
	AT(nvml_memory, used, nvmlMemory_t, used);
	SAME(nvml_memory_v2, nvmlMemory_v2_t);
	AT(nvml_memory_v2, reserved, nvmlMemory_v2_t, reserved);
	AT(nvml_memory_v2, free, nvmlMemory_v2_t, free);
	T_OK(NVML_MEMORY_V2 == nvmlMemory_v2, "the version of nvmlMemory_v2_t");
	SAME(nvml_pci, nvmlPciInfo_t);
	AT(nvml_pci, bus_id, nvmlPciInfo_t, busId);
	SAME(nvml_violation, nvmlViolationTime_t);
	AT(nvml_violation, violation_ns, nvmlViolationTime_t, violationTime);
	SAME(nvml_process, nvmlProcessInfo_t);
	AT(nvml_process, memory, nvmlProcessInfo_t, usedGpuMemory);
	SAME(nvml_share, nvmlProcessUtilizationSample_t);
	AT(nvml_share, time_us, nvmlProcessUtilizationSample_t, timeStamp);
	AT(nvml_share, sm, nvmlProcessUtilizationSample_t, smUtil);
	AT(nvml_share, decoder, nvmlProcessUtilizationSample_t, decUtil);
	SAME(nvml_account, nvmlAccountingStats_t);
	AT(nvml_account, peak_bytes, nvmlAccountingStats_t, maxMemoryUsage);
	AT(nvml_account, running, nvmlAccountingStats_t, isRunning);
	SAME(nvml_field, nvmlFieldValue_t);
	AT(nvml_field, scope, nvmlFieldValue_t, scopeId);
	AT(nvml_field, type, nvmlFieldValue_t, valueType);
	AT(nvml_field, result, nvmlFieldValue_t, nvmlReturn);
	AT(nvml_field, value, nvmlFieldValue_t, value);
	SAME(nvml_event, nvmlEventData_t);
	AT(nvml_event, data, nvmlEventData_t, eventData);
	SAME(nvml_gpm_support, nvmlGpmSupport_t);
	SAME(nvml_gpm_metric, nvmlGpmMetric_t);
	AT(nvml_gpm_metric, value, nvmlGpmMetric_t, value);
	AT(nvml_gpm, before, nvmlGpmMetricsGet_t, sample1);
	T_OK(offsetof(struct nvml_gpm, metric) == offsetof(nvmlGpmMetricsGet_t, metrics) &&
		     NVML_GPM_MAX >= NVML_GPM_METRIC_MAX,
	     "there is room for every metric of GPM");
	T_OK(NVML_UNINITIALIZED == (int)NVML_ERROR_UNINITIALIZED &&
		     NVML_NOT_SUPPORTED == (int)NVML_ERROR_NOT_SUPPORTED &&
		     NVML_DRIVER_NOT_LOADED == (int)NVML_ERROR_DRIVER_NOT_LOADED &&
		     NVML_GPU_IS_LOST == (int)NVML_ERROR_GPU_IS_LOST &&
		     NVML_RESET_REQUIRED == (int)NVML_ERROR_RESET_REQUIRED &&
		     NVML_VERSION_MISMATCH == (int)NVML_ERROR_LIB_RM_VERSION_MISMATCH &&
		     NVML_INSUFFICIENT_SIZE == (int)NVML_ERROR_INSUFFICIENT_SIZE &&
		     NVML_TIMEOUT == (int)NVML_ERROR_TIMEOUT,
	     "results have their numbers");
	T_OK(NVML_EVENT_XID == nvmlEventTypeXidCriticalError &&
		     NVML_EVENT_DBE == nvmlEventTypeDoubleBitEccError,
	     "events have their bits");
	return t_done();
#else
	t_skip_all("nvml.h is not here (tools/setup check)");
#endif
}
