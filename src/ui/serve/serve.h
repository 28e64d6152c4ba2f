/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the state of aon serve: stores, opened read-only, the runs in them, requests and
 * answers.
 *
 * Nothing here knows about sockets: http.c asks for browsers; tests and `aon report --html` ask
 * directly.
 *
 *	serve_new(&s); serve_add(s, "store.db", NULL, &why);
 *	serve_ask(s, &who, "/api/v1/runs", &a); ... answer_fini(&a);
 *
 * Any thread may ask. Answers that need a run's events hold s->heavy, one at a time, and one thread
 * reads all timelines: that bounds the memory of all of them together.
 */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/process.h"
#include "serve/http/url.h"
#include "store/store.h"

struct analysis;
struct cache;
struct fleet;
struct analysis_job;
struct health;
struct metrics;
struct ordered;
struct store;
struct timelines;

#define RUN_ID 9u /* eight hexadecimal digits and the NUL */

/* The stored events of one process. */
struct extent {
	uint64_t events, t0_ns, t1_ns; /* first start, last end */
};

/* A served store. It stays open until serve_free(). */
struct source {
	char *path; /* owned */
	/* owned: the name that people see; ids of imported traces are made from it */
	char *label;
	struct store *st; /* owned, read-only */
	uid_t owner;
	gid_t group; /* members of this group may read the file; (gid_t)-1: none */
	/* Guarded by serve.lock: */
	struct process *process; /* owned: the processes as of `seen_ns` */
	size_t processes;
	uint64_t seen_ns, again_ns; /* CLOCK_MONOTONIC: when it was read, when to read it again */
	uint64_t blob;              /* the newest blob at that time */
	uint32_t *gpus;             /* owned: devices of each process */
	uint64_t *steps;            /* owned: steps of each process */
	struct extent *extent;      /* owned: events of each process */
};

struct serve {
	struct source **source; /* owned */
	size_t sources;
	struct fleet *fleet; /* owned: the served cluster; NULL: none */
	struct cache *cache;
	pthread_mutex_t lock;  /* guards the processes of the sources */
	pthread_mutex_t heavy; /* guards `kept`; held while a request computes */
	struct analysis *kept; /* the analysis of the last request */
	/* owned: the analysis of a large run, in the background */
	struct analysis_job *analysis_job;
	/* how long a request waits for it; tests set less than analysis.h */
	uint64_t patience_ns;
	/* atomic: the server is shutting down, long work is abandoned */
	bool ending;
	uint32_t whole, part;        /* limits in events; tests set less than analysis.h */
	uint32_t stretch;            /* limit in events; 0: the default of read/stretch.h */
	struct timelines *timelines; /* owned */
	struct metrics *metrics;     /* owned */
	struct health *health;       /* owned */
	/* About the node's aond, if it has one; NULL: unknown. */
	pid_t (*daemon_pid)(void); /* 0: no aond answers */
	int (*canary)(void);       /* sends a record through a pool of this process; 0 or -errno */
	char host[64];
	/* owned: captures that were ordered; NULL: captures are not allowed */
	struct ordered *orders;
	char decided[PATH_MAX]; /* file of triage.h; "": decisions cannot be stored */
};

/*
 * The user who asks. Other users' processes are shown only to users who may read the store's file.
 */
struct viewer {
	uid_t uid;
	gid_t group[64];
	size_t groups;
	bool all; /* root */
};

/*
 * A job, a run of `aon run`, a single process, or one import. All its processes belong to one user.
 */
struct run {
	char id[RUN_ID];
	struct source *src;      /* borrowed */
	struct process *process; /* owned */
	uint32_t *gpus;          /* owned: devices of each process */
	size_t processes;
	struct account account;
	uint64_t t0, t1;        /* CLOCK_MONOTONIC, or the trace's clock */
	int64_t wall_offset_ns; /* add it to get wall time */
	uint64_t steps, events, lost, blob;
	uint64_t held; /* events in the store; `events` also counts those that an import dropped */
	uint32_t devices, ranks;
	bool live, imported;
};

struct runs {
	struct run *run; /* owned, newest first */
	size_t n;
};

struct route;

/* A request. */
struct ask {
	struct serve *s;
	const struct viewer *who;
	const struct route *route;
	struct run run;   /* set for routes below run/{id} */
	const char *tail; /* the text that matched the last {x} of the route, or NULL */
	struct url url;
	bool post;            /* the method is POST */
	bool fleeting;        /* the answer is provisional: do not cache it */
	const char *mistake;  /* what is wrong with a parameter; answered with 400 */
	char text[288];       /* buffer for `mistake` */
	struct store_why why; /* buffer for the cluster's error */
};

struct answer {
	int status;       /* HTTP status */
	const char *type; /* static: type of the body */
	char *body;       /* owned, from malloc(); NULL: none, or the body is `fd` */
	size_t len;
	int fd;           /* owned: the body is this file, from its start; -1: none */
	char file[64];    /* file name to save it as; "": none */
	bool gzipped;     /* the body is compressed */
	bool takes_post;  /* for status 405: whether POST is allowed */
	bool immutable;   /* this address never changes its content */
	bool fleeting;    /* provisional: the client must not cache it */
	bool plain;       /* not worth compressing */
	uint64_t next;    /* for tiles: where to continue; 0: complete */
	uint32_t retry_s; /* for status 503: Retry-After */
};

int serve_new(struct serve **out);
/* Opens a store. `label`: the file that it was made from; NULL: its path. */
int serve_add(struct serve *s, const char *path, const char *label, struct store_why *why);
/* Serves a cluster, by its address (fleet/fleet.h). -EEXIST: one is served already. */
struct http_files;
int serve_add_fleet(struct serve *s, const char *url, const struct http_files *files,
		    struct store_why *why);
void serve_free(struct serve *s);

/* `target`: a path and a query, copied. Always fills *out; errors are answers, too. */
void serve_ask(struct serve *s, const struct viewer *who, const char *target, struct answer *out);
/* The same for another method: POST where a route allows it; all other methods are refused. */
void serve_ask_by(struct serve *s, const struct viewer *who, const char *method, const char *target,
		  struct answer *out);
/* Why serve_ask_now() did not answer. */
enum serve_slow {
	SERVE_DONE,
	SERVE_HEAVY, /* it needs a run's events */
	SERVE_WAITS, /* it must wait until the timeline is read */
};
enum serve_slow serve_ask_now(struct serve *s, const struct viewer *who, const char *target,
			      struct answer *out);
void answer_fini(struct answer *a);
/* An error in the API's format: what is wrong, and what to do about it (or ""). */
void answer_error(struct answer *a, int status, const char *what, const char *hint);

/* runs.c: the runs that `who` may see. */
int runs_load(struct runs *out, struct serve *s, const struct viewer *who);
void runs_fini(struct runs *rs);
int run_find(struct run *out, struct serve *s, const struct viewer *who, const char *id);
void run_fini(struct run *r);
const char *run_name(const struct run *r);
/* Whether `who` may see every user's processes in a store. */
bool source_is_open_to(const struct source *src, const struct viewer *who);
