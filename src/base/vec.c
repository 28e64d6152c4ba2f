/* SPDX-License-Identifier: Apache-2.0 */
/* vec.c - see vec.h. */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int vec_resize(void *array, size_t to, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(to, size, &bytes) || bytes > PTRDIFF_MAX)
		return -ENOMEM;
	memcpy(&p, array, sizeof(p)); /* the pointer's own type is the caller's */
	p = realloc(p, bytes);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	return 0;
}

int vec_grow(void *array, size_t *cap, size_t need, size_t size)
{
	size_t to = *cap > SIZE_MAX / 2 ? SIZE_MAX : 2 * *cap;

	to = to < need ? need : to;
	to = to < VEC_FIRST ? VEC_FIRST : to;
	if (vec_resize(array, to, size) < 0)
		return -ENOMEM;
	*cap = to;
	return 0;
}

int vec_room0(void *array, size_t *cap, size_t need, size_t size)
{
	size_t had = *cap;
	char *p;

	if (need <= had)
		return 0;
	if (vec_grow(array, cap, need, size) < 0)
		return -ENOMEM;
	memcpy(&p, array, sizeof(p));
	memset(p + had * size, 0, (*cap - had) * size);
	return 0;
}
