/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - communicators: which events NCCL is asked to report, and the GPU's clock.
 *
 * Slots are reused, and never unmapped: an event of a proxy thread that comes after the end finds a
 * slot, even if it is another's. Communicators beyond the slots share the first one, whose events
 * are counted and not kept. init never fails, because NCCL would then give the library up twice.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <aon/provider.h>

#include "probe/nccl/nccl.h"

#define COMMS      1024u
#define TRACK_HOST 0xffffffffu
#define WINDOW_NS  1000000000ull
#define ENV_EVENTS "AON_NCCL_EVENTS"
#define ALWAYS     (NCCL_COLL | NCCL_P2P | NCCL_CE_COLL)
#define CALLS      (NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API | NCCL_KERNEL_LAUNCH)

static struct nccl_comm comms[COMMS]; /* [0]: of those that found no place */
static _Atomic(int) asked;            /* by ENV_EVENTS */

/* What a version knows. */
#define SINCE_1 (NCCL_GROUP | NCCL_COLL | NCCL_P2P | NCCL_PROXY_OP | NCCL_PROXY_STEP)
#define SINCE_3 (SINCE_1 | NCCL_KERNEL_CH)
#define SINCE_5 (SINCE_3 | CALLS)
static const int known[NCCL_VERSIONS + 1] = {
	0, SINCE_1, SINCE_1, SINCE_3, SINCE_3, SINCE_5, SINCE_5 | NCCL_CE_COLL,
};

/* What a user may ask for beyond the tier, by name and with commas between. */
static const struct {
	const char *name;
	int bits;
} events[] = {
	{ "kernel", NCCL_KERNEL_CH },
	{ "proxy", NCCL_PROXY_OP | NCCL_PROXY_STEP },
	{ "group", NCCL_GROUP },
	{ "calls", CALLS },
};

static void read_asked(void)
{
	const char *list = secure_getenv(ENV_EVENTS);
	int bits = 0;

	for (size_t i = 0; list && i < sizeof(events) / sizeof(events[0]); i++)
		if (strstr(list, events[i].name))
			bits |= events[i].bits;
	atomic_store_explicit(&asked, bits, memory_order_relaxed);
}

/*
 * Collectives always: their start is the moment to see that the gate has opened, and writes the
 * words of a hang. GPU times by KernelCh only when asked for, or in a capture: NCCL opens
 * connections for them and polls on the thread that moves the network's data.
 */
int nccl_mask(struct nccl_comm *c)
{
	int *mask = atomic_load_explicit(&c->mask, memory_order_relaxed);
	int want = ALWAYS;

	/* Before the process has joined everything is wanted, which says nothing about the tier. */
	if (aon_wants_tier(AON_WANT_API) && aon_joined())
		want = ~0;
	else if (aon_wants_tier(AON_WANT_GPU))
		want |= atomic_load_explicit(&asked, memory_order_relaxed);
	want &= known[c->version];
	if (mask && __atomic_load_n(mask, __ATOMIC_RELAXED) != want)
		__atomic_store_n(mask, want, __ATOMIC_RELAXED);
	return want;
}

/* The CUDA device of the calling thread, which NCCL has set; asked of the driver that is loaded. */
static uint32_t device_now(void)
{
	typedef int get_fn(int *device);
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	get_fn *get = lib ? (get_fn *)dlsym(lib, "cuCtxGetDevice") : NULL;
	int device;

	return get && get(&device) == 0 && device >= 0 ? (uint32_t)device : TRACK_HOST;
}

/* "NCCL world 3/8", "NCCL 3/8", "NCCL". */
static void track_name(char *out, size_t cap, const char *name, int rank, int ranks)
{
	size_t len = nccl_append(out, 0, cap, "NCCL");

	if (name && *name)
		len = nccl_append(out, nccl_append(out, len, cap, " "), cap, name);
	if (ranks <= 0)
		return;
	len = nccl_append_number(out, nccl_append(out, len, cap, " "), cap, (uint32_t)rank);
	nccl_append_number(out, nccl_append(out, len, cap, "/"), cap, (uint32_t)ranks);
}

struct nccl_comm *nccl_comm_new(uint32_t version, int *mask, uint64_t hash, const char *name,
				int rank, int ranks)
{
	struct nccl_comm *c = NULL;

	read_asked();
	for (uint32_t i = 1; !c && i < COMMS; i++) {
		uint32_t was = 0;

		/* Pairs with the release in nccl_comm_free(). */
		if (atomic_compare_exchange_strong_explicit(
			    &comms[i].used, &was, 1, memory_order_acquire, memory_order_relaxed))
			c = &comms[i];
	}
	if (!c)
		return &comms[0];
	c->version = version;
	c->device = device_now();
	track_name(c->name, sizeof(c->name), name, rank, ranks);
	atomic_store_explicit(&c->hash, hash, memory_order_relaxed);
	atomic_store_explicit(&c->track, 0, memory_order_relaxed);
	atomic_store_explicit(&c->window_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&c->lag, INT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&c->lag_before, INT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&c->mask, mask, memory_order_relaxed);
	return c;
}

struct nccl_comm *nccl_comm_of(void *context)
{
	uintptr_t at = (uintptr_t)context, base = (uintptr_t)comms;

	if (at <= base || at >= base + sizeof(comms) || (at - base) % sizeof(comms[0]))
		return NULL;
	return context;
}

void nccl_comm_free(struct nccl_comm *c)
{
	atomic_store_explicit(&c->mask, NULL, memory_order_relaxed);
	atomic_store_explicit(&c->used, 0, memory_order_release);
}

/* A track a communicator: its stream is the communicator's hash. Before version 4 the hash comes
 * with each operation. */
uint32_t nccl_comm_track(struct nccl_comm *c, uint64_t hash)
{
	uint32_t track = atomic_load_explicit(&c->track, memory_order_relaxed);
	uint64_t had = atomic_load_explicit(&c->hash, memory_order_relaxed);

	if (track && (!hash || hash == had))
		return track;
	if (hash)
		atomic_store_explicit(&c->hash, hash, memory_order_relaxed);
	track = aon_track(c->device, 0, hash ? hash : had, c->name);
	atomic_store_explicit(&c->track, track, memory_order_relaxed);
	return track;
}

/*
 * A proxy thread sees a kernel's start and end some time after the GPU stamped them: the least
 * difference seen lately is nearest to the true one. Two windows of a second follow the drift.
 */
void nccl_clock_see(struct nccl_comm *c, uint64_t gpu_ns, uint64_t now)
{
	int64_t lag = (int64_t)(now - gpu_ns);

	if (now - atomic_load_explicit(&c->window_ns, memory_order_relaxed) > WINDOW_NS) {
		atomic_store_explicit(&c->lag_before,
				      atomic_load_explicit(&c->lag, memory_order_relaxed),
				      memory_order_relaxed);
		atomic_store_explicit(&c->window_ns, now, memory_order_relaxed);
		atomic_store_explicit(&c->lag, lag, memory_order_relaxed);
	} else if (lag < atomic_load_explicit(&c->lag, memory_order_relaxed)) {
		atomic_store_explicit(&c->lag, lag, memory_order_relaxed);
	}
}

uint64_t nccl_clock_host(const struct nccl_comm *c, uint64_t gpu_ns)
{
	int64_t a = atomic_load_explicit(&c->lag, memory_order_relaxed);
	int64_t b = atomic_load_explicit(&c->lag_before, memory_order_relaxed);

	return gpu_ns + (uint64_t)(a < b ? a : b);
}
