/* SPDX-License-Identifier: Apache-2.0 */
/* push.c - see push.h. */
#include "ship/metrics/push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define PUSH_MS   10000u
#define PATH_MAX_ 200u

enum { PUSH_OTLP, PUSH_WRITE, PUSHES };

struct place {
	struct http *http; /* owned; NULL: not wanted */
	struct cluster_url url;
	char path[PATH_MAX_];
	bool bad; /* the last one failed */
};

struct push {
	struct place to[PUSHES];
	struct meter meter;
};

/* http(s)://HOST:PORT and /PATH apart. */
static int parse(struct place *p, const char *text, struct net_why *why)
{
	const char *host = strstr(text, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	char base[300];
	struct net_why bad;

	if (!path || strlen(path) >= sizeof(p->path) || (size_t)(path - text) >= sizeof(base) ||
	    strpbrk(path, " \t\"<>"))
		return why_say(why, -EINVAL, "expected http(s)://HOST:PORT/PATH, not '%.100s'",
			       text);
	snprintf(base, sizeof(base), "%.*s", (int)(path - text), text);
	if (cluster_url_parse(&p->url, base, &bad) || p->url.kind != CLUSTER_RELAY ||
	    p->url.servers != 1)
		return why_say(why, -EINVAL, "'%.100s': %.300s", text, bad.text);
	snprintf(p->path, sizeof(p->path), "%s", path);
	return 0;
}

int push_new(struct push **out, const struct push_opts *o, struct net_why *why)
{
	const char *const text[PUSHES] = { o->otlp, o->remote_write };
	struct push *p;
	int err = 0;

	*out = NULL;
	if (!*o->otlp && !*o->remote_write)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return why_say(why, -ENOMEM, "out of memory");
	p->meter.start_ns = o->now_ns;
	for (int i = 0; i < PUSHES && !err; i++) {
		struct http_opts ho = { .files = o->files, .timeout_ms = PUSH_MS };

		if (!*text[i])
			continue;
		err = parse(&p->to[i], text[i], why);
		ho.tls = p->to[i].url.tls;
		err = err ? err : http_new(&p->to[i].http, &ho, why);
	}
	if (err) {
		push_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void push_free(struct push *p)
{
	if (!p)
		return;
	for (int i = 0; i < PUSHES; i++)
		http_free(p->to[i].http);
	meter_fini(&p->meter);
	free(p);
}

struct meter *push_meter(struct push *p, uint64_t now_ns)
{
	p->meter.points = 0;
	p->meter.now_ns = now_ns;
	return &p->meter;
}

static uint64_t send_to(struct place *to, struct http_ask *q)
{
	struct http_answer a;
	struct net_why why = { "" };
	int err;

	q->server = &to->url.server[0];
	q->target = to->path;
	err = http_do(to->http, q, &a, &why);
	if (!err && a.status / 100 != 2)
		err = why_say(&why, -EREMOTEIO, "status %d: %.200s", a.status, a.data);
	if (err && !to->bad)
		log_warn("metrics to %s:%u%s: %s", q->server->host, q->server->port, to->path,
			 why.text);
	to->bad = err != 0;
	return a.sent + a.got;
}

static uint64_t send_otlp(struct push *p)
{
	struct http_ask q = { .header = { "Content-Type: application/x-protobuf" } };
	struct pb_out b = { 0 };
	uint64_t wire = 0;

	if (meter_otlp(&p->meter, &b) == 0) {
		q.body = b.data;
		q.len = b.len;
		wire = send_to(&p->to[PUSH_OTLP], &q);
	}
	pb_free(&b);
	return wire;
}

static uint64_t send_write(struct push *p)
{
	struct http_ask q = { .header = { "Content-Type: application/x-protobuf",
					  "Content-Encoding: snappy",
					  "X-Prometheus-Remote-Write-Version: 0.1.0" } };
	struct pb_out b = { 0 }, packed = { 0 };
	uint64_t wire = 0;

	if (meter_remote_write(&p->meter, &b) == 0 && snappy(&packed, b.data, b.len) == 0) {
		q.body = packed.data;
		q.len = packed.len;
		wire = send_to(&p->to[PUSH_WRITE], &q);
	}
	pb_free(&b);
	pb_free(&packed);
	return wire;
}

uint64_t push_send(struct push *p)
{
	uint64_t wire = 0;

	if (p->to[PUSH_OTLP].http)
		wire += send_otlp(p);
	if (p->to[PUSH_WRITE].http)
		wire += send_write(p);
	return wire;
}
