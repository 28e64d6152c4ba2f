/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - grows a caller's array by doubling.
 *
 * The array is a plain pointer: NULL at first, allocated here, freed with free(). `array` is the
 * address of that pointer, `size` the size of an element. All functions return 0, or -ENOMEM without
 * a change.
 */
#pragma once

#include <stddef.h>

#define VEC_FIRST 8u /* elements of the smallest array */

int vec_resize(void *array, size_t to, size_t size);
int vec_grow(void *array, size_t *cap, size_t need, size_t size);

/*
 * Room for one element after the n that are there. It needs no capacity: an array grows when n is a
 * power of two, so all elements must be added through here. Use vec_room() for an array that
 * is emptied and refilled often.
 */
static inline int vec_more(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n && n < VEC_FIRST))
		return 0;
	return vec_resize(array, n ? 2 * n : VEC_FIRST, size);
}

/* Room for `need` elements at least; *cap of them are allocated. */
static inline int vec_room(void *array, size_t *cap, size_t need, size_t size)
{
	return need <= *cap ? 0 : vec_grow(array, cap, need, size);
}

/* The same; elements that are new are zero. For arrays that ids index. */
int vec_room0(void *array, size_t *cap, size_t need, size_t size);
