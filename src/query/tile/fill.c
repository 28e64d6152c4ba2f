/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.c - turns events that may overlap into pieces that do not.
 *
 * At each instant the event that began last is shown. So an event that ends no later than one that
 * begins after it is never shown again, and is dropped; the ends of the remaining ones decrease
 * from the bottom to the top, however many events overlap.
 */
#include "tile/level.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

void fill_until(struct fill *f, uint64_t ns)
{
	while (f->n && f->at_ns < ns) {
		const struct running *top = &f->run[f->n - 1];
		uint64_t end = top->end_ns < ns ? top->end_ns : ns;

		if (end > f->at_ns) {
			f->fn(f, top->class, top->name, f->at_ns, end);
			f->at_ns = end;
		}
		if (top->end_ns <= f->at_ns)
			f->n--;
	}
	f->at_ns = ns > f->at_ns ? ns : f->at_ns;
}

int fill_add(struct fill *f, uint64_t start, uint64_t end, uint32_t name, uint8_t class)
{
	if (f->at_ns < start)
		fill_until(f, start);
	while (f->n && f->run[f->n - 1].end_ns <= end)
		f->n--;
	if (end <= f->at_ns)
		return 0;
	if (vec_room(&f->run, &f->cap, f->n + 1, sizeof(*f->run)) < 0)
		return -ENOMEM;
	f->run[f->n++] = (struct running){ end, name, class };
	return 0;
}

void fill_fini(struct fill *f)
{
	free(f->run);
}
