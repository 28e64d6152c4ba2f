/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stride.tbl.h - bytes of a record of each kind, by the version from which they hold. Kinds that
 * CUPTI 13.0 gave up have size 0 from there on.
 *
 *	STRIDE(kind, level, bytes)
 */
/* clang-format off */
STRIDE( 1, 118,  88) STRIDE( 1, 128,  96) STRIDE( 1, 134, 112) /* MEMCPY */
STRIDE( 2, 118,  88) STRIDE( 2, 134, 104)                      /* MEMSET */
STRIDE( 3, 118, 200) STRIDE( 3, 120, 208) STRIDE( 3, 130, 216) STRIDE( 3, 131, 224) STRIDE( 3, 133, 232) STRIDE( 3, 134, 248)
STRIDE( 4, 118,  40) STRIDE( 5, 118,  40)                      /* DRIVER, RUNTIME */
STRIDE( 6, 118,  24) STRIDE( 6, 130,   0) STRIDE( 7, 118,  24) STRIDE( 7, 130,   0)
STRIDE( 8, 118, 176) STRIDE( 8, 122, 184) STRIDE( 8, 132, 192) /* DEVICE */
STRIDE( 9, 118,  16) STRIDE( 9, 124,  24) STRIDE( 9, 125,  32) STRIDE( 9, 131,  40) /* CONTEXT */
STRIDE(10, 118, 200) STRIDE(10, 120, 208) STRIDE(10, 130, 216) STRIDE(10, 131, 224) STRIDE(10, 133, 232) STRIDE(10, 134, 248)
STRIDE(11, 118,  32) STRIDE(12, 118,  56)                      /* NAME, MARKER */
STRIDE(13, 118,  32) STRIDE(13, 130,  40)                      /* MARKER_DATA */
STRIDE(14, 118,  24) STRIDE(14, 130,   0) STRIDE(15, 118,  56) STRIDE(15, 130,   0)
STRIDE(16, 118,  40) STRIDE(16, 130,   0)
STRIDE(17, 118,  40) STRIDE(17, 123,  48) STRIDE(17, 124,  56) /* OVERHEAD */
STRIDE(18, 118, 144) STRIDE(19, 118,  40) STRIDE(20, 118,  40) /* CDP_KERNEL, PREEMPTION, ENVIRONMENT */
STRIDE(21, 118,  32) STRIDE(21, 130,   0)
STRIDE(22, 118,  96)                                           /* MEMCPY2 */
STRIDE(23, 118,  32) STRIDE(23, 130,   0) STRIDE(24, 118,  48) STRIDE(24, 130,   0)
STRIDE(25, 118,  64) STRIDE(25, 128, 104)                      /* UNIFIED_MEMORY_COUNTER */
STRIDE(26, 118,  32) STRIDE(27, 118,  24) STRIDE(28, 118,  24) /* FUNCTION, MODULE, DEVICE_ATTRIBUTE */
STRIDE(29, 118,  56) STRIDE(29, 130,   0) STRIDE(30, 118,  40) STRIDE(30, 130,   0)
STRIDE(31, 118,  32) STRIDE(31, 130,   0) STRIDE(32, 118,  24) STRIDE(32, 130,   0)
STRIDE(33, 118, 152) STRIDE(34, 118, 152) STRIDE(35, 118, 120) /* OPENACC */
STRIDE(36, 118,  24) STRIDE(36, 128,  56)                      /* CUDA_EVENT */
STRIDE(37, 118,  24)                                           /* STREAM */
STRIDE(38, 118,  40) STRIDE(38, 128,  56)                      /* SYNCHRONIZATION */
STRIDE(39, 118,  24)                                           /* EXTERNAL_CORRELATION */
STRIDE(40, 118, 136) STRIDE(40, 132,  88)                      /* NVLINK */
STRIDE(41, 118,  32) STRIDE(41, 130,   0) STRIDE(42, 118,  32) STRIDE(42, 130,   0)
STRIDE(43, 118,  32) STRIDE(43, 130,   0) STRIDE(44, 118,  32) STRIDE(44, 130,   0)
STRIDE(45, 118,  80) STRIDE(46, 118, 168) STRIDE(47, 118,  40) /* MEMORY, PCIE, OPENMP */
STRIDE(48, 118,  40)                                           /* INTERNAL_LAUNCH_API */
STRIDE(49, 118, 120) STRIDE(49, 126, 128)                      /* MEMORY2 */
STRIDE(50, 118,  72) STRIDE(50, 130,  80)                      /* MEMORY_POOL */
STRIDE(51, 118,  48) STRIDE(51, 123,  56)                      /* GRAPH_TRACE */
STRIDE(52, 118,  64) STRIDE(52, 124,  72)                      /* JIT */
STRIDE(53, 128,  56) STRIDE(54, 128,  64) STRIDE(55, 129,  32) /* DEVICE_GRAPH_TRACE, MEM_DECOMPRESS, ... */
STRIDE(56, 131,  56) STRIDE(57, 131,  24) STRIDE(58, 131,  48) /* GRAPH_HOST_NODE, ..., HOST_LAUNCH */
STRIDE(59, 132, 168) STRIDE(59, 134, 304)                      /* GREEN_CONTEXT */
/* clang-format on */
#undef STRIDE
