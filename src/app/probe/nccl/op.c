/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.c - operations under way: a fixed pool, taken and given back without a lock.
 *
 * NCCL's stop of a collective says that it is enqueued. Its kernel's channels come later, on a
 * proxy thread, and name the collective as their parent; so a place lives until its own stop, all
 * channels that are to come and all that have come are through. One word of a place holds all
 * that decides:
 *
 *	generation << 32 | TAKEN | waits << 16 | refs
 *
 *	free      low half 0
 *	TAKEN     one thread fills it, or records it
 *	waits     channels that are still to start
 *	refs      its own stop, and children under way
 *
 * A thread that holds a ref may use the place. The thread that drops the last ref, with no wait left,
 * records it. The word is changed by compare-and-swap (acquire-release), so that thread sees what
 * every child wrote. A handle is (generation, place): a stale one finds another generation.
 * An operation whose channels never start is recorded without GPU times after LINGER_NS, by
 * whoever looks for a place.
 */
#include <unistd.h>

#include <aon/provider.h>

#include "base/clock.h"
#include "probe/nccl/nccl.h"

#define OPS       4096u
#define TRIES     32u
#define LINGER_NS 10000000000ull
#define TAKEN     0x80000000u
#define KERNEL    0x40000000u /* of a handle: a channel of the operation's kernel */
#define REFS      0xffffu
#define WAIT_1    0x10000u
#define WAITS     0x7fff0000u
#define WAITS_MAX 0x7fffu
#define UNKNOWN   UINT64_MAX

struct op {
	_Atomic(uint64_t) word;
	_Atomic(struct nccl_comm *) comm;
	_Atomic(uint64_t) start_ns;
	_Atomic(uint64_t) bytes;
	_Atomic(uint64_t) first, last; /* of its channels, on the kernel's clock */
	struct nccl_what what;
	uint32_t form; /* enum nccl_form */
};

static struct op ops[OPS];
static _Atomic(uint32_t) hand;

static inline uint64_t load(_Atomic(uint64_t) *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static inline void store(_Atomic(uint64_t) *v, uint64_t to)
{
	atomic_store_explicit(v, to, memory_order_relaxed);
}

static inline bool change(struct op *o, uint64_t *from, uint64_t to)
{
	return atomic_compare_exchange_weak_explicit(&o->word, from, to, memory_order_acq_rel,
						     memory_order_acquire);
}

static void reach(_Atomic(uint64_t) *v, uint64_t to, bool up)
{
	uint64_t had = load(v);

	while ((up ? to > had : to < had) &&
	       !atomic_compare_exchange_weak_explicit(v, &had, to, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* The place of a handle, and its word; NULL when the handle is not of this generation. */
static struct op *find(nccl_handle h, uint64_t *word)
{
	uint32_t at = (uint32_t)h & ~KERNEL;
	struct op *o = at && at <= OPS ? &ops[at - 1] : NULL;

	if (!o)
		return NULL;
	*word = atomic_load_explicit(&o->word, memory_order_acquire);
	return *word >> 32 == (uint64_t)h >> 32 && !(*word & TAKEN) ? o : NULL;
}

/* --- recording --- */

/* A host's call, or a proxy's part: an interval of the thread that ends it. */
static void record_host(const struct op *o, uint64_t start, uint64_t bytes)
{
	if (!aon_wants(AON_WANT_GPU))
		return;
	aon_act_emit(&(struct aon_act){
		.size = sizeof(struct aon_act),
		.kind = o->form == NCCL_FORM_CALL ? AON_ACT_API : AON_ACT_COLLECTIVE,
		.name = o->what.name,
		.track = aon_track_thread((uint32_t)gettid()),
		.start_ns = start,
		.end_ns = clock_mono_ns(),
		.bytes = o->form == NCCL_FORM_CALL ? 0 : bytes,
		.sequence = o->form == NCCL_FORM_CALL ? 0 : o->what.seq,
	});
}

/* An operation: the time of its kernel, or the moment it was enqueued and no duration. */
static void record_op(struct op *o, struct nccl_comm *c, uint64_t start)
{
	uint64_t first = load(&o->first), last = load(&o->last), dur = 0;

	if (!aon_wants(AON_WANT_GPU))
		return;
	if (first != UNKNOWN && last >= first) {
		uint64_t at = c->version < 4 ? first : nccl_clock_host(c, first);

		dur = last - first;
		start = at > start ? at : start;
	}
	aon_act_emit(&(struct aon_act){
		.size = sizeof(struct aon_act),
		.kind = AON_ACT_COLLECTIVE,
		.name = o->what.name,
		.track = nccl_comm_track(c, o->what.hash),
		.start_ns = start,
		.end_ns = start + dur,
		.bytes = load(&o->bytes),
		.group = atomic_load_explicit(&c->hash, memory_order_relaxed),
		.sequence = o->what.seq,
	});
}

/* The place is TAKEN, by us. */
static void record(struct op *o, uint64_t generation)
{
	struct nccl_comm *c = atomic_load_explicit(&o->comm, memory_order_relaxed);

	if (o->form == NCCL_FORM_OP)
		record_op(o, c, load(&o->start_ns));
	else
		record_host(o, load(&o->start_ns), load(&o->bytes));
	atomic_store_explicit(&o->word, (generation + 1) << 32, memory_order_release);
}

/* --- places --- */

/* Takes a ref, and with it a wait if there is one. False: the operation is over. */
static bool get(struct op *o, uint64_t word, uint64_t generation, uint32_t wait)
{
	uint64_t to;

	do {
		if (word >> 32 != generation || word & TAKEN || !(word & (REFS | WAITS)) ||
		    (word & REFS) == REFS)
			return false;
		to = word + 1 - (word & WAITS ? wait : 0);
	} while (!change(o, &word, to));
	return true;
}

static void put(struct op *o, uint64_t word, uint64_t generation)
{
	uint64_t to;

	do {
		if (word >> 32 != generation || word & TAKEN || !(word & REFS))
			return;
		to = word - 1;
		if (!(to & (REFS | WAITS)))
			to |= TAKEN;
	} while (!change(o, &word, to));
	if (to & TAKEN)
		record(o, generation);
}

/* Recorded as it is: no thread holds it, and its channels have not started for long. */
static void give_up(struct op *o, uint64_t word, uint64_t now)
{
	if (word & TAKEN || word & REFS || !(word & WAITS) || now - load(&o->start_ns) < LINGER_NS)
		return;
	if (change(o, &word, (word & ~0xffffffffull) | TAKEN))
		record(o, word >> 32);
}

static struct op *take(uint64_t now, uint64_t *generation)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct op *o =
			&ops[atomic_fetch_add_explicit(&hand, 1, memory_order_relaxed) % OPS];
		uint64_t word = atomic_load_explicit(&o->word, memory_order_acquire);

		if ((uint32_t)word)
			give_up(o, word, now);
		else if (change(o, &word, word | TAKEN)) {
			*generation = word >> 32;
			return o;
		}
	}
	return NULL;
}

nccl_handle nccl_op_start(struct nccl_comm *c, enum nccl_form form, const struct nccl_what *what,
			  uint32_t wait)
{
	uint64_t now = clock_mono_ns(), generation;
	struct op *o = take(now, &generation);

	if (!o) {
		aon_lost(AON_LOST_DISCARDED, 1);
		return 0;
	}
	if (!generation)
		generation = 1; /* so that no handle is a small number */
	atomic_store_explicit(&o->comm, c, memory_order_relaxed);
	store(&o->start_ns, now);
	store(&o->bytes, what->bytes);
	store(&o->first, UNKNOWN);
	store(&o->last, 0);
	o->what = *what;
	o->form = form;
	wait = wait < WAITS_MAX ? wait : WAITS_MAX;
	atomic_store_explicit(&o->word, generation << 32 | wait << 16 | 1, memory_order_release);
	return (nccl_handle)(generation << 32 | (uint64_t)(o - ops + 1));
}

void nccl_op_stop(nccl_handle h)
{
	uint64_t word;
	struct op *o = find(h, &word);

	if (o)
		put(o, word, (uint64_t)h >> 32);
}

/* Called by the thread that started the operation, before it stops it. */
void nccl_op_bytes(nccl_handle h, uint64_t bytes)
{
	uint64_t word;
	struct op *o = find(h, &word);

	if (o)
		store(&o->bytes, bytes);
}

uint64_t nccl_op_seq(nccl_handle h)
{
	uint64_t word, generation = (uint64_t)h >> 32, seq = 0;
	struct op *o = find(h, &word);

	if (!o || !get(o, word, generation, 0))
		return 0;
	seq = o->what.seq;
	put(o, atomic_load_explicit(&o->word, memory_order_acquire), generation);
	return seq;
}

bool nccl_is_kernel(nccl_handle h)
{
	return (uint32_t)h & KERNEL;
}

/* Before version 4 NCCL does not report the GPU's clock: the host's clock of the proxy thread is used. */
static void see(struct op *o, uint64_t gpu_ns)
{
	struct nccl_comm *c = atomic_load_explicit(&o->comm, memory_order_relaxed);
	uint64_t now = clock_mono_ns();

	if (c->version < 4)
		gpu_ns = now;
	else if (gpu_ns)
		nccl_clock_see(c, gpu_ns, now);
	if (!gpu_ns)
		return;
	reach(&o->first, gpu_ns, false);
	reach(&o->last, gpu_ns, true);
}

nccl_handle nccl_kernel_start(nccl_handle parent, uint64_t gpu_ns)
{
	uint64_t word;
	struct op *o = find(parent, &word);

	if (!o || !get(o, word, (uint64_t)parent >> 32, WAIT_1))
		return 0;
	see(o, gpu_ns);
	return parent | KERNEL;
}

void nccl_kernel_time(nccl_handle h, uint64_t gpu_ns)
{
	uint64_t word;
	struct op *o = find(h, &word);

	if (o && word & REFS)
		see(o, gpu_ns);
}

void nccl_op_end_all(const struct nccl_comm *c)
{
	for (uint32_t i = 0; i < OPS; i++) {
		struct op *o = &ops[i];
		uint64_t word = atomic_load_explicit(&o->word, memory_order_acquire);

		while ((uint32_t)word && !(word & TAKEN) &&
		       atomic_load_explicit(&o->comm, memory_order_relaxed) == c)
			if (change(o, &word, (word & ~0xffffffffull) | TAKEN)) {
				record(o, word >> 32);
				break;
			}
	}
}
