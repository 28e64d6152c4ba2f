/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - CUPTI's callbacks: launches, modules and graphs that come and go, and errors.
 *
 * A launch does only this: it finds out which call it is, sets the last-launch words, and for a
 * graph chooses how this launch is recorded.
 */
#include "pool/emit.h"
#include "base/clock.h"
#include "probe/cuda/cuda.h"

enum cbid_what { WHAT_NONE, WHAT_LAUNCH, WHAT_GRAPH, WHAT_START };

static const struct {
	uint16_t cbid;
	uint8_t what;
} calls[] = {
#define CBID(name, number, what) { number, WHAT_##what },
#include "probe/cuda/cbid.tbl.h"
};

void launch_setup(struct cuda *c)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		c->what[calls[i].cbid] = calls[i].what;
}

/* One by one, never a domain; what a version does not have it refuses. Returns how many. */
int launch_enable(struct cuda *c, bool on)
{
	static const uint8_t resources[] = { CR_MODULE_LOADED, CR_MODULE_UNLOAD_STARTING,
					     CR_GRAPHEXEC_DESTROY_STARTING };
	int n = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		n += !c->api.EnableCallback(on, c->sub, CD_DRIVER, calls[i].cbid);
	for (size_t i = 0; i < sizeof(resources); i++)
		c->api.EnableCallback(on, c->sub, CD_RESOURCE, resources[i]);
	if (c->api.caps & CAP_STATE) {
		c->api.EnableCallback(on, c->sub, CD_STATE, CS_FATAL);
		c->api.EnableCallback(on, c->sub, CD_STATE, CS_ERROR);
	}
	return n;
}

/* For decode.c, which compares it with when the device says that it began. */
static void launch_time(struct cuda *c, uint32_t corr)
{
	uint32_t i = corr / CUDA_TIMED % CUDA_TIMED;

	/* E: pairs with F: a reader that sees the correlation sees its time, or a later one's. */
	atomic_store_explicit(&c->timed[i].ns, clock_mono_ns(), memory_order_relaxed);
	atomic_store_explicit(&c->timed[i].corr, corr, memory_order_release);
}

/* From this launch on steps are unsampled, or recorded again: decode.c checks this per record. */
static void launch_cut(struct cuda *c, uint32_t corr, uint32_t off)
{
	uint32_t n;

	if (atomic_exchange_explicit(&c->unsampled, off, memory_order_relaxed) == off)
		return; /* another thread's launch was the first */
	n = atomic_load_explicit(&c->cuts, memory_order_relaxed);
	atomic_store_explicit(&c->cut[n % CUDA_CUTS], (uint64_t)corr << 1 | off,
			      memory_order_relaxed);
	/* G: pairs with H: who sees the number sees the cut. */
	atomic_store_explicit(&c->cuts, n + 1, memory_order_release);
}

static inline bool is_after(struct cuda *c, uint32_t corr, uint32_t cut)
{
	uint64_t v = atomic_load_explicit(&c->cut[cut % CUDA_CUTS], memory_order_relaxed);

	return (int32_t)(corr - (uint32_t)(v >> 1)) >= 0;
}

/* decode.c asks, under its turn. */
bool launch_unsampled(struct cuda *c, uint32_t corr, uint32_t n)
{
	uint32_t at = c->cut_at;

	if (at >= n || n - at > CUDA_CUTS || !is_after(c, corr, at) ||
	    (at + 1 < n && is_after(c, corr, at + 1))) {
		for (at = n - 1; !is_after(c, corr, at); at--)
			if (!at || n - at >= CUDA_CUTS)
				return false; /* from before all of them */
		c->cut_at = at;
	}
	return atomic_load_explicit(&c->cut[at % CUDA_CUTS], memory_order_relaxed) & 1;
}

static inline void api_call(struct cuda *c, uint32_t cbid, const struct cupti_cb_data *d)
{
	uint32_t what = cbid < CUDA_CBIDS ? c->what[cbid] : WHAT_NONE, name, off;

	if (d->site != 0) { /* the way out */
		if (aon_unlikely(c->counters.most) && (what == WHAT_LAUNCH || what == WHAT_GRAPH))
			range_launched(c, d);
		return;
	}
	if (aon_unlikely(what == WHAT_START)) {
		/* Not from in here: unsubscribing waits for callbacks to return. */
		atomic_store_explicit(&c->yields, 1, memory_order_relaxed);
		keep_doorbell(c);
		return;
	}
	if (what != WHAT_LAUNCH && what != WHAT_GRAPH)
		return;
	atomic_fetch_add_explicit(&c->launches, 1, memory_order_relaxed);
	off = aon_unlikely(!aon_wants(AON_WANT_GPU)) && aon_wants_tier(AON_WANT_GPU);
	if (aon_unlikely(off != atomic_load_explicit(&c->unsampled, memory_order_relaxed)))
		launch_cut(c, d->correlation, off);
	if (what == WHAT_GRAPH && d->params)
		graph_launching(c, *(const uint64_t *)d->params);
	name = aon_name(d->symbol ? d->symbol : d->function);
	if (d->symbol)
		atomic_store_explicit(&c->launched[d->correlation % CUDA_LAUNCHES],
				      (uint64_t)d->correlation << 32 | name, memory_order_relaxed);
	if (d->correlation % CUDA_TIMED == 0)
		launch_time(c, d->correlation);
	aon_heartbeat_launch(d->correlation, name);
	if (aon_unlikely(c->counters.most))
		range_launching(c, d, name);
}

static void resource(struct cuda *c, uint32_t cbid, const struct cupti_resource_data *d)
{
	const struct cupti_graph_data *g = d->descriptor;

	if (cbid == CR_MODULE_LOADED || cbid == CR_MODULE_UNLOAD_STARTING)
		name_forget(c);
	else if (cbid == CR_GRAPHEXEC_DESTROY_STARTING && g)
		graph_gone(c, (uint64_t)(uintptr_t)g->exec);
}

void launch_callback(void *user, int domain, uint32_t cbid, const void *data)
{
	struct cuda *c = user;

	if (aon_unlikely(!c->on || !data)) /* a child of fork() */
		return;
	if (aon_likely(domain == CD_DRIVER)) {
		api_call(c, cbid, data);
	} else if (domain == CD_RESOURCE) {
		resource(c, cbid, data);
	} else if (domain == CD_STATE && cbid == CS_FATAL) {
		const struct cupti_state_data *s = data;

		atomic_store_explicit(&c->broken, s->result ? (uint32_t)s->result : CUPTI_UNKNOWN,
				      memory_order_relaxed);
		keep_doorbell(c);
	}
}
