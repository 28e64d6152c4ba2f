/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.tbl.h - what a timeline tells apart by colour, and which kernels are which.
 *
 *	GROUP(NAME, "word")     a bit of a cell's mask, in this order: the page knows it
 *	OF(CLASS, GROUP)        a class of names/class.tbl.h; what is not here is OTHER
 */
/* clang-format off */
#ifdef GROUP
GROUP(MATMUL,    "matmul")
GROUP(ATTENTION, "attention")
GROUP(POINTWISE, "pointwise")
GROUP(COMM,      "comm")
GROUP(COPY,      "copy")
GROUP(OPTIMIZER, "optimizer")
GROUP(OTHER,     "other")
GROUP(HOST,      "host")
#undef GROUP
#endif

#ifdef OF
OF(GEMM,        MATMUL)
OF(CONV,        MATMUL)
OF(FFT,         MATMUL)
OF(MOE,         POINTWISE)
OF(ATTENTION,   ATTENTION)
OF(NORM,        POINTWISE)
OF(SOFTMAX,     POINTWISE)
OF(ELEMENTWISE, POINTWISE)
OF(REDUCTION,   POINTWISE)
OF(EMBEDDING,   POINTWISE)
OF(POOL,        POINTWISE)
OF(INDEX,       POINTWISE)
OF(LAYOUT,      POINTWISE)
OF(RANDOM,      POINTWISE)
OF(QUANT,       POINTWISE)
OF(OPTIMIZER,   OPTIMIZER)
OF(COMM,        COMM)
OF(COPY,        COPY)
OF(MEMSET,      COPY)
#undef OF
#endif
/* clang-format on */
