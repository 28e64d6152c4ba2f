/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_fn.tbl.h - the functions of CUPTI by which metrics are chosen and read, once: FN(name, struct).
 *
 * All return int (CUptiResult), and all must be there: 12.6.
 */
/* clang-format off */
FN(ProfilerInitialize,                  pm_init)
FN(DeviceGetChipName,                   pm_chip)
FN(ProfilerHostInitialize,              pm_host)
FN(ProfilerHostDeinitialize,            pm_host_end)
FN(ProfilerHostConfigAddMetrics,        pm_add)
FN(ProfilerHostGetConfigImageSize,      pm_config_size)
FN(ProfilerHostGetConfigImage,          pm_config)
FN(ProfilerHostGetNumOfPasses,          pm_passes)
FN(ProfilerHostEvaluateToGpuValues,     pm_values)
/* clang-format on */
#undef FN
