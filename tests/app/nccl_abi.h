/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_abi.h - NCCL's side of its profiler interface, as public facts: what each version's
 * descriptor holds, where. Written apart from the probe's, so that the two check each other.
 */
#ifndef NCCL_ABI_H
#define NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proxy_op {
	pid_t pid;
	uint8_t channel;
	int peer, steps, chunk, is_send;
};

struct kernel_ch {
	uint8_t channel;
	uint64_t timer; /* since version 4 */
};

struct v1 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			uint8_t func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			uint8_t dtype;
			uint32_t op;
			size_t traffic;
			uint8_t channels, warps, algo, proto;
			int collnet, nvls;
		} coll;
		struct {
			const char *name;
			uint64_t hash;
			uint8_t func;
			void *buff;
			uint8_t dtype;
			size_t count;
			int peer;
		} p2p;
		struct proxy_op proxy;
		int step;
	};
};

struct p2p_2 {
	const char *name;
	uint64_t hash;
	const char *func;
	void *buff;
	const char *dtype;
	size_t count;
	int peer;
};

struct v2 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *dtype;
			size_t traffic;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct p2p_2 p2p;
		struct proxy_op proxy;
		int step;
	};
};

struct v3 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *dtype;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct p2p_2 p2p;
		struct proxy_op proxy;
		int step;
		struct kernel_ch kernel;
	};
};

struct coll_4 {
	uint64_t seq;
	const char *func;
	const void *send;
	void *recv;
	size_t count;
	int root;
	const char *dtype;
	uint8_t channels, warps;
	const char *algo, *proto;
	void *group; /* since version 5 */
};

struct p2p_4 {
	const char *func;
	void *buff;
	const char *dtype;
	size_t count;
	int peer;
	uint8_t channels;
};

struct v4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		char bytes[80]; /* coll without the group */
		struct p2p_4 p2p;
		struct proxy_op proxy;
		int step;
		struct kernel_ch kernel;
	};
};

struct v6 { /* and 5, which has no ce */
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool captured;
			int depth;
		} group_api;
		struct {
			const char *func;
			size_t count;
			const char *dtype;
			int root;
			void *stream;
			bool captured;
		} coll_api;
		struct {
			const char *func;
			size_t count;
			const char *dtype;
			void *stream;
			bool captured;
		} p2p_api;
		void *launch_stream;
		struct coll_4 coll;
		struct p2p_4 p2p;
		struct proxy_op proxy;
		int step;
		struct kernel_ch kernel;
		struct {
			uint64_t seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *dtype, *sync;
			bool intra;
			uint32_t batch, batches, ce_seq;
			void *stream;
		} ce;
	};
};

#define AT(type, field, at) _Static_assert(offsetof(struct type, field) == (at), #type " " #field)

_Static_assert(sizeof(struct v1) == 120 && sizeof(struct v2) == 128, "sizes");
_Static_assert(sizeof(struct v3) == 120 && sizeof(struct v4) == 104, "sizes");
_Static_assert(sizeof(struct v6) == 112 && offsetof(struct coll_4, group) == 80, "sizes");
AT(v1, parent, 8);
AT(v1, rank, 16);
AT(v1, coll.hash, 32);
AT(v1, coll.seq, 40);
AT(v1, coll.func, 48);
AT(v1, coll.count, 72);
AT(v1, coll.dtype, 84);
AT(v1, coll.traffic, 96);
AT(v1, coll.channels, 104);
AT(v1, coll.algo, 106);
AT(v1, coll.proto, 107);
AT(v2, coll.dtype, 88);
AT(v2, coll.channels, 104);
AT(v2, coll.algo, 112);
AT(v2, coll.proto, 120);
AT(v3, coll.channels, 96);
AT(v3, coll.algo, 104);
AT(v3, coll.proto, 112);
AT(v4, proxy.peer, 32);
AT(v4, kernel.timer, 32);
AT(v6, coll.seq, 24);
AT(v6, coll.func, 32);
AT(v6, coll.count, 56);
AT(v6, coll.dtype, 72);
AT(v6, coll.channels, 80);
AT(v6, coll.algo, 88);
AT(v6, coll.proto, 96);
AT(v6, coll.group, 104);
AT(v6, coll_api.stream, 56);
AT(v6, coll_api.captured, 64);
AT(v6, ce.stream, 104);

enum {
	GROUP = 1 << 0,
	COLL = 1 << 1,
	P2P = 1 << 2,
	PROXY_OP = 1 << 3,
	PROXY_STEP = 1 << 4,
	PROXY_CTRL = 1 << 5,
	KERNEL_CH = 1 << 6,
	NET_PLUGIN = 1 << 7,
	GROUP_API = 1 << 8,
	COLL_API = 1 << 9,
	P2P_API = 1 << 10,
	KERNEL_LAUNCH = 1 << 11,
	CE_COLL = 1 << 12,
};

enum { STEP_SEND_WAIT = 9, CTRL_IDLE = 13, NET_UPDATE = 21, KERNEL_CH_STOP = 22 };

/* What the library exports; init's type depends on the version. */
struct profiler {
	const char *name;
	void (*init)(void);
	int (*start)(void *context, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, void *args);
	int (*finalize)(void *context);
};

typedef int init_1_fn(void **context, int *mask);
typedef int init_4_fn(void **context, int *mask, const char *name, uint64_t hash, int nodes,
		      int ranks, int rank, void (*log)(void));
typedef int init_5_fn(void **context, uint64_t hash, int *mask, const char *name, int nodes,
		      int ranks, int rank, void (*log)(void));

#endif /* NCCL_ABI_H */
