/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - shared by the handlers of route.tbl.h. */
#pragma once

#include "base/json.h"
#include "serve/serve.h"

#define ROUTE_HEAVY   0x2u
#define ROUTE_OPEN    0x4u
#define ROUTE_PARTIAL 0x10u /* the handler writes `partial` itself */
#define ROUTE_POST    0x20u /* POST is allowed as well */
#define ROUTE_WAITS   0x40u /* it waits for the run's timeline, unless soon=1 */
#define ROUTE_LIVE    0x8u  /* server-sent events: http.c keeps the connection open */
#define ROUTE_FLEET   0x80u /* only if a cluster is served */

/*
 * 0, or -errno: -EINVAL with q->mistake: 400; -EPERM, the same: 403; -ENOENT: 404; -EFBIG: 413; -ENODATA: 422;
 * -ETIMEDOUT, -EBUSY: 503; others: 500.
 */
typedef int route_fn(struct ask *q, struct answer *a);
typedef int route_json_fn(struct ask *q, struct json *j);

struct route {
	const char *path, *args;
	route_fn *fn; /* NULL: use `json` */
	route_json_fn *json;
	uint32_t flags;
};

extern const struct route route_table[];
extern const size_t routes;

#define ROUTE(path, name, flags, args) route_fn api_##name;
#define JSON(path, name, flags, args)  route_json_fn api_##name;
#include "serve/api/route.tbl.h"

/* Read one parameter. If it is absent, *out is untouched. 0, or -EINVAL with q->mistake set. */
int ask_number(struct ask *q, const char *key, uint64_t lo, uint64_t hi, uint64_t *out);
int ask_real(struct ask *q, const char *key, double lo, double hi, double *out);
/* Index of the value in "a|b|c"; 0 if it is absent. -EINVAL: it is none of them. */
int ask_choice(struct ask *q, const char *key, const char *words);
int ask_range(struct ask *q, uint64_t *t0,
	      /* t0 and t1, relative to run.t0; by default 0 and UINT64_MAX */
	      uint64_t *t1);
int ask_ranks(struct ask *q, const char **list); /* NULL: all */
int ask_mistake(struct ask *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A run as an object, as `runs` lists it. */
void run_json(struct json *j, const char *key, const struct run *r, const struct serve *s);
