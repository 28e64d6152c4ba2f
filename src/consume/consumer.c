/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - reads a ring that somebody else writes (abi/consume.h), and asks for names. */
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
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "abi/consume.h"
#include "abi/msg.h"
#include "model/event.h"

#define BATCH      256u       /* records copied at a time */
#define LOOK_MS    20         /* between two looks at a ring with nothing new: aond rings no bell */
#define ANSWER_MS  2000       /* for an answer of aond */
#define LATER_MS   5          /* before a question is asked again, */
#define LATER      400        /* so many times */
#define ANSWER_MAX 8448       /* bytes */
#define NAMES_MAX  (1u << 24) /* ids */
#define COUNT_MAX  (1ull << 32)

struct aon_consumer {
	int sock;                   /* owned: the lease */
	const struct aon_ring *map; /* owned, read-only */
	size_t bytes;
	uint64_t count; /* as it was checked: the page is not asked again */
	uint64_t at;    /* number of the next record to copy */
	uint64_t lost;
	uint64_t kinds;
	uint32_t *pid; /* owned */
	size_t pids;
	char **name; /* owned, by id */
	uint32_t names;
	bool ended;        /* aond closed the lease */
	uint32_t from, to; /* of buf: not handed out yet */
	struct aon_consumer_event buf[BATCH];
};

/* --- the lease --- */

static int connect_to(const char *run_dir, const char *name)
{
	struct timeval tv = { ANSWER_MS / 1000, ANSWER_MS % 1000 * 1000 };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, err;

	if ((size_t)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", run_dir, name) >=
	    sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* At the admin socket, or else as a guest at that of processes. */
static int lease(const char *run_dir)
{
	static const struct aon_msg_head ask = { AON_MSG_MAGIC, AON_MSG_ASK, sizeof(ask) };
	int fd = connect_to(run_dir, AON_ADMIN_NAME), err;

	if (fd == -EACCES || fd == -EPERM) {
		fd = connect_to(run_dir, AON_SOCKET_NAME);
		if (fd >= 0 && send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) < 0)
			goto fail;
	}
	if (fd < 0 || send(fd, "subscribe", 9, MSG_NOSIGNAL) == 9)
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
	if (c->map->magic != AON_RING_MAGIC || c->map->version != AON_RING_VERSION ||
	    c->map->record_bytes != sizeof(c->buf[0]) || !c->count || c->count > COUNT_MAX ||
	    (c->count & (c->count - 1)) || c->bytes < AON_PAGE + c->count * sizeof(c->buf[0]))
		return -EPROTO;
	c->at = __atomic_load_n(&c->map->head, __ATOMIC_ACQUIRE);
	return 0;
}

static int take_opts(struct aon_consumer *c, const struct aon_consumer_opts *o)
{
	if (!o)
		return 0;
	if (o->size < sizeof(*o))
		return -EINVAL;
	c->kinds = o->kinds;
	c->pids = o->pids;
	if (!o->pids)
		return 0;
	c->pid = malloc(o->pids * sizeof(*o->pid));
	if (!c->pid)
		return -ENOMEM;
	memcpy(c->pid, o->pid, o->pids * sizeof(*o->pid));
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
	c->sock = err ? err : lease(run_dir);
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
	for (uint32_t i = 0; i < c->names; i++)
		free(c->name[i]);
	free(c->name);
	free(c->pid);
	free(c);
}

/* --- events --- */

/* Acquire, each word: `begin`, looked at afterwards, is not older than any of them. */
static void copy(struct aon_consumer *c, uint64_t seq, struct aon_consumer_event *e)
{
	const uint64_t *from = (const uint64_t *)(const void *)((const char *)c->map + AON_PAGE);
	uint64_t word[AON_RING_WORDS];

	from += (seq & (c->count - 1)) * AON_RING_WORDS;
	for (size_t i = 0; i < AON_RING_WORDS; i++)
		word[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
	memcpy(e, word, sizeof(*e));
}

/* Some records that are whole. False: there is none. */
static bool refill(struct aon_consumer *c)
{
	uint64_t head, begin, oldest, n;

	for (;;) {
		head = __atomic_load_n(&c->map->head, __ATOMIC_ACQUIRE);
		if (head <= c->at)
			return false;
		n = head - c->at < BATCH ? head - c->at : BATCH;
		for (uint64_t i = 0; i < n; i++)
			copy(c, c->at + i, &c->buf[i]);
		begin = __atomic_load_n(&c->map->begin, __ATOMIC_RELAXED);
		oldest = begin > c->count ? begin - c->count : 0;
		if (c->at >= oldest)
			break;
		/* Overtaken. Some way ahead of the writer, or it would happen again at once. */
		oldest += c->count / 8;
		if (oldest > head)
			oldest = head;
		c->lost += oldest - c->at;
		c->at = oldest;
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

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
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

int aon_consumer_next(struct aon_consumer *c, struct aon_consumer_event *e, int timeout_ms)
{
	uint64_t until = timeout_ms > 0 ? now_ms() + (uint64_t)timeout_ms : 0;

	for (;;) {
		bool ended = c->ended;

		while (c->from < c->to || refill(c)) {
			const struct aon_consumer_event *next = &c->buf[c->from++];

			if (!is_wanted(c, next))
				continue;
			*e = *next;
			return 1;
		}
		if (ended) /* and was, when nothing more was found */
			return -EPIPE;
		if (timeout_ms > 0) {
			uint64_t now = now_ms();

			timeout_ms = now < until ? (int)(until - now) : 0;
		}
		/* For 0 ms as well: so the end is seen by who never waits. */
		if (!wait_some(c, timeout_ms) || (!timeout_ms && !c->ended))
			return 0;
	}
}

uint64_t aon_consumer_lost(const struct aon_consumer *c)
{
	return c->lost;
}

/* --- names and lanes --- */

/* The answer to this question: one to an earlier question that was given up may come first. */
static int hear(struct aon_consumer *c, const char *line, char out[ANSWER_MAX])
{
	size_t len = strlen(line);
	ssize_t n;

	for (;;) {
		n = recv(c->sock, out, ANSWER_MAX - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		out[n] = '\0';
		if (!strncmp(out, line, len) && out[len] == ' ') {
			memmove(out, out + len + 1, (size_t)n - len);
			return 0;
		}
	}
}

/* What is behind "ok". -ENOENT: aond does not say. */
static int ask(struct aon_consumer *c, const char *word, uint32_t id, char out[ANSWER_MAX])
{
	char line[32];
	int err;

	snprintf(line, sizeof(line), "%s %" PRIu32, word, id);
	for (int i = 0; i < LATER; i++) {
		if (c->ended || send(c->sock, line, strlen(line), MSG_NOSIGNAL) < 0)
			return -EPIPE;
		err = hear(c, line, out);
		if (err)
			return err;
		if (!strncmp(out, "ok ", 3)) {
			memmove(out, out + 3, strlen(out) - 2);
			return 0;
		}
		if (strcmp(out, "later") != 0)
			return -ENOENT;
		poll(NULL, 0, LATER_MS);
	}
	return -EAGAIN;
}

const char *aon_consumer_name(struct aon_consumer *c, uint32_t id)
{
	char text[ANSWER_MAX];

	if (!id)
		return "";
	if (id >= c->names) {
		uint32_t n = c->names ? c->names : 256;
		char **name;

		while (n <= id && n < NAMES_MAX)
			n *= 2;
		name = id < n ? realloc(c->name, n * sizeof(*name)) : NULL;
		if (!name)
			return "?";
		memset(name + c->names, 0, (n - c->names) * sizeof(*name));
		c->name = name;
		c->names = n;
	}
	if (!c->name[id] && !ask(c, "name", id, text))
		c->name[id] = strdup(text);
	return c->name[id] ? c->name[id] : "?";
}

int aon_consumer_lane(struct aon_consumer *c, uint32_t id, struct aon_consumer_lane *out)
{
	char text[ANSWER_MAX];
	int err;

	if (out->size < sizeof(*out))
		return -EINVAL;
	err = ask(c, "lane", id, text);
	if (err)
		return err;
	return sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu32,
		      &out->process, &out->device, &out->context, &out->stream, &out->name) == 5
		       ? 0
		       : -EPROTO;
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
