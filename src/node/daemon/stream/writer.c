/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - from the queue to the store, one transaction at a time. */
#include "daemon/stream/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/control/audit.h"
#include "daemon/core/count.h"
#include "daemon/stream/tally.h"
#include "store/blob.h"
#include "store/store.h"

#define STACK_BYTES  (256u << 10)
#define PROC_BUCKETS 64u
#define RETRY_MAX_S  30u

/* What the writer knows of a process. */
struct wproc {
	struct wproc *next;
	uint32_t id;
	bool dirty;    /* row is not in the store yet */
	bool known;    /* row was given */
	uint64_t lost; /* records that the store refused */
	uint64_t open; /* records in the open transaction */
	struct process row;
};

struct writer {
	pthread_t thread;
	struct queue *queue;        /* borrowed */
	struct store *store;        /* owned */
	struct blob_packer *packer; /* owned */
	int wake_fd;                /* borrowed */
	int nice;
	uint64_t asked; /* commits; drain thread's */
	_Atomic uint64_t done;
	_Atomic int err; /* of the last commit: written before `done` */
	_Atomic bool broken;

	/* The thread's own. */
	struct wproc *proc[PROC_BUCKETS];
	uint64_t windows, steps; /* in the open transaction */
	bool whole;  /* accounts are those of the batches: no batch since the last commit */
	int failing; /* -errno of the store, 0: all is well */
	unsigned tries;
	uint64_t retry_ns, now_ns;
};

static struct wproc *proc_get(struct writer *w, uint32_t id)
{
	struct wproc **at = &w->proc[id % PROC_BUCKETS], *p;

	for (p = *at; p; p = p->next)
		if (p->id == id)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->id = id;
	p->next = *at;
	*at = p;
	return p;
}

/* --- failing, and trying again --- */

static void tx_failed(struct writer *w, int err)
{
	uint64_t lost = 0;

	store_rollback(w->store);
	for (unsigned i = 0; i < PROC_BUCKETS; i++) {
		for (struct wproc *p = w->proc[i]; p; p = p->next) {
			p->lost += p->open;
			lost += p->open;
			p->dirty |= p->open != 0;
			p->open = 0;
		}
	}
	count_add(COUNT_store_errors, 1);
	count_add(COUNT_store_lost, lost);
	count_add(COUNT_windows_lost, w->windows);
	count_add(COUNT_step_records_lost, w->steps);
	w->windows = w->steps = 0;
	w->failing = err;
	w->retry_ns =
		clock_mono_ns() + (w->tries < 5 ? 1u << w->tries : RETRY_MAX_S) * 1000000000ull;
	w->tries++;
	log_err("store: %s; %llu records lost, trying again", strerror(-err),
		(unsigned long long)lost);
	if (err == -EBADMSG)
		atomic_store_explicit(&w->broken, true, memory_order_relaxed);
}

static int wrote(struct writer *w, int err)
{
	if (err < 0)
		tx_failed(w, err);
	return err;
}

static void add_blob(struct writer *w, struct item *it)
{
	struct wproc *p = proc_get(w, it->id);
	int err = w->failing;

	w->whole = false;
	count_add(COUNT_batch_raw, it->blob.len);
	err = err ? err : blob_pack(w->packer, &it->blob);
	if (!err) {
		count_add(COUNT_batch_bytes, it->blob.len);
		err = wrote(w, store_blob(w->store, it->id, &it->blob));
	}
	if (!p)
		goto done; /* no memory: the account will not add up, and says so */
	if (err < 0) {
		p->lost += it->blob.records;
		count_add(COUNT_store_lost, it->blob.records);
	} else {
		p->open += it->blob.records;
	}
	p->dirty = true;
done:
	queue_done(w->queue, it);
}

static void add_window(struct writer *w, struct item *it)
{
	int err = w->failing ? w->failing : wrote(w, store_window(w->store, &it->window));

	if (err < 0)
		count_add(COUNT_windows_lost, 1);
	else
		w->windows++;
	queue_done(w->queue, it);
}

static void add_steps(struct writer *w, struct item *it)
{
	int err = w->failing ? w->failing : wrote(w, store_steps(w->store, &it->steps));

	if (err < 0)
		count_add(COUNT_step_records_lost, it->steps.count);
	else
		w->steps += it->steps.count;
	queue_done(w->queue, it);
}

static void add_telemetry(struct writer *w, struct item *it)
{
	int err = w->failing;

	if (!err) {
		err = store_telemetry(w->store, &it->telemetry, it->wake);
		if (err < 0 && err != -E2BIG && err != -EINVAL)
			tx_failed(w, err);
	}
	if (err < 0)
		count_add(COUNT_telemetry_lost, it->telemetry.changes);
	queue_done(w->queue, it);
}

/* --- processes --- */

static void add_process(struct writer *w, struct item *it)
{
	struct wproc *p = proc_get(w, it->id);

	if (p) {
		p->row = *item_proc(it);
		p->dirty = p->known = true;
	}
	queue_done(w->queue, it);
}

static int put_process(struct writer *w, struct wproc *p)
{
	struct process row = p->row;
	int err;

	row.account.lost[AON_LOSS_STORE] += p->lost;
	row.account.stored -= p->lost;
	err = store_process(w->store, &row);
	if (err < 0)
		return err;
	if (!account_adds_up(&row.account)) {
		count_add(COUNT_accounts_wrong, 1);
		log_err("bug: pid %u: emitted %llu, stored %llu + overwritten %llu + lost %llu + "
			"in flight %llu",
			row.pid, (unsigned long long)row.account.emitted,
			(unsigned long long)row.account.stored,
			(unsigned long long)row.account.overwritten,
			(unsigned long long)account_losses(&row.account),
			(unsigned long long)row.account.in_flight);
	}
	return 0;
}

/* --- commit --- */

static int put_all(struct writer *w)
{
	int err;

	for (unsigned i = 0; i < PROC_BUCKETS; i++) {
		for (struct wproc *p = w->proc[i]; p; p = p->next) {
			err = p->dirty && p->known ? put_process(w, p) : 0;
			if (err < 0)
				return err;
		}
	}
	return store_commit(w->store, w->now_ns);
}

static void forget_committed(struct writer *w)
{
	for (unsigned i = 0; i < PROC_BUCKETS; i++) {
		for (struct wproc **at = &w->proc[i], *p; (p = *at);) {
			p->open = 0;
			p->dirty = false;
			if (p->known && !p->row.connected) {
				*at = p->next;
				free(p);
			} else {
				at = &p->next;
			}
		}
	}
	w->windows = w->steps = 0;
	w->failing = 0;
	w->tries = 0;
}

static int commit(struct writer *w)
{
	uint64_t t0 = clock_mono_ns();
	int err;

	w->whole = true;
	if (w->failing && t0 < w->retry_ns)
		return w->failing;
	err = put_all(w);
	if (err < 0) {
		tx_failed(w, err);
		return err;
	}
	if (w->failing)
		log_info("store: writes again");
	forget_committed(w);
	count_add(COUNT_commits, 1);
	count_max(COUNT_commit_us_max, (clock_mono_ns() - t0) / 1000);
	count_set(COUNT_store_bytes, store_bytes(w->store));
	count_set(COUNT_store_written, store_written());
	return 0;
}

static void commit_item(struct writer *w, struct item *it)
{
	const uint64_t one = 1;

	w->now_ns = it->at_ns;
	atomic_store_explicit(&w->err, commit(w), memory_order_relaxed);
	/* A: pairs with B in writer_done(): who sees the number sees how it went. */
	atomic_store_explicit(&w->done, it->seq, memory_order_release);
	if (it->wake && write(w->wake_fd, &one, sizeof(one)) < 0)
		log_err("eventfd: %s", strerror(errno));
	queue_done(w->queue, it);
}

/* --- the thread --- */

/* false: the end. */
static bool work(struct writer *w, struct item *it)
{
	switch (it->type) {
	case ITEM_PROCESS:
		add_process(w, it);
		return true;
	case ITEM_BLOB:
		add_blob(w, it);
		return true;
	case ITEM_WINDOW:
		add_window(w, it);
		return true;
	case ITEM_STEPS:
		add_steps(w, it);
		return true;
	case ITEM_TELEMETRY:
		add_telemetry(w, it);
		return true;
	case ITEM_COMMIT:
		commit_item(w, it);
		return true;
	case ITEM_AUDIT:
		audit_write(item_tail(it), it->seq);
		queue_done(w->queue, it);
		return true;
	case ITEM_STOP:
		w->retry_ns = 0; /* a last try */
		w->now_ns = clock_mono_ns();
		commit(w);
		queue_done(w->queue, it);
		return false;
	}
	return true;
}

static void *writer_main(void *arg)
{
	struct writer *w = arg;
	bool go_on = true;

	setpriority(PRIO_PROCESS, 0, w->nice); /* of this thread; it works without, too */
	while (go_on) {
		bool retry = w->failing && w->whole;
		struct item *it = queue_take(w->queue, retry ? w->retry_ns : 0), *next;

		if (!it && retry)
			commit(w);
		for (; it; it = next) {
			next = it->next;
			go_on = work(w, it);
		}
	}
	return NULL;
}

int writer_new(struct writer **out, struct queue *q, struct store *st, int wake_fd, int nice)
{
	pthread_attr_t attr;
	struct writer *w;
	int err;

	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->queue = q;
	w->store = st;
	w->wake_fd = wake_fd;
	w->nice = nice;
	w->whole = true;
	err = blob_packer_new(&w->packer);
	if (err < 0)
		goto free_writer;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = -pthread_create(&w->thread, &attr, writer_main, w);
	pthread_attr_destroy(&attr);
	if (err < 0)
		goto free_packer;
	pthread_setname_np(w->thread, "aond-writer");
	*out = w;
	return 0;

free_packer:
	blob_packer_free(w->packer);
free_writer:
	free(w);
	return err;
}

void writer_free(struct writer *w)
{
	struct item *it;

	if (!w)
		return;
	while (!(it = item_new(ITEM_STOP, 0)))
		usleep(10000); /* the thread frees memory as it works */
	queue_push(w->queue, it);
	pthread_join(w->thread, NULL);
	for (unsigned i = 0; i < PROC_BUCKETS; i++) {
		for (struct wproc *p = w->proc[i], *next; p; p = next) {
			next = p->next;
			free(p);
		}
	}
	store_close(w->store);
	blob_packer_free(w->packer);
	free(w);
}

uint64_t writer_commit(struct writer *w, uint64_t now_ns, bool wake)
{
	struct item *it = item_new(ITEM_COMMIT, 0);

	if (!it)
		return 0;
	it->at_ns = now_ns;
	it->seq = ++w->asked;
	it->wake = wake;
	queue_push(w->queue, it);
	return w->asked;
}

uint64_t writer_done(struct writer *w, int *err)
{
	/* B: pairs with A. */
	uint64_t n = atomic_load_explicit(&w->done, memory_order_acquire);

	*err = atomic_load_explicit(&w->err, memory_order_relaxed);
	return n;
}

uint64_t writer_behind(struct writer *w)
{
	return w->asked - atomic_load_explicit(&w->done, memory_order_relaxed);
}

bool writer_broken(struct writer *w)
{
	return atomic_load_explicit(&w->broken, memory_order_relaxed);
}
