/* SPDX-License-Identifier: Apache-2.0 */
/* http_priv.h - shared by the files of the server. */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "net/httpd/httpd.h"
#include "serve/http/http.h"
#include "serve/serve.h"

/* A request, from its first line to its answer. */
struct request {
	struct httpd_request http;
	/* Guarded by pool.lock while a worker has it: */
	bool with_pool, done;
	struct request *next;
	struct MHD_Connection *mhd;
	struct viewer who;
	struct answer answer;
};

#define POOL_WAITING 32u /* slow requests of one kind that may wait; more must retry */

/* The workers for slow requests, so that fast ones do not wait behind them. */
enum pool_sort {
	POOL_HEAVY, /* one at a time, which bounds memory */
	POOL_WAITS, /* waits for a timeline that is being read */
	POOL_SORTS
};

struct pool_queue {
	struct worker_pool *pool;
	struct request *first, **last;
	size_t n;
	pthread_t worker;
	bool working; /* the worker thread exists */
};

struct worker_pool {
	struct serve *s;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct pool_queue queue[POOL_SORTS];
	bool ending;
};

/* A client of the live stream. */
struct live_client {
	struct live_client *next, **link;
	struct MHD_Connection *mhd;
	struct http *h;
	struct viewer who;
	char run[RUN_ID]; /* "": all runs */
	char *text;       /* owned: to be sent, from `sent` on */
	size_t len, sent;
	uint64_t told; /* the last tick that was sent */
	bool asleep;
};

struct http {
	struct serve *s;
	struct auth guard;
	struct httpd *httpd; /* owned */
	char address[320];
	bool is_unix;
	/* the user who runs the server; every holder of the token counts as this user */
	struct viewer self;
	pthread_mutex_t lock; /* guards the clients */
	struct live_client *clients;
	struct streams *streams; /* owned; NULL: no client has asked for live events yet */
	size_t live;
	uint64_t tick;
	pthread_t ticker;
	pthread_cond_t stop;
	bool stopping, ticking;
	struct worker_pool pool;
};

/* viewer.c */
void viewer_self(struct viewer *v);
/* The peer of a unix socket. */
int viewer_peer(struct viewer *v, int fd);

/* reply.c: sends an answer. */
enum MHD_Result http_reply(struct MHD_Connection *c, struct answer *a);
void http_heads(struct MHD_Response *r);

/* pool.c */
int pool_start(struct worker_pool *p, struct serve *s);
void pool_stop(struct worker_pool *p); /* answers everything that waits; all zero is allowed */
void pool_fini(struct worker_pool *p); /* after the last request */
/* Suspends the connection until r->answer is ready, or refuses if too many wait. */
enum MHD_Result pool_ask(struct worker_pool *p, struct MHD_Connection *c, struct request *r,
			 const struct viewer *who, enum serve_slow slow);
/* Whether a worker has answered r. */
bool pool_done(struct worker_pool *p, struct request *r);

/* live.c */
enum MHD_Result live_begin(struct http *h, struct MHD_Connection *c, const struct viewer *who,
			   const char *target);
void live_tick(struct http *h); /* call it every HTTP_LIVE_S */
void live_stop(struct http *h);
