// SPDX-License-Identifier: Apache-2.0
/* libtorch_cpu.so of a torch that has changed: its observers crash, hang, say nothing, or are gone
 * ($TORCH_ODD). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(void);
EXPORT void _ZN2at14removeCallbackEm(uint64_t handle);
EXPORT const char *_ZNK2at14RecordFunction4nameEv(void);

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(void)
{
	const char *how = getenv("TORCH_ODD");

	if (how && !strcmp(how, "crash"))
		abort();
	while (how && !strcmp(how, "hang"))
		pause();
	return 1;
}

void _ZN2at14removeCallbackEm(uint64_t handle)
{
	(void)handle;
}

const char *_ZNK2at14RecordFunction4nameEv(void)
{
	return "";
}
