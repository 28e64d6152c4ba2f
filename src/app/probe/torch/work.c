/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - the works of process groups: collectives, with group, bytes, type and number.
 *
 * A work may end on another thread than it began on: it is kept by the address of its
 * RecordFunction. What torch hands over is a title ("gloo:all_reduce") and the input tensors; the
 * rest is found like this:
 *
 *	group   gloo runs a group's works on threads of that group alone: Python tells which threads
 *		came with a group (aon_torch_group). Works of others belong to the only group there
 *		is, or to none.
 *	number	counted from 1 in each group, as torch does. The threads of a group may begin two works
 *		in the wrong order; the handle of a RecordFunction is given where the program called, so
 *		the lower handle gets the lower number.
 *	bytes	number and type of the elements lie in a TensorImpl where they were found in tensors
 *		that Python knows (aon_torch_tensor).
 */
#include <string.h>

#include <aon/provider.h>

#include "base/clock.h"
#include "base/hash.h"
#include "probe/torch/torch.h"

#define WORKS       256u /* under way at a time */
#define GROUPS      128u
#define MEMBERS     1024u /* threads of all groups */
#define GROUP_NAME  48u
#define SPINS       1000u
#define TENSORS     1024u /* of one work */
#define TAG_TENSOR  1u
#define IMPL_FIRST  64u  /* offsets in a TensorImpl */
#define IMPL_LAST   168u /* torch 1.13's, which has 192 bytes; 2.15's has 176, and is found before */
#define TRACK_HOST  0xffffffffu
#define NO_DTYPE    UINT32_MAX
#define FIELD_FIRST 96u /* of the name in a RecordFunction: offsets that are tried */
#define FIELD_LAST  240u

struct group {
	char name[GROUP_NAME]; /* "0 1/2": name, rank, ranks */
	uint64_t id;           /* the same on all ranks */
	_Atomic uint64_t begun;
	_Atomic uint32_t busy;
};

struct work {
	_Atomic uintptr_t rf; /* 0: free, 1: being filled */
	/* Read by others, who may find a place that has just been given to another work. */
	_Atomic(struct group *) group; /* NULL: not known */
	_Atomic uint64_t handle, sequence;
	uint64_t start_ns, bytes;
	uint32_t name;
};

static struct work works[WORKS];
static struct group groups[GROUPS];
static _Atomic uint32_t group_count;
static struct {
	_Atomic uint32_t tid; /* 0: free */
	struct group *group;
} members[MEMBERS];
static uint32_t member_count; /* under Python's lock, as all who add to these tables */

/* By number of c10::ScalarType. */
static const struct {
	const char *name;
	uint32_t bytes;
} dtypes[] = {
	{ "u8", 1 },         { "i8", 1 },         { "i16", 2 }, { "i32", 4 },    { "i64", 8 },
	{ "f16", 2 },        { "f32", 4 },        { "f64", 8 }, { "c32", 4 },    { "c64", 8 },
	{ "c128", 16 },      { "bool", 1 },       { "qi8", 1 }, { "qu8", 1 },    { "qi32", 4 },
	{ "bf16", 2 },       { "qu4", 1 },        { "qu2", 1 }, { "b1", 1 },     { "b2", 1 },
	{ "b4", 1 },         { "b8", 1 },         { "b16", 2 }, { "f8e5m2", 1 }, { "f8e4m3", 1 },
	{ "f8e5m2fnuz", 1 }, { "f8e4m3fnuz", 1 }, { "u16", 2 }, { "u32", 4 },    { "u64", 8 },
};

#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

static struct {
	uint32_t numel; /* offset in a TensorImpl of the number of elements, the type behind it */
	uint32_t tries; /* tensors that were looked at */
	_Atomic uint32_t inputs; /* offset of the inputs in a RecordFunction; 0: not known */
	_Atomic uint32_t looked; /* for it; set behind it */
	uint32_t handle;         /* offset of the handle; 0: not known */
} at;

/* --- texts --- */

static size_t append(char *out, size_t len, size_t cap, const char *text)
{
	for (; *text && len + 1 < cap; text++)
		out[len++] = *text;
	out[len] = '\0';
	return len;
}

static size_t append_number(char *out, size_t len, size_t cap, uint32_t n)
{
	char digits[12] = "";
	size_t i = sizeof(digits) - 1;

	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	return append(out, len, cap, digits + i);
}

/* --- what is where --- */

static uint64_t word(const void *p, uint32_t off)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)p + off, sizeof(v));
	return v;
}

static uint32_t dtype_of(const void *impl)
{
	uint16_t v;

	memcpy(&v, (const uint8_t *)impl + at.numel + 8, sizeof(v));
	return v < DTYPES ? v : NO_DTYPE;
}

static bool holds(const void *impl, uint32_t off, uint64_t numel, uint32_t dtype)
{
	uint16_t type;

	memcpy(&type, (const uint8_t *)impl + off + 8, sizeof(type));
	return word(impl, off) == numel && type == dtype;
}

/* The first place that holds what Python knows of the first tensor, if it does of the others, too. Tensors
 * end soon after it: nothing behind is looked at. */
void work_learn_tensor(const void *impl, uint64_t numel, uint32_t dtype)
{
	uint32_t i = IMPL_FIRST;

	if (at.tries++) {
		if (at.numel && !holds(impl, at.numel, numel, dtype))
			at.numel = 0;
		return;
	}
	while (i <= IMPL_LAST && !holds(impl, i, numel, dtype))
		i += 8;
	at.numel = i <= IMPL_LAST ? i : 0;
}

/*
 * is_async() of both 1.13 and 2.15 is "movzbl off(%rdi),%eax; ret", and the handle lies just
 * before what it returns.
 */
void work_learn_handle(void)
{
	static const uint8_t load[] = { 0x0f, 0xb6, 0x87 };
	uint8_t code[8];
	uint32_t off;

	if (!torch.is_async)
		return;
	memcpy(code, (const void *)(uintptr_t)torch.is_async, sizeof(code));
	memcpy(&off, code + sizeof(load), sizeof(off));
	if (!memcmp(code, load, sizeof(load)) && code[7] == 0xc3 && off % 8 == 0 &&
	    off > FIELD_LAST && off < 1024)
		at.handle = off - 8;
}

/* A std::string with its length (or the old one, a pointer alone), the number of the alternative,
 * the sequence number, which is -1 here, and the inputs. */
static void learn_inputs(const struct record_function *rf, const char *name)
{
	for (uint32_t i = FIELD_FIRST; i < FIELD_LAST; i += 8) {
		uint32_t len;

		if (word(rf, i) != (uintptr_t)name)
			continue;
		len = word(rf, i + 8) == strlen(name) ? 32 : 8;
		if (word(rf, i + len + 8) == UINT64_MAX)
			atomic_store_explicit(&at.inputs, i + len + 16, memory_order_relaxed);
		break;
	}
	/* Pairs with the load in work_begin(). */
	atomic_store_explicit(&at.looked, 1, memory_order_release);
}

/* --- groups --- */

static struct group *group_named(const char *name)
{
	uint32_t n = atomic_load_explicit(&group_count, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(groups[i].name, name))
			return &groups[i];
	if (n == GROUPS)
		return NULL;
	append(groups[n].name, 0, sizeof(groups[n].name), name);
	atomic_store_explicit(&group_count, n + 1, memory_order_release);
	return &groups[n];
}

void work_group(const char *name, uint32_t rank, uint32_t size, const uint32_t *tid, uint32_t n)
{
	char text[GROUP_NAME], ranks[16] = "/";
	struct group *g;
	size_t len;

	append_number(ranks, 1, sizeof(ranks), size);
	len = append(text, 0, GROUP_NAME - 24, name);
	len = append(text, len, sizeof(text), " ");
	len = append_number(text, len, sizeof(text), rank);
	append(text, len, sizeof(text), ranks);
	g = group_named(text);
	if (!g)
		return;
	g->id = fnv_text(fnv_text(FNV_BASIS, name), ranks) | 1;
	atomic_store_explicit(
		&g->begun, 0,
		memory_order_relaxed); /* one of that name may have been there and gone */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = member_count++ % MEMBERS; /* the oldest are gone long since */

		atomic_store_explicit(&members[m].tid, 0, memory_order_relaxed);
		members[m].group = g;
		/* Pairs with the load in group_of(). */
		atomic_store_explicit(&members[m].tid, tid[i], memory_order_release);
	}
}

static struct group *group_of(uint32_t tid)
{
	uint32_t n = atomic_load_explicit(&group_count, memory_order_acquire);

	for (uint32_t i = 0; n && i < MEMBERS; i++) {
		uint32_t t = atomic_load_explicit(&members[i].tid, memory_order_acquire);

		if (t == tid)
			return members[i].group;
		if (!t)
			break;
	}
	return n == 1 ? &groups[0] : NULL;
}

/* Held for some ten instructions; who does not get it in time does without. */
static bool group_take(struct group *g)
{
	for (uint32_t i = 0; i < SPINS; i++) {
		uint32_t nobody = 0;

		if (atomic_compare_exchange_weak_explicit(
			    &g->busy, &nobody, 1, memory_order_acquire, memory_order_relaxed))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static void group_give(struct group *g, bool taken)
{
	if (taken)
		atomic_store_explicit(&g->busy, 0, memory_order_release);
}

/* --- works --- */

/* Type of the first and bytes of all tensors; they are gone when the start has returned. */
static uint64_t inputs_of(const struct record_function *rf, uint32_t *dtype)
{
	const struct {
		const void *payload;
		uint32_t tag;
	} * v;
	uint32_t inputs = atomic_load_explicit(&at.inputs, memory_order_relaxed);
	uint64_t bytes = 0, n;

	*dtype = NO_DTYPE;
	if (!inputs || !at.numel)
		return 0;
	v = (const void *)(uintptr_t)word(rf, inputs);
	n = word(rf, inputs + 8);
	for (uint64_t i = 0; v && i < n && i < TENSORS; i++) {
		uint32_t type;

		if (v[i].tag != TAG_TENSOR || !v[i].payload)
			continue;
		type = dtype_of(v[i].payload);
		*dtype = *dtype == NO_DTYPE ? type : *dtype;
		bytes += type == NO_DTYPE ? 0 : word(v[i].payload, at.numel) * dtypes[type].bytes;
	}
	return bytes;
}

/* "gloo:all_reduce f32" */
static uint32_t name_of(const char *title, uint32_t dtype)
{
	char text[64];
	size_t len;

	if (dtype == NO_DTYPE)
		return aon_name(title);
	len = append(text, 0, sizeof(text) - 16, title);
	len = append(text, len, sizeof(text), " ");
	append(text, len, sizeof(text), dtypes[dtype].name);
	return aon_name(text);
}

static bool is_transfer(const char *title)
{
	const char *op = strchr(title, ':');

	return op && (!strncmp(op, ":send", 5) || !strncmp(op, ":recv", 5));
}

static struct work *work_slot(uintptr_t rf, uint32_t i)
{
	return &works[((hash_u64(rf >> 4) >> 56) + i) % WORKS];
}

/* Who was made earlier, and begins later, takes the number of the other, under `busy`. */
static uint64_t take_number(struct group *g, uint64_t handle, bool taken)
{
	uint64_t mine = 1 + atomic_fetch_add_explicit(&g->begun, 1, memory_order_relaxed);

	for (uint32_t i = 0; handle && taken && i < WORKS; i++) {
		struct work *w = &works[i];
		uint64_t its;

		if (atomic_load_explicit(&w->rf, memory_order_acquire) <= 1 ||
		    atomic_load_explicit(&w->group, memory_order_relaxed) != g ||
		    atomic_load_explicit(&w->handle, memory_order_relaxed) <= handle)
			continue;
		its = atomic_load_explicit(&w->sequence, memory_order_relaxed);
		if (its && its < mine) {
			atomic_store_explicit(&w->sequence, mine, memory_order_relaxed);
			mine = its;
		}
	}
	return mine;
}

static void fill(struct work *w, struct group *g, const struct record_function *rf,
		 const char *title)
{
	uint64_t handle = at.handle ? word(rf, at.handle) : 0;
	uint32_t dtype;
	bool taken;

	w->bytes = inputs_of(rf, &dtype);
	w->name = name_of(title, dtype);
	atomic_store_explicit(&w->group, g, memory_order_relaxed);
	atomic_store_explicit(&w->handle, handle, memory_order_relaxed);
	taken = g && group_take(g);
	atomic_store_explicit(&w->sequence,
			      g && !is_transfer(title) ? take_number(g, handle, taken) : 0,
			      memory_order_relaxed);
	/* Pairs with the loads of the thread that ends it, or takes a number. */
	atomic_store_explicit(&w->rf, (uintptr_t)rf, memory_order_release);
	if (g)
		group_give(g, taken);
}

/* "gloo 0 1/2": what a reader knows the group by. */
static uint32_t track_of(const struct torch_thread *t, const struct group *g, const char *title)
{
	char text[GROUP_NAME + 16];
	size_t len = strcspn(title, ":") + 1;

	len = append(text, 0, len < 16 ? len : 16, title);
	len = append(text, len, sizeof(text), " ");
	append(text, len, sizeof(text), g->name);
	return aon_track(TRACK_HOST, 0, t->tid, text);
}

void work_begin(struct torch_thread *t, const struct record_function *rf, const char *title,
		uint64_t now)
{
	struct group *g = group_of(t->tid);

	if (!atomic_load_explicit(&at.looked, memory_order_acquire))
		learn_inputs(rf, title);
	if (g && !t->track)
		t->track = track_of(t, g, title);
	for (uint32_t i = 0; i < WORKS; i++) {
		struct work *w = work_slot((uintptr_t)rf, i);
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong_explicit(&w->rf, &none, 1, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		w->start_ns = now;
		fill(w, g, rf, title);
		aon_heartbeat_collective(g ? g->id : 0,
					 atomic_load_explicit(&w->sequence, memory_order_relaxed));
		return;
	}
	aon_lost(AON_LOST_DISCARDED, 1);
}

static void put(struct torch_thread *t, struct work *w)
{
	struct group *g = atomic_load_explicit(&w->group, memory_order_relaxed);
	bool taken = g && group_take(g);
	uint64_t sequence = atomic_load_explicit(&w->sequence, memory_order_relaxed);

	/* No longer visible to threads that take a number: the place is freed below. */
	atomic_store_explicit(&w->sequence, 0, memory_order_relaxed);
	if (g)
		group_give(g, taken);
	if (aon_wants(AON_WANT_GPU))
		aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
						.kind = AON_ACT_COLLECTIVE,
						.name = w->name,
						.track = thread_track(t),
						.bytes = w->bytes,
						.group = g ? g->id : 0,
						.sequence = sequence,
						.start_ns = w->start_ns,
						.end_ns = clock_mono_ns() });
}

bool work_end(struct torch_thread *t, const struct record_function *rf)
{
	for (uint32_t i = 0; i < WORKS; i++) {
		struct work *w = work_slot((uintptr_t)rf, i);

		if (atomic_load_explicit(&w->rf, memory_order_acquire) != (uintptr_t)rf)
			continue;
		put(t, w);
		atomic_store_explicit(&w->rf, 0, memory_order_release);
		return true;
	}
	return false;
}

bool work_groups(void)
{
	return atomic_load_explicit(&group_count, memory_order_relaxed) ||
	       atomic_load_explicit(&at.looked, memory_order_relaxed);
}

void work_forget(void)
{
	for (uint32_t i = 0; i < WORKS; i++)
		atomic_store_explicit(&works[i].rf, 0, memory_order_relaxed);
	atomic_store_explicit(&group_count, 0, memory_order_relaxed);
	for (uint32_t i = 0; i < MEMBERS; i++)
		atomic_store_explicit(&members[i].tid, 0, memory_order_relaxed);
	member_count = 0;
}
