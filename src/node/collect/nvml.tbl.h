/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml.tbl.h - calls of NVML that give numbers, and the series that they are.
 *
 *	READ(shape, "function", argument, "metric", scale, group)
 *
 * shape  UINT   f(device, unsigned *)          UINT_OF  f(device, argument, unsigned *)
 *        ULONG  f(device, unsigned long long *)
 *	FIELD(number, scope, "metric", scale, group): nvmlDeviceGetFieldValues()
 *	GPM(number, "metric", scale): of Hopper and later
 *	CALL(MUST or MAY be there, field, arguments, "function|one of earlier drivers"): of other shapes
 */
#ifndef READ
#define READ(...)
#endif
#ifndef FIELD
#define FIELD(...)
#endif
#ifndef GPM
#define GPM(...)
#endif
#ifndef CALL
#define CALL(...)
#endif
/* clang-format off */
READ(UINT_OF, "nvmlDeviceGetClockInfo", 1, "DCGM_FI_DEV_SM_CLOCK", 1, FAST)
READ(UINT_OF, "nvmlDeviceGetClockInfo", 2, "DCGM_FI_DEV_MEM_CLOCK", 1, FAST)
READ(UINT_OF, "nvmlDeviceGetClockInfo", 3, "DCGM_FI_DEV_VIDEO_CLOCK", 1, SLOW)
READ(UINT_OF, "nvmlDeviceGetMaxClockInfo", 1, "DCGM_FI_DEV_MAX_SM_CLOCK", 1, SLOW)
READ(UINT_OF, "nvmlDeviceGetMaxClockInfo", 2, "DCGM_FI_DEV_MAX_MEM_CLOCK", 1, SLOW)
READ(UINT_OF, "nvmlDeviceGetTemperature", 0, "DCGM_FI_DEV_GPU_TEMP", 1, FAST)
READ(UINT_OF, "nvmlDeviceGetTemperatureThreshold", 0, "DCGM_FI_DEV_SHUTDOWN_TEMP", 1, SLOW)
READ(UINT_OF, "nvmlDeviceGetTemperatureThreshold", 1, "DCGM_FI_DEV_SLOWDOWN_TEMP", 1, SLOW)
READ(UINT,    "nvmlDeviceGetPowerUsage", 0, "DCGM_FI_DEV_POWER_USAGE", 1e-3, FAST)
READ(UINT,    "nvmlDeviceGetPowerManagementLimit", 0, "DCGM_FI_DEV_POWER_MGMT_LIMIT", 1e-3, SLOW)
READ(UINT,    "nvmlDeviceGetPowerManagementDefaultLimit", 0, "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", 1e-3, SLOW)
READ(UINT,    "nvmlDeviceGetEnforcedPowerLimit", 0, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", 1e-3, FAST)
READ(ULONG,   "nvmlDeviceGetTotalEnergyConsumption", 0, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1, MID)
READ(ULONG,   "nvmlDeviceGetCurrentClocksEventReasons|nvmlDeviceGetCurrentClocksThrottleReasons", 0, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 1, FAST)
READ(UINT,    "nvmlDeviceGetPerformanceState", 0, "DCGM_FI_DEV_PSTATE", 1, FAST)
READ(UINT,    "nvmlDeviceGetFanSpeed", 0, "DCGM_FI_DEV_FAN_SPEED", 1, SLOW)
READ(UINT_OF, "nvmlDeviceGetPcieThroughput", 0, "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", 1, SLOW)
READ(UINT_OF, "nvmlDeviceGetPcieThroughput", 1, "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", 1, SLOW)
READ(UINT,    "nvmlDeviceGetPcieReplayCounter", 0, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 1, SLOW)
READ(UINT,    "nvmlDeviceGetCurrPcieLinkGeneration", 0, "DCGM_FI_DEV_PCIE_LINK_GEN", 1, SLOW)
READ(UINT,    "nvmlDeviceGetCurrPcieLinkWidth", 0, "DCGM_FI_DEV_PCIE_LINK_WIDTH", 1, SLOW)
READ(UINT,    "nvmlDeviceGetMaxPcieLinkGeneration", 0, "DCGM_FI_DEV_PCIE_MAX_LINK_GEN", 1, SLOW)
READ(UINT,    "nvmlDeviceGetMaxPcieLinkWidth", 0, "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", 1, SLOW)
READ(UINT,    "nvmlDeviceGetPersistenceMode", 0, "aon_gpu_persistence_mode", 1, SLOW)
FIELD( 82, 0, "DCGM_FI_DEV_MEMORY_TEMP", 1, FAST)
FIELD(186, 0, "DCGM_FI_DEV_POWER_USAGE_INSTANT", 1e-3, SLOW)
FIELD( 29, 0, "DCGM_FI_DEV_RETIRED_SBE", 1, SLOW)
FIELD( 30, 0, "DCGM_FI_DEV_RETIRED_DBE", 1, SLOW)
FIELD( 31, 0, "DCGM_FI_DEV_RETIRED_PENDING", 1, SLOW)
FIELD(142, 0, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", 1, SLOW)
FIELD(143, 0, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 1, SLOW)
FIELD(144, 0, "DCGM_FI_DEV_ROW_REMAP_PENDING", 1, SLOW)
FIELD(145, 0, "DCGM_FI_DEV_ROW_REMAP_FAILURE", 1, SLOW)
FIELD( 38, 0, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 1, SLOW)
FIELD( 45, 0, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 1, SLOW)
FIELD( 52, 0, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", 1, SLOW)
FIELD( 59, 0, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", 1, SLOW)
GPM( 1, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1e-2)
GPM( 2, "DCGM_FI_PROF_SM_ACTIVE", 1e-2)
GPM( 3, "DCGM_FI_PROF_SM_OCCUPANCY", 1e-2)
GPM( 5, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 1e-2)
GPM(10, "DCGM_FI_PROF_DRAM_ACTIVE", 1e-2)
GPM(11, "DCGM_FI_PROF_PIPE_FP64_ACTIVE", 1e-2)
GPM(12, "DCGM_FI_PROF_PIPE_FP32_ACTIVE", 1e-2)
GPM(13, "DCGM_FI_PROF_PIPE_FP16_ACTIVE", 1e-2)
GPM(20, "DCGM_FI_PROF_PCIE_TX_BYTES", 1048576)
GPM(21, "DCGM_FI_PROF_PCIE_RX_BYTES", 1048576)
GPM(60, "DCGM_FI_PROF_NVLINK_RX_BYTES", 1048576)
GPM(61, "DCGM_FI_PROF_NVLINK_TX_BYTES", 1048576)
CALL(MUST, init, (void),                                                   "nvmlInit_v2|nvmlInit")
CALL(MUST, shutdown, (void),                                               "nvmlShutdown")
CALL(MUST, count, (unsigned *),                                            "nvmlDeviceGetCount_v2|nvmlDeviceGetCount")
CALL(MUST, handle, (unsigned, nvml_dev *),                                 "nvmlDeviceGetHandleByIndex_v2|nvmlDeviceGetHandleByIndex")
CALL(MUST, name, (nvml_dev, char *, unsigned),                             "nvmlDeviceGetName")
CALL(MUST, uuid, (nvml_dev, char *, unsigned),                             "nvmlDeviceGetUUID")
CALL(MAY, pci, (nvml_dev, struct nvml_pci *),                              "nvmlDeviceGetPciInfo_v3")
CALL(MAY, driver, (char *, unsigned),                                      "nvmlSystemGetDriverVersion")
CALL(MAY, utilization, (nvml_dev, struct nvml_utilization *),              "nvmlDeviceGetUtilizationRates")
CALL(MAY, encoder, (nvml_dev, unsigned *, unsigned *),                     "nvmlDeviceGetEncoderUtilization")
CALL(MAY, decoder, (nvml_dev, unsigned *, unsigned *),                     "nvmlDeviceGetDecoderUtilization")
CALL(MAY, memory, (nvml_dev, struct nvml_memory *),                        "nvmlDeviceGetMemoryInfo")
CALL(MAY, memory_v2, (nvml_dev, struct nvml_memory_v2 *),                  "nvmlDeviceGetMemoryInfo_v2")
CALL(MAY, violation, (nvml_dev, unsigned, struct nvml_violation *),        "nvmlDeviceGetViolationStatus")
CALL(MAY, ecc, (nvml_dev, unsigned, unsigned, unsigned long long *),       "nvmlDeviceGetTotalEccErrors")
CALL(MAY, mig_mode, (nvml_dev, unsigned *, unsigned *),                    "nvmlDeviceGetMigMode")
CALL(MAY, mig_device, (nvml_dev, unsigned, nvml_dev *),                    "nvmlDeviceGetMigDeviceHandleByIndex")
CALL(MAY, gpu_instance, (nvml_dev, unsigned *),                            "nvmlDeviceGetGpuInstanceId")
CALL(MAY, processes, (nvml_dev, unsigned *, struct nvml_process *),        "nvmlDeviceGetComputeRunningProcesses_v3")
CALL(MAY, proc_share, (nvml_dev, struct nvml_share *, unsigned *, unsigned long long), "nvmlDeviceGetProcessUtilization")
CALL(MAY, accounting, (nvml_dev, unsigned *),                              "nvmlDeviceGetAccountingMode")
CALL(MAY, account, (nvml_dev, unsigned, struct nvml_account *),            "nvmlDeviceGetAccountingStats")
CALL(MAY, fields, (nvml_dev, int, struct nvml_field *),                    "nvmlDeviceGetFieldValues")
CALL(MAY, link_state, (nvml_dev, unsigned, unsigned *),                    "nvmlDeviceGetNvLinkState")
CALL(MAY, events_new, (void **),                                           "nvmlEventSetCreate")
CALL(MAY, events_free, (void *),                                           "nvmlEventSetFree")
CALL(MAY, events_types, (nvml_dev, unsigned long long *),                  "nvmlDeviceGetSupportedEventTypes")
CALL(MAY, events_ask, (nvml_dev, unsigned long long, void *),              "nvmlDeviceRegisterEvents")
CALL(MAY, events_wait, (void *, struct nvml_event *, unsigned),            "nvmlEventSetWait_v2|nvmlEventSetWait")
CALL(MAY, gpm_support, (nvml_dev, struct nvml_gpm_support *),              "nvmlGpmQueryDeviceSupport")
CALL(MAY, gpm_alloc, (void **),                                            "nvmlGpmSampleAlloc")
CALL(MAY, gpm_free, (void *),                                              "nvmlGpmSampleFree")
CALL(MAY, gpm_sample, (nvml_dev, void *),                                  "nvmlGpmSampleGet")
CALL(MAY, gpm_get, (struct nvml_gpm *),                                    "nvmlGpmMetricsGet")
/* clang-format on */
#undef READ
#undef FIELD
#undef GPM
#undef CALL
