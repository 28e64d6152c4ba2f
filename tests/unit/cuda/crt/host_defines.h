/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA runtime's headers want from the compiler's, which no wheel of CUPTI brings along:
 * enough for a C compiler to read the types. */
#ifndef AON_TEST_HOST_DEFINES_H
#define AON_TEST_HOST_DEFINES_H

#define CUDARTAPI
#define __device__
#define __host__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n)         __attribute__((aligned(n)))
#define __location__(a)
#define __specialization_static
#define __cuda_builtin_vector_align8(tag, members) \
	struct __attribute__((aligned(8))) tag {   \
		members                            \
	}

#endif /* AON_TEST_HOST_DEFINES_H */
