/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat with a command's name that a stranger chose: what was understood is in its bounds. */
#include <stdlib.h>
#include <string.h>

#include "daemon/sample/preempt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct preempt_stat s;
	char *text = malloc(size + 1); /* its own, so that a byte too far is seen */

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (preempt_parse(text, &s) &&
	    (s.cpu >= PREEMPT_CPUS || strnlen(s.comm, sizeof(s.comm)) == sizeof(s.comm)))
		abort();
	free(text);
	return 0;
}
