/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the state of aon serve: stores that are only read, the runs in them, requests and
 * answers.
 *
 * No sockets here: http.c asks for browsers, tests and `aon report --html` may ask as well.
 *
 *	serve_new(&s); serve_add(s, "store.db", NULL, &why);
 *	serve_ask(s, &who, "/api/v1/runs", &a); ... answer_fini(&a);
 *
 * Any thread may ask. Answers that need a run's events hold s->heavy, one at a time, and timelines
 * are read by one thread, so that the memory of all of them together is bounded.
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

/* What is held of a process's events. */
struct extent {
	uint64_t events, t0_ns, t1_ns; /* first start, last end */
};

/* A store that is served. It stays open until serve_free(). */
struct source {
	char *path;       /* owned */
	char *label;      /* owned: its name for people, and for the ids of imported traces */
	struct store *st; /* owned, read-only */
	uid_t owner;
	gid_t group; /* members of this group may read the file; (gid_t)-1: none */
	/* Under serve.lock: */
	struct process *process; /* owned: as they were at `seen_ns` */
	size_t processes;
	uint64_t seen_ns, again_ns; /* CLOCK_MONOTONIC: read, and to be read again */
	uint64_t blob;              /* newest then */
	uint32_t *gpus;             /* owned, by process of the list: devices */
	uint64_t *steps;            /* owned, by process of the list */
	struct extent *extent;      /* owned, by process of the list */
};

struct serve {
	struct source **source; /* owned */
	size_t sources;
	struct fleet *fleet; /* owned: a cluster that is asked; NULL: none */
	struct cache *cache;
	pthread_mutex_t lock;              /* the processes of sources */
	pthread_mutex_t heavy;             /* `kept`, and whoever computes */
	struct analysis *kept;             /* of the last question */
	struct analysis_job *analysis_job; /* owned: of a run that takes long */
	uint64_t patience_ns;        /* with that: as analysis.h says, unless a test says less */
	bool ending;                 /* atomic: what takes long is given up */
	uint32_t whole, part;        /* events: as analysis.h says, unless a test says less */
	uint32_t stretch;            /* the same; 0: as read/stretch.h says */
	struct timelines *timelines; /* owned */
	struct metrics *metrics;     /* owned */
	struct health *health;       /* owned */
	/* Of the node, which may have an aond; NULL: unknown. */
	pid_t (*daemon_pid)(void); /* 0: none answers */
	int (*canary)(void);       /* a record into a pool of this process's own; -errno */
	char host[64];
	struct ordered *orders; /* owned: captures may be ordered; NULL: they may not */
	char decided[PATH_MAX]; /* triage.h; "": nothing can be decided */
};

/* The user who asks. Processes of others are shown only to users who may read the store's file. */
struct viewer {
	uid_t uid;
	gid_t group[64];
	size_t groups;
	bool all; /* root */
};

/* A job, a run of `aon run`, a process with neither, or one import: always of one user. */
struct run {
	char id[RUN_ID];
	struct source *src;      /* borrowed */
	struct process *process; /* owned */
	uint32_t *gpus;          /* owned, by process */
	size_t processes;
	struct account account;
	uint64_t t0, t1;        /* CLOCK_MONOTONIC, or the trace's clock */
	int64_t wall_offset_ns; /* add for wall time */
	uint64_t steps, events, lost, blob;
	uint64_t held; /* events in the store; `events` also counts what an import left out of it */
	uint32_t devices, ranks;
	bool live, imported;
};

struct runs {
	struct run *run; /* owned, the newest first */
	size_t n;
};

struct route;

/* A question. */
struct ask {
	struct serve *s;
	const struct viewer *who;
	const struct route *route;
	struct run run;   /* of routes below run/{id} */
	const char *tail; /* what stands for a last {x} of the route, or NULL */
	struct url url;
	bool post;            /* it may change something */
	bool fleeting;        /* there will soon be a better answer */
	const char *mistake;  /* a parameter that is wrong: answered with 400 */
	char text[288];       /* room for it */
	struct store_why why; /* room for that of a cluster */
};

struct answer {
	int status;       /* of HTTP */
	const char *type; /* of the body, static */
	char *body;       /* owned by malloc; NULL: none, or in fd */
	size_t len;
	int fd;           /* owned: the body is this file, from its begin; -1: none */
	char file[64];    /* to save it as; "": not to be saved */
	bool gzipped;     /* the body is */
	bool takes_post;  /* of 405: what would have been taken */
	bool immutable;   /* the same for ever under this address */
	bool fleeting;    /* of a run that is still being read: not to be kept */
	bool plain;       /* not worth compressing */
	uint64_t next;    /* of tiles: where to go on; 0: that is all */
	uint32_t retry_s; /* of 503 */
};

int serve_new(struct serve **out);
/* Opens a store. `label`: what it was made of; NULL: its path. */
int serve_add(struct serve *s, const char *path, const char *label, struct store_why *why);
/* A cluster, by its address (fleet/fleet.h): one at most, -EEXIST. */
struct http_files;
int serve_add_fleet(struct serve *s, const char *url, const struct http_files *files,
		    struct store_why *why);
void serve_free(struct serve *s);

/* `target`: a path and a query, copied. Always fills *out, if with an error. */
void serve_ask(struct serve *s, const struct viewer *who, const char *target, struct answer *out);
/* The same of POST, which only what says so takes; other methods nothing does. */
void serve_ask_by(struct serve *s, const struct viewer *who, const char *method, const char *target,
		  struct answer *out);
/* Slow requests are not answered. */
enum serve_slow {
	SERVE_DONE,
	SERVE_HEAVY, /* it needs a run's events */
	SERVE_WAITS, /* it has to wait until they are read */
};
enum serve_slow serve_ask_now(struct serve *s, const struct viewer *who, const char *target,
			      struct answer *out);
void answer_fini(struct answer *a);
/* An error as the API gives them: what is wrong, and what to do (or ""). */
void answer_error(struct answer *a, int status, const char *what, const char *hint);

/* runs.c: what `who` may see. */
int runs_load(struct runs *out, struct serve *s, const struct viewer *who);
void runs_fini(struct runs *rs);
int run_find(struct run *out, struct serve *s, const struct viewer *who, const char *id);
void run_fini(struct run *r);
const char *run_name(const struct run *r);
/* Whether `who` may see what a store has of everybody. */
bool source_is_open_to(const struct source *src, const struct viewer *who);
