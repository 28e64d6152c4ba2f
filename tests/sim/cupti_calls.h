/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_calls.h - CUPTI's functions that the stand-in has. Results are CUptiResult numbers. */
#ifndef SIM_CUPTI_CALLS_H
#define SIM_CUPTI_CALLS_H

#include "cupti.h"
#include "probe/cuda/cupti_range.h"

/* subscribe.c */
SIM_API int cuptiSubscribe(struct client **out, callback_fn fn, void *userdata);
SIM_API int cuptiSubscribe_v2(struct client **out, callback_fn fn, void *userdata,
			      struct subscriber_params *p);
SIM_API int cuptiUnsubscribe(struct client *c);
SIM_API int cuptiEnableCallback(uint32_t enable, struct client *c, int domain, uint32_t cbid);
SIM_API int cuptiEnableDomain(uint32_t enable, struct client *c, int domain);
SIM_API int cuptiEnableAllDomains(uint32_t enable, struct client *c);
SIM_API int cuptiGetCallbackState(uint32_t *enable, struct client *c, int domain, uint32_t cbid);
SIM_API int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
SIM_API int cuptiFinalize(void);

/* activity.c */
SIM_API int cuptiActivityEnable(uint32_t kind);
SIM_API int cuptiActivityEnable_v2(struct client *c, uint32_t kind, void *config);
SIM_API int cuptiActivityEnableAndDump(uint32_t kind);
SIM_API int cuptiActivityEnableAndDump_v2(struct client *c, uint32_t kind, void *config);
SIM_API int cuptiActivityDisable(uint32_t kind);
SIM_API int cuptiActivityDisable_v2(struct client *c, uint32_t kind, void *config);
SIM_API int cuptiActivityGetEnabledKinds(struct client *c, uint32_t *buf, uint32_t *size,
					 uint32_t *count);
SIM_API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
SIM_API int cuptiActivityEnableDriverApi_v2(struct client *c, uint32_t cbid, uint8_t enable);
SIM_API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
SIM_API int cuptiActivityEnableRuntimeApi_v2(struct client *c, uint32_t cbid, uint8_t enable);
SIM_API int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete);
SIM_API int cuptiActivityRegisterCallbacks_v2(struct client *c, request2_fn request,
					      complete2_fn complete);
SIM_API int cuptiActivityGetNextRecord(uint8_t *buf, size_t valid, uint8_t **record);
SIM_API int cuptiActivityGetNextRecord_v2(struct client *c, uint8_t *buf, size_t valid,
					  uint8_t **record);
SIM_API int cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream, size_t *dropped);
SIM_API int cuptiActivityGetNumDroppedRecords_v2(struct client *c, CUcontext ctx, uint32_t stream,
						 size_t *dropped);
SIM_API int cuptiActivityFlushAll(uint32_t flag);
SIM_API int cuptiActivityFlush(CUcontext ctx, uint32_t stream, uint32_t flag);
SIM_API int cuptiActivityFlushPeriod(uint32_t ms);
SIM_API int cuptiActivityGetAttribute(uint32_t attr, size_t *size, void *value);
SIM_API int cuptiActivityGetAttribute_v2(struct client *c, uint32_t attr, size_t *size,
					 void *value);
SIM_API int cuptiActivitySetAttribute(uint32_t attr, size_t *size, void *value);
SIM_API int cuptiActivitySetAttribute_v2(struct client *c, uint32_t attr, size_t *size,
					 void *value);
SIM_API int cuptiActivityGetStructSize(uint32_t kind, uint32_t version, size_t *size);
SIM_API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
SIM_API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);
SIM_API int cuptiActivityPushExternalCorrelationId_v2(struct client *c, uint32_t kind, uint64_t id);
SIM_API int cuptiActivityPopExternalCorrelationId_v2(struct client *c, uint32_t kind,
						     uint64_t *last);

/* query.c */
SIM_API int cuptiGetVersion(uint32_t *version);
SIM_API int cuptiGetTimestamp(uint64_t *timestamp);
SIM_API int cuptiGetTimestamp_v2(struct client *c, uint64_t *timestamp);
SIM_API int cuptiActivityRegisterTimestampCallback(timestamp_fn fn);
SIM_API int cuptiActivityEnableLatencyTimestamps(uint8_t enable);
SIM_API int cuptiActivityEnableLaunchAttributes(uint8_t enable);
SIM_API int cuptiActivityEnableDeviceGraph(uint8_t enable);
SIM_API int cuptiActivityEnableAllocationSource(uint8_t enable);
SIM_API int cuptiActivityEnableAllSyncRecords(uint8_t enable);
SIM_API int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
SIM_API int cuptiActivityEnableHWTrace(uint8_t enable);
SIM_API int cuptiGetContextId(CUcontext ctx, uint32_t *id);
SIM_API int cuptiGetStreamId(CUcontext ctx, CUstream stream, uint32_t *id);
SIM_API int cuptiGetStreamIdEx(CUcontext ctx, CUstream stream, uint8_t per_thread, uint32_t *id);
SIM_API int cuptiGetDeviceId(CUcontext ctx, uint32_t *id);
SIM_API int cuptiGetGraphId(CUgraph graph, uint32_t *id);
SIM_API int cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id);
SIM_API int cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id);
SIM_API int cuptiGetCudaEventId(CUevent event, uint32_t *id);
SIM_API int cuptiGetResultString(int result, const char **text);
SIM_API int cuptiGetErrorMessage(int result, const char **text);
SIM_API int cuptiGetLastError(void);
SIM_API int cuptiSetThreadIdType(uint32_t type);
SIM_API int cuptiGetThreadIdType(uint32_t *type);
SIM_API int cuptiDeviceVirtualizationMode(CUdevice dev, uint32_t *mode);
SIM_API int cuptiDeviceSupported(CUdevice dev, int *support);
SIM_API int cuptiIsTracingSessionRunning(uint8_t *running);

/* Emits what the thread has pushed, before the API record of `corr`. */
void sim_externals(struct client *c, uint32_t corr);
void sim_api_records(struct client *c, int domain, bool on);

/* pm.c */
SIM_API int cuptiProfilerInitialize(struct pm_init *p);
SIM_API int cuptiDeviceGetChipName(struct pm_chip *p);
SIM_API int cuptiProfilerHostInitialize(struct pm_host *p);
SIM_API int cuptiProfilerHostDeinitialize(struct pm_host_end *p);
SIM_API int cuptiProfilerHostConfigAddMetrics(struct pm_add *p);
SIM_API int cuptiProfilerHostGetConfigImageSize(struct pm_config_size *p);
SIM_API int cuptiProfilerHostGetConfigImage(struct pm_config *p);
SIM_API int cuptiProfilerHostGetNumOfPasses(struct pm_passes *p);
SIM_API int cuptiProfilerHostEvaluateToGpuValues(struct pm_values *p);
SIM_API int cuptiPmSamplingGetCounterAvailability(struct pm_avail *p);
SIM_API int cuptiPmSamplingEnable(struct pm_enable *p);
SIM_API int cuptiPmSamplingDisable(struct pm_object *p);
SIM_API int cuptiPmSamplingSetConfig(struct pm_set *p);
SIM_API int cuptiPmSamplingStart(struct pm_object *p);
SIM_API int cuptiPmSamplingStop(struct pm_object *p);
SIM_API int cuptiPmSamplingGetCounterDataSize(struct pm_data_size *p);
SIM_API int cuptiPmSamplingCounterDataImageInitialize(struct pm_data *p);
SIM_API int cuptiPmSamplingDecodeData(struct pm_decode *p);
SIM_API int cuptiPmSamplingGetCounterDataInfo(struct pm_info *p);
SIM_API int cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample *p);

/* range.c */
SIM_API int cuptiRangeProfilerEnable(struct rp_enable *p);
SIM_API int cuptiRangeProfilerDisable(struct pm_object *p);
SIM_API int cuptiRangeProfilerSetConfig(struct rp_set *p);
SIM_API int cuptiRangeProfilerStart(struct pm_object *p);
SIM_API int cuptiRangeProfilerStop(struct rp_stop *p);
SIM_API int cuptiRangeProfilerGetCounterDataSize(struct rp_data_size *p);
SIM_API int cuptiRangeProfilerCounterDataImageInitialize(struct pm_data *p);
SIM_API int cuptiRangeProfilerDecodeData(struct rp_decode *p);
SIM_API int cuptiRangeProfilerGetCounterDataInfo(struct rp_info *p);

#endif /* SIM_CUPTI_CALLS_H */
