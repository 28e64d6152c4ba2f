/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process changes its pool while it is being read: aond's way of a record (drain, understand,
 * roll up) with a second thread that scribbles. No checker of races applies, the race is the
 * test; ASan and UBSan see what it leads to. A neighbour's pool stays exact.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agg/roll.h"
#include "agg/understand.h"
#include "pool/emit.h"
#include "pool/pool.h"
#include "t.h"

#define CHUNKS    64u
#define BUF_BYTES (96u << 10) /* less than the pool: passes end early */
#define RUNS      48u
#define PART_NS   250000000ull

static uint8_t buf[BUF_BYTES];
static struct pool_run run[RUNS];
static struct event ev[AON_CHUNK_BYTES_MAX / AON_UNIT];
static struct clock_map clk;

struct side {
	struct pool *pool;
	struct understand *understand;
	struct roll *roll;
	uint8_t *map; /* the process's own view */
	uint64_t taken, events, lost[AON_LOSS_MAX], lies, bad, windows;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- what understand asks of the heap: as aond does, by copies --- */

static uint32_t heap_id(struct side *s, uint64_t offset, uint32_t type)
{
	uint8_t out[AON_NAME_MAX];
	uint32_t sum = 2;
	int n;

	if (offset > UINT32_MAX)
		return 0;
	n = pool_heap(s->pool, (uint32_t)offset, type, out, sizeof(out));
	for (int i = 0; i < n; i++)
		sum += out[i];
	return n < 0 ? 0 : sum;
}

static uint32_t name(void *arg, uint32_t id)
{
	return heap_id(arg, (uint64_t)id * AON_HEAP_ALIGN, AON_HEAP_NAME);
}

static uint32_t geo(void *arg, uint32_t id)
{
	return heap_id(arg, (uint64_t)id * AON_HEAP_ALIGN, AON_HEAP_GEO);
}

static uint32_t track(void *arg, uint32_t id)
{
	return heap_id(arg, (uint64_t)id * AON_TRACK_ALIGN, AON_HEAP_TRACK);
}

static uint32_t thread(void *arg, uint32_t tid)
{
	(void)arg;
	return tid + 1 ? tid + 1 : 1;
}

static const struct understand_ops ops = {
	.name = name, .geo = geo, .track = track, .thread = thread
};

static void count_window(void *arg, const struct window *w)
{
	struct side *s = arg;

	s->windows += w->rows;
}

static void side_init(struct side *s)
{
	struct pool_opts o = { .pool_bytes = CHUNKS * 4096,
			       .chunk_bytes = 4096,
			       .heap_bytes = 16384 };
	struct roll_opts ro = { .process = 1, .rows_max = 64, .name_other = 1 };

	*s = (struct side){ 0 };
	if (pool_new(&s->pool, &o) || understand_new(&s->understand, &ops, s, 16384) ||
	    roll_new(&s->roll, &ro))
		t_skip_all("no memory for a pool");
	s->map = mmap(NULL, pool_bytes(s->pool), PROT_READ | PROT_WRITE, MAP_SHARED,
		      pool_fd(s->pool), 0);
}

static void side_fini(struct side *s)
{
	munmap(s->map, pool_bytes(s->pool));
	roll_free(s->roll);
	understand_free(s->understand);
	pool_free(s->pool);
}

/* --- the reader --- */

static void read_run(struct side *s, const struct pool_run *r)
{
	uint64_t records = 0;
	size_t n;

	n = understand_records(s->understand, &clk, r->tid, r->tsc_hi, r->rec, r->units, ev,
			       &records, s->lost);
	s->bad += n > r->units || records != r->records ||
		  (const uint8_t *)(r->rec + r->units) > buf + sizeof(buf);
	s->taken += records;
	for (size_t i = 0; i < n; i++) {
		s->events += event_records(&ev[i]);
		s->bad += ev[i].kind == 0 || ev[i].kind >= EVENT_MAX ||
			  ev[i].start_ns + ev[i].dur_ns < ev[i].start_ns;
	}
	roll_add(s->roll, ev, n, count_window, s);
}

static void read_all(struct side *s, bool dead)
{
	bool more = true;
	size_t n;

	while (more) {
		int err = pool_drain(s->pool, buf, sizeof(buf), dead, run, RUNS, &n, &more);

		for (size_t i = 0; i < n; i++)
			read_run(s, &run[i]);
		if (err) {
			s->lies++;
			break;
		}
	}
	pool_doorbell_clear(s->pool);
}

/* taken == events + lost + open, whatever was in the pool. */
static bool adds_up(const struct side *s)
{
	uint64_t sum = s->events + understand_open(s->understand);

	for (size_t i = 0; i < T_LEN(s->lost); i++)
		sum += s->lost[i];
	return sum == s->taken && s->taken == pool_taken(s->pool);
}

/* --- the honest neighbour, on the reader's thread --- */

static uint64_t emit_some(struct aon_seg *seg, struct aon_thread *t)
{
	uint64_t n = 0;

	for (; n < 500; n++) {
		if (t->p == t->end) {
			aon_chunk_give(t);
			if (!aon_chunk_take(seg, t, aon_tsc()))
				break;
		}
		t->p->host = (struct aon_rec_host){ .kind = AON_K_MARK, .len = 1, .a = n, .b = ~n };
		aon_commit(t, t->p, 1);
	}
	return n;
}

static void honest_end(struct side *s, struct aon_seg *seg)
{
	struct aon_seg_head *h = (struct aon_seg_head *)(void *)s->map;

	*seg = (struct aon_seg){ .head = h,
				 .state = (_Atomic uint32_t *)(void *)(s->map + h->state_off),
				 .chunks = s->map + h->chunk_off,
				 .heap = s->map + h->heap_off,
				 .chunk_bytes = h->chunk_bytes,
				 .chunk_count = h->chunk_count,
				 .heap_bytes = h->heap_bytes };
}

/* --- the liar --- */

enum part { CONSTANTS, WORDS, STATES, CONSUMED, CHUNK_HEADS, RECORDS, HEAP, ALL, HOLES };

static const struct {
	enum part part;
	const char *name;
} parts[] = {
	{ CONSTANTS, "the head's constants" },
	{ WORDS, "the head's words" },
	{ STATES, "the states of chunks" },
	{ CONSUMED, "what was consumed" },
	{ CHUNK_HEADS, "the heads of chunks" },
	{ RECORDS, "records" },
	{ HEAP, "the heap" },
	{ ALL, "everything" },
	{ HOLES, "pages taken away" },
};

struct liar {
	const struct side *side;
	enum part part;
	_Atomic bool stop;
	uint64_t seed;
};

static uint64_t rnd(struct liar *l)
{
	l->seed ^= l->seed << 13;
	l->seed ^= l->seed >> 7;
	l->seed ^= l->seed << 17;
	return l->seed;
}

/* Values at which checks begin and end, and any others. */
static uint32_t word(struct liar *l)
{
	static const uint32_t edge[] = { 0, 1, 2, 3, 126, 127, 128, 4095, 4096, 1u << 31, ~0u };
	uint64_t r = rnd(l);

	return r & 1 ? edge[(r >> 8) % T_LEN(edge)] : (uint32_t)(r >> 16) >> ((r >> 1) % 32);
}

static void put(struct liar *l, uint64_t from, uint64_t bytes)
{
	uint64_t at = from + rnd(l) % (bytes / 4) * 4;

	__atomic_store_n((uint32_t *)(void *)(l->side->map + at), word(l), __ATOMIC_RELAXED);
}

/* A whole chunk as a process would leave it, so that the reader gets beyond the first checks. */
static void fill(struct liar *l, const struct aon_seg_head *h)
{
	uint64_t i = rnd(l) % CHUNKS, units = h->chunk_bytes / AON_UNIT - 1;
	struct aon_chunk_head *c = (void *)(l->side->map + h->chunk_off + i * h->chunk_bytes);
	union aon_rec *rec = (union aon_rec *)(void *)(c + 1);
	uint32_t *state = (uint32_t *)(void *)(l->side->map + h->state_off);

	if (__atomic_load_n(&state[i], __ATOMIC_ACQUIRE) == AON_CHUNK_OWNED)
		return;
	__atomic_store_n(&c->n, 0, __ATOMIC_RELAXED);
	for (uint64_t u = 0; u < units; u++) {
		rec[u].host = (struct aon_rec_host){ .t = (uint32_t)rnd(l),
						     .kind = rnd(l) % 40,
						     .len = 1,
						     .name = word(l),
						     .x = word(l),
						     .a = rnd(l),
						     .b = rnd(l) };
		if (u % 16 == 0 && u + 1 < units) {
			rec[u].act.len = 2;
			rec[u].act.flags = AON_F_EXT | AON_F_LONG;
			u++;
		}
	}
	c->tid = rnd(l) % 8;
	__atomic_store_n(&c->n, (uint32_t)units, __ATOMIC_RELEASE);
	__atomic_store_n(&state[i], AON_CHUNK_FULL, __ATOMIC_RELEASE);
}

static void scribble(struct liar *l, const struct aon_seg_head *h)
{
	uint64_t chunk = h->chunk_off + rnd(l) % CHUNKS * h->chunk_bytes;

	switch (l->part) {
	case CONSTANTS:
		put(l, 0, offsetof(struct aon_seg_head, hint));
		break;
	case WORDS:
		put(l, offsetof(struct aon_seg_head, hint),
		    AON_PAGE - offsetof(struct aon_seg_head, hint));
		break;
	case STATES:
		put(l, h->state_off, CHUNKS * 4);
		break;
	case CONSUMED:
		put(l, h->consumed_off, CHUNKS * 4);
		break;
	case CHUNK_HEADS:
		put(l, chunk, sizeof(struct aon_chunk_head));
		break;
	case RECORDS:
		put(l, chunk + sizeof(struct aon_chunk_head),
		    h->chunk_bytes - sizeof(struct aon_chunk_head));
		break;
	case HEAP:
		put(l, h->heap_off, h->heap_bytes);
		break;
	case ALL:
		put(l, 0, h->total_bytes);
		break;
	case HOLES:
		fallocate(pool_fd(l->side->pool), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(rnd(l) % (h->total_bytes / AON_PAGE) * AON_PAGE), AON_PAGE);
		break;
	}
}

static void *lie(void *arg)
{
	struct liar *l = arg;
	const struct aon_seg_head h = *pool_head(l->side->pool);

	for (uint64_t i = 0; !atomic_load_explicit(&l->stop, memory_order_relaxed); i++) {
		if (i % 64 == 0)
			fill(l, &h);
		scribble(l, &h);
	}
	return NULL;
}

/* --- */

static void try_part(size_t i)
{
	struct side liar, honest;
	struct liar l = { .side = &liar, .part = parts[i].part, .seed = 88172645463325252ull + i };
	struct aon_thread t = { .tid = 7 };
	struct aon_seg seg;
	uint64_t emitted = 0, end;
	pthread_t th;

	side_init(&liar);
	side_init(&honest);
	honest_end(&honest, &seg);
	pthread_create(&th, NULL, lie, &l);
	for (end = now_ns() + PART_NS; now_ns() < end;) {
		read_all(&liar, false);
		emitted += emit_some(&seg, &t);
		read_all(&honest, false);
	}
	atomic_store_explicit(&l.stop, true, memory_order_relaxed);
	pthread_join(th, NULL);
	read_all(&liar, true);
	read_all(&honest, true);
	T_OK(liar.bad == 0 && adds_up(&liar), "%s: what was copied is what is counted",
	     parts[i].name);
	T_OK(liar.taken + liar.lies > 0, "%s: it was read all the while (%llu records, %llu lies)",
	     parts[i].name, (unsigned long long)liar.taken, (unsigned long long)liar.lies);
	T_OK(emitted > 0 && honest.taken == emitted && honest.events == emitted && !honest.lies,
	     "%s: the neighbour loses nothing", parts[i].name);
	side_fini(&honest);
	side_fini(&liar);
}

int main(void)
{
	uint64_t tsc = aon_tsc(), ns = now_ns();
	struct timespec nap = { .tv_nsec = 20000000 };

	nanosleep(&nap, NULL);
	if (clock_map_init(&clk, tsc, ns, aon_tsc(), now_ns()))
		t_skip_all("the processor's counter is not steady");
	for (size_t i = 0; i < T_LEN(parts); i++)
		try_part(i);
	return t_done();
}
