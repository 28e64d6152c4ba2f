/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - a call of NVTX becomes a record of libaon, and the same call of the other injection, if
 * there is one. That call is made outside aon's ranges, so its time is not in them.
 *
 *	NVTX                  record
 *	push, pop             push.c
 *	start, end            START (x: category), END
 *	mark                  MARK (x: category, a: payload, b: its enum nvtx_payload)
 *	payload of a range    COUNTER of the range's name
 *	name of a category    MARK "category NAME" (x: category)
 *	name of a thread      MARK "thread NAME" (x: its id) of its track, which has the name then
 */
#include "probe/nvtx/nvtx.h"

#include <string.h>

#include <aon/provider.h>

#include "abi/record.h"
#include "abi/segment.h"

/* The function that the other injection has in the place of ours, of the same type. */
#define THEIRS(name) \
	((__typeof__(&(name)))atomic_load_explicit(&nvtx_theirs[CALL_##name], memory_order_relaxed))

/*
 * Range ids that an app holds. Theirs are the app's where there is one; ours carry a mark that
 * no other counter reaches, and are the same in records. There, theirs are made different from
 * libaon's own, which count from 1.
 */
#define OURS       0xa04eull
#define OURS_SHIFT 48
#define AS_RECORD  (0x5458ull << OURS_SHIFT)

#define START_      AON_REC_(AON_K_RANGE_START, 0)
#define MARK_TRACK_ AON_REC_(AON_K_MARK, AON_F_TRACK)

static _Atomic(uint64_t) range_ids;

static inline struct nvtx_string A(const char *ascii) {
	return (struct nvtx_string){ ascii, NULL };
}

static inline struct nvtx_string
W(const wchar_t *wide) {
	return (struct nvtx_string){ NULL, wide };
}

static inline void *
for_them(void *domain)
{
	return nvtx_is_ours(domain) ? NULL : domain;
}

/* The event as the other injection may see it: without a string that is only ours. */
static const struct nvtx_event *event_for_them(const struct nvtx_event *e, struct nvtx_event *copy)
{
	if (!e || e->size < sizeof(*e) || e->text_type != NVTX_REGISTERED ||
	    !nvtx_is_ours(e->text.registered))
		return e;
	*copy = *e;
	copy->size = sizeof(*copy);
	copy->text.registered = NULL;
	return copy;
}

/* --- recording --- */

static void count_f(uint32_t name, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	aon_emit_(AON_COUNT_F_, name, 0, bits, 0);
}

void nvtx_count_payload(uint32_t name, const struct nvtx_event *e)
{
	if (!aon_wants(AON_WANT_COUNTER))
		return;
	if (e->payload_type == NVTX_F64)
		count_f(name, e->payload.f64);
	else if (e->payload_type == NVTX_F32)
		count_f(name, (double)e->payload.f32);
	else if (e->payload_type == NVTX_U32)
		aon_counter_id(name, e->payload.u32);
	else if (e->payload_type == NVTX_I32)
		aon_counter_id(name, e->payload.i32);
	else if (e->payload_type == NVTX_U64 && e->payload.u64 > INT64_MAX)
		count_f(name, (double)e->payload.u64);
	else if (e->payload_type == NVTX_U64 || e->payload_type == NVTX_I64)
		aon_counter_id(name, e->payload.i64);
}

/* `theirs`: the id that the other injection gave, or 0. Returns the one for the app. */
static uint64_t start(uint64_t theirs, uint32_t name, uint32_t category)
{
	uint64_t id = theirs ^ AS_RECORD;

	if (!theirs)
		theirs = id = OURS << OURS_SHIFT |
			      (1 + atomic_fetch_add_explicit(&range_ids, 1, memory_order_relaxed));
	aon_emit_(START_, name, category, id, 0);
	return theirs;
}

static uint64_t start_text(uint64_t theirs, struct nvtx_string s)
{
	return aon_wants(AON_WANT_RANGE) ? start(theirs, nvtx_name(0, s), 0) : theirs;
}

static uint64_t start_event(uint64_t theirs, uint32_t domain, const struct nvtx_event *e)
{
	uint32_t name;

	if (!aon_wants(AON_WANT_RANGE))
		return theirs;
	name = nvtx_event_name(domain, e);
	theirs = start(theirs, name, category_of(e));
	if (payload_of(e))
		nvtx_count_payload(name, e);
	return theirs;
}

/* Returns the id that the other injection knows. */
static uint64_t end_range(uint64_t id)
{
	bool ours = id >> OURS_SHIFT == OURS;

	if (id)
		aon_range_end(ours ? id : id ^ AS_RECORD);
	return ours ? 0 : id;
}

static uint64_t payload_bits(const struct nvtx_event *e)
{
	switch (payload_of(e)) {
	case NVTX_NO_PAYLOAD:
		return 0;
	case NVTX_I32:
		return (uint64_t)(int64_t)e->payload.i32;
	case NVTX_U32:
	case NVTX_F32:
		return e->payload.u32;
	default:
		return e->payload.u64;
	}
}

static void mark_text(struct nvtx_string s)
{
	if (aon_wants(AON_WANT_MARK))
		aon_emit_(AON_MARK_, nvtx_name(0, s), 0, 0, 0);
}

static void mark_event(uint32_t domain, const struct nvtx_event *e)
{
	if (aon_wants(AON_WANT_MARK))
		aon_emit_(AON_MARK_, nvtx_event_name(domain, e), category_of(e), payload_bits(e),
			  (uint32_t)payload_of(e));
}

/* "category NAME": a mark that says what a number is called. */
static void category_is(uint32_t domain, uint32_t category, struct nvtx_string s)
{
	char text[NVTX_TEXT_MAX];

	if (!aon_wants(AON_WANT_MARK))
		return;
	nvtx_append(text, nvtx_append(text, 0, sizeof(text), A("category ")), sizeof(text), s);
	aon_mark_id(nvtx_name(domain, A(text)), category, 0, 0);
}

/* "thread NAME", on the track of the thread. */
static void thread_is(uint32_t tid, struct nvtx_string s)
{
	static const char word[] = "thread ";
	char text[NVTX_TEXT_MAX];
	uint32_t track;

	if (!aon_wants(AON_WANT_MARK))
		return;
	nvtx_append(text, nvtx_append(text, 0, sizeof(text), A(word)), sizeof(text), s);
	track = aon_track(AON_TRACK_HOST, 0, tid, text + sizeof(word) - 1);
	aon_emit_(track ? MARK_TRACK_ : AON_MARK_, aon_name(text), tid, track, 0);
}

/* --- the calls --- */

static void mark_ex(const struct nvtx_event *e)
{
	struct nvtx_event copy;

	if (THEIRS(mark_ex))
		THEIRS(mark_ex)(event_for_them(e, &copy));
	mark_event(0, e);
}

static uint64_t start_ex(const struct nvtx_event *e)
{
	struct nvtx_event copy;

	return start_event(THEIRS(start_ex) ? THEIRS(start_ex)(event_for_them(e, &copy)) : 0, 0, e);
}

static void end(uint64_t id)
{
	id = end_range(id);
	if (THEIRS(end))
		THEIRS(end)(id);
}

static int push_ex(const struct nvtx_event *e)
{
	struct nvtx_event copy;
	int theirs = THEIRS(push_ex) ? THEIRS(push_ex)(event_for_them(e, &copy)) : 0;
	int ours = nvtx_push_event(NULL, e);

	return THEIRS(push_ex) ? theirs : ours;
}

static int pop(void)
{
	int ours = nvtx_pop(NULL);

	return THEIRS(pop) ? THEIRS(pop)() : ours;
}

static void domain_mark(void *domain, const struct nvtx_event *e)
{
	struct nvtx_event copy;

	if (THEIRS(domain_mark))
		THEIRS(domain_mark)(for_them(domain), event_for_them(e, &copy));
	mark_event(nvtx_domain(domain), e);
}

static uint64_t domain_start(void *domain, const struct nvtx_event *e)
{
	struct nvtx_event copy;
	uint64_t theirs = 0;

	if (THEIRS(domain_start))
		theirs = THEIRS(domain_start)(for_them(domain), event_for_them(e, &copy));
	return start_event(theirs, nvtx_domain(domain), e);
}

static void domain_end(void *domain, uint64_t id)
{
	id = end_range(id);
	if (THEIRS(domain_end))
		THEIRS(domain_end)(for_them(domain), id);
}

static int domain_push(void *domain, const struct nvtx_event *e)
{
	struct nvtx_event copy;
	int theirs = 0, ours;

	if (THEIRS(domain_push))
		theirs = THEIRS(domain_push)(for_them(domain), event_for_them(e, &copy));
	ours = nvtx_push_event(domain, e);
	return THEIRS(domain_push) ? theirs : ours;
}

static int domain_pop(void *domain)
{
	int ours = nvtx_pop(domain);

	return THEIRS(domain_pop) ? THEIRS(domain_pop)(for_them(domain)) : ours;
}

/*
 * The calls that take a text, each in two forms: of char and of wchar_t. An injection that refuses a
 * domain wants its events in the default one, as NVTX does.
 */
#define TEXT_CALLS(w, chars, S)                                                                    \
	static void mark_##w(const chars *text)                                                    \
	{                                                                                          \
		if (THEIRS(mark_##w))                                                              \
			THEIRS(mark_##w)(text);                                                    \
		mark_text(S(text));                                                                \
	}                                                                                          \
	static uint64_t start_##w(const chars *text)                                               \
	{                                                                                          \
		return start_text(THEIRS(start_##w) ? THEIRS(start_##w)(text) : 0, S(text));       \
	}                                                                                          \
	static int push_##w(const chars *text)                                                     \
	{                                                                                          \
		int theirs = THEIRS(push_##w) ? THEIRS(push_##w)(text) : 0;                        \
		int ours = nvtx_push(S(text));                                                     \
                                                                                                   \
		return THEIRS(push_##w) ? theirs : ours;                                           \
	}                                                                                          \
	static void category_##w(uint32_t category, const chars *name)                             \
	{                                                                                          \
		if (THEIRS(category_##w))                                                          \
			THEIRS(category_##w)(category, name);                                      \
		category_is(0, category, S(name));                                                 \
	}                                                                                          \
	static void thread_##w(uint32_t tid, const chars *name)                                    \
	{                                                                                          \
		if (THEIRS(thread_##w))                                                            \
			THEIRS(thread_##w)(tid, name);                                             \
		thread_is(tid, S(name));                                                           \
	}                                                                                          \
	static void domain_category_##w(void *domain, uint32_t category, const chars *name)        \
	{                                                                                          \
		if (THEIRS(domain_category_##w))                                                   \
			THEIRS(domain_category_##w)(for_them(domain), category, name);             \
		category_is(nvtx_domain(domain), category, S(name));                               \
	}                                                                                          \
	static void *register_##w(void *domain, const chars *text)                                 \
	{                                                                                          \
		void *theirs = THEIRS(register_##w) ? THEIRS(register_##w)(for_them(domain), text) \
						    : NULL;                                        \
                                                                                                   \
		return nvtx_string_register(nvtx_domain(domain), S(text), theirs);                 \
	}                                                                                          \
	static void *create_##w(const chars *name)                                                 \
	{                                                                                          \
		void *theirs = THEIRS(create_##w) ? THEIRS(create_##w)(name) : NULL;               \
                                                                                                   \
		return THEIRS(create_##w) && !theirs ? NULL : nvtx_domain_create(S(name), theirs); \
	}

TEXT_CALLS(a, char, A)
TEXT_CALLS(w, wchar_t, W)

nvtx_fn *const nvtx_ours[CALLS] = {
#define CALL(module, place, name) [CALL_##name] = (nvtx_fn *)(name),
#include "probe/nvtx/calls.tbl.h"
};
