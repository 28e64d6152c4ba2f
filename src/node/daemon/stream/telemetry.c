/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry.c - see telemetry.h. */
#include "daemon/stream/telemetry.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/wire.h"
#include "daemon/core/aond.h"
#include "daemon/core/count.h"
#include "store/store.h"

#define MS       1000000u
#define OLD_NS   120000000000ull /* a time further back than this is a lie, */
#define AHEAD_NS 2000000000ull   /* and one that is not yet */
#define READS    8u              /* messages of a collector in one turn of the loop */
#define CHANGES  (1u << 17)      /* of a block */
#define DAY_NS   (86400 * 1000000000ull)

struct entry {
	uint32_t id;   /* in the store; 0: not stored */
	double now;    /* NAN: not there */
	double before; /* at the end of the last piece, or after the first tick of this one */
	bool left;     /* with that tick it went */
	double *gauge; /* borrowed: for the records of steps; NULL: no step record has it */
	bool sum;      /* there it is added up */
};

struct cl_text {
	struct watch sock; /* fd owned */
	struct telemetry *hub;
	uint32_t number;
	char name[WIRE_NAME + 1];
	uint64_t bytes;      /* said in this second */
	bool deaf;           /* until the next one */
	struct entry *entry; /* owned; of the numbers on the wire */
	uint32_t entries;
	size_t entries_cap, changes_cap;
	/* The block that is under way. */
	uint64_t tick_ns[TELEMETRY_TICKS_MAX];
	uint32_t ticks, piece; /* piece: ticks that were handed over */
	struct change *change; /* owned */
	uint32_t changes, piece_changes;
	struct wire_in in;
};

/* --- to the writer --- */

/* Room for a block behind an item, or NULL. */
static struct item *item_block(uint32_t ticks, uint32_t changes)
{
	size_t a = ticks * sizeof(uint64_t), b = changes * sizeof(struct change);
	struct item *it = item_new(ITEM_TELEMETRY, a + b);

	if (!it)
		return NULL;
	it->telemetry = (struct telemetry_block){ .ticks = ticks, .changes = changes };
	it->telemetry.tick_ns = item_tail(it);
	it->telemetry.change = (struct change *)(void *)((char *)item_tail(it) + a);
	return it;
}

static void hand_over(struct cl_text *s, struct item *it, bool whole)
{
	struct aond *d = s->hub->aond;

	if (!it) {
		count_add(COUNT_telemetry_lost, s->changes);
		return;
	}
	it->telemetry.source = s->number;
	it->telemetry.wall_offset_ns = d->wall_offset_ns;
	it->wake = whole;
	if (d->plant.disk == SHED_ALL || queue_offer(&d->queue, it, QUEUE_REST) < 0) {
		count_add(COUNT_telemetry_lost, it->telemetry.changes);
		free(it);
		return;
	}
	d->plant.dirty = true;
}

/* What came since the last piece, so that it stands alone. */
static void send_piece(struct cl_text *s)
{
	uint32_t from = s->piece_changes, n = 0, k = 0;
	struct item *it;

	if (s->piece == s->ticks)
		return;
	/* Its first tick says all that is there. */
	for (; from < s->changes && s->change[from].tick == s->piece; from++)
		;
	it = item_block(s->ticks - s->piece, s->entries + (s->changes - from));
	if (it) {
		struct change *to = it->telemetry.change;

		memcpy(it->telemetry.tick_ns, s->tick_ns + s->piece,
		       (s->ticks - s->piece) * sizeof(uint64_t));
		for (uint32_t i = 0; i < s->entries; i++)
			if (s->entry[i].id && (s->entry[i].left || !isnan(s->entry[i].before)))
				to[n++] = (struct change){ s->entry[i].id, 0, s->entry[i].before };
		for (k = from; k < s->changes; k++) {
			to[n] = s->change[k];
			to[n++].tick -= s->piece;
		}
		it->telemetry.changes = n;
	}
	hand_over(s, it, false);
	s->piece = s->ticks;
	s->piece_changes = s->changes;
}

/* The block from its beginning, in place of its pieces. */
static void send_whole(struct cl_text *s)
{
	struct item *it;

	if (!s->ticks)
		return;
	it = item_block(s->ticks, s->changes);
	if (it) {
		memcpy(it->telemetry.tick_ns, s->tick_ns, s->ticks * sizeof(uint64_t));
		memcpy(it->telemetry.change, s->change, s->changes * sizeof(*s->change));
	}
	hand_over(s, it, true);
	s->ticks = s->piece = s->changes = s->piece_changes = 0;
}

/* --- what a collector says --- */

static int add_change(struct cl_text *s, uint32_t id, double v)
{
	if (vec_room(&s->change, &s->changes_cap, s->changes + 1, sizeof(*s->change)) < 0)
		return -ENOMEM;
	s->change[s->changes++] = (struct change){ id, s->ticks - 1, v };
	return 0;
}

/* A new block begins with all that is there. */
static int begin_block(struct cl_text *s)
{
	int err = 0;

	for (uint32_t i = 0; i < s->entries && !err; i++) {
		s->entry[i].before = s->entry[i].now;
		s->entry[i].left = false;
		if (s->entry[i].id && !isnan(s->entry[i].now))
			err = add_change(s, s->entry[i].id, s->entry[i].now);
	}
	return err;
}

static int on_tick(void *arg, uint64_t t_ns)
{
	struct cl_text *s = arg;
	uint64_t now = clock_mono_ns();

	if (t_ns + OLD_NS < now || t_ns > now + AHEAD_NS)
		return -EBADMSG;
	if (s->ticks && t_ns / MS <= s->tick_ns[s->ticks - 1] / MS)
		return 0; /* of the same poll */
	if (s->ticks == TELEMETRY_TICKS_MAX || s->changes + s->entries >= CHANGES ||
	    (s->ticks && t_ns - s->tick_ns[0] >= TELEMETRY_LONG_NS))
		send_whole(s);
	s->tick_ns[s->ticks++] = t_ns;
	return s->ticks == 1 ? begin_block(s) : 0;
}

static int on_hello(void *arg, const char *name, uint32_t interval_ms)
{
	struct cl_text *s = arg;

	snprintf(s->name, sizeof(s->name), "%s", name);
	log_info("collector %s: every %u ms", s->name, interval_ms);
	return 0;
}

static int on_series(void *arg, uint32_t number, const struct series *sr)
{
	struct cl_text *s = arg;
	uint32_t id = 0;
	int err;

	if (vec_room(&s->entry, &s->entries_cap, (size_t)number + 1, sizeof(*s->entry)) < 0)
		return -ENOMEM;
	err = store_series(s->hub->aond->plant.store, sr, &id);
	if (!err && !id)
		count_add(COUNT_telemetry_full, 1);
	s->entry[number] = (struct entry){ .id = id, .now = NAN, .before = NAN };
	s->entry[number].gauge = gauge_of(&s->hub->aond->plant.gauges, sr, &s->entry[number].sum);
	s->entries = number + 1;
	return err;
}

static int on_sample(void *arg, uint64_t t_ns, uint32_t number, double value)
{
	struct cl_text *s = arg;
	struct entry *e = &s->entry[number];

	(void)t_ns;
	if (isinf(value))
		return -EBADMSG;
	if (e->gauge)
		gauge_take(e->gauge, e->sum, e->now, value);
	/* The state with which the next piece begins is that after its first tick. */
	if (s->ticks - 1 == s->piece) {
		e->left = isnan(value) && (e->left || !isnan(e->now));
		e->before = value;
	}
	e->now = value;
	count_add(COUNT_telemetry_changes, 1);
	return e->id ? add_change(s, e->id, value) : 0;
}

static int on_event(void *arg, uint64_t t_ns, const char *what, const char *text)
{
	struct cl_text *s = arg;
	struct telemetry *t = s->hub;
	struct journal_entry e = { .kind = ENTRY_LINE };
	char word[4 * WIRE_WHAT + 1], line[4 * WIRE_TEXT + 1];

	if (t->day != t_ns / DAY_NS)
		t->events = 0;
	t->day = t_ns / DAY_NS;
	count_add(COUNT_telemetry_events, 1);
	fmt_clean(word, sizeof(word), what, true);
	fmt_clean(line, sizeof(line), text, true);
	alarm_fault(&t->aond->roster, word, line, clock_mono_ns());
	if (++t->events > TELEMETRY_EVENTS) {
		count_add(COUNT_journal_full, 1);
		return 0;
	}
	entry_s(&e, FIELD_WHAT, word);
	entry_s(&e, FIELD_LINE, line);
	aond_journal(t->aond, &e);
	return 0;
}

static const struct wire_fns fns = { on_hello, on_series, on_tick, on_sample, on_event, NULL };

/* --- connections --- */

static void count_sources(const struct telemetry *t)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < TELEMETRY_SOURCES; i++)
		n += t->source[i] != NULL;
	count_set(COUNT_collectors, n);
}

static void free_source(struct cl_text *s)
{
	free(s->entry);
	free(s->change);
	free(s);
}

/* What it measured is not there any more, from now on. */
static void all_gone(struct cl_text *s)
{
	if (!s->ticks || on_tick(s, clock_mono_ns()) < 0)
		return;
	for (uint32_t i = 0; i < s->entries; i++) {
		if (s->entry[i].gauge && !s->entry[i].sum)
			*s->entry[i].gauge = NAN;
		if (s->entry[i].id && !isnan(s->entry[i].now))
			add_change(s, s->entry[i].id, NAN);
	}
}

static void close_source(struct cl_text *s)
{
	struct telemetry *t = s->hub;

	loop_del(&t->aond->loop, &s->sock);
	close(s->sock.fd);
	all_gone(s);
	send_whole(s);
	for (unsigned i = 0; i < TELEMETRY_SOURCES; i++)
		if (t->source[i] == s)
			t->source[i] = NULL;
	if (*s->name)
		log_info("collector %s: gone", s->name);
	free_source(s);
	count_sources(t);
}

/* A flood waits in the collector: no more than its share of a second is read. */
static bool too_much(struct cl_text *s, size_t n)
{
	s->bytes += n;
	if (s->bytes < TELEMETRY_RATE)
		return false;
	s->deaf = true;
	count_add(COUNT_telemetry_deaf, 1);
	loop_mod(&s->hub->aond->loop, &s->sock, 0);
	return true;
}

static void on_source(struct watch *w, uint32_t events)
{
	struct cl_text *s = container_of(w, struct cl_text, sock);
	int err = 0;

	(void)events;
	for (unsigned i = 0; i < READS && !err; i++) {
		size_t room;
		void *to = wire_room(&s->in, &room);
		ssize_t n = recv(w->fd, to, room, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close_source(s);
			return;
		}
		err = wire_got(&s->in, (size_t)n, &fns, s);
		if (!err && too_much(s, (size_t)n))
			return;
	}
	if (!err)
		return;
	count_add(COUNT_telemetry_bad, 1);
	log_warn("collector %s: %s; connection ended", *s->name ? s->name : "?",
		 err == -EBADMSG ? "says what is no telemetry" : strerror(-err));
	close_source(s);
}

static struct cl_text *new_source(struct telemetry *t, int fd)
{
	for (unsigned i = 0; i < TELEMETRY_SOURCES; i++) {
		struct cl_text *s;

		if (t->source[i])
			continue;
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->hub = t;
		s->sock = (struct watch){ fd, on_source };
		s->number = ++t->next;
		if (loop_add(&t->aond->loop, &s->sock, EPOLLIN) < 0) {
			free(s);
			return NULL;
		}
		return t->source[i] = s;
	}
	return NULL;
}

static void on_connect(struct watch *w, uint32_t events)
{
	struct telemetry *t = container_of(w, struct telemetry, listen);
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd < 0)
		return;
	if (new_source(t, fd)) {
		count_sources(t);
		return;
	}
	count_add(COUNT_collectors_refused, 1);
	close(fd);
}

/* --- the whole --- */

int telemetry_init(struct telemetry *t, struct aond *d, int listen_fd)
{
	*t = (struct telemetry){ .aond = d, .listen = { listen_fd, on_connect } };
	/* Numbers of sources differ from those of an aond before, as far as they can. */
	t->next = (uint32_t)(clock_wall_ns() / 1000000000u) << 8;
	return loop_add(&d->loop, &t->listen, EPOLLIN);
}

void telemetry_fini(struct telemetry *t)
{
	for (unsigned i = 0; i < TELEMETRY_SOURCES; i++)
		if (t->source[i])
			close_source(t->source[i]);
	loop_del(&t->aond->loop, &t->listen);
	close(t->listen.fd);
}

/* What changed within the piece is before the next one's first tick. */
static void end_piece(struct cl_text *s)
{
	send_piece(s);
	for (uint32_t i = 0; i < s->entries; i++) {
		s->entry[i].before = s->entry[i].now;
		s->entry[i].left = false;
	}
}

void telemetry_flush(struct telemetry *t)
{
	for (unsigned i = 0; i < TELEMETRY_SOURCES; i++)
		if (t->source[i])
			end_piece(t->source[i]);
}

void telemetry_tick(struct telemetry *t)
{
	for (unsigned i = 0; i < TELEMETRY_SOURCES; i++) {
		struct cl_text *s = t->source[i];

		if (!s)
			continue;
		s->bytes = 0;
		if (s->deaf)
			loop_mod(&t->aond->loop, &s->sock, EPOLLIN);
		s->deaf = false;
	}
	if (t->aond->roster.ticks % TELEMETRY_TAIL_S == 0)
		telemetry_flush(t);
}
