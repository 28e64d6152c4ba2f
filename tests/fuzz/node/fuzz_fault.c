/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fault.c - what collectors say of faults: detect/fault.h. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "detect/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const what[] = { "xid", "ecc", "edac" };
	static struct faults told;
	struct device_fault f;
	char *text;

	if (!size || !(text = malloc(size)))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (fault_read(what[data[0] % 3], text, &f)) {
		for (const char *p = f.device; *p; p++)
			if (!isprint((unsigned char)*p))
				abort();
		if ((f.kind != ALARM_XID && f.kind != ALARM_ECC) ||
		    (faults_new(&told, &f, size + 1) && faults_new(&told, &f, size + 1)))
			abort();
	}
	free(text);
	return 0;
}
