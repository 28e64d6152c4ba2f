/* SPDX-License-Identifier: Apache-2.0 */
/* broker.c - audiences: the consumers that share a ring, their requests, and their answers. */
#include "daemon/control/broker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "daemon/control/broker_priv.h"
#include "daemon/core/count.h"
#include "daemon/session/msg.h"
#include "daemon/session/session_list.h"

#define REQUEST_MAX 64
#define ANSWER_MAX  8448

/* Shares of a second's events, by priority. */
static const uint32_t weight[NEED_PRIORITIES] = { 1, 4, 16 };

/* --- events --- */

static bool needs(const struct audience *a, const struct process *p)
{
	if (!audience_may(a, p))
		return false;
	if (a->any_pid)
		return true;
	for (const struct consumer *c = a->first; c; c = c->next)
		if (need_pid(&c->need, p->pid))
			return true;
	return false;
}

static size_t needed(const struct audience *a, const struct event *ev, size_t n)
{
	size_t some = 0;

	for (size_t i = 0; i < n; i++)
		some += a->kinds >> (ev[i].kind & 63) & 1;
	return some;
}

static void see_events(struct audience *a, const struct event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(a->kinds >> (ev[i].kind & 63) & 1))
			continue;
		seen_add(&a->name, ev[i].name);
		seen_add(&a->track, ev[i].track);
		if (ev[i].kind == EVENT_OP) /* its shapes are a name */
			seen_add(&a->name, ev[i].a / 2);
	}
}

/* Over its share, or aond over its own budget: consumers get the count of skipped events. */
static bool over(struct audience *a, const struct event *ev, size_t n)
{
	if (a->used + n <= a->share && !(a->broker->lean && a->priority == NEED_LOW))
		return false;
	n = ev ? needed(a, ev, n) : n;
	ring_skip(&a->ring, n);
	count_add(COUNT_consumer_over, n);
	return true;
}

void broker_events(struct broker *b, const struct process *p, const struct event *ev, size_t n)
{
	for (struct audience *a = b->first; a; a = a->next) {
		size_t some;

		if (a->window || !needs(a, p) || over(a, ev, n))
			continue;
		see_events(a, ev, n);
		some = ring_write(&a->ring, p, a->kinds, ev, n);
		a->used += some;
		count_add(COUNT_consumer_events, some);
	}
}

static void write_row(struct audience *a, const struct process *p, uint64_t start_ns,
		      const struct rollup *r)
{
	struct aon_consumer_window w = {
		.of = { .start_ns = start_ns,
			.dur_ns = r->total_ns,
			.a = r->count,
			.b = r->bytes,
			.name = r->name,
			.track = r->track,
			.kind = (uint8_t)r->kind,
			.process = p->id,
			.pid = p->pid },
		.min_ns = r->min_ns,
		.max_ns = r->max_ns,
		.p50_ns = sketch_quantile(&r->sketch, 0.50),
		.p95_ns = sketch_quantile(&r->sketch, 0.95),
		.p99_ns = sketch_quantile(&r->sketch, 0.99),
	};

	seen_add(&a->name, r->name);
	seen_add(&a->track, r->track);
	ring_window(&a->ring, &w);
	a->used++;
	count_add(COUNT_consumer_events, 1);
}

void broker_window(struct broker *b, const struct process *p, const struct window *w)
{
	for (struct audience *a = b->first; a; a = a->next) {
		if (!a->window || !needs(a, p))
			continue;
		for (uint32_t i = 0; i < w->rows; i++)
			if (a->kinds >> (w->row[i].kind & 63) & 1 && !over(a, NULL, 1))
				write_row(a, p, w->start_ns, &w->row[i]);
	}
}

void broker_gone(struct broker *b, const struct process *p)
{
	if (b->first)
		b->gone[b->left++ % BROKER_GONE] = *p;
}

bool broker_detail(const struct broker *b, const struct process *p)
{
	for (const struct audience *a = b->first; a; a = a->next)
		for (const struct consumer *c = audience_may(a, p) ? a->first : NULL; c;
		     c = c->next)
			if (c->need.detail && need_pid(&c->need, p->pid))
				return true;
	return false;
}

/* --- audiences --- */

static struct audience *audience_of(struct broker *b, const struct broker_asker *who,
				    const struct need *n)
{
	struct audience *a = b->first;

	while (a && (a->all != who->all || (!a->all && a->uid != who->uid) ||
		     a->window != n->window || a->priority != n->priority))
		a = a->next;
	return a;
}

/* What all of its consumers need together. */
static void unite(struct audience *a)
{
	a->kinds = 0;
	a->any_pid = false;
	for (const struct consumer *c = a->first; c; c = c->next) {
		a->kinds |= c->need.kinds;
		a->any_pid |= !c->need.pids;
	}
}

/* The budget of events is shared out among those who are there. */
static void share_out(struct broker *b)
{
	uint64_t weights = 0;

	for (const struct audience *a = b->first; a; a = a->next)
		weights += weight[a->priority];
	for (struct audience *a = b->first; a; a = a->next)
		a->share = b->budget ? b->budget * weight[a->priority] / weights : UINT64_MAX;
}

static unsigned rings_of(const struct broker *b, const struct broker_asker *who)
{
	unsigned n = 0;

	for (const struct audience *a = b->first; a; a = a->next)
		n += a->all == who->all && a->uid == who->uid;
	return n;
}

static int audience_new(struct audience **out, struct broker *b, const struct broker_asker *who,
			const struct need *need, uint32_t mib)
{
	struct audience *a;
	int err;

	if (b->rings == BROKER_RINGS || rings_of(b, who) == BROKER_PER_USER || !mib)
		return -EBUSY;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct audience){ .next = b->first,
				.broker = b,
				.uid = who->uid,
				.all = who->all,
				.window = need->window,
				.priority = need->priority };
	err = ring_open(&a->ring, (uint64_t)mib << 20, need->window);
	if (err) {
		free(a);
		return err;
	}
	b->first = *out = a;
	b->rings++;
	share_out(b);
	return 0;
}

static void audience_free(struct audience *a)
{
	struct broker *b = a->broker;
	struct audience **at = &b->first;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	b->rings--;
	ring_close(&a->ring);
	free(a->name.bit);
	free(a->track.bit);
	free(a);
	share_out(b);
}

/* --- consumers --- */

static void leave(struct consumer *c)
{
	struct audience *a = c->audience;
	struct broker *b = a->broker;
	struct consumer **at = &a->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	loop_del(b->loop, &c->sock);
	close(c->sock.fd);
	free(c);
	unite(a);
	count_set(COUNT_consumers, --b->consumers);
	if (!a->first)
		audience_free(a);
}

static unsigned of_uid(const struct broker *b, uid_t uid)
{
	unsigned n = 0;

	for (const struct audience *a = b->first; a; a = a->next)
		for (const struct consumer *c = a->first; c; c = c->next)
			n += c->who.uid == uid;
	return n;
}

/* What it asks stays in the socket until the next second: that costs nobody anything. */
static void deafen(struct consumer *c)
{
	c->deaf = true;
	count_add(COUNT_consumer_deaf, 1);
	if (loop_mod(c->audience->broker->loop, &c->sock, 0) < 0)
		leave(c);
}

static void consumer_ready(struct watch *w, uint32_t events)
{
	struct consumer *c = container_of(w, struct consumer, sock);
	char line[REQUEST_MAX], out[ANSWER_MAX];
	ssize_t n;

	if (c->deaf || !(events & EPOLLIN)) { /* it has closed its end */
		leave(c);
		return;
	}
	if (!quota_take(&c->audience->broker->asks, c->who.uid, 0, 1, BROKER_ASKS)) {
		deafen(c);
		return;
	}
	n = recv(w->fd, line, sizeof(line) - 1, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	line[n > 0 ? n : 0] = '\0';
	n = n > 0 ? broker_answer(c->audience, line, out, sizeof(out)) : -EPIPE;
	/* Who asks and does not read is closed, too. */
	if (n < 0 || msg_send(w->fd, out, (size_t)n, NULL, 0) < 0)
		leave(c);
}

int broker_subscribe(struct broker *b, int sock, const struct broker_asker *who,
		     const struct need *need, uint32_t mib)
{
	struct audience *a = audience_of(b, who, need);
	struct consumer *c;
	int err = 0;

	if (b->consumers >= BROKER_CONSUMERS || of_uid(b, who->uid) >= BROKER_PER_UID)
		return -EBUSY;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	if (!a)
		err = audience_new(&a, b, who, need, mib);
	if (err)
		goto free_consumer;
	*c = (struct consumer){ .next = a->first,
				.sock = { sock, consumer_ready },
				.audience = a,
				.who = *who,
				.need = *need,
				.since_ns = clock_mono_ns() };
	err = msg_send(sock, "ring", 4, &a->ring.fd, 1);
	err = err ? err : loop_add(b->loop, &c->sock, EPOLLIN);
	if (err)
		goto free_audience;
	a->first = c;
	unite(a);
	count_set(COUNT_consumers, ++b->consumers);
	return 0;

free_audience:
	if (!a->first)
		audience_free(a);
free_consumer:
	free(c);
	return err;
}

/* --- life --- */

void broker_tick(struct broker *b, uint64_t events, bool lean)
{
	b->lean = lean;
	if (b->first)
		memset(b->asks.user, 0, sizeof(b->asks.user));
	if (b->budget != events) {
		b->budget = events;
		share_out(b);
	}
	for (struct audience *a = b->first; a; a = a->next) {
		a->used = 0;
		for (struct consumer *c = a->first; c; c = c->next)
			if (c->deaf && loop_mod(b->loop, &c->sock, EPOLLIN) == 0)
				c->deaf = false;
	}
}

void broker_json(const struct broker *b, struct json *j)
{
	uint64_t now = clock_mono_ns();

	json_open(j, "consumers", '[');
	for (const struct audience *a = b->first; a; a = a->next) {
		for (const struct consumer *c = a->first; c; c = c->next)
			json_object(j, NULL, J_U64("uid", c->who.uid),
				    J_U64("pid", (uint64_t)c->who.pid), J_BOOL("all", a->all),
				    J_STR("what", a->window ? "windows" : "events"),
				    J_STR("priority", need_word[a->priority]),
				    J_U64("rate", c->need.rate), J_U64("pids", c->need.pids),
				    J_BOOL("detail", c->need.detail),
				    J_U64("since_s", (now - c->since_ns) / 1000000000u),
				    J_U64("skipped", a->ring.skipped));
	}
	json_close(j);
}

void broker_init(struct broker *b, struct loop *l, struct store *st)
{
	*b = (struct broker){ .loop = l, .store = st };
}

void broker_fini(struct broker *b)
{
	while (b->first)
		leave(b->first->first);
}
