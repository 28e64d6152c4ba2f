/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the pool in one process: what threads emit, the drain finds, to the record. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aon/aon.h>
#include <aon/provider.h>

#include "client/client.h"
#include "pool/pool.h"
#include "t.h"

#define BUF_BYTES (256u << 10)
#define RUNS      256u

static uint8_t buf[BUF_BYTES];
static struct pool_run run[RUNS];

struct seen {
	uint64_t records, wrong;
};

/* A record of the tests carries its own check: b is the complement of a. */
static void look(struct seen *s, const struct pool_run *r)
{
	for (uint32_t i = 0; i < r->units; i += r->rec[i].host.len) {
		const struct aon_rec_host *h = &r->rec[i].host;

		s->wrong += h->kind == AON_K_MARK && h->b != ~h->a;
		s->records++;
	}
}

static int drain(struct pool *p, bool dead, struct seen *s)
{
	bool more = true;
	size_t n;

	while (more) {
		int err = pool_drain(p, buf, sizeof(buf), dead, run, RUNS, &n, &more);

		for (size_t i = 0; i < n; i++)
			look(s, &run[i]);
		if (err)
			return err;
	}
	return 0;
}

static struct pool *make(uint32_t kib)
{
	struct pool_opts o = { .pool_bytes = kib << 10, .chunk_bytes = 4096, .heap_bytes = 65536 };
	struct pool *p = NULL;

	return pool_new(&p, &o) ? NULL : p;
}

/* This process takes the other end, as if the daemon had sent it. */
static void *take_end(struct pool *p)
{
	void *map = mmap(NULL, pool_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED, pool_fd(p), 0);

	return client_use(map, pool_bytes(p)) ? NULL : map;
}

static uint64_t lost(struct pool *p)
{
	uint64_t by[AON_LOSS_APP_MAX], sum = 0;

	pool_lost(p, by);
	for (size_t i = 0; i < T_LEN(by); i++)
		sum += by[i];
	return sum;
}

static void mark(uint64_t a)
{
	aon_emit_(AON_MARK_, 1, 0, a, ~a);
}

struct job {
	uint64_t n;
	pthread_barrier_t *start;
	_Atomic unsigned left;
};

static void *emitter(void *arg)
{
	struct job *j = arg;

	pthread_barrier_wait(j->start);
	for (uint64_t i = 0; i < j->n; i++)
		mark(i);
	atomic_fetch_sub(&j->left, 1);
	return NULL;
}

static void threads_and_drain(struct pool *p, unsigned threads, uint64_t each, const char *what)
{
	pthread_barrier_t start;
	struct job j = { each, &start, threads };
	struct seen s = { 0 };
	pthread_t th[200];
	uint64_t before = lost(p);
	int err = 0;

	pthread_barrier_init(&start, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&th[i], NULL, emitter, &j);
	pthread_barrier_wait(&start);
	while (atomic_load(&j.left) && !err)
		err = drain(p, false, &s);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(th[i], NULL);
	err = err ? err : drain(p, false, &s);
	T_OK(!err && s.wrong == 0, "%s: every record is whole", what);
	T_OK(s.records + lost(p) - before == threads * each,
	     "%s: read + lost = emitted (%llu read, %llu lost)", what,
	     (unsigned long long)s.records, (unsigned long long)(lost(p) - before));
	pthread_barrier_destroy(&start);
}

static _Atomic uint64_t nested;
static atomic_bool storm_over;

static void handler(int sig)
{
	(void)sig;
	mark(1);
	mark(2);
	atomic_fetch_add(&nested, 2);
}

static void *storm(void *arg)
{
	pthread_t target = *(pthread_t *)arg;

	while (!atomic_load(&storm_over)) {
		pthread_kill(target, SIGUSR1);
		usleep(20);
	}
	return NULL;
}

static void test_signals(struct pool *p)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t me = pthread_self(), th;
	uint64_t outer = 0, before = lost(p);
	struct seen s = { 0 };
	int err = 0;

	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&th, NULL, storm, &me);
	/* On a busy machine the other thread may begin late. */
	for (int i = 0; i < 2000 || (atomic_load(&nested) < 20 && !err); i++) {
		for (int k = 0; k < 100; k++, outer++)
			mark(outer);
		err = err ? err : drain(p, false, &s);
	}
	atomic_store(&storm_over, true);
	pthread_join(th, NULL);
	signal(SIGUSR1, SIG_IGN);
	err = err ? err : drain(p, false, &s);
	T_OK(atomic_load(&nested) > 0, "the handler did emit");
	T_OK(!err && s.wrong == 0 && s.records + lost(p) - before == outer + atomic_load(&nested),
	     "a handler that emits inside an emit: nothing torn, nothing unaccounted");
}

static void test_full(struct pool *p)
{
	struct seen s = { 0 };
	uint64_t before = lost(p), n = 3 * pool_bytes(p) / AON_UNIT;

	for (uint64_t i = 0; i < n; i++)
		mark(i);
	T_OK(lost(p) > before, "a pool that nobody drains fills up, and the rest is counted");
	T_OK(drain(p, false, &s) == 0 && s.records + lost(p) - before == n,
	     "what fitted is all there");
	mark(1);
	for (int i = 0; i < 64; i++)
		mark(2);
	T_OK(drain(p, false, &s) == 0 && s.records + lost(p) - before == n + 65,
	     "a drained pool takes records again");
}

static void test_activity(struct pool *p)
{
	struct aon_act a = { .size = sizeof(a),
			     .kind = AON_ACT_KERNEL,
			     .name = 8,
			     .track = 1,
			     .geo = 9,
			     .corr = 77,
			     .start_ns = 1000,
			     .end_ns = 1500 };
	struct aon_act c = { .size = sizeof(c),
			     .kind = AON_ACT_COPY,
			     .dir = AON_COPY_HTOD,
			     .start_ns = 5,
			     .end_ns = 5 + (9ull << 32),
			     .bytes = 5ull << 32 };
	size_t n;
	bool more;

	aon_act_emit(&a);
	aon_act_emit(&c);
	T_OK(pool_drain(p, buf, sizeof(buf), false, run, RUNS, &n, &more) == 0 && n == 1 &&
		     run[0].units == 3 && run[0].records == 2,
	     "an activity is one unit, one that does not fit it is two");
	T_OK(run[0].rec[0].act.dur == 500 && run[0].rec[0].act.start == 1000 &&
		     run[0].rec[0].act.arg == 9 && run[0].rec[0].act.corr == 77,
	     "its fields stand where the ABI says");
	T_OK(((const struct aon_ext *)(const void *)&run[0].rec[2])->dur_ns == 9ull << 32 &&
		     ((const struct aon_ext *)(const void *)&run[0].rec[2])->arg == 5ull << 32 &&
		     run[0].rec[1].act.flags == (AON_F_EXT | AON_F_LONG | AON_COPY_HTOD),
	     "long values stand in the extension");
}

static char joined[AON_TEXT_MAX + 1], text64[AON_TEXT_MAX];

/* What the pieces of a text are together; they must come in order. */
static uint32_t join_text(struct pool *p)
{
	uint32_t have = 0;
	bool more = true;
	size_t n;

	while (more && !pool_drain(p, buf, sizeof(buf), false, run, RUNS, &n, &more))
		for (size_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < run[i].units; k += run[i].rec[k].host.len) {
				const struct aon_rec_host *h = &run[i].rec[k].host;
				uint32_t len = (h->len - 1u) * AON_UNIT;

				if (h->kind != AON_K_TEXT || h->x != have)
					continue;
				len = len < h->a - have ? len : (uint32_t)h->a - have;
				memcpy(joined + have, h + 1, len);
				have += len;
			}
	return have;
}

static void test_text(struct pool *p)
{
	static const uint32_t size[] = { 1, 31, 32, 33, 4000, AON_TEXT_MAX };

	for (uint32_t i = 0; i < AON_TEXT_MAX; i++)
		text64[i] = (char)(i * 2654435761u >> 24);
	T_OK(aon_text_emit(8, 1, text64, 5) == -ENOTSUP, "an older daemon gets no text");
	aon_client.features = AON_FEATURE_TEXT;
	for (size_t i = 0; i < T_LEN(size); i++)
		T_OK(!aon_text_emit(8, 1, text64, size[i]) && join_text(p) == size[i] &&
			     !memcmp(joined, text64, size[i]),
		     "a text of %u bytes arrives whole", size[i]);
	T_OK(aon_text_emit(8, 1, text64, 0) == -EINVAL &&
		     aon_text_emit(8, 1, text64, AON_TEXT_MAX + 1) == -EINVAL,
	     "one of none or of too many is refused");
}

static void test_heap(struct pool *p)
{
	char text[AON_NAME_MAX + 1];
	uint32_t a = aon_name("alpha"), track = aon_track(3, 1, 42, "stream");
	struct aon_track l;

	T_OK(a && a == aon_name("alpha") && a != aon_name("beta"), "equal names have equal ids");
	T_OK(pool_heap(p, a * AON_HEAP_ALIGN, AON_HEAP_NAME, text, sizeof(text)) == 5 &&
		     memcmp(text, "alpha", 5) == 0,
	     "a name interned after joining is in the segment");
	T_OK(pool_heap(p, aon_name("early") * AON_HEAP_ALIGN, AON_HEAP_NAME, text, sizeof(text)) ==
		     5,
	     "a name interned before joining is, too");
	T_OK(track && track < 65536 &&
		     pool_heap(p, track * AON_TRACK_ALIGN, AON_HEAP_TRACK, &l, sizeof(l)) ==
			     sizeof(l) &&
		     l.device == 3 && l.stream == 42,
	     "a lane has an id of 16 bits");
	T_OK(pool_heap(p, a * AON_HEAP_ALIGN, AON_HEAP_GEO, text, sizeof(text)) < 0 &&
		     pool_heap(p, 12, AON_HEAP_NAME, text, sizeof(text)) < 0 &&
		     pool_heap(p, 0xfffffff8u, AON_HEAP_NAME, text, sizeof(text)) < 0,
	     "an id of another type, or outside the heap, is refused");
}

static void test_adopt(struct pool **p)
{
	struct seen s = { 0 };
	struct pool *q = NULL;
	uint64_t taken;

	drain(*p, false, &s);
	s = (struct seen){ 0 };
	for (int i = 0; i < 300; i++)
		mark((uint64_t)i);
	drain(*p, false, &s);
	for (int i = 0; i < 40; i++)
		mark((uint64_t)i);
	taken = pool_taken(*p);
	T_OK(pool_adopt(&q, pool_fd(*p), false) == 0, "a segment outlives its daemon");
	pool_free(*p);
	*p = q;
	T_OK(pool_taken(q) == taken, "the next daemon knows what was taken");
	T_OK(drain(q, false, &s) == 0 && s.records == 340, "and finds what was not, once (%llu)",
	     (unsigned long long)s.records);
}

static void test_fork(struct pool *p)
{
	struct seen s = { 0 };
	int status;
	pid_t pid;

	mark(1);
	drain(p, false, &s);
	s = (struct seen){ 0 };
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			mark(7);
		_exit(aon_joined() ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	drain(p, false, &s);
	T_OK(WIFEXITED(status) && WEXITSTATUS(status) == 0 && s.records == 0,
	     "a child writes nothing into its parent's chunks");
	mark(2);
	T_OK(drain(p, false, &s) == 0 && s.records == 1, "and the parent goes on");
}

/* A process may write anything at any time: each lie is told, none is followed. */
static const struct lie {
	const char *name;
	uint32_t state, n;
	uint8_t len;
	bool bad;
} lies[] = {
	/* clang-format off */
	{ "an honest chunk passes",            AON_CHUNK_OWNED,   3, 1, false },
	{ "a count beyond the chunk",          AON_CHUNK_OWNED, 128, 1, true  },
	{ "a count near 2^32",                 AON_CHUNK_FULL,   ~0u, 1, true },
	{ "a state that does not exist",       7,                 1, 1, true  },
	{ "a record of length 0",              AON_CHUNK_OWNED,   3, 0, true  },
	{ "a record longer than what is there", AON_CHUNK_OWNED,  3, 9, true  },
	/* clang-format on */
};

static void test_lies(void)
{
	for (size_t i = 0; i < T_LEN(lies); i++) {
		struct pool *p = make(64);
		const struct aon_seg_head *h = pool_head(p);
		uint8_t *map = mmap(NULL, pool_bytes(p), PROT_READ | PROT_WRITE, MAP_SHARED,
				    pool_fd(p), 0);
		struct aon_chunk_head *c = (void *)(map + h->chunk_off);
		union aon_rec *r = (void *)(c + 1);
		struct seen s = { 0 };

		for (int k = 0; k < 3; k++) {
			r[k].host.kind = AON_K_MARK;
			r[k].host.b = ~0ull;
			r[k].host.len = lies[i].len;
		}
		c->n = lies[i].n;
		((uint32_t *)(void *)(map + h->state_off))[0] = lies[i].state;
		T_OK((drain(p, false, &s) < 0) == lies[i].bad, "%s", lies[i].name);
		if (!lies[i].bad) {
			c->n = 1;
			T_OK(drain(p, false, &s) < 0, "a count that shrinks");
		}
		munmap(map, pool_bytes(p));
		pool_free(p);
	}
}

static void test_refuses(void)
{
	struct pool *q = NULL, *p = make(64);
	int fd[2], mem = memfd_create("x", MFD_ALLOW_SEALING);

	T_OK(pipe(fd) == 0 && pool_adopt(&q, fd[0], false) < 0, "a pipe is not adopted");
	T_OK(ftruncate(mem, 1 << 20) == 0 && pool_adopt(&q, mem, false) < 0,
	     "memory without seals is not adopted");
	T_OK(ftruncate(pool_fd(p), 4096) < 0, "a process cannot shrink its segment");
	close(fd[0]);
	close(fd[1]);
	close(mem);
	pool_free(p);
}

int main(void)
{
	struct pool *p = make(1024);
	void *map;

	aon_name("early");
	map = p ? take_end(p) : NULL;
	if (!map)
		return 1;
	threads_and_drain(p, 4, 200000, "4 threads");
	threads_and_drain(p, 200, 2000, "200 threads at once");
	test_signals(p);
	test_full(p);
	test_activity(p);
	test_text(p);
	test_heap(p);
	test_adopt(&p);
	test_fork(p);
	test_lies();
	test_refuses();
	pool_free(p);
	return t_done();
}
