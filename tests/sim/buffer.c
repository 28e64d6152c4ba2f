/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - where records wait, and how they come back.
 *
 * A record is written in the thread that submitted the work, into a buffer that the client lent.
 * A buffer is full when the next record does not fit or the client's maximum is reached. One
 * worker thread hands buffers out: full ones as soon as every record in them is complete, others
 * when FlushAll() asks. An incomplete record keeps its whole buffer; a forced flush does not
 * wait for it, and its times are 0 then.
 *
 * After a fork there is no worker, and FlushAll() waits for it for ever, as the real one does.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti.h"

#define LOOK_NS    2000000 /* how often the worker looks at full buffers that are not complete */
#define NULL_FIXED 129     /* from this level on a refused buffer is harmless */
#define REQUEST_NS 20000   /* SIM_STRICT */
#define KERNEL_NS  1000    /* SIM_STRICT: of a launch, if its kernel is recorded */
#define LATE_MS    10      /* SIM_STRICT: after FlushAll() has returned */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, to `period_ms` */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static pthread_t worker;
static pid_t worker_pid; /* whose thread it is; 0: none */
static bool stopping;
static uint64_t asked, answered; /* flushes */
static uint32_t flags;           /* of the flush that is asked for */
static atomic_uint full_waiting;
static uint32_t period_ms;

static __thread struct slot *mine[CLIENTS];
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

/* A thread's slots stay with their records, for the next thread. */
static void leave_slots(void *arg)
{
	(void)arg;
	for (int i = 0; i < CLIENTS; i++)
		if (mine[i]) {
			pthread_mutex_lock(&sim_clients[i].lock);
			mine[i]->taken = false;
			pthread_mutex_unlock(&sim_clients[i].lock);
			mine[i] = NULL;
		}
}

static void make_key(void)
{
	pthread_key_create(&exit_key, leave_slots);
}

static struct slot *slot_new(struct client *c, bool own)
{
	struct slot *s;

	pthread_mutex_lock(&c->lock);
	for (s = c->slots; s; s = s->next)
		if (!own || !s->taken)
			break;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (s) {
			pthread_mutex_init(&s->lock, NULL);
			s->next = c->slots;
			__atomic_store_n(&c->slots, s, __ATOMIC_RELEASE); /* A */
		}
	}
	if (s) {
		s->taken = own;
		s->tid = (uint64_t)syscall(SYS_gettid);
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

static struct slot *slot_of(struct client *c)
{
	int i = (int)(c - sim_clients);

	if (!GET(c->attr[A_PER_THREAD])) {
		struct slot *s = __atomic_load_n(&c->slots, __ATOMIC_ACQUIRE); /* pairs with A */

		return s ? s : slot_new(c, false);
	}
	if (!mine[i]) {
		pthread_once(&exit_once, make_key);
		pthread_setspecific(exit_key, &exit_key);
		mine[i] = slot_new(c, true);
	}
	return mine[i];
}

bool sim_slots_used(struct client *c)
{
	return __atomic_load_n(&c->slots, __ATOMIC_ACQUIRE) != NULL; /* pairs with A */
}

static void *worker_main(void *arg);

void sim_worker_start(void)
{
	pthread_mutex_lock(&lock);
	if (!worker_pid && !pthread_create(&worker, NULL, worker_main, NULL))
		worker_pid = getpid();
	pthread_mutex_unlock(&lock);
}

static void wake(void)
{
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
}

static void retire(struct client *c, struct buf *b)
{
	b->next = NULL;
	pthread_mutex_lock(&c->lock);
	*c->full_end = b;
	c->full_end = &b->next;
	pthread_mutex_unlock(&c->lock);
	atomic_fetch_add(&full_waiting, 1);
	wake();
}

/* A buffer of the client's, or NULL: the record is dropped. */
static struct buf *request(struct client *c, uint64_t tid)
{
	size_t size = 0, max = 0, info = sizeof(size_t);
	uint8_t *data = NULL;
	struct buf *b;

	sim_strict_cost(REQUEST_NS);
	if (c->request2)
		c->request2(&data, &size, &max, &info);
	else if (c->request)
		c->request(&data, &size, &max);
	if (!data) {
		if (sim_level < NULL_FIXED && !sim_fault_int("SIM_NULL_OK", 0) &&
		    (c->request || c->request2))
			raise(SIGSEGV);
		return NULL;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	if (!GET(c->attr[A_ZEROED]))
		memset(data, 0, size);
	*b = (struct buf){ .client = c, .data = data, .size = size, .max = max, .tid = tid };
	return b;
}

static bool has_room(const struct buf *b, uint32_t stride)
{
	return b->used + stride <= b->size && (!b->max || b->n < b->max);
}

/* SIM_LOSE=n: every n-th kernel has no record, and nobody counts it. */
static bool lost(void)
{
	static atomic_llong kernels;
	static _Atomic long long every = -1;

	if (every < 0)
		every = sim_fault_int("SIM_LOSE", 0);
	return every && atomic_fetch_add(&kernels, 1) % every == every - 1;
}

void sim_emit(struct client *c, const struct sim_op *op)
{
	static _Atomic long long drop_every = -1;
	static atomic_llong seen;
	uint32_t stride = sim_stride(op->kind, sim_level);
	struct slot *s = slot_of(c);
	struct sim_op untimed;

	if (op->kind == SIM_KERNEL) {
		sim_strict_cost(KERNEL_NS);
		if (!sim_strict_timed(c)) {
			untimed = *op;
			untimed.start = untimed.end = 0;
			op = &untimed;
		}
	}
	if (drop_every < 0)
		drop_every = sim_fault_int("SIM_DROP", 0);
	if (op->kind == SIM_KERNEL && lost())
		return;
	if (!s || !stride || (drop_every && atomic_fetch_add(&seen, 1) % drop_every == 0)) {
		atomic_fetch_add(&c->dropped, 1);
		return;
	}
	pthread_mutex_lock(&s->lock);
	if (s->cur && !has_room(s->cur, stride)) {
		retire(c, s->cur);
		s->cur = NULL;
	}
	if (!s->cur)
		s->cur = request(c, s->tid);
	if (s->cur && has_room(s->cur, stride)) {
		struct buf *b = s->cur;

		sim_record_write(b->data + b->used, stride, op, GET(c->attr[A_LATENCY]));
		b->used += stride;
		b->n++;
		if (sim_kind_is_device(op->kind) && op->end > b->last_end)
			b->last_end = op->end;
	} else {
		atomic_fetch_add(&c->dropped, 1);
	}
	pthread_mutex_unlock(&s->lock);
}

static void deliver(struct buf *b, uint64_t now)
{
	struct client *c = b->client;
	int64_t shift = sim_gpu_shift();
	struct {
		size_t size;
		uint64_t tid;
		void *layouts;
		size_t n;
	} info = { sizeof(info), b->tid, NULL, 0 };

	/* A client that lends one buffer twice may have wiped it: the walk ends at no kind. */
	for (size_t at = 0, stride; at < b->used; at += stride) {
		uint32_t kind;

		memcpy(&kind, b->data + at, sizeof(kind));
		stride = sim_stride(kind, sim_level);
		if (!stride || at + stride > b->used)
			break;
		sim_record_finish(b->data + at, now, shift);
	}
	if (c->complete2)
		c->complete2(b->data, b->size, b->used, &info);
	else if (c->complete)
		c->complete(NULL, 0, b->data, b->size, b->used);
	free(b);
}

/* Takes the full buffers that may go, oldest first. */
static struct buf *take_full(struct client *c, uint64_t now, bool forced)
{
	struct buf *out = NULL, **end = &out, **p, *b;

	pthread_mutex_lock(&c->lock);
	for (p = &c->full; (b = *p);) {
		if (b->last_end > now && !forced) {
			p = &b->next;
			continue;
		}
		*p = b->next;
		b->next = NULL;
		*end = b;
		end = &b->next;
		atomic_fetch_sub(&full_waiting, 1);
	}
	c->full_end = p;
	pthread_mutex_unlock(&c->lock);
	return out;
}

/* Those that are not full, too. */
static struct buf *take_open(struct client *c, uint64_t now, bool forced)
{
	struct buf *out = NULL;
	struct slot *s;

	pthread_mutex_lock(&c->lock);
	s = c->slots;
	pthread_mutex_unlock(&c->lock);
	for (; s; s = s->next) {
		pthread_mutex_lock(&s->lock);
		if (s->cur && s->cur->n && (s->cur->last_end <= now || forced)) {
			s->cur->next = out;
			out = s->cur;
			s->cur = NULL;
		}
		pthread_mutex_unlock(&s->lock);
	}
	return out;
}

static void deliver_all(struct buf *b, uint64_t now)
{
	struct buf *next, *turned = NULL;

	if (sim_fault_int("SIM_SHUFFLE", 0)) {
		for (; b; b = next) {
			next = b->next;
			b->next = turned;
			turned = b;
		}
		b = turned;
	}
	for (; b; b = next) {
		next = b->next;
		deliver(b, now);
	}
}

static void hand_out(bool flush, bool forced)
{
	uint64_t now = sim_drv->now();

	for (int i = 0; i < CLIENTS; i++) {
		deliver_all(take_full(&sim_clients[i], now, forced), now);
		if (flush)
			deliver_all(take_open(&sim_clients[i], now, forced), now);
	}
}

/* Until there is something to do: a flush, a full buffer, or one that may be complete by now. */
static void rest(void)
{
	struct timespec t;
	uint64_t ns = period_ms ? period_ms * 1000000ull : LOOK_NS;

	if (!atomic_load(&full_waiting)) {
		pthread_cond_wait(&work, &lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	pthread_cond_timedwait(&work, &lock, &t);
}

static void *worker_main(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_mutex_lock(&lock);
	while (!stopping) {
		uint64_t flush = asked;
		uint32_t flag = flags;

		if (flush == answered)
			rest();
		flush = asked;
		flag = flags;
		pthread_mutex_unlock(&lock);
		if (flush != answered && sim_strict())
			sim_pause_ms(sim_fault_int("SIM_LATE_MS", LATE_MS));
		hand_out(flush != answered, flag & 1);
		pthread_mutex_lock(&lock);
		answered = flush;
		if (flush == asked)
			flags = 0;
		pthread_cond_broadcast(&done);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

bool sim_worker_lost(void)
{
	return worker_pid && worker_pid != getpid();
}

int sim_flush(uint32_t flag)
{
	uint64_t mine_is;

	sim_fault_call("cuptiActivityFlushAll");
	if (sim_worker_lost() && sim_fault_int("SIM_FORK_FLUSH_OK", 0))
		return E_UNKNOWN;
	while (sim_worker_lost())
		pause();
	wake();
	pthread_mutex_lock(&lock);
	flags |= flag & 1;
	mine_is = ++asked;
	pthread_cond_signal(&work);
	while (answered < mine_is && !stopping && !sim_strict())
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	return OK;
}

void sim_period(uint32_t ms)
{
	pthread_mutex_lock(&lock);
	period_ms = ms;
	pthread_mutex_unlock(&lock);
	wake();
}

static void drop_all(struct client *c)
{
	struct buf *b, *next;

	for (b = take_full(c, 0, true); b; b = next) {
		next = b->next;
		free(b);
	}
	for (b = take_open(c, 0, true); b; b = next) {
		next = b->next;
		free(b);
	}
}

/* For cuptiFinalize(): what was not flushed is gone. */
void sim_worker_stop(void)
{
	bool join;

	pthread_mutex_lock(&lock);
	join = worker_pid == getpid() && !pthread_equal(worker, pthread_self());
	stopping = true;
	pthread_cond_broadcast(&work);
	pthread_cond_broadcast(&done);
	pthread_mutex_unlock(&lock);
	if (join)
		pthread_join(worker, NULL);
	for (int i = 0; i < CLIENTS; i++)
		drop_all(&sim_clients[i]);
	pthread_mutex_lock(&lock);
	worker_pid = 0;
	stopping = false;
	asked = answered = 0;
	pthread_mutex_unlock(&lock);
}
