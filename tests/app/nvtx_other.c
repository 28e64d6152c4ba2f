/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_other - somebody else's NVTX injection: it counts its calls, checks that it gets back the
 * handles and ids that it gave, and writes both to $NVTX_OTHER_OUT when the process ends.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static unsigned long calls, wrong;
static int depth;
static uint64_t ids;
static char domain_tag, string_tag;

static void seen(void)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void expect(int cond)
{
	if (!cond)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void check_event(const nvtxEventAttributes_t *e)
{
	if (e->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
		expect(e->message.registered == (nvtxStringHandle_t)(void *)&string_tag);
}

static void check_domain(nvtxDomainHandle_t d)
{
	expect(d == (nvtxDomainHandle_t)(void *)&domain_tag);
}

static void mark_a(const char *text)
{
	(void)text;
	seen();
}

static nvtxRangeId_t start_a(const char *text)
{
	(void)text;
	seen();
	return __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
}

static void end(nvtxRangeId_t id)
{
	seen();
	expect(id >= 1 && id <= ids);
}

static int push_a(const char *text)
{
	(void)text;
	seen();
	return depth++;
}

static int pop(void)
{
	seen();
	return depth ? --depth : -1;
}

static int domain_push(nvtxDomainHandle_t d, const nvtxEventAttributes_t *e)
{
	seen();
	check_domain(d);
	check_event(e);
	return 100;
}

static int domain_pop(nvtxDomainHandle_t d)
{
	seen();
	check_domain(d);
	return 100;
}

static nvtxDomainHandle_t create_a(const char *name)
{
	(void)name;
	seen();
	return (nvtxDomainHandle_t)(void *)&domain_tag;
}

static nvtxStringHandle_t register_a(nvtxDomainHandle_t d, const char *text)
{
	(void)text;
	seen();
	check_domain(d);
	return (nvtxStringHandle_t)(void *)&string_tag;
}

static void destroy(nvtxDomainHandle_t d)
{
	seen();
	check_domain(d);
}

static const struct {
	int module, id;
	NvtxFunctionPointer fn;
} mine[] = {
	{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkA, (NvtxFunctionPointer)mark_a },
	{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeStartA, (NvtxFunctionPointer)start_a },
	{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangeEnd, (NvtxFunctionPointer)end },
	{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)push_a },
	{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)pop },
	{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx,
	  (NvtxFunctionPointer)domain_push },
	{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop, (NvtxFunctionPointer)domain_pop },
	{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, (NvtxFunctionPointer)create_a },
	{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA,
	  (NvtxFunctionPointer)register_a },
	{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainDestroy, (NvtxFunctionPointer)destroy },
};

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	const NvtxExportTableCallbacks *cb = get(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned int size;

	if (getenv("NVTX_OTHER_FAILS"))
		return 0;
	for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
		if (cb->GetModuleFunctionTable((NvtxCallbackModule)mine[i].module, &table, &size))
			*table[mine[i].id] = mine[i].fn;
	return 1;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("NVTX_OTHER_OUT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fprintf(f, "{\"calls\": %lu, \"wrong\": %lu}\n", calls, wrong);
		fclose(f);
	}
}
