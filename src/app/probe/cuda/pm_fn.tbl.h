/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm_fn.tbl.h - the functions of CUPTI that PM sampling takes besides metric_fn.tbl.h, once: FN(name, struct).
 *
 * All return int (CUptiResult), and all must be there: 12.6.
 */
/* clang-format off */
FN(PmSamplingGetCounterAvailability,    pm_avail)
FN(PmSamplingEnable,                    pm_enable)
FN(PmSamplingDisable,                   pm_object)
FN(PmSamplingSetConfig,                 pm_set)
FN(PmSamplingStart,                     pm_object)
FN(PmSamplingStop,                      pm_object)
FN(PmSamplingGetCounterDataSize,        pm_data_size)
FN(PmSamplingCounterDataImageInitialize, pm_data)
FN(PmSamplingDecodeData,                pm_decode)
FN(PmSamplingGetCounterDataInfo,        pm_info)
FN(PmSamplingCounterDataGetSampleInfo,  pm_sample)
/* clang-format on */
#undef FN
