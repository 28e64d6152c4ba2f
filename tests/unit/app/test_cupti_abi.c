/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the CUDA probe believes of CUPTI, against NVIDIA's own headers of one version; built once
 * for each that tools/setup could get.
 */
#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_activity.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>
#if CUPTI_API_VERSION >= 26
#include <cupti_pmsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif
#if CUPTI_API_VERSION >= 130000 /* before, it is for C++ alone */
#include <cupti_profiler_host.h>
#endif

#include <stddef.h>

#undef CUPTI_OK
#include "probe/cuda/cuda.h"
#include "probe/cuda/record.h"
#include "t.h"

#if CUPTI_API_VERSION >= 130400
#define KERNEL CUpti_ActivityKernel13
#define COPY   CUpti_ActivityMemcpy7
#define SET    CUpti_ActivityMemset5
#elif CUPTI_API_VERSION >= 130300
#define KERNEL CUpti_ActivityKernel12
#elif CUPTI_API_VERSION >= 130100
#define KERNEL CUpti_ActivityKernel11
#elif CUPTI_API_VERSION >= 130000
#define KERNEL CUpti_ActivityKernel10
#elif CUPTI_API_VERSION > 18
#define KERNEL CUpti_ActivityKernel9
#else
#define KERNEL CUpti_ActivityKernel8
#endif
#if CUPTI_API_VERSION >= 26
#ifndef COPY
#define COPY CUpti_ActivityMemcpy6
#endif
#define SYNC   CUpti_ActivitySynchronization2
#define GRAPH  CUpti_ActivityGraphTrace2
#define MEMORY CUpti_ActivityMemory4
#if CUPTI_API_VERSION >= 130200
#define DEVICE CUpti_ActivityDevice6
#else
#define DEVICE CUpti_ActivityDevice5
#endif
#if CUPTI_API_VERSION >= 130100
#define CONTEXT CUpti_ActivityContext4
#else
#define CONTEXT CUpti_ActivityContext3
#endif
#else
#define COPY    CUpti_ActivityMemcpy5
#define SYNC    CUpti_ActivitySynchronization
#define GRAPH   CUpti_ActivityGraphTrace
#define MEMORY  CUpti_ActivityMemory3
#define DEVICE  CUpti_ActivityDevice4
#define CONTEXT CUpti_ActivityContext
#endif
#ifndef SET
#define SET CUpti_ActivityMemset4
#endif

static const struct {
	const char *what;
	size_t ours, theirs, our_size, their_size;
} fields[] = {
/* clang-format off */
#define F(at, type, field, size) \
	{ #type "." #field, at, offsetof(type, field), size, sizeof(((type *)0)->field) }
	F(K_REGS, KERNEL, registersPerThread, 2), F(K_START, KERNEL, start, 8), F(K_END, KERNEL, end, 8),
	F(K_DEVICE, KERNEL, deviceId, 4), F(K_CONTEXT, KERNEL, contextId, 4), F(K_STREAM, KERNEL, streamId, 4),
	F(K_GRID, KERNEL, gridX, 4), F(K_GRID + 4, KERNEL, gridY, 4), F(K_GRID + 8, KERNEL, gridZ, 4),
	F(K_BLOCK, KERNEL, blockX, 4), F(K_BLOCK + 4, KERNEL, blockY, 4), F(K_BLOCK + 8, KERNEL, blockZ, 4),
	F(K_SHM_STATIC, KERNEL, staticSharedMemory, 4), F(K_SHM_DYNAMIC, KERNEL, dynamicSharedMemory, 4),
	F(K_CORR, KERNEL, correlationId, 4), F(K_NAME, KERNEL, name, 8), F(K_QUEUED, KERNEL, queued, 8),
	F(K_SUBMITTED, KERNEL, submitted, 8), F(K_NODE, KERNEL, graphNodeId, 8), F(K_GRAPH, KERNEL, graphId, 4),
	F(C_KIND, COPY, copyKind, 1), F(C_SRC, COPY, srcKind, 1), F(C_DST, COPY, dstKind, 1),
	F(C_BYTES, COPY, bytes, 8), F(C_START, COPY, start, 8), F(C_END, COPY, end, 8),
	F(C_DEVICE, COPY, deviceId, 4), F(C_CONTEXT, COPY, contextId, 4), F(C_STREAM, COPY, streamId, 4),
	F(C_CORR, COPY, correlationId, 4), F(C_NODE, COPY, graphNodeId, 8), F(C_GRAPH, COPY, graphId, 4),
	F(C_BYTES, CUpti_ActivityMemcpyPtoP4, bytes, 8), F(C_START, CUpti_ActivityMemcpyPtoP4, start, 8),
	F(C_END, CUpti_ActivityMemcpyPtoP4, end, 8), F(C_DEVICE, CUpti_ActivityMemcpyPtoP4, deviceId, 4),
	F(C_CONTEXT, CUpti_ActivityMemcpyPtoP4, contextId, 4), F(C_STREAM, CUpti_ActivityMemcpyPtoP4, streamId, 4),
	F(P_SRC_DEVICE, CUpti_ActivityMemcpyPtoP4, srcDeviceId, 4),
	F(P_DST_DEVICE, CUpti_ActivityMemcpyPtoP4, dstDeviceId, 4),
	F(P_CORR, CUpti_ActivityMemcpyPtoP4, correlationId, 4),
	F(P_NODE, CUpti_ActivityMemcpyPtoP4, graphNodeId, 8), F(P_GRAPH, CUpti_ActivityMemcpyPtoP4, graphId, 4),
	F(C_BYTES, SET, bytes, 8), F(C_START, SET, start, 8), F(C_END, SET, end, 8),
	F(C_DEVICE, SET, deviceId, 4), F(C_CONTEXT, SET, contextId, 4), F(C_STREAM, SET, streamId, 4),
	F(C_CORR, SET, correlationId, 4), F(C_NODE, SET, graphNodeId, 8), F(C_GRAPH, SET, graphId, 4),
	F(S_MEMORY, SET, memoryKind, 2),
	F(Y_TYPE, SYNC, type, 4), F(Y_START, SYNC, start, 8), F(Y_END, SYNC, end, 8),
	F(Y_CORR, SYNC, correlationId, 4), F(Y_CONTEXT, SYNC, contextId, 4), F(Y_STREAM, SYNC, streamId, 4),
	F(G_CORR, GRAPH, correlationId, 4), F(G_START, GRAPH, start, 8), F(G_END, GRAPH, end, 8),
	F(G_DEVICE, GRAPH, deviceId, 4), F(G_GRAPH, GRAPH, graphId, 4), F(G_CONTEXT, GRAPH, contextId, 4),
	F(G_STREAM, GRAPH, streamId, 4),
	F(A_CBID, CUpti_ActivityAPI, cbid, 4), F(A_START, CUpti_ActivityAPI, start, 8),
	F(A_END, CUpti_ActivityAPI, end, 8), F(A_TID, CUpti_ActivityAPI, threadId, 4),
	F(A_CORR, CUpti_ActivityAPI, correlationId, 4),
	F(E_ID, CUpti_ActivityExternalCorrelation, externalId, 8),
	F(E_CORR, CUpti_ActivityExternalCorrelation, correlationId, 4),
	F(M_OP, MEMORY, memoryOperationType, 4), F(M_KIND, MEMORY, memoryKind, 4),
	F(M_CORR, MEMORY, correlationId, 4), F(M_ADDRESS, MEMORY, address, 8), F(M_BYTES, MEMORY, bytes, 8),
	F(M_TIME, MEMORY, timestamp, 8), F(M_DEVICE, MEMORY, deviceId, 4), F(M_CONTEXT, MEMORY, contextId, 4),
	F(M_STREAM, MEMORY, streamId, 4),
	F(D_BANDWIDTH, DEVICE, globalMemoryBandwidth, 8), F(D_MEMORY, DEVICE, globalMemorySize, 8),
	F(D_CLOCK_KHZ, DEVICE, coreClockRate, 4), F(D_SMS, DEVICE, numMultiprocessors, 4),
	F(D_CC_MAJOR, DEVICE, computeCapabilityMajor, 4), F(D_CC_MINOR, DEVICE, computeCapabilityMinor, 4),
	F(D_ID, DEVICE, id, 4), F(D_UUID, DEVICE, uuid, 16), F(D_NAME, DEVICE, name, 8),
	F(D_MIG, DEVICE, isMigEnabled, 1),
	F(X_ID, CONTEXT, contextId, 4), F(X_DEVICE, CONTEXT, deviceId, 4),
	F(X_NULL_STREAM, CONTEXT, nullStreamId, 2),
	F(T_CONTEXT, CUpti_ActivityStream, contextId, 4), F(T_STREAM, CUpti_ActivityStream, streamId, 4),
	F(T_PRIORITY, CUpti_ActivityStream, priority, 4),
	F(offsetof(struct cupti_cb_data, site), CUpti_CallbackData, callbackSite, 4),
	F(offsetof(struct cupti_cb_data, function), CUpti_CallbackData, functionName, 8),
	F(offsetof(struct cupti_cb_data, params), CUpti_CallbackData, functionParams, 8),
	F(offsetof(struct cupti_cb_data, symbol), CUpti_CallbackData, symbolName, 8),
	F(offsetof(struct cupti_cb_data, context), CUpti_CallbackData, context, 8),
	F(offsetof(struct cupti_cb_data, context_uid), CUpti_CallbackData, contextUid, 4),
	F(offsetof(struct cupti_cb_data, correlation), CUpti_CallbackData, correlationId, 4),
	F(offsetof(struct cupti_resource_data, descriptor), CUpti_ResourceData, resourceDescriptor, 8),
	F(offsetof(struct cupti_graph_data, exec), CUpti_GraphData, graphExec, 8),
#if CUPTI_API_VERSION >= 130000
	F(offsetof(struct cupti_params, name), CUpti_SubscriberParams, subscriberName, 8),
	F(offsetof(struct cupti_params, holder), CUpti_SubscriberParams, oldSubscriberName, 8),
	F(offsetof(struct cupti_params, holder_size), CUpti_SubscriberParams, oldSubscriberSize, 8),
#endif
#if CUPTI_API_VERSION >= 130200
	F(offsetof(struct cupti_params, multi), CUpti_SubscriberParams, allowMultipleSubscribers, 1),
#endif
#if CUPTI_API_VERSION >= 26
	F(offsetof(struct pm_chip, device), CUpti_Device_GetChipName_Params, deviceIndex, 8),
	F(offsetof(struct pm_chip, chip), CUpti_Device_GetChipName_Params, pChipName, 8),
	F(offsetof(struct pm_avail, device), CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex, 8),
	F(offsetof(struct pm_avail, bytes), CUpti_PmSampling_GetCounterAvailability_Params, counterAvailabilityImageSize, 8),
	F(offsetof(struct pm_avail, image), CUpti_PmSampling_GetCounterAvailability_Params, pCounterAvailabilityImage, 8),
	F(offsetof(struct pm_enable, device), CUpti_PmSampling_Enable_Params, deviceIndex, 8),
	F(offsetof(struct pm_enable, object), CUpti_PmSampling_Enable_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_object, object), CUpti_PmSampling_Disable_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_object, object), CUpti_PmSampling_Start_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_object, object), CUpti_PmSampling_Stop_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_set, object), CUpti_PmSampling_SetConfig_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_set, bytes), CUpti_PmSampling_SetConfig_Params, configSize, 8),
	F(offsetof(struct pm_set, image), CUpti_PmSampling_SetConfig_Params, pConfig, 8),
	F(offsetof(struct pm_set, hardware_bytes), CUpti_PmSampling_SetConfig_Params, hardwareBufferSize, 8),
	F(offsetof(struct pm_set, interval), CUpti_PmSampling_SetConfig_Params, samplingInterval, 8),
	F(offsetof(struct pm_set, trigger), CUpti_PmSampling_SetConfig_Params, triggerMode, 4),
	F(offsetof(struct pm_set, append), CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode, 4),
	F(offsetof(struct pm_data_size, object), CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_data_size, metric), CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames, 8),
	F(offsetof(struct pm_data_size, metrics), CUpti_PmSampling_GetCounterDataSize_Params, numMetrics, 8),
	F(offsetof(struct pm_data_size, samples), CUpti_PmSampling_GetCounterDataSize_Params, maxSamples, 4),
	F(offsetof(struct pm_data_size, bytes), CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize, 8),
	F(offsetof(struct pm_data, object), CUpti_PmSampling_CounterDataImage_Initialize_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_data, bytes), CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize, 8),
	F(offsetof(struct pm_data, image), CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData, 8),
	F(offsetof(struct pm_decode, object), CUpti_PmSampling_DecodeData_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_decode, image), CUpti_PmSampling_DecodeData_Params, pCounterDataImage, 8),
	F(offsetof(struct pm_decode, bytes), CUpti_PmSampling_DecodeData_Params, counterDataImageSize, 8),
	F(offsetof(struct pm_decode, stopped), CUpti_PmSampling_DecodeData_Params, decodeStopReason, 4),
	F(offsetof(struct pm_decode, overflow), CUpti_PmSampling_DecodeData_Params, overflow, 1),
	F(offsetof(struct pm_info, image), CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage, 8),
	F(offsetof(struct pm_info, bytes), CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize, 8),
	F(offsetof(struct pm_info, total), CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples, 8),
	F(offsetof(struct pm_info, populated), CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples, 8),
	F(offsetof(struct pm_info, completed), CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples, 8),
	F(offsetof(struct pm_sample, object), CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject, 8),
	F(offsetof(struct pm_sample, image), CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage, 8),
	F(offsetof(struct pm_sample, bytes), CUpti_PmSampling_CounterData_GetSampleInfo_Params, counterDataImageSize, 8),
	F(offsetof(struct pm_sample, sample), CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex, 8),
	F(offsetof(struct pm_sample, start), CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp, 8),
	F(offsetof(struct pm_sample, end), CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp, 8),
	F(offsetof(struct rp_enable, context), CUpti_RangeProfiler_Enable_Params, ctx, 8),
	F(offsetof(struct rp_enable, object), CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject, 8),
	F(offsetof(struct pm_object, object), CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject, 8),
	F(offsetof(struct pm_object, object), CUpti_RangeProfiler_Start_Params, pRangeProfilerObject, 8),
	F(offsetof(struct rp_set, object), CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject, 8),
	F(offsetof(struct rp_set, config_bytes), CUpti_RangeProfiler_SetConfig_Params, configSize, 8),
	F(offsetof(struct rp_set, config), CUpti_RangeProfiler_SetConfig_Params, pConfig, 8),
	F(offsetof(struct rp_set, bytes), CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize, 8),
	F(offsetof(struct rp_set, image), CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage, 8),
	F(offsetof(struct rp_set, range), CUpti_RangeProfiler_SetConfig_Params, range, 4),
	F(offsetof(struct rp_set, replay), CUpti_RangeProfiler_SetConfig_Params, replayMode, 4),
	F(offsetof(struct rp_set, ranges), CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass, 8),
	F(offsetof(struct rp_set, levels), CUpti_RangeProfiler_SetConfig_Params, numNestingLevels, 2),
	F(offsetof(struct rp_set, level), CUpti_RangeProfiler_SetConfig_Params, minNestingLevel, 2),
	F(offsetof(struct rp_set, pass), CUpti_RangeProfiler_SetConfig_Params, passIndex, 8),
	F(offsetof(struct rp_set, target), CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel, 2),
	F(offsetof(struct rp_stop, object), CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject, 8),
	F(offsetof(struct rp_stop, pass), CUpti_RangeProfiler_Stop_Params, passIndex, 8),
	F(offsetof(struct rp_stop, level), CUpti_RangeProfiler_Stop_Params, targetNestingLevel, 8),
	F(offsetof(struct rp_stop, all), CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted, 1),
	F(offsetof(struct rp_decode, object), CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject, 8),
	F(offsetof(struct rp_decode, dropped), CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped, 8),
	F(offsetof(struct rp_data_size, object), CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject, 8),
	F(offsetof(struct rp_data_size, metric), CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames, 8),
	F(offsetof(struct rp_data_size, metrics), CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics, 8),
	F(offsetof(struct rp_data_size, ranges), CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges, 8),
	F(offsetof(struct rp_data_size, nodes), CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes, 4),
	F(offsetof(struct rp_data_size, bytes), CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize, 8),
	F(offsetof(struct pm_data, object), CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pRangeProfilerObject, 8),
	F(offsetof(struct pm_data, bytes), CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize, 8),
	F(offsetof(struct pm_data, image), CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData, 8),
	F(offsetof(struct rp_info, image), CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage, 8),
	F(offsetof(struct rp_info, bytes), CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize, 8),
	F(offsetof(struct rp_info, ranges), CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges, 8),
#endif
#if CUPTI_API_VERSION >= 130000
	F(offsetof(struct pm_host, type), CUpti_Profiler_Host_Initialize_Params, profilerType, 4),
	F(offsetof(struct pm_host, chip), CUpti_Profiler_Host_Initialize_Params, pChipName, 8),
	F(offsetof(struct pm_host, avail), CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage, 8),
	F(offsetof(struct pm_host, host), CUpti_Profiler_Host_Initialize_Params, pHostObject, 8),
	F(offsetof(struct pm_host_end, host), CUpti_Profiler_Host_Deinitialize_Params, pHostObject, 8),
	F(offsetof(struct pm_add, host), CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject, 8),
	F(offsetof(struct pm_add, metric), CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames, 8),
	F(offsetof(struct pm_add, metrics), CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics, 8),
	F(offsetof(struct pm_config_size, host), CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject, 8),
	F(offsetof(struct pm_config_size, bytes), CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize, 8),
	F(offsetof(struct pm_config, host), CUpti_Profiler_Host_GetConfigImage_Params, pHostObject, 8),
	F(offsetof(struct pm_config, bytes), CUpti_Profiler_Host_GetConfigImage_Params, configImageSize, 8),
	F(offsetof(struct pm_config, image), CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage, 8),
	F(offsetof(struct pm_passes, bytes), CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize, 8),
	F(offsetof(struct pm_passes, image), CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage, 8),
	F(offsetof(struct pm_passes, passes), CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses, 8),
	F(offsetof(struct pm_values, host), CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject, 8),
	F(offsetof(struct pm_values, image), CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage, 8),
	F(offsetof(struct pm_values, bytes), CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize, 8),
	F(offsetof(struct pm_values, sample), CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex, 8),
	F(offsetof(struct pm_values, metric), CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames, 8),
	F(offsetof(struct pm_values, metrics), CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics, 8),
	F(offsetof(struct pm_values, value), CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues, 8),
#endif
	/* clang-format on */
};

static const struct {
	const char *what;
	long ours, theirs;
} numbers[] = {
/* clang-format off */
#define N(ours, theirs) { #theirs, ours, theirs }
	N(CK_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY), N(CK_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET),
	N(CK_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL), N(CK_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER),
	N(CK_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME), N(CK_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE),
	N(CK_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT),
	N(CK_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
	N(CK_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD), N(CK_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2),
	N(CK_STREAM, CUPTI_ACTIVITY_KIND_STREAM), N(CK_SYNC, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION),
	N(CK_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION),
	N(CK_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2), N(CK_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE),
	N(CA_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE),
	N(CA_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT),
	N(CA_ZEROED_OUT, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER),
	N(CA_DEVICE_BUFFER_PREALLOC, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE),
#if CUPTI_API_VERSION >= 21
	N(CA_PER_THREAD, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER),
#endif
#if CUPTI_API_VERSION >= 130300
	N(CA_MULTI_STATE, CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE),
	N(CA_HES, CUPTI_ACTIVITY_ATTR_ENABLE_HES),
	N(CA_LATENCY, CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS),
	N(CA_THREAD_ID_TYPE, CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE),
#endif
#if CUPTI_API_VERSION >= 20
	N(CD_STATE, CUPTI_CB_DOMAIN_STATE), N(CS_FATAL, CUPTI_CBID_STATE_FATAL_ERROR),
	N(CS_ERROR, CUPTI_CBID_STATE_ERROR),
#endif
#if CUPTI_API_VERSION >= 26
	N(PM_TRIGGER_CLOCKS, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL),
	N(PM_TRIGGER_NS, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL),
	N(PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST),
	N(sizeof(struct pm_init), CUpti_Profiler_Initialize_Params_STRUCT_SIZE),
	N(PM_SIZE(pm_set, append), CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE),
	N(PM_SIZE(pm_decode, overflow), CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE),
	N(RP_AUTO_RANGE, CUPTI_AutoRange), N(RP_KERNEL_REPLAY, CUPTI_KernelReplay),
	N(PM_SIZE(rp_set, target), CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE),
	N(PM_SIZE(rp_stop, all), CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE),
	N(PM_SIZE(rp_data_size, bytes), CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE),
#endif
#if CUPTI_API_VERSION >= 130000
	N(PM_PROFILER_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING),
	N(RP_PROFILER_TYPE, CUPTI_PROFILER_TYPE_RANGE_PROFILER),
#endif
	N(CUPTI_INVALID_METRIC, CUPTI_ERROR_INVALID_METRIC_NAME),
	N(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM),
	N(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
	N(CD_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API), N(CD_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API),
	N(CD_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE),
	N(CR_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED),
	N(CR_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED),
	N(CR_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING),
	N(CR_GRAPHEXEC_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING),
	N(AON_MEM_ALLOC, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION),
	N(AON_MEM_FREE, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE),
	N(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY),
	N(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE),
	N(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED),
	N(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY), N(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED),
	N(CUPTI_VGPU_NOT_SUPPORTED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED),
	N(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
	N(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
	N(CUPTI_VGPU_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES),
	N(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED),
	N(CUPTI_CMP, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED), N(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN),
/* clang-format on */
#define CBID(name, number, what) { #name, number, CUPTI_DRIVER_TRACE_CBID_##name },
#include "probe/cuda/cbid.tbl.h"
};

int main(void)
{
	for (size_t i = 0; i < T_LEN(fields); i++)
		T_OK(fields[i].ours == fields[i].theirs &&
			     fields[i].our_size == fields[i].their_size,
		     "%d: %s is at %zu", CUPTI_API_VERSION, fields[i].what, fields[i].theirs);
	for (size_t i = 0; i < T_LEN(numbers); i++)
		T_OK(numbers[i].ours == numbers[i].theirs, "%d: %s is %ld", CUPTI_API_VERSION,
		     numbers[i].what, numbers[i].theirs);
	T_OK(sizeof(KERNEL) >= 200 && sizeof(KERNEL) % 8 == 0, "%d: a kernel has %zu bytes",
	     CUPTI_API_VERSION, sizeof(KERNEL));
	return t_done();
}
