/* SPDX-License-Identifier: Apache-2.0 */
/* inject.c - what the driver loads in aon-gpu-check: hands on to the program's tool (tool.c). */
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	void *at = dlsym(RTLD_DEFAULT, "aon_gpu_check_injected");
	void (*injected)(void);

	memcpy(&injected, &at, sizeof(injected));
	if (injected)
		injected();
	return 1;
}
