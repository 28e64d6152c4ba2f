/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti.h - inside the stand-in's libcupti, and the part of CUPTI's public interface that it
 * speaks, in our own words.
 *
 * A client is a subscriber: callbacks of its own and, from CUPTI 13.2 on, activity of its own.
 * clients[0] is nobody's: it holds the activity state that the old calls share in a process.
 */
#ifndef SIM_CUPTI_H
#define SIM_CUPTI_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "hook.h"

#define CLIENTS      8
#define ATTRS        24
#define DOMAINS      7
#define EXTERNALS    6 /* kinds of external correlation */
#define MEMBER(p, o) ((void *)((char *)(p) + (o)))

enum {
	OK = 0,
	E_PARAMETER = 1,
	E_DEVICE = 2,
	E_CONTEXT = 3,
	E_OPERATION = 7,
	E_SIZE = 10,
	E_MAX_LIMIT = 12,
	E_NOT_COMPATIBLE = 14,
	E_NOT_INITIALIZED = 15,
	E_QUEUE_EMPTY = 18,
	E_STREAM = 20,
	E_KIND = 21,
	E_NOT_SUPPORTED = 27,
	E_MULTIPLE = 39,
	E_UNKNOWN = 999,
};

enum { D_DRIVER = 1, D_RUNTIME = 2, D_RESOURCE = 3, D_SYNC = 4, D_NVTX = 5, D_STATE = 6 };
enum {
	A_ZEROED = 5,
	A_PER_THREAD = 9,
	A_UDR = 11,
	A_MULTI = 12,
	A_HES = 13,
	A_LATENCY = 15,
	A_MULTI_GRAPH = 20,
	A_THREAD_ID = 21,
	A_TIMESTAMP = 22,
};

typedef void (*callback_fn)(void *userdata, int domain, uint32_t cbid, const void *data);
typedef void (*request_fn)(uint8_t **buf, size_t *size, size_t *max);
typedef void (*complete_fn)(CUcontext ctx, uint32_t stream, uint8_t *buf, size_t size,
			    size_t valid);
typedef void (*request2_fn)(uint8_t **buf, size_t *size, size_t *max, void *info);
typedef void (*complete2_fn)(uint8_t *buf, size_t size, size_t valid, void *info);
typedef uint64_t (*timestamp_fn)(void);

/* What a callback of the driver or runtime domain is given. */
struct callback_data {
	int site; /* 0 entry, 1 exit */
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	CUcontext context;
	uint32_t context_id;
	uint64_t *shared;
	uint32_t corr;
};

struct resource_data {
	CUcontext context;
	CUstream stream;
	void *descriptor;
};

struct state_data {
	int result;
	const char *message;
};

struct subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_size;
	uint8_t multi;
	uint8_t pad[7];
};

/* A buffer that a client lent us, from the request to the completion. */
struct buf {
	struct buf *next;
	struct client *client;
	uint8_t *data;
	size_t size, used, max, n;
	uint64_t last_end; /* the record that ends last */
	uint64_t tid;
};

/* Where a thread's records go (or everybody's, without per-thread buffers). */
struct slot {
	struct slot *next;    /* in client->slots; slots are never freed */
	pthread_mutex_t lock; /* guards cur; taken after no other */
	struct buf *cur;
	bool taken; /* by a thread that lives */
	uint64_t tid;
};

struct client {
	bool used, multi;
	char name[64];
	callback_fn fn;
	void *userdata;
	uint8_t on[DOMAINS][SIM_CBIDS];
	uint64_t kinds;
	uint8_t api[2][SIM_CBIDS]; /* records of driver, runtime: by callback id */
	bool api_any[2];
	uint64_t attr[ATTRS];
	request_fn request;
	complete_fn complete;
	request2_fn request2;
	complete2_fn complete2;
	pthread_mutex_t lock;         /* guards slots' list and full */
	struct slot *slots;           /* also read without it: published whole */
	struct buf *full, **full_end; /* waiting for their records to complete, oldest first */
	atomic_size_t dropped;
};

extern struct client sim_clients[CLIENTS];
extern const struct sim_driver *sim_drv;
extern const int sim_level; /* 118 is CUPTI of CUDA 11.8, 134 of 13.4: one small object each */

/* subscribe.c */
int sim_cupti_start(void);   /* attaches to the driver; 0 or an error */
void sim_cupti_wishes(void); /* after any change: tells the driver what is wanted */
bool sim_client_is(const struct client *c);
void sim_state(uint32_t cbid, int result, const char *message);
const char *sim_fault(const char *name);
long long sim_fault_int(const char *name, long long unset);
void sim_fault_call(const char *name); /* crashes or hangs, if it is to */
void sim_pause_ms(long long ms);

/* record.c: the layout of records, by level. */
uint32_t sim_stride(uint32_t kind, int level);
void sim_record_write(uint8_t *r, uint32_t stride, const struct sim_op *op, bool latency);
void sim_record_finish(uint8_t *r, uint64_t now, int64_t shift);
bool sim_kind_is_device(uint32_t kind);

/* buffer.c */
void sim_emit(struct client *c, const struct sim_op *op);
bool sim_slots_used(struct client *c);
int sim_flush(uint32_t flag);
void sim_period(uint32_t ms);
void sim_worker_start(void);
void sim_worker_stop(void);
bool sim_worker_lost(void); /* in a fork: there is no worker */

/* strict.c: what SIM_STRICT adds; nothing without it */
bool sim_strict(void);
void sim_strict_lock(void); /* CUPTI's own, held in Enable, Disable and resource callbacks */
void sim_strict_unlock(void);
void sim_strict_cost(uint64_t ns);             /* of the calling thread */
bool sim_strict_timed(const struct client *c); /* false: the device has no buffer for its times */
void sim_strict_reset(void);                   /* the device's buffers are empty again */

/* pm.c */
uint64_t sim_pm_kinds(void); /* that it wants to see */
void sim_pm_saw(const struct sim_op *op);
/* range.c */
uint64_t sim_range_kinds(void);
void sim_range_saw(const struct sim_op *op);

/* time.c */
uint64_t sim_ts(void);       /* CUPTI's clock now */
int64_t sim_ts_shift(void);  /* from the model's time to CUPTI's, now */
int64_t sim_gpu_shift(void); /* likewise, with the faults of the device's clock */
void sim_ts_set(timestamp_fn fn);

#endif /* SIM_CUPTI_H */
