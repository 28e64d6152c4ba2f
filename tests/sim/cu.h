/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cu.h - the part of CUDA's public driver interface that the stand-in speaks, in our own words.
 *
 * Names, numbers and layouts are the interface's, so that a program or a probe built against the
 * real headers runs on the stand-in. Handles point at the stand-in's own structures.
 */
#ifndef SIM_CU_H
#define SIM_CU_H

#include <stddef.h>
#include <stdint.h>

#define SIM_API __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct sim_ctx *CUcontext;
typedef struct sim_stream *CUstream;
typedef struct sim_event *CUevent;
typedef struct sim_module *CUmodule;
typedef struct sim_func *CUfunction;
typedef struct sim_pool *CUmemoryPool;
typedef struct sim_graph *CUgraph;
typedef struct sim_node *CUgraphNode;
typedef struct sim_exec *CUgraphExec;
typedef void (*CUhostFn)(void *arg);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *arg);

#define CU_STREAM_LEGACY     ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_UNKNOWN = 999,
};

enum { /* CUgraphNodeType */
       CU_GRAPH_NODE_TYPE_KERNEL = 0,
       CU_GRAPH_NODE_TYPE_MEMCPY = 1,
       CU_GRAPH_NODE_TYPE_MEMSET = 2,
       CU_GRAPH_NODE_TYPE_HOST = 3,
       CU_GRAPH_NODE_TYPE_GRAPH = 4,
       CU_GRAPH_NODE_TYPE_EMPTY = 5,
};

typedef struct {
	char bytes[16];
} CUuuid;

typedef struct {
	unsigned gridDim[3];
	unsigned blockDim[3];
	unsigned sharedMemBytes;
	CUstream hStream;
	void *attrs;
	unsigned numAttrs;
} CUlaunchConfig;

typedef struct {
	CUfunction func;
	unsigned gridDim[3];
	unsigned blockDim[3];
	unsigned sharedMemBytes;
	void **kernelParams;
	void **extra;
} CUDA_KERNEL_NODE_PARAMS; /* _v2 goes on with kern and ctx, which the stand-in does not read */

typedef struct {
	CUdeviceptr dst;
	size_t pitch;
	unsigned value;
	unsigned elementSize;
	size_t width;
	size_t height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct {
	CUhostFn fn;
	void *userData;
} CUDA_HOST_NODE_PARAMS;

enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

typedef struct {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	void *srcArray;
	void *reserved0;
	size_t srcPitch, srcHeight;
	size_t dstXInBytes, dstY, dstZ, dstLOD;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	void *dstArray;
	void *reserved1;
	size_t dstPitch, dstHeight;
	size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

#endif /* SIM_CU_H */
