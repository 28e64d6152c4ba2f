/* SPDX-License-Identifier: Apache-2.0 */
/* priv.h - shared by the files of the relay. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "net/httpd/httpd.h"
#include "relay/access.h"
#include "relay/batch_store.h"
#include "relay/relay.h"

#define SECOND       UINT64_C(1000000000)
#define NODES_MAX    1024u
#define UPLOAD_BYTES (64u << 20) /* limit for all running uploads together */
#define UPLOADS_NODE 4u          /* uploads of one node at a time */
#define WORDS_MAX    (64u << 10) /* limit for a text request */
#define TRACE_MAX    (256u << 20)

enum relay_count {
#define COUNT(name, what) COUNT_##name,
#include "relay/count.tbl.h"
	COUNTS
};

/* A known node. */
struct node {
	char name[ACCESS_NAME];
	double tokens; /* bytes that it may send now */
	uint64_t fed_ns, seen_ns;
	uint32_t uploads; /* running uploads */
	uint64_t batches, bytes, held_back;
};

struct relay;
struct relay_request;

struct relay_route {
	const char *method, *path;
	unsigned roles;
	size_t body_max;
	bool to_file; /* the body goes to a file, not into memory */
	/* Called when the request is complete, and again when it is woken after a sleep. */
	enum MHD_Result (*answer)(struct relay *r, struct MHD_Connection *c,
				  struct relay_request *q);
};

/* A request, from its head to its answer. */
struct relay_request {
	struct httpd_request http; /* includes its body */
	const struct relay_route *route;
	struct access_rule rule; /* the access rule that admitted it */
	char who[ACCESS_NAME];
	uint64_t came_ns;  /* wall clock: when its headers arrived */
	struct node *node; /* the node whose upload it counts as */

	/* While the committer has it: */
	struct relay_request *next;
	struct MHD_Connection *mhd;
	struct arrival arrival;
	int result;  /* result of the commit */
	bool asleep; /* guarded by relay.lock */
	bool done;
	/* While it waits for orders: */
	uint64_t order, until_ns;
};

struct relay {
	struct relay_opts o;
	struct batch_store *hold;
	struct httpd *httpd; /* owned */
	char address[160];
	char *cert, *key, *ca;          /* owned: names of the files */
	_Atomic uint64_t count[COUNTS]; /* relaxed order: the counters are independent */
	uint64_t start_ns;

	pthread_mutex_t lock; /* guards all members below */
	pthread_cond_t news;  /* there is something to commit */
	struct access_list access;
	int64_t access_time; /* modification time of the file */
	struct node *node;   /* owned: NODES_MAX */
	size_t nodes;
	struct relay_request *first, **last; /* queue of requests to commit */
	bool stopping;
	pthread_t committer;
	bool committing; /* the committer runs */
	struct orders *orders;
	struct sender *sender; /* owned: NULL: none */
};

static inline uint32_t relay_shards(const struct relay *r)
{
	return r->o.url ? r->o.url->shards : 1;
}

static inline void relay_add(struct relay *r, enum relay_count what, uint64_t n)
{
	atomic_fetch_add_explicit(&r->count[what], n, memory_order_relaxed);
}

/* http.c */
int relay_listen(struct relay *r, char why[256]);
/* Suspends a request's connection, with r->lock held; wakes it. */
void relay_sleep(struct MHD_Connection *c, struct relay_request *q);
void relay_wake(struct relay_request *q);

/* node.c: with r->lock held */
struct node *node_of(struct relay *r, const char *name);
/* Whether it may send that many bytes now; otherwise after how many seconds. */
bool node_may(struct relay *r, struct node *n, size_t bytes, unsigned *retry_s);

/* commit.c */
enum MHD_Result batch_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q);
int commit_start(struct relay *r);
void commit_stop(struct relay *r);

/* arrive.c: checks a batch and fills *a. -EBADMSG or similar, with the reason in `why`. */
int arrive(struct arrival *a, const void *wire, size_t len, const char *cluster, uint32_t shards,
	   char why[160]);

/* status.c */
enum MHD_Result status_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q);
enum MHD_Result metrics_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q);
void status_write(struct relay *r);

/* order.c */
int orders_new(struct orders **out);
void orders_free(struct orders *s);
size_t orders_polling(const struct relay *r); /* with r->lock held: nodes that wait for orders */
void orders_tick(struct relay *r);            /* with r->lock held */
/* with r->lock held: a node disconnected */
void orders_gone(struct relay *r, struct relay_request *q);
enum MHD_Result orders_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q);
enum MHD_Result capture_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q);
enum MHD_Result capture_state_answer(struct relay *r, struct MHD_Connection *c,
				     struct relay_request *q);
enum MHD_Result trace_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q);
enum MHD_Result trace_give_answer(struct relay *r, struct MHD_Connection *c,
				  struct relay_request *q);

/* send.c */
int sender_start(struct sender **out, struct relay *r, char why[256]);
void sender_stop(struct sender *s);
void sender_news(struct sender *s); /* something was committed; NULL is allowed */
