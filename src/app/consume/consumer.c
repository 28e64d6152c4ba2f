/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - reads a ring that aond writes (abi/consume.h), and asks aond for names. */
#include <aon/consumer.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/clock.h"
#include "base/dial.h"
#include "consume/priv.h"
#include "model/event.h"

#define LOOK_MS   20  /* between two looks at a ring with nothing new: aond rings no doorbell */
#define NEED_MAX  480 /* bytes of the words behind "subscribe" */
#define PIDS_TOLD 32u /* sent to aond; beyond that, all processes are asked for */
#define COUNT_MAX (1ull << 32) /* records of a ring */

/* --- the lease --- */

/* Lets aond skip events that no consumer needs; everything is filtered again here. */
static size_t say_needs(const struct aon_consumer *c, char out[NEED_MAX])
{
	static const char *const priority[] = { "", " priority=low", " priority=high" };
	int n = snprintf(out, NEED_MAX, "subscribe%s%s%s", priority[c->priority],
			 c->flags & AON_CONSUMER_WINDOWS ? " window" : "",
			 c->flags & AON_CONSUMER_DETAIL ? " detail" : "");

	if (c->kinds)
		n += snprintf(out + n, NEED_MAX - (size_t)n, " kinds=%" PRIx64, c->kinds);
	if (c->thin.rate)
		n += snprintf(out + n, NEED_MAX - (size_t)n, " rate=%" PRIu32, c->thin.rate);
	for (size_t i = 0; c->pids <= PIDS_TOLD && i < c->pids; i++)
		n += snprintf(out + n, NEED_MAX - (size_t)n, i ? ",%" PRIu32 : " pids=%" PRIu32,
			      c->pid[i]);
	return (size_t)n;
}

/* At the admin socket, or else as a guest at that of processes. */
static int lease(const struct aon_consumer *c, const char *run_dir)
{
	char words[NEED_MAX];
	static const struct aon_msg_head ask = { AON_MSG_MAGIC, AON_MSG_ASK, sizeof(ask) };
	int fd = dial(run_dir, AON_ADMIN_NAME, ANSWER_MS), err;

	if (fd == -EACCES || fd == -EPERM) {
		fd = dial(run_dir, AON_SOCKET_NAME, ANSWER_MS);
		if (fd >= 0 && send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) < 0)
			goto fail;
	}
	if (fd < 0 || send(fd, words, say_needs(c, words), MSG_NOSIGNAL) > 0)
		return fd;
fail:
	err = -errno;
	close(fd);
	return err;
}

/* The ring's descriptor. -EBUSY: refused. */
static int take_ring(int sock)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl;
	char word[64];
	struct iovec iov = { word, sizeof(word) };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl)
	};
	ssize_t n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;
	int fd;

	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd))) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		return fd;
	}
	return n == 0 || !strncmp(word, "error: busy", 11) ? -EBUSY : -EPROTO;
}

/* Its size is sealed: what fits now always will. */
static int map_ring(struct aon_consumer *c, int fd)
{
	struct stat sb;
	void *map;

	if (fstat(fd, &sb) < 0)
		return -errno;
	if (sb.st_size < (off_t)AON_PAGE)
		return -EPROTO;
	map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	c->map = map;
	c->bytes = (size_t)sb.st_size;
	c->count = c->map->count;
	c->words = (c->flags & AON_CONSUMER_WINDOWS ? sizeof(struct aon_consumer_window)
						    : sizeof(struct aon_consumer_event)) /
		   sizeof(uint64_t);
	if (c->map->magic != AON_RING_MAGIC || c->map->version != AON_RING_VERSION ||
	    c->map->record_bytes != c->words * sizeof(uint64_t) || !c->count ||
	    c->count > COUNT_MAX || (c->count & (c->count - 1)) ||
	    c->bytes < AON_PAGE + c->count * c->words * sizeof(uint64_t))
		return -EPROTO;
	do { /* both of one moment */
		c->seq = __atomic_load_n(&c->map->skipped, __ATOMIC_ACQUIRE);
		c->at = __atomic_load_n(&c->map->head, __ATOMIC_ACQUIRE);
	} while (c->seq != __atomic_load_n(&c->map->skipped, __ATOMIC_ACQUIRE));
	c->seq += c->at;
	return 0;
}

#define OPTS_FIRST offsetof(struct aon_consumer_opts, rate) /* bytes of the first version's */

static int take_opts(struct aon_consumer *c, const struct aon_consumer_opts *given)
{
	struct aon_consumer_opts o = { 0 };

	if (!given)
		return 0;
	if (given->size < OPTS_FIRST)
		return -EINVAL;
	memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
	if (o.priority > AON_CONSUMER_HIGH || (o.rate && o.flags & AON_CONSUMER_WINDOWS) ||
	    o.flags & ~(AON_CONSUMER_WINDOWS | AON_CONSUMER_DETAIL))
		return -EINVAL;
	c->kinds = o.kinds;
	c->priority = o.priority;
	c->flags = o.flags;
	thin_init(&c->thin, o.rate, clock_mono_ms());
	if (!o.pids)
		return 0;
	c->pid = malloc(o.pids * sizeof(*o.pid));
	if (!c->pid)
		return -ENOMEM;
	memcpy(c->pid, o.pid, o.pids * sizeof(*o.pid));
	c->pids = o.pids;
	return 0;
}

int aon_consumer_open(struct aon_consumer **out, const char *run_dir,
		      const struct aon_consumer_opts *opts)
{
	struct aon_consumer *c = calloc(1, sizeof(*c));
	int err, fd = -1;

	if (!c)
		return -ENOMEM;
	if (!run_dir || !*run_dir)
		run_dir = getenv(AON_ENV_RUN_DIR);
	if (!run_dir || !*run_dir)
		run_dir = AON_RUN_DIR;
	err = take_opts(c, opts);
	c->sock = err ? err : lease(c, run_dir);
	if (c->sock >= 0)
		fd = take_ring(c->sock);
	err = c->sock < 0 ? c->sock : fd < 0 ? fd : map_ring(c, fd);
	if (fd >= 0)
		close(fd);
	if (err)
		aon_consumer_close(c);
	else
		*out = c;
	return err;
}

void aon_consumer_close(struct aon_consumer *c)
{
	if (!c)
		return;
	if (c->map)
		munmap((void *)(uintptr_t)c->map, c->bytes);
	if (c->sock >= 0)
		close(c->sock);
	ask_fini(c);
	free(c->pid);
	free(c);
}

/* --- events --- */

/* Acquire, each word: `begin`, looked at afterwards, is not older than any of them. */
static void copy(struct aon_consumer *c, uint64_t number, uint64_t *to)
{
	const uint64_t *from = (const uint64_t *)(const void *)((const char *)c->map + AON_PAGE);

	from += (number & (c->count - 1)) * c->words;
	for (size_t i = 0; i < c->words; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

/* Those before `seq` that did not come. */
static void expect(struct aon_consumer *c, uint64_t seq)
{
	if (seq > c->seq) {
		c->lost += seq - c->seq;
		c->seq = seq;
	}
}

/* Some records that are whole. False: there is none. */
static bool refill(struct aon_consumer *c)
{
	uint64_t head, begin, oldest, skipped, n;

	for (;;) {
		skipped = __atomic_load_n(&c->map->skipped, __ATOMIC_ACQUIRE);
		head = __atomic_load_n(&c->map->head, __ATOMIC_ACQUIRE);
		if (head <= c->at) {
			expect(c, c->at + skipped);
			return false;
		}
		n = head - c->at < BATCH ? head - c->at : BATCH;
		for (uint64_t i = 0; i < n; i++)
			copy(c, c->at + i, &c->buf[i * c->words]);
		begin = __atomic_load_n(&c->map->begin, __ATOMIC_RELAXED);
		oldest = begin > c->count ? begin - c->count : 0;
		if (c->at >= oldest)
			break;
		/* Overtaken: continue some way ahead of the writer, or it would happen again at once. */
		oldest += c->count / 8;
		if (oldest > head)
			oldest = head;
		c->at = oldest; /* the gap in numbers says how many */
	}
	c->at += n;
	c->from = 0;
	c->to = (uint32_t)n;
	return true;
}

static bool is_wanted(const struct aon_consumer *c, const struct aon_consumer_event *e)
{
	if (c->kinds && !(e->kind < 64 && c->kinds >> e->kind & 1))
		return false;
	for (size_t i = 0; i < c->pids; i++)
		if (c->pid[i] == e->pid)
			return true;
	return !c->pids;
}

/* A moment, or until aond ends. False: a signal came. */
static bool wait_some(struct aon_consumer *c, int ms)
{
	struct pollfd p = { .fd = c->sock, .events = POLLRDHUP };
	int n = poll(&p, 1, ms < 0 || ms > LOOK_MS ? LOOK_MS : ms);

	if (n > 0)
		c->ended = true;
	return n >= 0;
}

/* The next that is wanted, which stays in the buffer until the next call; NULL: none is there. */
static const void *next_wanted(struct aon_consumer *c)
{
	while (c->from < c->to || refill(c)) {
		const void *record = &c->buf[c->from++ * c->words];
		const struct aon_consumer_event *e = record;

		expect(c, e->seq);
		c->seq = e->seq + 1;
		if (is_wanted(c, e))
			return record;
	}
	return NULL;
}

/* 1: *e is one; a window has more behind it. */
static int next_event(struct aon_consumer *c, void *out, size_t size)
{
	struct aon_consumer_event *e = out;
	uint64_t now = c->thin.rate ? clock_mono_ms() : 0;
	const void *record;

	while ((record = next_wanted(c))) {
		memcpy(out, record, size);
		if (thin_take(&c->thin, e, now, &c->weight))
			return 1;
	}
	return thin_rest(&c->thin, e, now, &c->weight);
}

static int next_in(struct aon_consumer *c, void *out, size_t size, int timeout_ms)
{
	uint64_t until = timeout_ms > 0 ? clock_mono_ms() + (uint64_t)timeout_ms : 0;

	for (;;) {
		bool ended = c->ended;

		if (next_event(c, out, size))
			return 1;
		if (ended) /* and was, when nothing more was found */
			return -EPIPE;
		if (timeout_ms > 0) {
			uint64_t now = clock_mono_ms();

			timeout_ms = now < until ? (int)(until - now) : 0;
		}
		/* Also with 0 ms, so that a caller that never waits notices the end. */
		if (!wait_some(c, timeout_ms) || (!timeout_ms && !c->ended))
			return 0;
	}
}

int aon_consumer_next(struct aon_consumer *c, struct aon_consumer_event *e, int timeout_ms)
{
	return next_in(c, e, sizeof(*e), timeout_ms);
}

int aon_consumer_next_window(struct aon_consumer *c, struct aon_consumer_window *w, int timeout_ms)
{
	if (!(c->flags & AON_CONSUMER_WINDOWS))
		return -EINVAL;
	return next_in(c, w, sizeof(*w), timeout_ms);
}

/* --- going on --- */

void aon_consumer_place(const struct aon_consumer *c, struct aon_consumer_place *out)
{
	*out = (struct aon_consumer_place){ c->map->id, c->seq };
}

/* Numbers rise from record to record: the first that is not below `seq`. One that is overwritten
 * meanwhile has a greater number than it had: then the next look finds that it was overtaken. */
static uint64_t find_seq(struct aon_consumer *c, uint64_t lo, uint64_t hi, uint64_t seq)
{
	struct aon_consumer_window w;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		copy(c, mid, (uint64_t *)(void *)&w);
		if (w.of.seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int aon_consumer_resume(struct aon_consumer *c, const struct aon_consumer_place *at)
{
	uint64_t skipped = __atomic_load_n(&c->map->skipped, __ATOMIC_ACQUIRE);
	uint64_t head = __atomic_load_n(&c->map->head, __ATOMIC_ACQUIRE);
	uint64_t begin = __atomic_load_n(&c->map->begin, __ATOMIC_RELAXED);

	if (!c->map->id || c->map->id != at->ring || at->seq > head + skipped)
		return -ESTALE;
	c->at = find_seq(c, begin > c->count ? begin - c->count : 0, head, at->seq);
	c->seq = at->seq;
	c->from = c->to = 0;
	return 0;
}

uint64_t aon_consumer_weight(const struct aon_consumer *c)
{
	return c->weight;
}

uint64_t aon_consumer_lost(const struct aon_consumer *c)
{
	return c->lost;
}

/* --- kinds --- */

static const char *const kind_word[EVENT_MAX] = {
#define EVENT(num, NAME, word, has) [num] = word,
#include "model/event.tbl.h"
};

const char *aon_consumer_kind(uint32_t kind)
{
	return kind < EVENT_MAX ? kind_word[kind] : NULL;
}

uint32_t aon_consumer_kind_of(const char *word)
{
	for (uint32_t i = 0; i < EVENT_MAX; i++)
		if (kind_word[i] && !strcmp(kind_word[i], word))
			return i;
	return 0;
}
