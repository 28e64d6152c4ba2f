/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - where the fields of CUPTI's records are: the same in 11.8 and every later version.
 *
 *	FIELD(name here, record's letter) of CUpti_Activity...; held against the real headers by
 *	tests/unit/app/test_cupti_abi.c
 */
#pragma once

#include <stdint.h>
#include <string.h>

/* clang-format off */
enum { /* CUpti_ActivityKernel8 and later */
	K_REGS = 6, K_START = 16, K_END = 24, K_DEVICE = 40, K_CONTEXT = 44, K_STREAM = 48,
	K_GRID = 52, K_BLOCK = 64, K_SHM_STATIC = 76, K_SHM_DYNAMIC = 80, K_CORR = 92, K_NAME = 104,
	K_QUEUED = 120, K_SUBMITTED = 128, K_NODE = 144, K_GRAPH = 156,
};
enum { /* CUpti_ActivityMemcpy5, and what Memset4 and MemcpyPtoP4 share with it */
	C_KIND = 4, C_SRC = 5, C_DST = 6, C_BYTES = 8, C_START = 16, C_END = 24, C_DEVICE = 32,
	C_CONTEXT = 36, C_STREAM = 40, C_CORR = 44, C_NODE = 64, C_GRAPH = 72,
};
enum { /* CUpti_ActivityMemcpyPtoP4 */
	P_SRC_DEVICE = 44, P_DST_DEVICE = 52, P_CORR = 60, P_NODE = 72, P_GRAPH = 80,
};
enum { S_MEMORY = 50 }; /* CUpti_ActivityMemset4 */
enum { /* CUpti_ActivitySynchronization */
	Y_TYPE = 4, Y_START = 8, Y_END = 16, Y_CORR = 24, Y_CONTEXT = 28, Y_STREAM = 32,
};
enum { /* CUpti_ActivityGraphTrace */
	G_CORR = 4, G_START = 8, G_END = 16, G_DEVICE = 24, G_GRAPH = 28, G_CONTEXT = 32, G_STREAM = 36,
};
enum { /* CUpti_ActivityAPI */
	A_CBID = 4, A_START = 8, A_END = 16, A_TID = 28, A_CORR = 32,
};
enum { E_ID = 8, E_CORR = 16 }; /* CUpti_ActivityExternalCorrelation */
enum { /* CUpti_ActivityMemory3 */
	M_OP = 4, M_KIND = 8, M_CORR = 12, M_ADDRESS = 16, M_BYTES = 24, M_TIME = 32, M_DEVICE = 52,
	M_CONTEXT = 56, M_STREAM = 60,
};
enum { /* CUpti_ActivityDevice4 */
	D_BANDWIDTH = 8, D_MEMORY = 16, D_CLOCK_KHZ = 36, D_SMS = 44, D_CC_MAJOR = 104,
	D_CC_MINOR = 108, D_ID = 112, D_UUID = 120, D_NAME = 136, D_MIG = 145,
};
enum { X_ID = 4, X_DEVICE = 8, X_NULL_STREAM = 14 };        /* CUpti_ActivityContext */
enum { T_CONTEXT = 4, T_STREAM = 8, T_PRIORITY = 12 };      /* CUpti_ActivityStream */
/* clang-format on */

static inline uint16_t get16(const uint8_t *r, unsigned at)
{
	uint16_t v;

	memcpy(&v, r + at, sizeof(v));
	return v;
}

static inline uint32_t get32(const uint8_t *r, unsigned at)
{
	uint32_t v;

	memcpy(&v, r + at, sizeof(v));
	return v;
}

static inline uint64_t get64(const uint8_t *r, unsigned at)
{
	uint64_t v;

	memcpy(&v, r + at, sizeof(v));
	return v;
}

static inline const char *getptr(const uint8_t *r, unsigned at)
{
	return (const char *)(uintptr_t)get64(r, at);
}
