/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_audit.c - a line of the audit log, from a file that anything may have happened to. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct audit_line a, b;
	char out[AUDIT_LINE], *line = malloc(size + 1);
	size_t n;

	if (!line)
		return 0;
	memcpy(line, data, size);
	line[size] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!audit_get(line, &a)) { /* what is written of it can be read */
		n = audit_put(out, &a);
		out[n - 1] = '\0';
		if (audit_get(out, &b) || a.wall_ns != b.wall_ns || a.uid != b.uid ||
		    a.pid != b.pid)
			abort();
	}
	free(line);
	return 0;
}
