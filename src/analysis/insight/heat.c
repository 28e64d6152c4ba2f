/* SPDX-License-Identifier: Apache-2.0 */
/* heat.c - see heat.h. */
#include "insight/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"

static int by_row(const void *a, const void *b)
{
	const struct heat_row *x = a, *y = b;

	return cmp_num(x->rank, y->rank) ?: cmp_num(x->process, y->process);
}

/* Each number once. */
static void settle(struct heat *h)
{
	size_t n = 0;

	if (h->steps)
		qsort(h->step, h->steps, sizeof(*h->step), cmp_u64);
	for (size_t i = 0; i < h->steps; i++)
		if (!n || h->step[n - 1] != h->step[i])
			h->step[n++] = h->step[i];
	h->steps = h->sorted = n;
}

/* The row's place among them by order; *is: it is there. */
static size_t place(const struct heat *h, const struct heat_row *want, int *is)
{
	size_t at = first_where(i, 0, h->rows, by_row(&h->row[i], want) >= 0);

	*is = at < h->rows && !by_row(&h->row[at], want);
	return at;
}

static int note_row(struct heat *h, uint32_t process, int32_t rank)
{
	struct heat_row want = { .process = process, .rank = rank };
	int is;
	size_t at = place(h, &want, &is);

	if (is)
		return 0;
	if (vec_more(&h->row, h->rows, sizeof(*h->row)) < 0)
		return -ENOMEM;
	memmove(h->row + at + 1, h->row + at, (h->rows - at) * sizeof(*h->row));
	h->row[at] = want;
	h->rows++;
	return 0;
}

/* Most steps were there already: those of the rank before. */
int heat_note(struct heat *h, uint32_t process, int32_t rank, uint64_t step)
{
	if (note_row(h, process, rank) < 0)
		return -ENOMEM;
	if (h->sorted && bsearch(&step, h->step, h->sorted, sizeof(*h->step), cmp_u64))
		return 0;
	if (h->steps == h->steps_cap) {
		settle(h);
		if (2 * h->steps >= h->steps_cap &&
		    vec_grow(&h->step, &h->steps_cap, h->steps + 1, sizeof(*h->step)) < 0)
			return -ENOMEM;
	}
	h->step[h->steps++] = step;
	return 0;
}

int heat_lay(struct heat *h, size_t cells_max)
{
	size_t most = h->rows ? cells_max / h->rows : 0;

	settle(h);
	if (!h->steps)
		return 0;
	most = most ? most : 1;
	h->width = (h->steps + most - 1) / most;
	h->columns = (h->steps + h->width - 1) / h->width;
	h->cell = calloc(h->rows * h->columns, sizeof(*h->cell));
	return h->cell ? 0 : -ENOMEM;
}

void heat_add(struct heat *h, uint32_t process, int32_t rank, uint64_t step, double value)
{
	struct heat_row want = { .process = process, .rank = rank };
	int is;
	size_t r = place(h, &want, &is);
	const uint64_t *s =
		h->cell && is ? bsearch(&step, h->step, h->steps, sizeof(*h->step), cmp_u64) : NULL;
	struct heat_cell *c;

	if (!s)
		return;
	c = &h->cell[r * h->columns + (size_t)(s - h->step) / h->width];
	c->sum += (float)value;
	if (!c->n++ || (float)value > c->worst)
		c->worst = (float)value;
}

/* The median of cells' means; 0: there are none. */
static float median(const struct heat_cell *c, size_t n, size_t apart, float *room)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++, c += apart)
		if (c->n)
			room[k++] = c->sum / (float)c->n;
	if (!k)
		return 0;
	qsort(room, k, sizeof(*room), cmp_float);
	return room[k / 2];
}

static void over(struct heat_cell *c, float base)
{
	if (!c->n)
		return;
	if (!(base > 0)) {
		c->n = 0; /* no share of nothing */
		return;
	}
	c->worst = c->worst / base - 1;
	c->sum = c->sum / base - (float)c->n;
}

int heat_close(struct heat *h)
{
	size_t most = h->rows > h->columns ? h->rows : h->columns;
	float base, *room = h->cell ? calloc(most, sizeof(*room)) : NULL;

	if (!h->cell)
		return 0;
	if (!room)
		return -ENOMEM;
	base = median(h->cell, h->columns, 1, room); /* of one rank alone: its own steps */
	for (size_t i = 0; i < h->columns; i++) {
		if (h->rows > 1)
			base = median(&h->cell[i], h->rows, h->columns, room);
		for (size_t r = 0; r < h->rows; r++)
			over(&h->cell[r * h->columns + i], base);
	}
	for (size_t r = 0; r < h->rows; r++)
		h->row[r].over = heat_sum(h, r, r + 1, 0, h->columns).mean;
	free(room);
	return 0;
}

struct heat_sum heat_sum(const struct heat *h, size_t row, size_t row_end, size_t col,
			 size_t col_end)
{
	struct heat_sum s = { .n = 0 };
	double sum = 0;

	for (size_t r = row; r < row_end; r++)
		for (size_t i = col; i < col_end; i++) {
			const struct heat_cell *c = &h->cell[r * h->columns + i];

			if (!c->n)
				continue;
			if (!s.n || c->worst > s.worst)
				s.worst = c->worst;
			s.n += c->n;
			sum += c->sum;
		}
	s.mean = s.n ? sum / (double)s.n : 0;
	return s;
}

void heat_fini(struct heat *h)
{
	free(h->row);
	free(h->step);
	free(h->cell);
	*h = (struct heat){ .rows = 0 };
}
