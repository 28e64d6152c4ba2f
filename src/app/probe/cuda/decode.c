/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - writes CUPTI's records into libaon's pool, on CUPTI's own thread.
 *
 * Offsets are the same in every version; the stride of a kind is the library's. Kinds that are not
 * needed are skipped by their stride. The walk ends at a kind of unknown stride, and at a record
 * that is cut off by the end of the buffer.
 */
#include "pool/emit.h"
#include "probe/cuda/cuda.h"
#include "probe/cuda/record.h"
#include "probe/cuda/times.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static uint32_t named(uint32_t *id, const char *text)
{
	if (!*id)
		*id = aon_name(text);
	return *id;
}

static void emit(struct aon_act *a)
{
	a->size = sizeof(*a);
	aon_act_emit(a);
}

/* --- unsampled steps --- */

/* Was it launched in an unsampled step? Correlations rise roughly with time. */
static inline bool unsampled(struct cuda *c, uint32_t corr)
{
	/* H: pairs with G of launch.c. */
	uint32_t n = atomic_load_explicit(&c->cuts, memory_order_acquire);

	return aon_unlikely(n) && launch_unsampled(c, corr, n);
}

static inline bool times_of(struct cuda *c, uint64_t start, uint64_t end, struct aon_act *a)
{
	return !unsampled(c, a->corr) && times(c, start, end, a);
}

/* --- tracks --- */

static uint32_t track_slot(uint32_t device, uint32_t context, uint64_t stream)
{
	uint64_t h = (stream * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)context << 32 | device);

	return (uint32_t)(h * 0x9e3779b97f4a7c15ull >> 54) % CUDA_TRACKS;
}

static struct cuda_track *track_find(struct cuda *c, uint32_t device, uint32_t context,
				     uint64_t stream)
{
	uint32_t at = track_slot(device, context, stream);
	struct cuda_track *l = &c->track[at];

	for (uint32_t i = 0; i < 8; i++) {
		l = &c->track[(at + i) % CUDA_TRACKS];
		if (!l->known ||
		    (l->stream == stream && l->context == context && l->device == device))
			break;
	}
	if (l->stream != stream || l->context != context || l->device != device || !l->known)
		*l = (struct cuda_track){ .stream = stream, .device = device, .context = context };
	return l;
}

static bool is_null_stream(const struct cuda *c, uint32_t context, uint64_t stream)
{
	uint32_t i = context % CUDA_CONTEXTS;

	return c->context[i].context == context && c->context[i].null_stream == stream &&
	       c->context[i].device != UINT32_MAX;
}

__attribute__((noinline)) static uint32_t track_make(struct cuda *c, struct cuda_track *l)
{
	struct cuda_text t = { .len = 0 };

	if (is_null_stream(c, l->context, l->stream))
		text_add(&t, "default");
	if (l->known & 2 && l->priority) {
		text_add(&t, t.len ? ", priority " : "priority ");
		text_add(&t, l->priority < 0 ? "-" : "");
		text_num(&t, (uint64_t)(l->priority < 0 ? -(int64_t)l->priority : l->priority));
	}
	l->id = aon_track(l->device, l->context, l->stream, t.len ? t.s : NULL);
	l->known |= 1;
	return l->id;
}

static inline uint32_t track_of(struct cuda *c, uint32_t device, uint32_t context, uint64_t stream)
{
	struct cuda_track *l = track_find(c, device, context, stream);

	return aon_likely(l->known & 1) ? l->id : track_make(c, l);
}

/* Of a record that names no device. */
static uint32_t device_of(const struct cuda *c, uint32_t context)
{
	uint32_t i = context % CUDA_CONTEXTS;

	return c->context[i].context == context && c->context[i].device != UINT32_MAX
		       ? c->context[i].device
		       : 0;
}

static uint32_t tid_track(struct cuda *c, uint32_t tid)
{
	uint32_t i = tid % LEN(c->tid_track);

	if (c->tid_track_tid[i] != tid) {
		c->tid_track_tid[i] = tid;
		c->tid_track[i] = aon_track_thread(tid);
	}
	return c->tid_track[i];
}

/* --- kinds --- */

static uint32_t geo_of(struct cuda *c, const uint8_t *r)
{
	uint32_t v[9], h = 0;
	struct cuda_geo *g;

	memcpy(v, r + K_GRID, 6 * sizeof(v[0])); /* grid, block */
	v[6] = get16(r, K_REGS);
	memcpy(v + 7, r + K_SHM_STATIC, 2 * sizeof(v[0]));
	for (unsigned i = 0; i < 9; i++)
		h = (h ^ v[i]) * 0x9e3779b1u;
	g = &c->geo[h >> 22];
	if (aon_unlikely(!g->id || memcmp(g->v, v, sizeof(v)))) {
		memcpy(g->v, v, sizeof(v));
		g->id = aon_geo(v, v + 3, v[6], v[7], v[8]);
	}
	return g->id;
}

/* Which graph, and which of its nodes: 0 for work that was launched by itself. */
static inline uint64_t group_of(const uint8_t *r, unsigned graph, unsigned node)
{
	uint32_t id = get32(r, graph);

	return aon_unlikely(id) ? (uint64_t)id << 32 | (uint32_t)get64(r, node) : 0;
}

/* As it was when it was launched; the record's pointer may lead to another text by now. */
static inline uint32_t kernel_name(struct cuda *c, const uint8_t *r, uint32_t corr, uint64_t group)
{
	uint64_t v = atomic_load_explicit(&c->launched[corr % CUDA_LAUNCHES], memory_order_relaxed);

	return !group && v >> 32 == corr && (uint32_t)v ? (uint32_t)v
							: name_of(c, getptr(r, K_NAME));
}

/* How long it waited, for the driver and for the device: on a track of its own, if CUPTI said. */
static void waits(struct cuda *c, const uint8_t *r, const struct aon_act *k)
{
	uint64_t queued = get64(r, K_QUEUED), submitted = get64(r, K_SUBMITTED);
	uint64_t start = get64(r, K_START);
	struct aon_act a = { .kind = AON_ACT_API, .corr = k->corr };

	if (!queued || submitted < queued || start < submitted)
		return;
	a.track = aon_track(get32(r, K_DEVICE), get32(r, K_CONTEXT), get32(r, K_STREAM), "waiting");
	a.name = named(&c->queued_name, "cuda queued");
	a.start_ns = k->start_ns - (start - queued);
	a.end_ns = k->start_ns - (start - submitted);
	emit(&a);
	a.name = named(&c->submitted_name, "cuda submitted");
	a.start_ns = a.end_ns;
	a.end_ns = k->start_ns;
	emit(&a);
}

/* Work on a stream, with its time and name known: the rest is the same for all kinds. */
static void work(struct cuda *c, const uint8_t *r, uint32_t device, uint32_t context,
		 uint32_t stream, struct aon_act *a)
{
	a->track = track_of(c, device, context, stream);
	restrain(c, r, device, a);
	emit(a);
}

static void kernel(struct cuda *c, const uint8_t *r)
{
	struct aon_act a = { .kind = AON_ACT_KERNEL, .corr = get32(r, K_CORR) };

	if (!times_of(c, get64(r, K_START), get64(r, K_END), &a))
		return;
	a.group = group_of(r, K_GRAPH, K_NODE);
	a.name = kernel_name(c, r, a.corr, a.group);
	a.track = track_of(c, get32(r, K_DEVICE), get32(r, K_CONTEXT), get32(r, K_STREAM));
	a.geo = geo_of(c, r);
	restrain(c, r, get32(r, K_DEVICE), &a);
	emit(&a);
	if (aon_unlikely(c->latency))
		waits(c, r, &a);
}

static const char *const memory_word[8] = { "Unknown", "Pageable", "Pinned", "Device",
					    "Array",   "Managed",  "Static", "Managed" };

/* "Memset (Device)" */
static uint32_t memory_name(uint32_t *id, const char *word, uint32_t where)
{
	struct cuda_text t = { .len = 0 };

	if (*id)
		return *id;
	text_add(&t, word);
	text_add(&t, memory_word[where]);
	text_add(&t, ")");
	return named(id, t.s);
}

static const struct {
	const char *word;
	uint8_t dir;
} copies[16] = {
	/* clang-format off */
	{ "Unknown", AON_COPY_UNKNOWN }, { "HtoD", AON_COPY_HTOD }, { "DtoH", AON_COPY_DTOH },
	{ "HtoA", AON_COPY_HTOD }, { "AtoH", AON_COPY_DTOH }, { "AtoA", AON_COPY_DTOD },
	{ "AtoD", AON_COPY_DTOD }, { "DtoA", AON_COPY_DTOD }, { "DtoD", AON_COPY_DTOD },
	{ "HtoH", AON_COPY_HTOH }, { "PtoP", AON_COPY_PTOP },
	/* clang-format on */
};

static uint32_t copy_name(struct cuda *c, uint32_t kind, uint32_t from, uint32_t to)
{
	uint32_t *id = &c->copy_name[kind][from][to];
	struct cuda_text t = { .len = 0 };

	if (*id)
		return *id;
	text_add(&t, "Memcpy ");
	text_add(&t, copies[kind].word ? copies[kind].word : "Unknown");
	text_add(&t, " (");
	text_add(&t, memory_word[from]);
	text_add(&t, " -> ");
	text_add(&t, memory_word[to]);
	text_add(&t, ")");
	return named(id, t.s);
}

static void memcpy_record(struct cuda *c, const uint8_t *r)
{
	uint32_t kind = r[C_KIND] & 15;
	struct aon_act a = { .kind = AON_ACT_COPY,
			     .corr = get32(r, C_CORR),
			     .dir = copies[kind].dir,
			     .bytes = get64(r, C_BYTES),
			     .group = group_of(r, C_GRAPH, C_NODE) };

	if (!times_of(c, get64(r, C_START), get64(r, C_END), &a))
		return;
	a.name = copy_name(c, kind, r[C_SRC] & 7, r[C_DST] & 7);
	work(c, r, get32(r, C_DEVICE), get32(r, C_CONTEXT), get32(r, C_STREAM), &a);
}

static uint32_t peer_name(uint32_t from, uint32_t to)
{
	struct cuda_text t = { .len = 0 };

	text_add(&t, "Memcpy PtoP (");
	text_num(&t, from);
	text_add(&t, " -> ");
	text_num(&t, to);
	text_add(&t, ")");
	return aon_name(t.s);
}

static void peer_record(struct cuda *c, const uint8_t *r)
{
	struct aon_act a = { .kind = AON_ACT_COPY,
			     .corr = get32(r, P_CORR),
			     .dir = AON_COPY_PTOP,
			     .bytes = get64(r, C_BYTES),
			     .group = group_of(r, P_GRAPH, P_NODE) };

	if (!times_of(c, get64(r, C_START), get64(r, C_END), &a))
		return;
	a.name = peer_name(get32(r, P_SRC_DEVICE), get32(r, P_DST_DEVICE));
	work(c, r, get32(r, C_DEVICE), get32(r, C_CONTEXT), get32(r, C_STREAM), &a);
}

static void memset_record(struct cuda *c, const uint8_t *r)
{
	uint32_t where = get16(r, S_MEMORY) & 7;
	struct aon_act a = { .kind = AON_ACT_MEMSET,
			     .corr = get32(r, C_CORR),
			     .bytes = get64(r, C_BYTES),
			     .group = group_of(r, C_GRAPH, C_NODE) };

	if (!times_of(c, get64(r, C_START), get64(r, C_END), &a))
		return;
	a.name = memory_name(&c->set_name[where], "Memset (", where);
	work(c, r, get32(r, C_DEVICE), get32(r, C_CONTEXT), get32(r, C_STREAM), &a);
}

static void sync_record(struct cuda *c, const uint8_t *r)
{
	static const char *const word[8] = { "Sync",        "Event Sync",   "Stream Wait Event",
					     "Stream Sync", "Context Sync", "Sync",
					     "Sync",        "Sync" };
	uint32_t type = get32(r, Y_TYPE) & 7, context = get32(r, Y_CONTEXT);
	struct aon_act a = { .kind = AON_ACT_SYNC, .corr = get32(r, Y_CORR) };

	if (!times_of(c, get64(r, Y_START), get64(r, Y_END), &a))
		return;
	a.name = named(&c->sync_name[type], word[type]);
	a.track = track_of(c, device_of(c, context), context, get32(r, Y_STREAM));
	emit(&a);
}

static void graph_record(struct cuda *c, const uint8_t *r)
{
	uint32_t device = get32(r, G_DEVICE), context = get32(r, G_CONTEXT);
	struct aon_act a = { .kind = AON_ACT_GRAPH,
			     .corr = get32(r, G_CORR),
			     .bytes = get32(r, G_GRAPH) };

	if (!times_of(c, get64(r, G_START), get64(r, G_END), &a))
		return;
	a.name = named(&c->graph_name, "CUDA graph");
	if (device == INT32_MAX) /* it began on the host */
		device = device_of(c, context);
	work(c, r, device, context, get32(r, G_STREAM), &a);
}

static void memory_record(struct cuda *c, const uint8_t *r)
{
	uint32_t op = get32(r, M_OP), where = get32(r, M_KIND) & 7;
	struct aon_act a = { .kind = AON_ACT_ALLOC,
			     .corr = get32(r, M_CORR),
			     .dir = op,
			     .bytes = get64(r, M_BYTES),
			     .group = get64(r, M_ADDRESS) };

	if (op != AON_MEM_ALLOC && op != AON_MEM_FREE)
		return;
	if (!times(c, get64(r, M_TIME), get64(r, M_TIME), &a))
		return;
	a.name = memory_name(&c->alloc_name[op - 1][where],
			     op == AON_MEM_ALLOC ? "Allocate (" : "Free (", where);
	a.track = track_of(c, get32(r, M_DEVICE), get32(r, M_CONTEXT), get32(r, M_STREAM));
	emit(&a);
}

static uint32_t api_name(struct cuda *c, uint32_t domain, uint32_t cbid)
{
	uint32_t *id = &c->api_name[domain - 1][cbid % CUDA_CBIDS];
	const char *s = NULL;

	if (*id)
		return *id;
	if (!c->api.GetCallbackName || c->api.GetCallbackName((int)domain, cbid, &s) || !s)
		s = domain == CD_DRIVER ? "CUDA driver call" : "CUDA runtime call";
	return named(id, s);
}

static void api_record(struct cuda *c, const uint8_t *r)
{
	uint32_t domain = get32(r, 0) == CK_DRIVER ? CD_DRIVER : CD_RUNTIME;
	struct aon_act a = { .kind = AON_ACT_API, .corr = get32(r, A_CORR) };

	if (!times_of(c, get64(r, A_START), get64(r, A_END), &a))
		return;
	a.name = api_name(c, domain, get32(r, A_CBID));
	a.track = tid_track(c, get32(r, A_TID));
	emit(&a);
}

/* From an id of the framework's to that of a launch. */
static void external_record(struct cuda *c, const uint8_t *r)
{
	uint32_t corr = get32(r, E_CORR);

	(void)c;
	if (aon_wants(AON_WANT_FLOW))
		aon_emit_(AON_FLOW_, 0, corr, get64(r, E_ID), corr);
}

/* --- what there is --- */

static void field(struct cuda_text *t, const char *name, uint64_t n)
{
	text_add(t, name);
	text_num(t, n);
}

static void hex(struct cuda_text *t, const uint8_t *b, unsigned n)
{
	static const char digit[] = "0123456789abcdef";

	for (unsigned i = 0; i < n; i++) {
		char s[4] = { digit[b[i] >> 4], digit[b[i] & 15], '\0' };

		text_add(t, i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "");
		text_add(t, s);
	}
}

/* A mark whose name says it all: "GPU 0: NVIDIA A100, sms 108, cc 8.0, ...". */
static void device_record(struct cuda *c, const uint8_t *r)
{
	struct cuda_text t = { .len = 0 };
	const char *name = getptr(r, D_NAME);

	(void)c;
	if (!aon_wants(AON_WANT_MARK))
		return;
	field(&t, "GPU ", get32(r, D_ID));
	text_add(&t, ": ");
	text_add(&t, name ? name : "?");
	field(&t, ", sms ", get32(r, D_SMS));
	field(&t, ", cc ", get32(r, D_CC_MAJOR));
	field(&t, ".", get32(r, D_CC_MINOR));
	field(&t, ", MHz ", get32(r, D_CLOCK_KHZ) / 1000);
	text_add(&t, r[D_MIG] ? ", MIG" : "");
	text_add(&t, ", GPU-");
	hex(&t, r + D_UUID, 16);
	aon_mark_id(aon_name(t.s), get32(r, D_ID), get64(r, D_MEMORY), get64(r, D_BANDWIDTH));
}

static void context_record(struct cuda *c, const uint8_t *r)
{
	uint32_t id = get32(r, X_ID), i = id % CUDA_CONTEXTS;

	c->context[i].context = id;
	c->context[i].device = get32(r, X_DEVICE);
	c->context[i].null_stream = get16(r, X_NULL_STREAM);
}

static void stream_record(struct cuda *c, const uint8_t *r)
{
	uint32_t context = get32(r, T_CONTEXT);
	struct cuda_track *l = track_find(c, device_of(c, context), context, get32(r, T_STREAM));

	l->priority = (int32_t)get32(r, T_PRIORITY);
	l->known |= 2;
}

/* --- the walk --- */

static void (*const on_kind[CK_MAX])(struct cuda *c, const uint8_t *r) = {
	[CK_KERNEL] = kernel,         [CK_MEMCPY] = memcpy_record,
	[CK_MEMCPY2] = peer_record,   [CK_MEMSET] = memset_record,
	[CK_SYNC] = sync_record,      [CK_GRAPH_TRACE] = graph_record,
	[CK_MEMORY2] = memory_record, [CK_DRIVER] = api_record,
	[CK_RUNTIME] = api_record,    [CK_EXTERNAL] = external_record,
	[CK_DEVICE] = device_record,  [CK_CONTEXT] = context_record,
	[CK_STREAM] = stream_record,
};

static inline void one(struct cuda *c, uint32_t kind, const uint8_t *r)
{
	if (aon_likely(kind == CK_CONCURRENT_KERNEL)) {
		kernel(c, r);
		return;
	}
	if (kind < CK_MAX && on_kind[kind])
		on_kind[kind](c, r);
}

uint64_t decode_count(const uint16_t stride[CK_MAX], const uint8_t *buffer, size_t valid)
{
	uint64_t count = 0;
	size_t at = 0;
	uint32_t n;

	while ((n = step(stride, buffer + at, valid - at))) {
		at += n;
		count++;
	}
	return count;
}

void decode(struct cuda *c, const uint8_t *buffer, size_t valid)
{
	uint64_t count = 0;
	size_t at = 0;
	uint32_t n;

	if (!aon_wants(AON_WANT_ALL & ~AON_WANT_STEP))
		return;
	cuda_turn_take(&c->turn);
	clock_look(c);
	c->end = buffer + valid;
	while ((n = step(c->stride, buffer + at, valid - at))) {
		__builtin_prefetch(buffer + at + 4 * n);
		one(c, get32(buffer + at, 0), buffer + at);
		at += n;
		count++;
	}
	atomic_fetch_add_explicit(&c->records, count, memory_order_relaxed);
	cuda_turn_give(&c->turn);
	if (at < valid)
		aon_lost(AON_LOST_SOURCE, 1); /* damaged, or of a kind that nobody knows */
}
