/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow: by one, to a number, zeroed; and what is too large. */
#include "base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "t.h"

#define N 5000u

static void by_one(void)
{
	uint64_t *v = NULL;
	uint32_t n = 0;
	bool ok = true;

	for (; n < N; n++) {
		ok &= vec_more(&v, n, sizeof(*v)) == 0;
		v[n] = n * 3;
	}
	for (uint32_t i = 0; i < n; i++)
		ok &= v[i] == i * 3;
	T_OK(ok, "elements are kept while an array grows one by one");
	for (n = 20; n < N; n++) { /* it was shortened */
		ok &= vec_more(&v, n, sizeof(*v)) == 0;
		v[n] = n;
	}
	for (uint32_t i = 0; i < N; i++)
		ok &= v[i] == (i < 20 ? i * 3 : i);
	T_OK(ok, "a shortened array grows again");
	free(v);
}

static void to_a_number(void)
{
	uint16_t *v = NULL;
	size_t cap = 0, was;

	T_OK(!vec_room(&v, &cap, 1, sizeof(*v)) && cap == VEC_FIRST, "a first array has room");
	v[0] = 7;
	T_OK(!vec_room(&v, &cap, 1000, sizeof(*v)) && cap == 1000 && v[0] == 7,
	     "an array grows to what is needed");
	was = cap;
	T_OK(!vec_room(&v, &cap, 1000, sizeof(*v)) && cap == was, "what fits changes nothing");
	T_OK(!vec_room(&v, &cap, 1001, sizeof(*v)) && cap == 2 * was, "one more doubles it");
	free(v);
}

static void zeroed(void)
{
	uint32_t *v = NULL;
	size_t cap = 0;
	bool ok = !vec_room0(&v, &cap, 10, sizeof(*v));

	for (size_t i = 0; i < cap; i++) {
		ok &= v[i] == 0;
		v[i] = 1;
	}
	ok &= !vec_room0(&v, &cap, 500, sizeof(*v));
	for (size_t i = 0; i < cap; i++)
		ok &= v[i] == (i < 10);
	T_OK(ok, "elements that are new are zero, those of before are kept");
	free(v);
}

static void too_large(void)
{
	uint64_t *v = NULL, *was;
	size_t cap = 0, huge = SIZE_MAX / 4;

	T_OK(!vec_room(&v, &cap, 4, sizeof(*v)), "an array for the next cases");
	was = v;
	T_OK(vec_room(&v, &cap, huge, sizeof(*v)) == -ENOMEM && v == was && cap == VEC_FIRST,
	     "a size that overflows is refused and changes nothing");
	T_OK(vec_room0(&v, &cap, huge, sizeof(*v)) == -ENOMEM && v == was && cap == VEC_FIRST,
	     "so it is where elements are zeroed");
	T_OK(vec_more(&v, (size_t)1 << 62, sizeof(*v)) == -ENOMEM && v == was,
	     "so it is for one more");
	free(v);
}

int main(void)
{
	by_one();
	to_a_number();
	zeroed();
	too_large();
	return t_done();
}
