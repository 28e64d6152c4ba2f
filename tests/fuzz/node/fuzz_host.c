/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_host.c - any bytes as a file of /proc, as a line of the kernel's log, as a PMU's format,
 * and as a lease. */
#include <stdlib.h>
#include <string.h>

#include "collect/host.h"
#include "collect/leased.h"
#include "collect/membw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct proc *p;
	static struct emit *e;
	unsigned number = 1;
	uint64_t config = 0;
	char *copy;

	if (!p && (proc_new(&p, "/nowhere") < 0 || emit_new(&e) < 0))
		return 0;
	if (size < 1)
		return 0;
	copy = malloc(size); /* with a NUL at its end, as host_read() leaves it */
	memcpy(copy, data + 1, size - 1);
	copy[size - 1] = '\0';
	emit_begin(e, 1);
	/* Twice: the second time lines are remembered. */
	for (int i = 0; i < 2; i++)
		proc_parse(p, (enum proc_file)(data[0] % PROC_FILES),
			   (struct text){ copy, copy + size - 1 }, e);
	kmsg_kind(copy, &number);
	membw_bits(copy, number, &config);
	if (leased_parse(copy, 1000) > LEASED_DCGM)
		abort();
	free(copy);
	return 0;
}
