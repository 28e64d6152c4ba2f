/* SPDX-License-Identifier: Apache-2.0 */
/* standin_args.h - a call's callback id and the size of its arguments: tests/sim/driver.tbl's, and
 * NVIDIA's, which no one file can include both. */
#ifndef STANDIN_ARGS_H
#define STANDIN_ARGS_H

#include <stddef.h>
#include <stdint.h>

struct standin_args {
	const char *name;
	uint32_t cbid;
	size_t bytes;
};

extern const struct standin_args standin_args[]; /* generated */

#endif /* STANDIN_ARGS_H */
