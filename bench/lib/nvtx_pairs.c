/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_pairs.c - loops over NVTX's push and pop. Built twice: each library that includes NVTX is
 * an instance of its own, so one can be injected and the other not.
 */
#include <nvtx3/nvToolsExt.h>

#include "nvtx_pairs.h"

__attribute__((visibility("default"))) void nvtx_pairs(enum nvtx_pair how, unsigned n)
{
	static nvtxDomainHandle_t domain;
	static nvtxEventAttributes_t e;

	if (!e.version) {
		domain = nvtxDomainCreateA("bench");
		e.version = NVTX_VERSION;
		e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
		e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
		e.message.registered = nvtxDomainRegisterStringA(domain, "forward");
	}
	if (how == NVTX_PAIR_TEXT) {
		for (unsigned i = 0; i < n; i++) {
			nvtxRangePushA("forward");
			nvtxRangePop();
		}
	} else {
		for (unsigned i = 0; i < n; i++) {
			nvtxDomainRangePushEx(domain, &e);
			nvtxDomainRangePop(domain);
		}
	}
}
