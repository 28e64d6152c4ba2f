/* SPDX-License-Identifier: Apache-2.0 */
/* push.c - push and pop: PUSH (x: category), POP (x: later ones that stay open). */
#include <string.h>

#include <aon/provider.h>

#include "abi/record.h"
#include "client/inline.h"
#include "probe/nvtx/name.h"

/*
 * What a thread has pushed: level is NVTX's answer to push and pop. As long as all that is open is of
 * one domain, that is two words. Domains may overlap; then each of the first has its level, and the
 * latest pushes know theirs. Small, of the loader's static room: a thread-local that needs no call.
 */
#define LEVELS 16u
#define ORDER  16u

struct stack {
	const void *handle; /* of the domain of all that is open; MIXED: of several, see below */
	uint32_t level;
	uint16_t domain;
	uint16_t depth;
	uint16_t levels[LEVELS]; /* by domain; one beyond these has none */
	uint8_t order[ORDER];    /* domain of the push at depth % ORDER */
};

_Static_assert(NVTX_DOMAINS <= UINT8_MAX, "a domain fits its place in order[]");

static __thread __attribute__((tls_model("initial-exec"))) struct stack stack;
static const char mixed;

#define MIXED ((const void *)&mixed)

/* A second domain comes while ranges of another are open. */
static void mix(void)
{
	uint16_t level = stack.level < UINT16_MAX ? (uint16_t)stack.level : UINT16_MAX;

	memset(stack.levels, 0, sizeof(stack.levels));
	memset(stack.order, stack.domain, sizeof(stack.order));
	stack.levels[stack.domain] = stack.depth = level;
	stack.handle = MIXED;
}

static __attribute__((noinline)) int enter_other(const void *handle)
{
	uint32_t domain = nvtx_domain(handle);

	if (stack.handle != MIXED && (!stack.level || stack.domain == domain) && domain < LEVELS) {
		stack.handle = handle;
		stack.domain = (uint16_t)domain;
		return (int)stack.level++;
	}
	if (stack.handle != MIXED)
		mix();
	stack.order[stack.depth++ % ORDER] = (uint8_t)domain;
	return domain < LEVELS ? stack.levels[domain]++ : NVTX_NO_LEVEL;
}

static inline int enter(const void *handle)
{
	if (__builtin_expect(stack.handle != handle, 0))
		return enter_other(handle);
	return (int)stack.level++;
}

int nvtx_push(struct nvtx_string s)
{
	if (aon_wants(AON_WANT_RANGE))
		aon_emit_(AON_PUSH_, nvtx_name(0, s), 0, 0, 0);
	return enter(NULL);
}

int nvtx_push_event(const void *handle, const struct nvtx_event *e)
{
	if (aon_wants(AON_WANT_RANGE)) {
		uint32_t name = nvtx_event_name(nvtx_domain(handle), e);

		aon_emit_(AON_PUSH_, name, category_of(e), 0, 0);
		if (payload_of(e))
			nvtx_count_payload(name, e);
	}
	return enter(handle);
}

/* Takes the domain's last push out; returns how many later ones stay. Too far down: 0. */
static uint32_t take_below(uint32_t domain)
{
	uint32_t known = stack.depth < ORDER ? stack.depth : ORDER, above = 0;

	while (above < known && stack.order[(stack.depth - 1u - above) % ORDER] != domain)
		above++;
	if (above == known)
		above = 0;
	for (uint32_t i = stack.depth - 1u - above; above && i != stack.depth - 1u; i++)
		stack.order[i % ORDER] = stack.order[(i + 1) % ORDER];
	stack.depth -= stack.depth != 0;
	return above;
}

static int leave_mixed(uint32_t domain)
{
	uint32_t above;

	if (domain < LEVELS && !stack.levels[domain])
		return -1;
	above = take_below(domain);
	if (!stack.depth) {
		stack.handle = NULL;
		stack.domain = 0;
		stack.level = 0;
	}
	if (aon_wants(AON_WANT_RANGE))
		aon_emit_(AON_POP_, 0, above, 0, 0);
	return domain < LEVELS ? --stack.levels[domain] : NVTX_NO_LEVEL;
}

/* A pop without a push ends nothing. */
int nvtx_pop(const void *handle)
{
	uint32_t domain = nvtx_domain(handle);

	if (stack.handle == MIXED)
		return leave_mixed(domain);
	if (stack.domain != domain || !stack.level)
		return -1;
	if (aon_wants(AON_WANT_RANGE))
		aon_emit_(AON_POP_, 0, 0, 0, 0);
	return (int)--stack.level;
}

/*
 * --- the straight way: no call, no register saved; what is not on it starts anew above ---
 *
 * The gate is open, the name was seen before, all ranges are of one domain, the chunk has room.
 */

static inline bool likely_wants(uint32_t bits)
{
	return __builtin_expect(aon_wants(bits), 1);
}

static int push_text(const char *text)
{
	struct aon_thread *t = aon_here();
	const struct seen *c;

	if (likely_wants(AON_WANT_RANGE) && (c = seen_text(0, text)) &&
	    aon_emit_straight(t, AON_PUSH_, c->id, 0, 0, 0))
		return enter(NULL);
	return nvtx_push((struct nvtx_string){ text, NULL });
}

/* A registered string, as most libraries use it. */
static inline bool pushed(const struct nvtx_event *e)
{
	struct aon_thread *t = aon_here();
	struct handle_slot *s;

	if (!likely_wants(AON_WANT_RANGE) || !e || e->size < sizeof(*e) || e->payload_type ||
	    e->text_type != NVTX_REGISTERED)
		return false;
	s = own_slot(nvtx_string_slot, STRINGS, e->text.registered);
	return s && aon_emit_straight(t, AON_PUSH_, value_of(s), e->category, 0, 0);
}

static inline int push_event(void *domain, const struct nvtx_event *e)
{
	return pushed(e) ? enter(domain) : nvtx_push_event(domain, e);
}

static int push_default_event(const struct nvtx_event *e)
{
	return push_event(NULL, e);
}

static inline int pop_event(void *domain)
{
	struct aon_thread *t = aon_here();

	if (stack.handle == domain && stack.level && likely_wants(AON_WANT_RANGE) &&
	    aon_emit_straight(t, AON_POP_, 0, 0, 0, 0))
		return (int)--stack.level;
	return nvtx_pop(domain);
}

static int pop_default(void)
{
	return pop_event(NULL);
}

nvtx_fn *const nvtx_alone[CALLS] = {
	[CALL_push_a] = (nvtx_fn *)push_text,     [CALL_push_ex] = (nvtx_fn *)push_default_event,
	[CALL_pop] = (nvtx_fn *)pop_default,      [CALL_domain_push] = (nvtx_fn *)push_event,
	[CALL_domain_pop] = (nvtx_fn *)pop_event,
};
