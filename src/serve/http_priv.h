/* SPDX-License-Identifier: Apache-2.0 */
/* http_priv.h - what the files of the server share. */
#ifndef AON_SERVE_HTTP_PRIV_H
#define AON_SERVE_HTTP_PRIV_H

#include <microhttpd.h>
#include <pthread.h>
#include <sys/types.h>

#include "serve/http.h"
#include "serve/serve.h"

/* A connection, from its accept to its close. */
struct conn {
	struct conn *next, **link;
	int fd;
	uint64_t since_ns; /* waiting for a request, or answering one */
	bool answering, live;
};

/* A client that is told of news. */
struct client {
	struct client *next, **link;
	struct MHD_Connection *mhd;
	struct http *h;
	struct viewer who;
	char run[RUN_ID]; /* "": all of them */
	char *text;       /* owned: what is to be sent, from `sent` on */
	size_t len, sent;
	uint64_t told; /* the tick that it has */
	bool asleep;
};

struct http {
	struct serve *s;
	struct guard guard;
	struct MHD_Daemon *mhd;
	char address[320], unix_path[108];
	bool is_unix;
	struct viewer self;   /* who serves: whoever has the token */
	pthread_mutex_t lock; /* conns and clients */
	struct conn *conns;
	struct client *clients;
	size_t live;
	uint64_t tick;
	pthread_t ticker;
	pthread_cond_t stop;
	bool stopping, ticking;
};

uint64_t http_now(void);

/* listen.c: a listening socket; fills address, is_unix and guard.host. */
int http_listen(struct http *h, const char *listen, char why[256]);
void viewer_self(struct viewer *v);
/* Of the other end of a unix socket. */
int viewer_peer(struct viewer *v, int fd);

/* reply.c: an answer onto the wire. */
enum MHD_Result http_reply(struct MHD_Connection *c, struct answer *a);
void http_heads(struct MHD_Response *r);

/* live.c */
enum MHD_Result live_begin(struct http *h, struct MHD_Connection *c, const struct viewer *who,
			   const char *target);
void live_tick(struct http *h); /* every HTTP_LIVE_S */
void live_stop(struct http *h);

#endif /* AON_SERVE_HTTP_PRIV_H */
