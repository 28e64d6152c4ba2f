/* SPDX-License-Identifier: Apache-2.0 */
/* broker.c - audiences: those who share a ring; what they have seen, and what they ask. */
#include "daemon/broker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/count.h"
#include "daemon/msg.h"
#include "store/store.h"

#define REQUEST_MAX 64
#define TEXT_MAX    8192
#define SEEN_MAX    (1u << 24) /* ids beyond are not answered */

/* A set of ids. */
struct seen {
	uint64_t *bit; /* owned */
	uint32_t ids;  /* that it has room for */
};

struct consumer {
	struct consumer *next;
	struct watch sock; /* fd owned */
	struct audience *audience;
	uid_t uid;
};

struct audience {
	struct audience *next;
	struct broker *broker; /* borrowed */
	struct ring ring;
	uid_t uid;
	bool all; /* the admin's: events of everybody */
	struct consumer *first;
	struct seen name, lane;
};

static void see(struct seen *s, uint64_t id)
{
	if (id >= s->ids) {
		uint32_t ids = s->ids ? s->ids : 1024;
		uint64_t *bit;

		while (ids <= id && ids < SEEN_MAX)
			ids *= 2;
		bit = id < ids ? realloc(s->bit, ids / 8) : NULL;
		if (!bit)
			return;
		memset(bit + s->ids / 64, 0, (ids - s->ids) / 8);
		*s = (struct seen){ bit, ids };
	}
	s->bit[id / 64] |= 1ull << id % 64;
}

static bool has_seen(const struct seen *s, uint64_t id)
{
	return id < s->ids && s->bit[id / 64] >> id % 64 & 1;
}

/* --- events --- */

void broker_events(struct broker *b, const struct process *p, const struct event *ev, size_t n)
{
	for (struct audience *a = b->first; a; a = a->next) {
		if (!a->all && a->uid != p->uid)
			continue;
		for (size_t i = 0; i < n; i++) {
			see(&a->name, ev[i].name);
			see(&a->lane, ev[i].lane);
			if (ev[i].kind == EVENT_OP) /* its shapes are a name */
				see(&a->name, ev[i].a / 2);
		}
		ring_write(&a->ring, p->id, p->pid, ev, n);
		count_add(COUNT_consumer_events, n);
	}
}

/* --- coming and going --- */

static struct audience *audience_of(struct broker *b, uid_t uid, bool all)
{
	struct audience *a = b->first;

	while (a && (a->all != all || (!all && a->uid != uid)))
		a = a->next;
	return a;
}

static int audience_new(struct audience **out, struct broker *b, uid_t uid, bool all, uint32_t mib)
{
	struct audience *a;
	int err;

	if (b->rings == BROKER_RINGS || !mib)
		return -EBUSY;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct audience){ .next = b->first, .broker = b, .uid = uid, .all = all };
	err = ring_open(&a->ring, ((uint64_t)mib << 20) / sizeof(struct aon_consumer_event));
	if (err) {
		free(a);
		return err;
	}
	b->first = *out = a;
	b->rings++;
	return 0;
}

static void audience_free(struct audience *a)
{
	struct audience **at = &a->broker->first;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->broker->rings--;
	ring_close(&a->ring);
	free(a->name.bit);
	free(a->lane.bit);
	free(a);
}

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
	count_set(COUNT_consumers, --b->consumers);
	if (!a->first)
		audience_free(a);
}

static unsigned of_uid(const struct broker *b, uid_t uid)
{
	unsigned n = 0;

	for (const struct audience *a = b->first; a; a = a->next)
		for (const struct consumer *c = a->first; c; c = c->next)
			n += c->uid == uid;
	return n;
}

/* --- what they ask --- */

static int text_of_name(struct audience *a, uint32_t id, char *out, size_t cap)
{
	return has_seen(&a->name, id) ? store_name_try(a->broker->store, id, out, cap) : -ENOENT;
}

static int text_of_lane(struct audience *a, uint32_t id, char *out, size_t cap)
{
	struct lane l;
	int err = has_seen(&a->lane, id) ? store_lane_try(a->broker->store, id, &l) : -ENOENT;

	if (err)
		return err;
	if (l.name)
		see(&a->name, l.name);
	snprintf(out, cap, "%u %u %u %" PRIu64 " %u", l.process, l.device, l.context, l.stream,
		 l.name);
	return 0;
}

/* -EINVAL: no question. -EAGAIN is an answer: nobody waits for a disk here. */
static int answer(struct audience *a, const char *line, char *out, size_t cap)
{
	char text[TEXT_MAX] = "", word[8];
	int err, end = 0;
	uint32_t id;

	if (sscanf(line, "%7s %" SCNu32 "%n", word, &id, &end) != 2 || line[end])
		return -EINVAL;
	if (!strcmp(word, "name"))
		err = text_of_name(a, id, text, sizeof(text));
	else if (!strcmp(word, "lane"))
		err = text_of_lane(a, id, text, sizeof(text));
	else
		return -EINVAL;
	return snprintf(out, cap, "%s %" PRIu32 " %s%s", word, id,
			!err             ? "ok "
			: err == -EAGAIN ? "later"
					 : "none",
			err ? "" : text);
}

static void consumer_ready(struct watch *w, uint32_t events)
{
	struct consumer *c = container_of(w, struct consumer, sock);
	char line[REQUEST_MAX], out[REQUEST_MAX + TEXT_MAX];
	ssize_t n = recv(w->fd, line, sizeof(line) - 1, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	line[n > 0 ? n : 0] = '\0';
	n = n > 0 ? answer(c->audience, line, out, sizeof(out)) : -EPIPE;
	/* Who asks and does not read is closed, too. */
	if (n < 0 || msg_send(w->fd, out, (size_t)n, NULL, 0) < 0)
		leave(c);
}

int broker_subscribe(struct broker *b, int sock, uid_t uid, bool all, uint32_t mib)
{
	struct audience *a = audience_of(b, uid, all);
	struct consumer *c;
	int err = 0;

	if (b->consumers >= BROKER_CONSUMERS || of_uid(b, uid) >= BROKER_PER_UID)
		return -EBUSY;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	if (!a)
		err = audience_new(&a, b, uid, all, mib);
	if (err)
		goto free_consumer;
	*c = (struct consumer){
		.next = a->first, .sock = { sock, consumer_ready }, .audience = a, .uid = uid
	};
	err = msg_send(sock, "ring", 4, &a->ring.fd, 1);
	if (!err)
		err = loop_add(b->loop, &c->sock, EPOLLIN);
	if (err)
		goto free_audience;
	a->first = c;
	count_set(COUNT_consumers, ++b->consumers);
	return 0;

free_audience:
	if (!a->first)
		audience_free(a);
free_consumer:
	free(c);
	return err;
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
