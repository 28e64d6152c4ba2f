/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as text: bounded, printable, and the same ones together. */
#include <string.h>

#include "stacks/python.h"
#include "stacks/stack.h"
#include "t.h"

static const struct {
	const char *name, *want;
} shorts[] = {
	{ "main", "main" },
	{ "c10d::ProcessGroupGloo::wait(std::chrono::duration<long>)",
	  "c10d::ProcessGroupGloo::wait" },
	{ "std::vector<at::Tensor, std::allocator<at::Tensor> >::push_back(at::Tensor&&)",
	  "std::vector::push_back" },
	{ "(anonymous namespace)::run(int)", "run" },
	{ "a::(anonymous namespace)::b<int>::c()", "a::b::c" },
	{ "<module>", "<module>" },
	{ "f<", "f" },
	{ "()", "()" },
};

static void texts(void)
{
	struct stack s = { 0 };
	char text[STACK_TEXT], out[96], huge[5000];

	for (size_t i = 0; i < T_LEN(shorts); i++) {
		stack_short(shorts[i].name, out, sizeof(out));
		T_OK(!strcmp(out, shorts[i].want), "%s is %s (%s)", shorts[i].name, shorts[i].want,
		     out);
	}
	stack_add(&s, "wait", "libx.so", 0);
	stack_add(&s, "train", "train.py", 31);
	stack_text(&s, text);
	T_OK(!strcmp(text, "wait (libx.so) <- train (train.py:31)"), "innermost first: %s", text);
	s.n = 0;
	stack_add(&s, "a <- b\n\x1b[31m", "c <- d", 3);
	stack_text(&s, text);
	T_OK(!strstr(text, STACK_BETWEEN) && !strchr(text, '\n') && !strchr(text, '\x1b'),
	     "a name cannot pass for two frames, nor colour a terminal: %s", text);
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	for (size_t i = 0; i < 3 * STACK_FRAMES; i++)
		stack_add(&s, huge, huge, 4000000000u);
	stack_text(&s, text);
	T_OK(s.n == STACK_FRAMES && strlen(text) < STACK_TEXT && strstr(text, " more"),
	     "frames without end, names without end: cut, and said");
	strcpy(s.why, "it is gone");
	stack_text(&s, text);
	T_OK(!strcmp(text, "no stack: it is gone"), "why there is none");
}

#define N 40u
static struct stacked all[N];

static void groups(void)
{
	static const char *const want[] = { "0-2,4-7", "3" };
	char who[64];
	size_t g = 0;

	for (uint32_t i = 0; i < 8; i++) {
		all[i] = (struct stacked){ .number = 7 - i };
		strcpy(all[i].text, 7 - i == 3 ? "sleep" : "all_reduce");
	}
	stacks_merge(all, 8);
	for (size_t i = 0; i < 8 && g < 2; i += all[i].group, g++) {
		stacks_who(&all[i], all[i].group, who, sizeof(who));
		T_OK(!strcmp(who, want[g]), "ranks %s stand together, the most first (%s)", want[g],
		     who);
	}
	T_OK(g == 2 && !strcmp(all[7].text, "sleep"), "one of eight stands elsewhere");
	for (uint32_t i = 0; i < N; i++) {
		all[i] = (struct stacked){ .number = 1000000 * i };
		strcpy(all[i].text, "same");
	}
	stacks_merge(all, N);
	stacks_who(all, N, who, sizeof(who));
	T_OK(strlen(who) < sizeof(who) && strstr(who, " more"),
	     "a list that does not fit says so: %s", who);
}

/* Every way to fall into groups, of random texts: nobody is lost, none stands twice. */
static void any(void)
{
	uint64_t seed = 7;
	bool whole = true;

	for (int round = 0; round < 500; round++) {
		uint64_t seen = 0;
		size_t last = SIZE_MAX;

		for (uint32_t i = 0; i < N; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			all[i] = (struct stacked){ .number = i };
			all[i].text[0] = (char)('a' + (seed >> 60));
		}
		stacks_merge(all, N);
		for (size_t i = 0; i < N; i += all[i].group) {
			whole &= all[i].group <= last && i + all[i].group <= N;
			last = all[i].group;
			for (size_t k = i; k < i + all[i].group; k++) {
				whole &= !strcmp(all[k].text, all[i].text);
				whole &= !(seen >> all[k].number & 1);
				seen |= 1ull << all[k].number;
			}
		}
		whole &= seen == (1ull << N) - 1;
	}
	T_OK(whole, "each is in one group, groups by size, whatever they say");
}

int main(void)
{
	texts();
	groups();
	any();
	T_OK(python_known(0x030b02f0) && python_known(0x030a0000) && python_known(0x030f02f0) &&
		     !python_known(0x03630000),
	     "layouts of versions that were never seen are not guessed");
	T_OK(!python_known(0x030e00b1) && !python_known(0x030f00a5) && python_known(0x030b00b1),
	     "nor those of pre-releases that move from one to the next");
	return t_done();
}
