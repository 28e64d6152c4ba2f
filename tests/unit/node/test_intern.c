/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks get numbers that are few: one process is not to use up those of all. */
#include <string.h>
#include <unistd.h>

#include "sample/intern.h"
#include "t.h"

#define S 1000000000ull

static size_t sent;

static int on_send(void *arg, const void *msg, size_t n)
{
	(void)arg, (void)msg, (void)n;
	sent++;
	return 0;
}

/* The number of a stack whose only frame is at that address. */
static uint32_t stack_at(struct intern *x, struct process *p, uint64_t pc, uint64_t now_ns)
{
	static struct look look;
	uint32_t id, blame;

	look.native[0] = (struct native_frame){ .pc = pc, .offset = pc };
	look.natives = 1;
	if (intern_stack(x, p, &look, now_ns, &id, &blame))
		return UINT32_MAX;
	return id;
}

int main(void)
{
	struct natives natives;
	struct intern x = { .send = on_send, .natives = &natives };
	struct process *greedy, *other;
	uint64_t at = 0x1000;
	uint32_t last = 0;

	if (natives_init(&natives) || process_new(&greedy, natives.n, getpid()) ||
	    process_new(&other, natives.n, getpid()))
		t_skip_all("no memory");
	T_OK(stack_at(&x, greedy, at, S) == 1 && stack_at(&x, other, at, S) == 1 && sent == 1,
	     "two that stand at the same place have one stack");
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t id = stack_at(&x, greedy, ++at, S);

		last = id ? id : last;
	}
	T_OK(last < SWIRE_STACKS / 8 && sent == last, "one process gets %u numbers at once", last);
	T_OK(stack_at(&x, greedy, at, S) == 0 && stack_at(&x, greedy, 0x1000, S) == 1,
	     "then it has the stacks that it had");
	T_OK(stack_at(&x, other, ++at, S) == last + 1, "another process gets further ones");
	T_OK(stack_at(&x, greedy, ++at, 3 * S) == last + 2, "and it, too, in a while");
	T_OK(!intern_full(&x), "there are more");
	x.n = SWIRE_STACKS;
	T_OK(intern_full(&x) && stack_at(&x, other, ++at, S) == 0, "until there are none");
	process_free(greedy);
	process_free(other);
	intern_fini(&x);
	natives_fini(&natives);
	return t_done();
}
