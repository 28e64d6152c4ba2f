/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.h - what the files of libaon-nccl share, and the facts of NCCL's profiler interface that
 * they need, so that no header of NVIDIA's is needed to build.
 *
 * plugin.c  the six versions' entry points, one body behind them
 * comm.c    communicators: what is asked for, the GPU's clock
 * op.c      operations under way: a fixed pool, no lock
 * text.c    an operation's name and size
 *
 * NCCL calls on the caller's threads, on its proxy threads (which move the network's data) and
 * on CUDA's callback thread (where no CUDA call may be made), and closes the library with its
 * last communicator: no lock, no thread, no thread-local, and the library stays (nodelete).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- NCCL --- */

/* Kinds of event: bits of a descriptor's type, and of the mask of what NCCL is to report. */
enum nccl_event {
	NCCL_GROUP = 1 << 0,
	NCCL_COLL = 1 << 1,
	NCCL_P2P = 1 << 2,
	NCCL_PROXY_OP = 1 << 3,
	NCCL_PROXY_STEP = 1 << 4,
	NCCL_KERNEL_CH = 1 << 6,
	NCCL_GROUP_API = 1 << 8,
	NCCL_COLL_API = 1 << 9,
	NCCL_P2P_API = 1 << 10,
	NCCL_KERNEL_LAUNCH = 1 << 11,
	NCCL_CE_COLL = 1 << 12,
};

#define NCCL_VERSIONS 6

enum nccl_state { NCCL_STEP_FIRST = 8, NCCL_STEP_LAST = 12, NCCL_KERNEL_CH_STOP = 22 };

/* Field offsets of a version's descriptor; 0: it has no such field. */
struct nccl_layout {
	uint8_t size, wide_type, words; /* words: texts, not numbers */
	uint8_t hash, seq, func, count, dtype, channels, algo, proto; /* of a collective */
	uint8_t p_func, p_count, p_dtype, p_peer, p_channels;         /* of a send or receive */
};

extern const struct nccl_layout nccl_layouts[NCCL_VERSIONS + 1];

/* The same in all versions. */
enum {
	NCCL_AT_PARENT = 8,
	NCCL_AT_PROXY_PID = 24,
	NCCL_AT_PROXY_STEPS = 36,
	NCCL_AT_PROXY_CHUNK = 40,
	NCCL_AT_PROXY_SEND = 44,
	NCCL_AT_PTIMER = 32,       /* since 4 */
	NCCL_AT_API_FUNC = 24,     /* since 5 */
	NCCL_AT_COLL_CAPTURE = 64, /* since 5 */
	NCCL_AT_P2P_CAPTURE = 56,  /* since 5 */
	NCCL_AT_CE_SYNC = 80,      /* 6 */
};

/* A field of a descriptor, wherever it lies. */
#define NCCL_GET(type, descr, at)                                                \
	({                                                                       \
		type v_;                                                         \
		__builtin_memcpy(&v_, (const char *)(descr) + (at), sizeof(v_)); \
		v_;                                                              \
	})

/* --- comm.c --- */

struct nccl_comm {
	_Atomic(uint32_t) used; /* 0: free */
	uint32_t version;
	_Atomic(int *) mask; /* NCCL's, one a process; NULL after the end */
	_Atomic(uint64_t) hash;
	uint32_t device;
	_Atomic(uint32_t) track; /* 0: not yet */
	_Atomic(uint64_t) window_ns;
	_Atomic(int64_t) lag, lag_before; /* host clock - GPU clock, least seen in a window */
	char name[64];                    /* of the track */
};

struct nccl_comm *nccl_comm_new(uint32_t version, int *mask, uint64_t hash, const char *name,
				int rank, int ranks);
struct nccl_comm *nccl_comm_of(void *context); /* NULL: not one of ours */
void nccl_comm_free(struct nccl_comm *c);
uint32_t nccl_comm_track(struct nccl_comm *c, uint64_t hash);

/* What NCCL must report now; passed to NCCL when it changes. */
int nccl_mask(struct nccl_comm *c);

/* Ties a moment of the GPU's clock to the host's. */
void nccl_clock_see(struct nccl_comm *c, uint64_t gpu_ns, uint64_t now);
uint64_t nccl_clock_host(const struct nccl_comm *c, uint64_t gpu_ns);

/* --- text.c --- */

struct nccl_what {
	uint32_t name;
	uint64_t bytes, seq, hash;
	uint32_t channels;
};

/* Of a descriptor of Coll, P2p or CeColl. */
void nccl_describe(uint32_t version, uint64_t type, const void *descr, struct nccl_what *out);
/* "ncclAllReduce", " (captured)" behind it when a graph is being recorded. */
uint32_t nccl_api_name(uint64_t type, const void *descr);
/* Appends what fits `cap` with its end; returns the new length. */
size_t nccl_append(char *out, size_t len, size_t cap, const char *text);
size_t nccl_append_number(char *out, size_t len, size_t cap, uint32_t n);

/* --- op.c --- */

enum nccl_form {
	NCCL_FORM_OP,   /* a collective, send or receive: on the communicator's track */
	NCCL_FORM_MOVE, /* of a proxy thread: on the thread's track */
	NCCL_FORM_CALL, /* a call of the host: on the thread's track */
};

/* Handles are numbers, never addresses: one that is stale, or of another process, is harmless. */
typedef uintptr_t nccl_handle;

#define NCCL_NOTHING ((nccl_handle)1) /* not NULL, and no operation */

/* `wait`: how many KernelCh are to come. 0 when there is no place: counted. */
nccl_handle nccl_op_start(struct nccl_comm *c, enum nccl_form form, const struct nccl_what *what,
			  uint32_t wait);
void nccl_op_stop(nccl_handle h);
void nccl_op_bytes(nccl_handle h, uint64_t bytes); /* its bytes, when they are known late */
uint64_t nccl_op_seq(nccl_handle h);

/* A channel of an operation's kernel, whose handle is its parent's, marked. */
nccl_handle nccl_kernel_start(nccl_handle parent, uint64_t gpu_ns);
void nccl_kernel_time(nccl_handle h, uint64_t gpu_ns);
bool nccl_is_kernel(nccl_handle h);

/* Records the unfinished operations of a communicator, as far as they are known. */
void nccl_op_end_all(const struct nccl_comm *c);
