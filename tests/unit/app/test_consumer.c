/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of live events: what a consumer reads is whole, in order, and what it missed is counted. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <aon/consumer.h>

#include "consume/thin.h"
#include "daemon/session/msg.h"
#include "daemon/control/ring.h"
#include "t.h"

#define COUNT 64u

/* aond, as far as a consumer sees it: hands out one descriptor, once. */
struct door {
	char dir[64];
	int listen, sock, fd;
	pthread_t thread;
};

static void *let_in(void *arg)
{
	struct door *d = arg;
	char line[256];

	d->sock = accept(d->listen, NULL, NULL);
	if (recv(d->sock, line, sizeof(line), 0) >= 9)
		msg_send(d->sock, "ring", 4, &d->fd, 1);
	return NULL;
}

static int door_open(struct door *d, int fd, struct aon_consumer **c,
		     const struct aon_consumer_opts *o)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int err;

	d->fd = fd;
	snprintf(d->dir, sizeof(d->dir), "/tmp/aon-test-XXXXXX");
	if (!mkdtemp(d->dir))
		return -errno;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/admin.sock", d->dir);
	d->listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(d->listen, (struct sockaddr *)&sa, sizeof(sa)) || listen(d->listen, 4) ||
	    pthread_create(&d->thread, NULL, let_in, d))
		return -errno;
	err = aon_consumer_open(c, d->dir, o);
	pthread_join(d->thread, NULL);
	unlink(sa.sun_path);
	rmdir(d->dir);
	close(d->listen);
	return err;
}

static void put(struct ring *r, uint64_t from, size_t n)
{
	struct event ev[256] = { 0 };

	for (size_t i = 0; i < n; i++)
		ev[i] = (struct event){ .start_ns = from + i,
					.dur_ns = ~(from + i),
					.a = 3 * (from + i),
					.b = 5 * (from + i),
					.kind = i % 2 ? EVENT_STEP : EVENT_MARK };
	const struct process p = { .id = 7, .pid = (uint32_t)(100 + from % 2) };

	ring_write(r, &p, UINT64_MAX, ev, n);
}

static bool is_whole(const struct aon_consumer_event *e)
{
	return e->start_ns == e->seq && e->dur_ns == ~e->seq && e->a == 3 * e->seq &&
	       e->b == 5 * e->seq && e->process == 7;
}

struct got {
	uint64_t n, next;
	bool good; /* whole, in order, with no gap that is not counted */
};

/* All there is. */
static struct got take(struct aon_consumer *c, uint64_t next)
{
	struct got g = { .next = next, .good = true };
	struct aon_consumer_event e;
	uint64_t lost = aon_consumer_lost(c);

	while (aon_consumer_next(c, &e, 0) > 0) {
		g.good = g.good && is_whole(&e) && e.seq == g.next + (aon_consumer_lost(c) - lost);
		lost = aon_consumer_lost(c);
		g.next = e.seq + 1;
		g.n++;
	}
	return g;
}

static void wraps(void)
{
	struct aon_consumer_event e;
	struct aon_consumer *c;
	struct got g = { .next = 5 };
	struct door d;
	struct ring r;
	bool good = true;

	T_OK(!ring_open(&r, COUNT * 65, false) && r.count == COUNT, "a ring holds a power of two");
	put(&r, 0, 5);
	T_OK(!door_open(&d, r.fd, &c, NULL), "a consumer maps it");
	T_OK(aon_consumer_next(c, &e, 0) == 0, "what was before it came is not its");
	for (uint64_t at = 5; at < 2000; at += 37) {
		put(&r, at, 37);
		g = take(c, at);
		good = good && g.good && g.n == 37;
	}
	T_OK(good && !aon_consumer_lost(c), "around the ring many times, all of it in order");
	put(&r, g.next, 200);
	g = take(c, g.next);
	T_OK(g.good && g.n && g.n < COUNT && aon_consumer_lost(c) + g.n == 200,
	     "who is overtaken goes on, and knows how many it lost");
	T_OK(g.next == r.head, "to the newest");
	put(&r, g.next, 3);
	close(d.sock);
	T_OK(aon_consumer_next(c, &e, 1000) == 1 && aon_consumer_next(c, &e, 1000) == 1 &&
		     aon_consumer_next(c, &e, 1000) == 1 && aon_consumer_next(c, &e, -1) == -EPIPE,
	     "when aond ends the rest is read, then it is told");
	T_OK(!strcmp(aon_consumer_name(c, 5), "?"), "and names are not known any more");
	aon_consumer_close(c);
	ring_close(&r);
}

static void chooses(void)
{
	const uint32_t pid[] = { 101 };
	struct aon_consumer_opts o = {
		.size = sizeof(o), .kinds = 1ull << EVENT_STEP, .pid = pid, .pids = 1
	};
	struct aon_consumer_event e;
	struct aon_consumer *c;
	struct door d;
	struct ring r;

	if (ring_open(&r, COUNT * 64, false) || door_open(&d, r.fd, &c, &o)) {
		T_OK(false, "a consumer with a choice");
		return;
	}
	put(&r, 0, 11); /* of pid 100 */
	put(&r, 11, 4); /* of pid 101 */
	T_OK(aon_consumer_next(c, &e, 0) == 1 && e.seq == 12 && e.pid == 101 &&
		     aon_consumer_next(c, &e, 0) == 1 && e.seq == 14 &&
		     aon_consumer_next(c, &e, 0) == 0,
	     "only the kinds and processes that it asked for");
	T_OK(aon_consumer_kind_of("step") == EVENT_STEP && !aon_consumer_kind_of("stop") &&
		     !strcmp(aon_consumer_kind(EVENT_KERNEL), "kernel") && !aon_consumer_kind(31),
	     "kinds have words");
	aon_consumer_close(c);
	close(d.sock);
	ring_close(&r);
}

static void told(void)
{
	struct aon_consumer_event e;
	struct aon_consumer *c;
	struct door d;
	struct ring r;
	bool good;

	if (ring_open(&r, COUNT * 64, false)) {
		T_OK(false, "a ring");
		return;
	}
	put(&r, 0, 3);
	ring_skip(&r, 7);
	if (door_open(&d, r.fd, &c, NULL)) {
		T_OK(false, "a consumer");
		return;
	}
	T_OK(aon_consumer_next(c, &e, 0) == 0 && !aon_consumer_lost(c),
	     "what was left out before it came is not its");
	put(&r, 0, 2);
	ring_skip(&r, 5);
	put(&r, 0, 1);
	good = aon_consumer_next(c, &e, 0) == 1 && e.seq == 10 && !aon_consumer_lost(c) &&
	       aon_consumer_next(c, &e, 0) == 1 && e.seq == 11 && !aon_consumer_lost(c) &&
	       aon_consumer_next(c, &e, 0) == 1 && e.seq == 17 && aon_consumer_lost(c) == 5;
	T_OK(good, "what aond leaves out is told in its place");
	ring_skip(&r, 4);
	T_OK(aon_consumer_next(c, &e, 0) == 0 && aon_consumer_lost(c) == 9,
	     "also when nothing comes behind it");
	put(&r, 0, 1);
	T_OK(aon_consumer_next(c, &e, 0) == 1 && e.seq == 22 && aon_consumer_lost(c) == 9,
	     "and once");
	aon_consumer_close(c);
	close(d.sock);
	ring_close(&r);
}

static void resumes(void)
{
	struct aon_consumer_place at, bad;
	struct aon_consumer_event e = { 0 };
	struct aon_consumer *c, *again;
	struct door d, d2;
	struct ring r;
	uint64_t n = 0;

	if (ring_open(&r, COUNT * 64, false) || door_open(&d, r.fd, &c, NULL)) {
		T_OK(false, "a consumer");
		return;
	}
	put(&r, 0, 10);
	ring_skip(&r, 5);
	put(&r, 0, 10);
	while (n < 12 && aon_consumer_next(c, &e, 0) == 1)
		n++;
	aon_consumer_place(c, &at);
	T_OK(e.seq == 16 && at.seq == 17 && at.ring, "a consumer says where it is");
	if (door_open(&d2, r.fd, &again, NULL)) {
		T_OK(false, "another");
		return;
	}
	T_OK(!aon_consumer_resume(again, &at) && aon_consumer_next(again, &e, 0) == 1 &&
		     e.seq == 17 && !aon_consumer_lost(again),
	     "another goes on from there");
	put(&r, 0, 60);
	T_OK(!aon_consumer_resume(again, &at) && aon_consumer_next(again, &e, 0) == 1 &&
		     e.seq > 17 && aon_consumer_lost(again) == e.seq - 17,
	     "what is gone since is lost, and counted");
	bad = (struct aon_consumer_place){ at.ring + 1, at.seq };
	T_OK(aon_consumer_resume(again, &bad) == -ESTALE, "another ring's place is none");
	bad = (struct aon_consumer_place){ at.ring, 1000 };
	T_OK(aon_consumer_resume(again, &bad) == -ESTALE, "nor is one that has not come");
	aon_consumer_close(c);
	aon_consumer_close(again);
	close(d.sock);
	close(d2.sock);
	ring_close(&r);
}

static void rolled(void)
{
	struct aon_consumer_opts o = { .size = sizeof(o), .flags = AON_CONSUMER_WINDOWS };
	struct aon_consumer_window w = { .of = { .a = 3, .kind = EVENT_STEP }, .p99_ns = 77 };
	struct aon_consumer_event e;
	struct aon_consumer *c;
	struct door d;
	struct ring r;
	bool good = true;

	if (ring_open(&r, COUNT * 128, true) || door_open(&d, r.fd, &c, &o)) {
		T_OK(false, "a consumer of windows");
		return;
	}
	for (uint64_t i = 0; i < 3 * COUNT; i++) {
		w.max_ns = i;
		ring_window(&r, &w);
		good = good && aon_consumer_next_window(c, &w, 0) == 1 && w.of.seq == i &&
		       w.max_ns == i && w.p99_ns == 77 && w.of.a == 3;
	}
	T_OK(good && !aon_consumer_next_window(c, &w, 0), "windows come whole and in order");
	aon_consumer_close(c);
	close(d.sock);
	o.rate = 5;
	T_OK(aon_consumer_open(&c, "/", &o) == -EINVAL, "a rate is of events");
	T_OK(door_open(&d, r.fd, &c, NULL) == -EPROTO, "who wants events takes no ring of windows");
	close(d.sock);
	ring_close(&r);
	if (ring_open(&r, COUNT * 64, false) || door_open(&d, r.fd, &c, NULL)) {
		T_OK(false, "a consumer");
		return;
	}
	T_OK(aon_consumer_next_window(c, &w, 0) == -EINVAL && !aon_consumer_next(c, &e, 0),
	     "and has none");
	aon_consumer_close(c);
	close(d.sock);
	ring_close(&r);
}

/* --- thinning --- */

/* `n` events a second for so many seconds, in bursts as aond writes them; values have a period that a
 * choice of every so-manyth would fall for. */
struct thinned {
	double sum, of;
	uint64_t weights, seen, handed, most;
};

static void one_more(struct thinned *r, uint64_t *second, uint64_t ms, uint64_t weight,
		     const struct aon_consumer_event *e)
{
	static uint64_t in;

	in = *second == ms / 1000 ? in + 1 : 1;
	*second = ms / 1000;
	r->most = in > r->most ? in : r->most;
	r->handed++;
	r->weights += weight;
	r->sum += (double)weight * (double)e->a;
}

static struct thinned thin_run(uint32_t rate, uint64_t n, uint64_t seed)
{
	struct thinned r = { 0 };
	struct aon_consumer_event e = { 0 };
	uint64_t weight, second = UINT64_MAX;
	struct thin t;

	thin_init(&t, rate, 0);
	t.random = seed;
	for (uint64_t ms = 0; ms < 60000; ms += 500) {
		for (uint64_t i = 0; i < n / 2; i++) {
			e.a = r.seen++ % 10 ? 1 : 100;
			r.of += (double)e.a;
			if (thin_take(&t, &e, ms, &weight))
				one_more(&r, &second, ms, weight, &e);
		}
	}
	for (uint64_t ms = 60000; t.n; ms += 500)
		if (thin_rest(&t, &e, ms, &weight))
			one_more(&r, &second, ms, weight, &e);
	return r;
}

static void thins(void)
{
	double sum = 0, of = 0;
	bool counted = true, bounded = true;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct thinned r = thin_run(50, 1000, seed * 0x9e3779b97f4a7c15ull);

		sum += r.sum;
		of += r.of;
		counted = counted && r.weights == r.seen;
		bounded = bounded && r.most <= 2 * 50 && r.handed <= 62 * 50;
	}
	T_OK(counted, "weights together count every event");
	T_OK(bounded, "no second has more than the rate and what the last left over");
	T_OK(sum / of > 0.98 && sum / of < 1.02,
	     "sums of weight and value are right on average: %f", sum / of);
	T_OK(thin_run(5000, 1000, 7).handed == 60000, "below the rate nothing is left out");
	T_OK(thin_run(0, 1000, 7).handed == 60000, "nor without one");
}

/* --- at the same time --- */

#define STORM 3000000u

static void *storm(void *arg)
{
	struct ring *r = arg;

	for (uint64_t at = 0; at < STORM; at += 200)
		put(r, at, 200);
	return NULL;
}

static void races(void)
{
	struct aon_consumer *c;
	struct got g = { .next = 0, .good = true };
	uint64_t n = 0;
	pthread_t writer;
	struct door d;
	struct ring r;
	bool good = true;

	if (ring_open(&r, 1024 * 64, false) || door_open(&d, r.fd, &c, NULL)) {
		T_OK(false, "a consumer");
		return;
	}
	pthread_create(&writer, NULL, storm, &r);
	while (g.next < STORM && good) {
		g = take(c, g.next);
		n += g.n;
		good = g.good;
	}
	pthread_join(writer, NULL);
	T_OK(good && n && n + aon_consumer_lost(c) == STORM,
	     "while the writer storms: what is read is whole, the rest is counted");
	aon_consumer_close(c);
	close(d.sock);
	ring_close(&r);
}

/* --- lies --- */

static int offer(const struct aon_ring *head, off_t bytes)
{
	int fd = memfd_create("lie", MFD_CLOEXEC), err;
	struct aon_consumer *c;
	struct door d;

	if (ftruncate(fd, bytes) || (bytes && pwrite(fd, head, sizeof(*head), 0) < 0))
		return 0;
	err = door_open(&d, fd, &c, NULL);
	if (!err)
		aon_consumer_close(c);
	close(d.sock);
	close(fd);
	return err;
}

static void lies(void)
{
	const struct aon_ring good = { .magic = AON_RING_MAGIC,
				       .version = AON_RING_VERSION,
				       .record_bytes = 64,
				       .count = 64 };
	struct aon_ring bad[6] = { good, good, good, good, good, good };
	const off_t full = AON_PAGE + 64 * 64;
	bool refused = true;

	bad[0].magic++;
	bad[1].version++;
	bad[2].record_bytes = 48;
	bad[3].count = 0;
	bad[4].count = 63;
	bad[5].count = 1ull << 58; /* times 64 it is none at all */
	T_OK(offer(&good, full) == 0, "a ring as it should be");
	for (size_t i = 0; i < T_LEN(bad); i++)
		refused = refused && offer(&bad[i], full) == -EPROTO;
	T_OK(refused, "one that says what cannot be is refused");
	T_OK(offer(&good, full - 1) == -EPROTO && offer(&good, 0) == -EPROTO,
	     "and one that is too short");
}

static void sealed(void)
{
	struct ring r;
	void *map;

	if (ring_open(&r, COUNT * 64, false)) {
		T_OK(false, "a ring");
		return;
	}
	map = mmap(NULL, AON_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
	T_OK(map == MAP_FAILED && pwrite(r.fd, "x", 1, 0) < 0 && ftruncate(r.fd, 0) < 0,
	     "nobody but its maker can write a ring, or cut it");
	put(&r, 0, 3);
	T_OK(r.map->head == 3, "who can still");
	ring_close(&r);
}

int main(void)
{
	wraps();
	chooses();
	told();
	resumes();
	rolled();
	thins();
	races();
	lies();
	sealed();
	return t_done();
}
