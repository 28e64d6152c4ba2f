/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_plug.c - a library that was built with NVTX, for programs that load and unload it. */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) void plug(int n);

void plug(int n)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("plug");
	nvtxEventAttributes_t e = { 0 };

	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = "in";
	e.category = 3;
	for (int i = 0; i < n; i++) {
		nvtxDomainRangePushEx(d, &e);
		nvtxDomainRangePop(d);
	}
}
