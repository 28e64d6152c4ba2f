/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.h - relates how long work took to the telemetry of the node and its devices at that time.
 *
 *	join_new(&j, begin, width, bins)
 *	join_device(), join_key(), join_work()    kernels, copies, collectives, calls
 *	join_owner(), join_hold(), join_count()   telemetry, in any order
 *	join_judge(j)                             which state made what slower
 *
 * Time is cut into bins. A cause (cause.tbl.h) is reported for a device if, in the same bins, its
 * state is abnormal, the work that it can slow takes longer by an amount that it can explain, and
 * the work that it cannot slow does not point elsewhere. "Longer" compares with the device's other
 * bins, less the change of its peers at that time; without other bins it compares with the peers.
 * Otherwise nothing is reported.
 *
 * Pure: no clock, no file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* The resource that limits a piece of work, as far as its name tells. */
enum join_class {
	JOIN_COMPUTE, /* the SM clock */
	JOIN_MEMORY,  /* the memory's */
	JOIN_OTHER,   /* not known */
	JOIN_COPY,    /* the link to the host */
	JOIN_COMM,    /* links to other devices: the shortest time of a collective */
	JOIN_NET,     /* the network: the same between nodes; set by join_judge() */
	JOIN_HOST,    /* CPUs: calls, and kernels of devices that are CPUs */
	JOIN_CLASSES
};

enum {
	IN_COMPUTE = 1 << JOIN_COMPUTE,
	IN_MEMORY = 1 << JOIN_MEMORY,
	IN_COPY = 1 << JOIN_COPY,
	IN_COMM = 1 << JOIN_COMM,
	IN_NET = 1 << JOIN_NET,
	IN_HOST = 1 << JOIN_HOST,
};

enum join_scope { JOIN_GPU, JOIN_NODE, JOIN_JOB, JOIN_SCOPES };

enum cause {
#define CAUSE(ID, ...) CAUSE_##ID,
#include "insight/find/cause.tbl.h"
	CAUSES
};

enum join_signal {
#define SIGNAL(ID, ...) SIGNAL_##ID,
#include "insight/find/cause.tbl.h"
	SIGNALS
};

enum join_how { JOIN_MEAN, JOIN_LEAST, JOIN_MOST, JOIN_RATE, JOIN_SHARE };

struct cause_row {
	const char *word, *looked, *title, *action;
	enum join_scope scope;
	uint32_t classes, also;
	double least;
};
extern const struct cause_row cause_table[CAUSES];

struct signal_row {
	uint32_t metric;
	enum join_scope scope;
	enum join_how how;
	const char *label;
	uint64_t mask;
	const char *word, *unit;
};
extern const struct signal_row signal_table[SIGNALS];

#define JOIN_BINS_MAX 512u
#define JOIN_BINS_MIN 12u /* fewer tell nothing */
#define JOIN_KEYS_MAX 8192u
#define JOIN_NAME     72u
#define JOIN_NAMES    3u

/* The work of one key in one bin. */
struct join_cell {
	uint32_t n;
	float least; /* ln of ns */
	double sum;  /* of ln of ns */
	double ns;
};

/* Work comparable with itself over time: a kernel and geometry of a device, a collective. */
struct join_key {
	uint32_t device;
	enum join_class class;
	uint64_t same;  /* the same on all devices that do it */
	uint64_t group; /* of collectives: the group; all its members end together */
	uint32_t size;  /* size of the group; 0: not known */
	char name[JOIN_NAME];
	uint64_t n;
	double ns;
	double mid, all;        /* set by join_judge(): ln of ns, its median; that of all devices */
	struct join_cell *cell; /* owned, by bin */
};

/* The owner of telemetry: a device, a node or a job's cgroup. */
struct join_owner {
	double *sum[SIGNALS], *weight[SIGNALS]; /* owned, by bin; NULL: never measured */
};

struct join_device {
	uint32_t pid, device;
	int32_t rank;
	bool cpu;
	uint32_t owner[JOIN_SCOPES]; /* + 1; 0: none */
	double *busy;       /* owned, by bin: ns in which its busiest stream ran something */
	size_t first, keys; /* set by join_judge(): into key[] */
};

/* A stream: its work runs one after the other. */
struct join_track {
	uint32_t device;
	double *busy; /* owned, by bin */
};

/* A cause that was found on a device. */
struct join_verdict {
	enum cause cause;
	uint32_t device;  /* of join.device[] */
	double by;        /* factor by which the work that it slows takes longer */
	double explained; /* upper bound of that factor, by physics; 0: not known */
	double z;
	double cost_ns;
	double by_class[JOIN_CLASSES]; /* the same for each class; 0: none */
	double is, was;                /* of the signal `tells` */
	enum join_signal tells;
	uint64_t since_ns, bad_ns, seen_ns; /* first bin; time of the bad bins; of all */
	uint32_t bouts;                     /* times that it came */
	uint32_t peers;                     /* devices that it was compared with */
	bool history;                       /* compared with its own other bins */
	uint32_t others;                    /* devices with the same cause, which cost less */
	char name[JOIN_NAMES][JOIN_NAME];   /* what it slowed, the most time first */
	double name_by[JOIN_NAMES];
};

struct join {
	uint64_t begin_ns, width_ns;
	int64_t wall_offset_ns;
	uint32_t bins;
	struct join_device *device; /* owned, as all below */
	struct join_key *key;
	struct join_track *track;
	struct join_owner *owner;
	struct join_verdict *verdict;
	uint64_t *looked; /* by device: a bit for each cause that was measured */
	size_t devices, keys, tracks, owners, verdicts;
	size_t device_cap, key_cap, track_cap, owner_cap;
	uint64_t dropped; /* work of keys beyond JOIN_KEYS_MAX */
	struct lookup by_key;
};

/* -EINVAL: too few bins, or too many. */
int join_new(struct join **out, uint64_t begin_ns, uint64_t width_ns, uint32_t bins);
void join_free(struct join *j); /* NULL is allowed */

/* Adds devices and owners; each once. */
int join_device(struct join *j, const struct join_device *d, uint32_t *at);
int join_track(struct join *j, uint32_t device, uint32_t *at);
int join_owner(struct join *j, uint32_t *at);
/* Found or made by device, class and `same`; UINT32_MAX: there are too many. */
int join_key(struct join *j, const struct join_key *k, uint32_t *at);
void join_work(struct join *j, uint32_t key, uint64_t start_ns, uint64_t dur_ns);
/* Something ran there. */
void join_busy(struct join *j, uint32_t track, uint64_t start_ns, uint64_t dur_ns);

/* A value that held in that time; a counter that rose by so much in it. */
int join_hold(struct join *j, uint32_t owner, enum join_signal s, double v, uint64_t from_ns,
	      uint64_t to_ns);
int join_count(struct join *j, uint32_t owner, enum join_signal s, double by, uint64_t from_ns,
	       uint64_t to_ns);

int join_judge(struct join *j);
/* What was found there, or NULL. */
const struct join_verdict *join_found(const struct join *j, uint32_t device, enum cause c);

/* --- of join*.c alone --- */

/* Value of a signal in a bin; NAN: not measured. */
double join_signal(const struct join *j, uint32_t device, enum join_signal s, uint32_t bin);
bool join_said(const struct join *j, uint32_t device, enum join_signal s);
/* The bins in which the state of a cause is abnormal, and how much longer it may make work take in
 * them (0: not known). False: not measured there. */
struct join_state {
	bool bad[JOIN_BINS_MAX];
	enum join_signal tells;
	double explains; /* ln */
};
bool join_state(const struct join *j, uint32_t device, enum cause c, struct join_state *out);
double join_spread(double *v, size_t n); /* 1.4826 MAD; sorts */
