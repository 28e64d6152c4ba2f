/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch_step.c - which steps are found in what optimizers do. */
#include <string.h>

#include "probe/torch/step.h"
#include "t.h"

/*
 * A training as a line of letters, one a microsecond: z clears gradients, f fetches a batch, any
 * capital is an optimizer that ends its step. Steps are to end at the places marked below.
 */
static const struct {
	const char *name, *what, *ends;
} cases[] = {
	/* clang-format off */
	{ "one optimizer: a step for each end",
	  "fzAfzAfzA",
	  "  1  2  3" },
	{ "no batch is fetched, nothing is cleared",
	  "AAAA",
	  "1234" },
	{ "one step alone ends with the process",
	  "fzA..",
	  "  1  " },
	{ "gradients of several batches are gathered",
	  "zffffAzffffAzffffA",
	  "     1     2     3" },
	{ "two optimizers are one step",
	  "fzAzBfzAzBfzAzB",
	  "    1    2    3" },
	{ "five steps of a critic to one of the generator, once it is known",
	  "fDDDDDGfDDDDDGfDDDDDGfDDDDDG",
	  " 12345      6      7      89" },
	{ "the last optimizer steps twice",
	  "fABBfABBfABB",
	  "   1   2   3" },
	{ "an optimizer for each parameter",
	  "ABCDEABCDEABCDE",
	  "    1    2    3" },
	{ "a second optimizer joins later",
	  "fAfAfAfABfABfABfAB",
	  " 1 2 3 4  5  6  78" },
	{ "an optimizer that is left out: its step ends with the next batch",
	  "fzAfzAfzAfzAfz.fzAfzA",
	  "  1  2  3  4   5 6  7" },
	{ "the same without batches, where gradients are cleared again",
	  "zAzAzAzAz.zAzA",
	  " 1 2 3 4  56 7" },
	{ "the same when they are cleared at the end",
	  "fAzfAzfAzfAzf.zfAzfAz",
	  " 1  2  3  4   5 6  7 " },
	{ "an evaluation is no step",
	  "fzAfzAfzAffffffzAfzA",
	  "  1  2  3       4  5" },
	{ "nothing of a training", "....", "    " },
	/* clang-format on */
};

struct found {
	char ends[64];
	uint64_t last, steps, backwards;
};

static void take(struct found *f, const struct step_span *s, int n)
{
	for (int i = 0; i < n; i++) {
		f->ends[s[i].end_ns / 1000 - 1] = (char)('0' + ++f->steps);
		f->backwards += s[i].begin_ns < f->last || s[i].end_ns < s[i].begin_ns;
		f->last = s[i].end_ns;
	}
}

static void play(const char *what, struct found *f)
{
	struct step_clock c = { 0 };
	struct step_span s[2];
	uint64_t now = 1000;

	memset(f, 0, sizeof(*f));
	memset(f->ends, ' ', strlen(what));
	for (const char *p = what; *p; p++, now += 1000) {
		if (*p == 'z')
			take(f, s, step_zero(&c, now, s));
		else if (*p == 'f')
			take(f, s, step_fetch(&c, now, s));
		else if (*p != '.')
			take(f, s, step_optimizer(&c, (uint64_t)*p, now, s));
	}
	take(f, s, step_finish(&c, s));
}

static size_t trimmed(const char *s)
{
	size_t n = strlen(s);

	while (n && s[n - 1] == ' ')
		n--;
	return n;
}

int main(void)
{
	struct found f;

	for (size_t i = 0; i < T_LEN(cases); i++) {
		size_t n = trimmed(cases[i].ends);

		play(cases[i].what, &f);
		T_OK(trimmed(f.ends) == n && !memcmp(f.ends, cases[i].ends, n) && !f.backwards,
		     "%s", cases[i].name);
		if (memcmp(f.ends, cases[i].ends, n))
			printf("# %s\n# %s\n# %s wanted\n", cases[i].what, f.ends, cases[i].ends);
	}
	return t_done();
}
