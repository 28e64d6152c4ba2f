/* SPDX-License-Identifier: Apache-2.0 */
/* range_fn.tbl.h - the functions of CUPTI that ranges take besides metric_fn.tbl.h, as there. */
/* clang-format off */
FN(RangeProfilerEnable,                     rp_enable)
FN(RangeProfilerDisable,                    pm_object)
FN(RangeProfilerSetConfig,                  rp_set)
FN(RangeProfilerStart,                      pm_object)
FN(RangeProfilerStop,                       rp_stop)
FN(RangeProfilerGetCounterDataSize,         rp_data_size)
FN(RangeProfilerCounterDataImageInitialize, pm_data)
FN(RangeProfilerDecodeData,                 rp_decode)
FN(RangeProfilerGetCounterDataInfo,         rp_info)
/* clang-format on */
#undef FN
