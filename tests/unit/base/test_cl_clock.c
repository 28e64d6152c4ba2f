/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/clock.h"
#include "t.h"

#define US 1000ll
#define S  1000000000ll
#define T0 (5000 * S)

/* Samples of a device whose clock is `behind` the host's: the error of a time taken at `at`. */
static const struct {
	const char *name;
	struct {
		int64_t at, before, after, behind; /* brackets around `at` */
	} sample[4];
	int64_t at, behind, error;
} cases[] = {
	/* clang-format off */
	{ "one bracket: its middle",            { { 0, 5 * US, 5 * US, S } },                                   0, S, 0 },
	{ "a wide one is off by half of it",    { { 0, 0, 4000 * US, S } },                                     0, S, 2000 * US },
	{ "a tight one after it wins",          { { 0, 0, 4000 * US, S }, { 5000 * US, US, US, S } },             0, S, 0 },
	{ "a wide one after it changes nothing",{ { 0, US, US, S }, { 10 * US, 0, 4000 * US, S } },             0, S, 0 },
	{ "two that overlap: what both allow",  { { 0, 0, 10 * US, S }, { 20 * US, 10 * US, 0, S } },           0, S, 0 },
	{ "drift is followed",                  { { 0, US, US, S }, { S, US, US, S - 50 * US } },               S, S - 50 * US, 0 },
	{ "a clock that was set",               { { 0, US, US, S }, { 10 * US, US, US, 9 * S } },               10 * US, 9 * S, 0 },
	{ "the device is ahead",                { { 0, US, US, -3 * S } },                                      0, -3 * S, 0 },
	{ "an old sample read late is left out",{ { S, US, US, S }, { 0, 0, 9000 * US, 2 * S } },               S, S, 0 },
	/* clang-format on */
};

int main(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct dev_clock c = { 0 };
		int64_t error;

		for (size_t k = 0; k < 4 && cases[i].sample[k].behind; k++) {
			int64_t at = T0 + cases[i].sample[k].at;

			dev_clock_sample(&c, (uint64_t)(at - cases[i].sample[k].behind),
					 (uint64_t)(at - cases[i].sample[k].before),
					 (uint64_t)(at + cases[i].sample[k].after));
		}
		error = (int64_t)dev_clock_host(&c,
						(uint64_t)(T0 + cases[i].at - cases[i].behind)) -
			(T0 + cases[i].at);
		T_OK(c.known && llabs(error - cases[i].error) <= 500, "%s (%lld ns)", cases[i].name,
		     (long long)error);
	}
	{
		struct dev_clock c = { .likely = S };
		int64_t was;

		dev_clock_sample(&c, T0, T0, T0 + 10 * US);
		was = c.offset;
		dev_clock_sample(&c, T0 + 20 * US, T0 + 23 * US, T0 + 29 * US);
		T_OK(c.offset == was && c.lo > 0, "the offset stays while the bounds allow it");
	}
	{
		struct dev_clock c = { .likely = S + 3 * US };

		dev_clock_sample(&c, T0, T0 + S, T0 + S + 4000 * US);
		T_OK(c.offset == S + 3 * US, "a wide bracket with a likely offset in it: that one");
		dev_clock_sample(&c, T0 + S, T0 + S + S + 10 * US, T0 + S + S + 20 * US);
		T_OK(c.offset == S + 15 * US, "and the middle again when it turns out to be wrong");
	}
	return t_done();
}
