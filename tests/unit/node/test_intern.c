/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks get numbers that are few: one process is not to use up those of all. */
#include <string.h>
#include <sys/resource.h>
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
	uint32_t id;

	look.native[0] = (struct native_frame){ .pc = pc, .offset = pc };
	look.natives = 1;
	if (intern_stack(x, p, &look, now_ns, &id))
		return UINT32_MAX;
	return id;
}

/* How many children were waited for, by their page faults: each one has some. */
static long faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return r.ru_minflt;
}

#define NAMED(n)                                                                         \
	__attribute__((noinline, used)) void f##n(void) __asm__("_ZN7named" #n "x1fEv"); \
	void f##n(void)                                                                  \
	{                                                                                \
		__asm__ volatile("nop");                                                 \
	}
NAMED(1)
NAMED(2)
NAMED(3)
NAMED(4)
NAMED(5)
NAMED(6)
NAMED(7)
NAMED(8)

static struct native_frame frame_of(struct native_target *t, void (*fn)(void))
{
	struct native_regs r = { .known = NATIVE_BLOCKED };
	struct native_copy copy = { .base = 0 };
	struct native_frame f = { 0 };

	r.value[NATIVE_PC] = (uint64_t)(uintptr_t)fn;
	native_unwind(t, &r, &copy, &f, 1, NULL);
	return f;
}

/* A child process for the new names of a stack, not one for each of them. */
static void demangles(struct natives *x)
{
	void (*const fn[])(void) = { f1, f2, f3, f4, f5, f6, f7, f8 };
	struct native_frame f[T_LEN(fn)];
	struct native_target *t;
	long one, all;

	if (native_target_new(&t, x->n, getpid(), -1))
		t_skip_all("no memory");
	for (size_t i = 0; i < T_LEN(fn); i++)
		f[i] = frame_of(t, fn[i]);
	one = faults();
	natives_begin(x, f, 1);
	one = faults() - one;
	all = faults();
	natives_begin(x, f, T_LEN(fn));
	for (size_t i = 0; i < T_LEN(fn); i++)
		natives_at(x, &f[i]);
	all = faults() - all;
	T_OK(one > 0 && all < 2 * one + 100, "8 names take one child: %ld faults, one takes %ld",
	     all, one);
	T_OK(!strcmp(x->text + natives_at(x, &f[7])->self.name_at, "named8x::f"),
	     "and are demangled");
	native_target_free(t);
}

/* Who could choose a hash could put its own names into the stacks of others. */
static void hashes(struct natives *x)
{
	struct native_frame f = { .pc = 0x1000, .offset = 0x1000 };
	struct natives other;

	if (natives_init(&other))
		t_skip_all("no memory");
	T_OK(natives_at(x, &f)->hash != natives_at(&other, &f)->hash, "nobody can know a hash");
	natives_fini(&other);
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
	x.n = x.sent = SWIRE_STACKS;
	T_OK(intern_full(&x) && stack_at(&x, other, ++at, S) == 0, "until there are none");
	demangles(&natives);
	hashes(&natives);
	process_free(greedy);
	process_free(other);
	intern_fini(&x);
	natives_fini(&natives);
	return t_done();
}
