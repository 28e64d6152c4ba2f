/* SPDX-License-Identifier: Apache-2.0 */
/* The name of an operator, a line's end, and its shapes, as a store may have them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "theory/op_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), *shapes;
	struct op_shapes s;
	struct op_work w;

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	shapes = strchr(name, '\n');
	if (shapes) {
		*shapes++ = '\0';
		if (!op_shapes_parse(&s, shapes))
			op_work(&w, name, &s);
	}
	free(name);
	return 0;
}
