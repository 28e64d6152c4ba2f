/* SPDX-License-Identifier: Apache-2.0 */
/* layer.c - the two calls by which an OpenCL loader takes in a layer, and the building of programs. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/record.h"
#include "base/hash.h"
#include "probe/opencl/layer.h"

#define LOADERS 8 /* in one process: Debian's, one in a Python wheel, one that was loaded again */
#define ENTRIES (sizeof(cl_icd_dispatch) / sizeof(void *))
#define NEEDED  ((offsetof(cl_icd_dispatch, clFinish) / sizeof(void *)) + 1)

struct layer *layer;
_Atomic(const cl_icd_dispatch *) layer_next;

static _Atomic uint32_t turn; /* guards these; a second loader at the same moment gets no layer */
static cl_icd_dispatch theirs[LOADERS], ours[LOADERS];
static unsigned loaders;

/* --- sources: kept until aond has answered, sent at the first launch of a new kernel --- */

/* True if it was seen before; else it is now. */
static bool source_seen(const char *text, size_t len)
{
	uint64_t hash = fnv_bytes(FNV_BASIS, text, len);

	for (uint32_t i = 0; i < layer->sources; i++)
		if (layer->seen[i] == hash)
			return true;
	layer->seen[layer->sources++] = hash;
	return false;
}

/* A build takes milliseconds at least, this a copy of the text. A thread that comes while another
 * is here goes on. */
static void keep_source(cl_program program)
{
	uint32_t used, n;
	size_t len = 0;
	char *at;

	if (!layer->on || !next()->clGetProgramInfo ||
	    next()->clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &len) || len <= 1)
		return;
	if (!turn_take(&layer->reading)) {
		count(&layer->unsent, 1);
		return;
	}
	used = atomic_load_explicit(&layer->text_used, memory_order_relaxed);
	at = layer->text + used;
	n = (uint32_t)(len - 1); /* without the NUL */
	if (len - 1 > SOURCE_MOST || used + sizeof(n) + len > SOURCE_BYTES ||
	    layer->sources == SOURCES) {
		count(&layer->unsent, 1);
	} else if (!next()->clGetProgramInfo(program, CL_PROGRAM_SOURCE, len, at + sizeof(n),
					     NULL) &&
		   !source_seen(at + sizeof(n), n)) {
		memcpy(at, &n, sizeof(n));
		/* Whoever has the turn next sees the text: no order of its own is needed. */
		atomic_store_explicit(&layer->text_used, used + (uint32_t)sizeof(n) + n,
				      memory_order_relaxed);
	}
	turn_give(&layer->reading);
}

/* How many bytes of text[] are done with; what aond cannot take yet stays. */
static uint32_t send_sources(uint32_t used)
{
	uint32_t at = 0, n;

	while (at < used) {
		int err;

		memcpy(&n, layer->text + at, sizeof(n));
		err = aon_text_emit(layer->name_source, AON_TEXT_OPENCL,
				    layer->text + at + sizeof(n), n);
		if (err == -EAGAIN || err == -ENOTSUP)
			break;
		if (err)
			count(&layer->unsent, 1);
		at += (uint32_t)sizeof(n) + n;
	}
	return at;
}

void layer_send_sources(void)
{
	uint32_t used, sent;
	uint64_t unsent;

	used = atomic_load_explicit(&layer->text_used, memory_order_relaxed);
	unsent = atomic_load_explicit(&layer->unsent, memory_order_relaxed);
	if ((!used && unsent == atomic_load_explicit(&layer->unsent_told, memory_order_relaxed)) ||
	    !aon_wants(AON_WANT_MARK) || !turn_take(&layer->reading))
		return;
	used = atomic_load_explicit(&layer->text_used, memory_order_relaxed);
	sent = send_sources(used);
	memmove(layer->text, layer->text + sent, used - sent);
	atomic_store_explicit(&layer->text_used, used - sent, memory_order_relaxed);
	unsent = atomic_load_explicit(&layer->unsent, memory_order_relaxed);
	if (atomic_exchange_explicit(&layer->unsent_told, unsent, memory_order_relaxed) != unsent)
		aon_counter_id(layer->name_unsent, (int64_t)unsent);
	turn_give(&layer->reading);
}

/* --- building programs: ranges of the thread --- */

static cl_int CL_API_CALL on_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *ids,
					    const char *options,
					    void(CL_CALLBACK *done)(cl_program, void *), void *arg)
{
	cl_int r;

	AON_PUSH("clBuildProgram");
	r = next()->clBuildProgram(program, n, ids, options, done, arg);
	AON_POP();
	if (!r)
		keep_source(program);
	return r;
}

static cl_int CL_API_CALL on_clCompileProgram(cl_program program, cl_uint n,
					      const cl_device_id *ids, const char *options,
					      cl_uint headers, const cl_program *header,
					      const char **names,
					      void(CL_CALLBACK *done)(cl_program, void *),
					      void *arg)
{
	cl_int r;

	AON_PUSH("clCompileProgram");
	r = next()->clCompileProgram(program, n, ids, options, headers, header, names, done, arg);
	AON_POP();
	return r;
}

static cl_program CL_API_CALL on_clLinkProgram(cl_context context, cl_uint n,
					       const cl_device_id *ids, const char *options,
					       cl_uint programs, const cl_program *program,
					       void(CL_CALLBACK *done)(cl_program, void *),
					       void *arg, cl_int *err)
{
	cl_program p;

	AON_PUSH("clLinkProgram");
	p = next()->clLinkProgram(context, n, ids, options, programs, program, done, arg, err);
	AON_POP();
	return p;
}

/* --- being taken in --- */

static void name_all(struct layer *l)
{
	static const char *const text[OP_MAX] = {
#define COPY(fn, params, args, kind, dir, bytes, block) [OP_##fn] = #fn,
#include "probe/opencl/enqueue.tbl.h"
		[OP_clEnqueueNDRangeKernel] = "clEnqueueNDRangeKernel",
		[OP_clEnqueueMapBuffer] = "clEnqueueMapBuffer",
		[OP_clEnqueueMapImage] = "clEnqueueMapImage",
	};

	for (uint32_t i = 0; i < OP_MAX; i++)
		l->op_name[i] = aon_name(text[i]);
	l->name_queued = aon_name("opencl queued");
	l->name_submitted = aon_name("opencl submitted");
	l->name_lost = aon_name("opencl not timed");
	l->name_source = aon_name("opencl source");
	l->name_unsent = aon_name("opencl sources not sent");
}

/* Wiped in a child: nothing there but zeros, i.e. off. */
static bool layer_make(void)
{
	struct layer *l;

	if (layer)
		return true;
	l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (l == MAP_FAILED)
		return false;
	if (madvise(l, sizeof(*l), MADV_WIPEONFORK) < 0) {
		munmap(l, sizeof(*l));
		return false;
	}
	name_all(l);
	l->on = 1;
	layer = l;
	return true;
}

static void fill(cl_icd_dispatch *o)
{
	enqueue_install(o);
	harvest_install(o);
	queue_install(o);
	info_install(o);
	INSTALL(o, clBuildProgram);
	INSTALL(o, clCompileProgram);
	INSTALL(o, clLinkProgram);
}

/* The tables of a loader: those it had before, or new ones; -1 when there are no more, or when
 * it offers us our own calls (the layer is named twice). */
static int loader_of(const cl_icd_dispatch *target, size_t n)
{
	cl_icd_dispatch t = { 0 };

	memcpy(&t, target, n * sizeof(void *));
	if (t.clBuildProgram == on_clBuildProgram)
		return -1;
	for (unsigned i = 0; i < loaders; i++)
		if (!memcmp(&theirs[i], &t, sizeof(t)))
			return (int)i;
	if (loaders == LOADERS)
		return -1;
	theirs[loaders] = ours[loaders] = t;
	fill(&ours[loaders]);
	return (int)loaders++;
}

CL_API_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *entries_ret,
	    const cl_icd_dispatch **ret)
{
	size_t n = entries < ENTRIES ? entries : ENTRIES;
	int saved = errno, i = -1;

	if (!target || !entries_ret || !ret || n < NEEDED)
		return CL_INVALID_VALUE;
	if (!turn_take(&turn))
		return CL_OUT_OF_RESOURCES;
	if (layer_make())
		i = loader_of(target, n);
	/* The latest one: an earlier one may have been unloaded. */
	if (i >= 0)
		atomic_store_explicit(&layer_next, &theirs[i], memory_order_release);
	turn_give(&turn);
	if (i >= 0) {
		*ret = &ours[i];
		*entries_ret = (cl_uint)n;
		aon_note("opencl", "on", "");
		aon_join(0); /* asks; the answer is there when the first command is done */
	}
	errno = saved;
	return i >= 0 ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
}

CL_API_ENTRY __attribute__((visibility("default"))) cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t cap, void *out, size_t *used)
{
	static const char name[] = "aon";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *data = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t len = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if ((what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION) || (out && cap < len))
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, data, len);
	if (used)
		*used = len;
	return CL_SUCCESS;
}
