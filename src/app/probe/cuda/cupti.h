/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti.h - the facts of CUPTI's public ABI that the probe needs, 11.8 to 13.x, so that no header
 * of NVIDIA's is needed to build. tests/unit/app/test_cupti_abi.c holds them against the real headers.
 *
 * Fields of records never move, records only grow at their end: offsets are constants, strides
 * are learnt from the library at run time (stride.c).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_OUT_OF_MEMORY = 8,
	CUPTI_NOT_COMPATIBLE = 14,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_HARDWARE_BUSY = 26,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_VGPU_NOT_SUPPORTED = 33,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_TAKEN = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
	CUPTI_VGPU_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_CMP = 42,
	CUPTI_MIG = 43,
	CUPTI_SLI = 44,
	CUPTI_WSL = 45,
	CUPTI_UNKNOWN = 999,
};

/* Kinds of activity records. */
enum cupti_kind {
	CK_MEMCPY = 1,
	CK_MEMSET = 2,
	CK_KERNEL = 3, /* serialises kernels: never enabled here */
	CK_DRIVER = 4,
	CK_RUNTIME = 5,
	CK_DEVICE = 8,
	CK_CONTEXT = 9,
	CK_CONCURRENT_KERNEL = 10,
	CK_OVERHEAD = 17,
	CK_MEMCPY2 = 22, /* between two devices */
	CK_STREAM = 37,
	CK_SYNC = 38,
	CK_EXTERNAL = 39,
	CK_MEMORY2 = 49,
	CK_GRAPH_TRACE = 51,
	CK_MAX = 96, /* kinds whose strides are learnt; later ones are unknown */
};

enum cupti_attr {
	CA_DEVICE_BUFFER_SIZE = 0,       /* size_t */
	CA_DEVICE_BUFFER_POOL_LIMIT = 2, /* size_t */
	CA_ZEROED_OUT = 5,               /* uint8_t */
	CA_DEVICE_BUFFER_PREALLOC = 6,   /* size_t */
	CA_PER_THREAD = 9,               /* uint8_t, from 12.3 */
	CA_MULTI_STATE = 12,             /* uint8_t: 0 single, 1 multi, 2 not decided */
	CA_HES = 13,                     /* uint8_t, from 13.3: shared by all subscribers */
	CA_LATENCY = 15,                 /* uint8_t */
	CA_THREAD_ID_TYPE = 21,          /* int32_t */
};

#define CUPTI_THREAD_ID_SYSTEM 1
#define CUPTI_FLUSH_FORCED     1u
#define CUPTI_NO_STREAM        0xffffffffu /* of a synchronisation that has none */

enum cupti_domain {
	CD_DRIVER = 1,
	CD_RUNTIME = 2,
	CD_RESOURCE = 3,
	CD_STATE = 6, /* from 12.2 */
};

enum cupti_resource {
	CR_CU_INIT_FINISHED = 5,
	CR_MODULE_LOADED = 6,
	CR_MODULE_UNLOAD_STARTING = 7,
	CR_GRAPHEXEC_DESTROY_STARTING = 19,
};

enum cupti_state { CS_FATAL = 1, CS_ERROR = 2 };

struct cupti_cb_data { /* of a call of an API */
	int32_t site;  /* 0 enter, 1 exit */
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation;
};

struct cupti_state_data {
	int32_t result;
	const char *message;
};

struct cupti_graph_data { /* behind the descriptor of a resource callback */
	void *graph, *original_graph, *node, *original_node;
	int32_t node_type;
	void *dependency;
	void *exec;
};

struct cupti_resource_data {
	void *context;
	void *handle;
	const void *descriptor;
};

/* 32 bytes until 13.1, 40 from 13.2: the size that is passed must be the library's. */
struct cupti_params {
	size_t size;
	const char *name;
	char *holder; /* out: who has it */
	size_t holder_size;
	uint8_t multi;
	uint8_t pad[7];
};

#define CUPTI_PARAMS_13_0 32u
#define CUPTI_PARAMS_13_2 40u

_Static_assert(sizeof(struct cupti_params) == CUPTI_PARAMS_13_2, "CUPTI's ABI");
_Static_assert(offsetof(struct cupti_cb_data, correlation) == 64, "CUPTI's ABI");

typedef void cupti_callback_fn(void *user, int domain, uint32_t cbid, const void *data);
typedef void cupti_request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid);
typedef void cupti_request2_fn(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void cupti_complete2_fn(uint8_t *buffer, size_t size, size_t valid, void *info);
typedef int cupti_next_fn(uint8_t *buffer, size_t valid, void **record);
typedef int cupti_size_fn(uint32_t kind, uint32_t version, size_t *size);
