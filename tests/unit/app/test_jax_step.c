/* SPDX-License-Identifier: Apache-2.0 */
/* test_jax_step.c - which steps are found in what jitted functions are called. */
#include <string.h>

#include "probe/jax/step.h"
#include "t.h"

#define TID 7u

/*
 * A program as a line of letters, one a microsecond: a letter is a call of that function, a small
 * one by another thread. Below, a digit where a step begins (also one that is told later), a bar
 * where one ends and none begins.
 */
static const struct {
	const char *name, *what, *steps;
} cases[] = {
	/* clang-format off */
	{ "a function that is called again and again: each call is a step",
	  "TTTTT",
	  "12345" },
	{ "two calls are no loop",
	  "TT",
	  "  " },
	{ "what is called once before is none",
	  "ITTTT",
	  " 1234" },
	{ "two functions are one step",
	  "ABABABAB",
	  "1 2 3 4 " },
	{ "also when the second is called twice",
	  "IABBABBABBABB",
	  " 1  2  3  4  " },
	{ "an evaluation ends a step, and is none",
	  "TTTTTTEEETTTTTTEEETT",
	  "123456|  789012|  34" },
	{ "what comes every other step belongs to it",
	  "TETTETTETTET",
	  "1 23 45 67 8" },
	{ "another loop takes over when it was longer, with its first calls",
	  "IIIITTTTTTT",
	  "12345678901" },
	{ "a shorter one does not",
	  "TTTTTTEEEEE",
	  "123456|    " },
	{ "another thread's calls are none, and end none",
	  "TTTpTpTpT",
	  "123 4 5 6" },
	{ "gradients that are gathered over several calls are steps each: annotate them",
	  "AAAABAAAABAAAAB",
	  "1234|5678|9012|" },
	{ "nothing is called", "....", "    " },
	/* clang-format on */
};

static void play(const char *what, char *got)
{
	static struct jax_clock c;
	uint64_t steps = 0;

	memset(&c, 0, sizeof(c));
	memset(got, ' ', strlen(what) + 1);
	for (size_t i = 0; what[i]; i++) {
		uint32_t f = (uint32_t)what[i] & 0x1f, tid = what[i] >= 'a' ? TID + 1 : TID;
		struct step_news n;

		if (what[i] == '.')
			continue;
		n = step_call(&c, f, tid, i + 1);
		if (n.end && !n.begin)
			got[i] = '|';
		for (uint32_t k = 0; k < n.past; k++)
			got[step_past(&c, n.past, k) - 1] = (char)('0' + ++steps % 10);
		if (n.begin)
			got[i] = (char)('0' + ++steps % 10);
	}
	got[strlen(what)] = '\0';
}

static void long_before_it_is_known(void)
{
	static struct jax_clock c;
	struct step_news n = { 0 };

	for (uint64_t i = 1; i <= 1000; i++)
		step_call(&c, 1, TID, i);
	for (uint64_t i = 1001; i <= 2000; i++)
		n = step_call(&c, 2, TID, i);
	T_OK(!n.past && !n.begin, "as often as the other is not enough");
	n = step_call(&c, 2, TID, 2001);
	T_OK(n.begin && n.past == STEP_PAST - 1 && step_past(&c, n.past, 0) == 2001 - n.past &&
		     step_past(&c, n.past, n.past - 1) == 2000,
	     "of many calls before, the last are told");
	for (uint64_t i = 0; i < 9000; i++)
		n = step_call(&c, 3, TID + 1, 2002 + i);
	T_OK(!n.past && !n.begin, "another thread is no heir, however busy");
	n = step_call(&c, 3, TID + 1, 20000000000);
	T_OK(n.end && !n.past && n.begin, "until the first has been quiet for long");
	n = step_call(&c, 0, TID, 2002);
	T_OK(!n.end && !n.begin, "a function without a number is none");
	n = step_call(&c, STEP_FUNCTIONS, TID, 2003);
	T_OK(!n.end && !n.begin, "nor is one beyond the table");
}

int main(void)
{
	char got[64];

	for (size_t i = 0; i < T_LEN(cases); i++) {
		play(cases[i].what, got);
		T_OK(!strcmp(got, cases[i].steps), "%s", cases[i].name);
		if (strcmp(got, cases[i].steps))
			printf("# %s\n# %s\n# %s wanted\n", cases[i].what, got, cases[i].steps);
	}
	long_before_it_is_known();
	return t_done();
}
