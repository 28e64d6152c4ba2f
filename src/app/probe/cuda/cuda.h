/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - what the files of libaon-cuda.so share. Only InitializeInjection() is exported.
 *
 *	app -> driver -> CUPTI -> launch.c   which call was last made, how a graph is looked at
 *	                       -> buffer.c   memory for records, lent from a fixed pool
 *	       CUPTI's thread  -> decode.c   records into libaon's pool, on the spot
 *	       our one thread  -> keep.c     flushes, follows the gate, yields to others, resumes
 *
 * inject.c  the way in and out           session.c  subscribing, kinds, attributes by level
 * load.c    which libcupti, what it can  stride.c   how long its records are
 * name.c    texts by pointer, once       graph.c    which launches of a graph are seen by node
 * neighbour.c  other users of CUPTI     pm.c       counters of devices, on request
 *
 * All state is in one mapping that a forked child finds zeroed: `on` is 0 there, and CUPTI is
 * never called again. The buffers are zeroed there, too, and belong to nobody.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <aon/provider.h>

#include "abi/gpu_conf.h"
#include "probe/clock.h"
#include "probe/cuda/cupti.h"
#include "probe/cuda/pm.h"
#include "probe/cuda/range.h"

#define CUDA_ENV_CUPTI   "AON_CUPTI"           /* the libcupti to load when there is none yet */
#define CUDA_ENV_CHAIN   "AON_CUDA_CHAIN"      /* another injection library, which goes first */
#define CUDA_ENV_KIB     "AON_CUDA_KIB"        /* memory for CUPTI's buffers */
#define CUDA_ENV_BUFFER  "AON_CUDA_BUFFER_KIB" /* of one of them */
#define CUDA_ENV_GRAPHS  "AON_CUDA_GRAPHS"     /* template, node or graph */
#define CUDA_ENV_MULTI   "AON_CUDA_MULTI"      /* 1: beside other subscribers, from 13.3 on */
#define CUDA_ENV_HES     "AON_CUDA_HES"        /* 1: hardware events */
#define CUDA_ENV_LATENCY "AON_CUDA_LATENCY"    /* 1: when kernels were queued and submitted */
#define CUDA_CALLBACK_NS \
	40u /* the probe's part of a launch, also in unsampled steps; CUPTI's part is unknown */
#define CUDA_ENV_PULSE   "AON_CUDA_PULSE"     /* 0: no callbacks at launches */
#define CUDA_ENV_COST    "AON_CUDA_COST"      /* 1: measure and report the probe's own time */
#define CUDA_ENV_PM      "AON_COUNTERS"       /* pm[:us] or ranges[:kernels]: counters */
#define CUDA_ENV_THREADS "AON_CUDA_PERTHREAD" /* 1: a CUPTI buffer per thread, as CUPTI prefers */

#define CUDA_KIB           8192u
#define CUDA_BUFFER_LEAST  4u
#define CUDA_BUFFER_MOST   16384u
#define CUDA_BUFFERS_MAX   4096u
#define CUDA_DISCARDS      1024u
#define CUDA_DISCARD_BYTES 4096u /* a page */

#define CUDA_FLUSH_MS 400u /* so that an event is in the store within 2 s */
#define CUDA_IDLE_MS  1000u
#define CUDA_RETRY_MS 3000u  /* between two checks whether another tool has left */
#define CUDA_ROOM_MS  10000u /* for an expected tool, before the first check */
#define CUDA_EXIT_MS  500u   /* how long an exit may wait for a flush */
#define CUDA_LATE_MS  100u   /* how long buffers may come after a flush; */
#define CUDA_GIVE_MS  2000u  /* before another tool, which would get them */

/* --- capabilities of a libcupti, detected at run time --- */

enum cuda_cap {
	CAP_PER_THREAD = 0x01,   /* the attribute: 12.3 */
	CAP_ZEROED = 0x02,       /* buffers that we zeroed */
	CAP_STATE = 0x04,        /* the state domain: 12.2 */
	CAP_V2 = 0x08,           /* a call by subscriber each: 13.2 */
	CAP_MULTI = 0x10,        /* several subscribers: 13.3, if the driver agrees */
	CAP_STRUCT_SIZE = 0x20,  /* says its strides */
	CAP_HES = 0x40,          /* hardware events */
	CAP_LATENCY = 0x80,      /* queued and submitted */
	CAP_USER_RECORDS = 0x100 /* only the fields that were asked for: 13.3 */
};

struct cupti {
	void *lib;
	bool is_ours;       /* opened by the probe */
	uint32_t candidate; /* the next one to try */
	uint32_t version;   /* CUPTI_API_VERSION: tells capabilities, not strides */
	uint32_t caps;
#define FN(name, need, args) int(*name) args;
#include "probe/cuda/fn.tbl.h"
};

/* --- state --- */

enum cuda_state {
	CUDA_WAITING, /* until records are wanted */
	CUDA_OPENING,
	CUDA_ON,
	CUDA_HELD, /* another tool has CUPTI, or asked for it */
	CUDA_OFF,  /* for good: the reason was reported */
};

enum graph_policy { GRAPH_TEMPLATE, GRAPH_NODE, GRAPH_WHOLE };

struct cuda_track {
	uint64_t stream;
	uint32_t device, context, id;
	int32_t priority; /* from STREAM records */
	uint32_t known;   /* bits: 1 an id, 2 a priority */
};

struct cuda_geo {
	uint32_t v[9];
	uint32_t id;
};

struct cuda_exec { /* an instantiated graph */
	uint64_t handle;
	uint32_t launches;
};

#define CUDA_TRACKS   1024u
#define CUDA_DEVICES  64u
#define CUDA_GEOS     1024u
#define CUDA_CONTEXTS 256u
#define CUDA_NAMES    16384u
#define CUDA_CBIDS    1024u
#define CUDA_EXECS    1024u
#define CUDA_TIMED    64u
#define CUDA_CUTS     64u    /* changes between recorded and unsampled steps */
#define CUDA_LAUNCHES 32768u /* whose names are remembered until their records come */

/* Other users of CUPTI in this process, as far as they are seen. */
struct neighbour {
	_Atomic uint64_t kinds[2];  /* bits: those that they have enabled */
	_Atomic uint32_t subs;      /* their subscribers */
	_Atomic uint32_t rooms;     /* requests for room that have not ended */
	_Atomic uint32_t beginning; /* they prepare, and have enabled nothing yet */
	_Atomic uint64_t last_ns;   /* when they were last seen; 0: never */
	char who[48];
	const char *soname;                 /* of the libcupti that the probe uses */
	unsigned long long adds, adds_next; /* the loader's count of libraries */
};

struct cuda {
	uint32_t on; /* 0 in a child */
	uint32_t stopping;
	_Atomic uint32_t state;    /* enum cuda_state; changed by our thread once it runs */
	_Atomic uint32_t doorbell; /* futex: rises when the thread is to look */
	_Atomic uint32_t busy;     /* futex: 1 while the thread may be inside of CUPTI */
	_Atomic uint32_t yields;   /* 1: a profiler starts; 2: a neighbour waits for us to leave */
	_Atomic uint32_t broken;   /* CUPTI reported a fatal error */
	struct cupti api;
	bool open; /* kinds are enabled */
	void *sub; /* NULL: another tool has the subscriber */
	bool multi;
	struct neighbour neighbour;
	uint16_t stride[CK_MAX];
	uint32_t want; /* AON_WANT_* that kinds are enabled for */
	bool threaded; /* our thread runs */
	bool hes_on;   /* CUPTI agreed */
	bool hes, latency, per_thread, heartbeat, cost, may_multi;
	uint64_t range;     /* the open "externally profiled" range, 0: none */
	uint64_t retry_ns;  /* when to ask again */
	uint64_t robbed_ns; /* since when a tool has our place in CUPTI; 0: none does */
	uint32_t tries;
	uint32_t room; /* the last request for room that was served */
	uint64_t ticked_requests, ticked_launches, ticked_records, ticked_untimed;
	char holder[64];
	char conf[64];      /* what became of gpu.conf */
	uint32_t late_ms;   /* how long buffers may come after the last flush */
	uint32_t launch_ns; /* what a launch costs as long as CUPTI records */
	struct pm pm;
	struct range counters;

	/* buffer.c */
	uint8_t *mem;
	uint32_t buffers, buffer_bytes;
	_Atomic uint64_t free[CUDA_BUFFERS_MAX / 64]; /* bits: 1 here */
	_Atomic uint64_t discard_free[CUDA_DISCARDS / 64];
	_Atomic uint64_t requests;
	bool zeroed;

	/* decode.c: under `turn` */
	_Atomic uint32_t turn;
	struct dev_clock clock;
	int64_t before_step;               /* the offset before the clock was last set */
	uint64_t step_ns;                  /* when that was seen; 0: never, or long ago */
	uint64_t now_ns;                   /* when this buffer came */
	int64_t ahead[CUDA_DEVICES];       /* of each device\'s clock, as far as its records show */
	const uint8_t *end;                /* of the buffer that is being read */
	_Atomic uint64_t untimed;          /* of records: without times */
	_Atomic uint64_t records, busy_ns; /* records, and, if requested, their time */
	struct cuda_track track[CUDA_TRACKS];
	struct cuda_geo geo[CUDA_GEOS];
	struct {
		uint32_t context, device, null_stream;
	} context[CUDA_CONTEXTS];
	uint32_t copy_name[16][8][8], set_name[8], sync_name[8], alloc_name[2][8];
	uint32_t api_name[2][CUDA_CBIDS], graph_name, queued_name, submitted_name;
	uint32_t tid_track_tid[64], tid_track[64];
	uint32_t cut_at; /* where the last record was between the cuts */

	/* name.c: pointer << 16 | id; 0: none */
	_Atomic uint64_t name[CUDA_NAMES];
	_Atomic uint32_t name_flush; /* ticks for which names are forgotten again */

	/* launch.c, graph.c */
	_Atomic uint64_t launches;
	_Atomic uint32_t unsampled;      /* 1: the current step is unsampled */
	_Atomic uint32_t cuts;           /* that there were */
	_Atomic uint64_t cut[CUDA_CUTS]; /* first correlation << 1 | unsampled from there on */
	_Atomic uint64_t launched[CUDA_LAUNCHES]; /* correlation << 32 | name */
	struct {
		_Atomic uint64_t corr, ns;
	} timed[CUDA_TIMED];      /* one in CUDA_TIMED launches: when it was */
	uint8_t what[CUDA_CBIDS]; /* enum cbid_what by number */
	enum graph_policy graphs;
	_Atomic uint32_t graph_turn;     /* guards exec; no call of CUPTI under it */
	_Atomic uint32_t graph_changing; /* the level; nobody waits for it in a callback */
	_Atomic bool graph_level;        /* GRAPH_TRACE is enabled */
	_Atomic bool graph_shut;         /* and nobody may change it */
	struct cuda_exec exec[CUDA_EXECS];
};

extern struct cuda *cuda; /* NULL until InitializeInjection() */

/* A lock that is held for some microseconds at most. */
bool cuda_turn_try(_Atomic uint32_t *turn);
void cuda_turn_take(_Atomic uint32_t *turn);
void cuda_turn_give(_Atomic uint32_t *turn);

/* A text, built without stdio. */
struct cuda_text {
	char s[192];
	uint32_t len;
};
void text_add(struct cuda_text *t, const char *s);
void text_num(struct cuda_text *t, uint64_t n);

/* --- load.c --- */
/* Finds the libcupti of this process, or the one that the setting names. 0, or a reason. */
const char *load_cupti(struct cupti *api);
uint32_t load_caps(const struct cupti *api);
uint32_t load_driver(void); /* the newest CUDA that the driver runs: 12040 is 12.4; 0: not known */
/* In place of one that does not run with this driver. False: there is none; *api may be unusable. */
bool load_another(struct cupti *api);

/* --- stride.c --- */
/* How long the library's records are, by kind; 0: it knows none. Returns how many it knows. */
unsigned stride_learn(uint16_t stride[CK_MAX], cupti_next_fn *next, cupti_size_fn *size);
/* False: a kernel record lacks fields of 11.8, or some record cannot be walked. */
bool stride_usable(const uint16_t stride[CK_MAX]);

/* --- buffer.c --- */
bool buffer_setup(struct cuda *c, uint32_t kib, uint32_t buffer_kib);
void buffer_request(struct cuda *c, uint8_t **buffer, size_t *size, size_t *max_records);
void buffer_complete(struct cuda *c, uint8_t *buffer, size_t valid);
uint32_t buffer_lent(const struct cuda *c);
void buffer_scrap(uint8_t **buffer, size_t *size, size_t *max_records);

/* --- decode.c --- */
void decode(struct cuda *c, const uint8_t *buffer, size_t valid);
/* The number of records in there; those that cannot be walked are not counted. */
uint64_t decode_count(const uint16_t stride[CK_MAX], const uint8_t *buffer, size_t valid);

/* --- name.c --- */
uint32_t name_of(struct cuda *c, const char *text);
void name_forget(struct cuda *c);

/* --- launch.c --- */
cupti_callback_fn launch_callback;
bool launch_unsampled(struct cuda *c, uint32_t corr, uint32_t cuts);
void launch_setup(struct cuda *c);
int launch_enable(struct cuda *c, bool on);

/* --- graph.c --- */
void graph_launching(struct cuda *c, uint64_t exec);
void graph_gone(struct cuda *c, uint64_t exec);
bool graph_by_node(uint32_t launch); /* is this launch of a graph recorded node by node? */

/* --- session.c --- */
/* Subscribes and enables. 0, or CUPTI's error; *step says what failed. */
int session_open(struct cuda *c, const char **step);
void session_close(struct cuda *c);
void session_drain(struct cuda *c, uint32_t ms); /* until CUPTI holds no buffer of ours */
void session_want(struct cuda *c, uint32_t want);
int session_graph_level(struct cuda *c, bool whole);

/* --- why.c --- */
const char *session_why(int error);
const char *counters_why(int error);

/* --- pm.c --- */
void pm_setup(struct pm *pm, const char *set);
void pm_tick(struct cuda *c); /* while the session is open */
void pm_close(struct cuda *c);

/* --- range.c --- */
void range_setup(struct range *r, const char *set);
void range_launching(struct cuda *c, const struct cupti_cb_data *d, uint32_t name);
void range_launched(struct cuda *c, const struct cupti_cb_data *d);
void range_tick(struct cuda *c);
void range_close(struct cuda *c);

/* --- neighbour.c --- */
void neighbour_setup(struct cuda *c);
void neighbour_look(struct cuda *c);       /* at libraries that were loaded since */
bool neighbour_busy(struct cuda *c);       /* another tool records, or did a moment ago */
bool neighbour_subscribed(struct cuda *c); /* another tool has a subscriber */

/* --- keep.c --- */
bool keep_start(struct cuda *c);
void keep_pause(uint32_t ms);
void keep_doorbell(struct cuda *c);
void keep_tick(struct cuda *c); /* one look; by the thread, and at the start */
void keep_cost(struct cuda *c);
void keep_yield(struct cuda *c, uint32_t ms); /* returns when the probe has left CUPTI */
bool keep_stop(struct cuda *c);               /* false: it is stuck inside CUPTI */
