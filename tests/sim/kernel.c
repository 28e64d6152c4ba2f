/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - modules, their functions, and launches.
 *
 * A module may be loaded from any image: it then has every function that is asked for, at a
 * modest cost. The stand-in's own format says more; it is text that begins with "sim-module":
 *
 *	sim-module
 *	kernel NAME [ns=N|ns=never] [flops=F] [bytes=B] [tensor=1] [regs=N] [smem=N] [local=N]
 *
 * with flops and bytes of one thread. Of an image that is something else, the function spin_ns(ns,
 * where) takes as long as it is told, and notes its start and its end, as such a kernel of PTX does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define MAGIC "sim-module"

static atomic_uint modules_made;

static void parse_words(struct sim_func *f, char *words)
{
	char *save, *w;

	for (w = strtok_r(words, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		char *v = strchr(w, '=');

		if (!v)
			continue;
		*v++ = 0;
		if (!strcmp(w, "ns"))
			f->ns = strcmp(v, "never") ? strtoull(v, NULL, 0) : SIM_NEVER;
		else if (!strcmp(w, "flops"))
			f->flops = atof(v);
		else if (!strcmp(w, "bytes"))
			f->bytes = atof(v);
		else if (!strcmp(w, "tensor"))
			f->tensor = atoi(v);
		else if (!strcmp(w, "regs"))
			f->regs = (uint16_t)atoi(v);
		else if (!strcmp(w, "smem"))
			f->smem = (uint32_t)atoi(v);
		else if (!strcmp(w, "local"))
			f->local = (uint32_t)atoi(v);
	}
}

/*
 * Names outlive their module: records point at them. With SIM_NAME_REUSE=1 the next function
 * that is looked up gets the place of an unloaded one's name, so that one pointer has two texts.
 */
struct name {
	struct name *next;
	bool free;
	char text[512];
};

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *names;

static char *name_take(const char *text, size_t len)
{
	struct name *n;

	if (len >= sizeof(n->text))
		len = sizeof(n->text) - 1;
	pthread_mutex_lock(&names_lock);
	for (n = names; n && !n->free; n = n->next)
		;
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (n) {
			n->next = names;
			names = n;
		}
	}
	if (n) {
		n->free = false;
		memcpy(n->text, text, len);
		n->text[len] = 0;
	}
	pthread_mutex_unlock(&names_lock);
	return n ? n->text : NULL;
}

static void name_give(const char *text)
{
	if (!sim_env_int("SIM_NAME_REUSE", 0))
		return;
	pthread_mutex_lock(&names_lock);
	for (struct name *n = names; n; n = n->next)
		if (n->text == text)
			n->free = true;
	pthread_mutex_unlock(&names_lock);
}

static struct sim_func *func_new(struct sim_module *m, const char *name, size_t len)
{
	struct sim_func *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->name = name_take(name, len);
	if (!f->name)
		return free(f), NULL;
	f->mod = m;
	f->flops = 16;
	f->bytes = 8;
	f->regs = 32;
	f->next = m->funcs;
	m->funcs = f;
	return f;
}

static CUresult parse_module(struct sim_module *m, const char *text)
{
	char *copy = strdup(text), *save, *line;
	struct sim_func *f;

	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = line + strlen("kernel ");
		size_t len;

		if (strncmp(line, "kernel ", strlen("kernel ")))
			continue;
		len = strcspn(name, " \t");
		f = func_new(m, name, len);
		if (f && name[len])
			parse_words(f, name + len + 1);
	}
	free(copy);
	return m->funcs ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

/* Loading a module is what a driver's compiler costs. */
static void tell_overhead(const struct sim_ctx *c, uint64_t start)
{
	struct sim_tool *tool = sim_tool_get();
	struct sim_op op = { .kind = SIM_OVERHEAD, .corr = sim_me.corr, .start = start };

	if (!sim_wants(tool, SIM_OVERHEAD))
		return;
	op.end = sim_now();
	op.overhead.what = 1;
	op.overhead.object = 4; /* a context */
	op.overhead.object_id = c->id;
	tool->op(&op);
}

CUresult do_cuModuleLoadData(CUmodule *mod, const void *image)
{
	struct sim_ctx *c;
	struct sim_module *m;
	uint64_t start = sim_now();
	CUresult r = sim_ctx_now(&c);

	if (r || !image)
		return r ? r : CUDA_ERROR_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = c;
	m->data.id = atomic_fetch_add(&modules_made, 1) + 1;
	m->data.image = image;
	if (!strncmp(image, MAGIC, strlen(MAGIC))) {
		m->data.size = strlen(image);
		r = parse_module(m, image);
		if (r)
			return free(m), r;
		m->text = strdup(image);
	}
	tell_overhead(c, start);
	sim_resource(6, c, NULL, &m->data);
	*mod = m;
	return CUDA_SUCCESS;
}

CUresult do_cuModuleLoadDataEx(CUmodule *mod, const void *image, unsigned n, int *options,
			       void **values)
{
	(void)n, (void)options, (void)values;
	return do_cuModuleLoadData(mod, image);
}

CUresult do_cuModuleLoad(CUmodule *mod, const char *path)
{
	char text[65536];
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return 301; /* CUDA_ERROR_FILE_NOT_FOUND */
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	return do_cuModuleLoadData(mod, text);
}

CUresult do_cuModuleUnload(CUmodule mod)
{
	struct sim_func *f;

	if (!mod)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_resource(7, mod->ctx, NULL, &mod->data);
	while ((f = mod->funcs)) {
		mod->funcs = f->next;
		name_give(f->name);
		free(f);
	}
	free(mod->text);
	free(mod);
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetFunction(CUfunction *f, CUmodule mod, const char *name)
{
	if (!mod || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_func *i = mod->funcs; i; i = i->next)
		if (!strcmp(i->name, name)) {
			*f = i;
			return CUDA_SUCCESS;
		}
	if (mod->text)
		return CUDA_ERROR_NOT_FOUND;
	*f = func_new(mod, name, strlen(name));
	return *f ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuFuncGetAttribute(int *value, int attrib, CUfunction f)
{
	static const int threads = 1024;

	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	*value = attrib == 0   ? threads
		 : attrib == 1 ? (int)f->smem
		 : attrib == 3 ? (int)f->local
		 : attrib == 4 ? f->regs
			       : 0;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncGetName(const char **name, CUfunction f)
{
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = f->name;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncGetModule(CUmodule *mod, CUfunction f)
{
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	*mod = f->mod;
	return CUDA_SUCCESS;
}

void sim_kernel_work(struct work *w, CUfunction f, const uint32_t grid[3], const uint32_t block[3],
		     uint32_t shared)
{
	*w = (struct work){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .func = f };
	w->op.kind = SIM_KERNEL;
	w->op.kernel.name = f->name;
	memcpy(w->op.kernel.grid, grid, sizeof(w->op.kernel.grid));
	memcpy(w->op.kernel.block, block, sizeof(w->op.kernel.block));
	w->op.kernel.smem_static = f->smem;
	w->op.kernel.smem_dynamic = shared;
	w->op.kernel.local = f->local;
	w->op.kernel.regs = f->regs;
}

static bool is_spin(CUfunction f, void **params)
{
	return params && !f->mod->text && !strcmp(f->name, "spin_ns");
}

/* Its length for this launch is in `own`. */
static void spin(struct work *w, struct sim_func *own, void **params)
{
	*own = *w->func;
	own->ns = *(const uint64_t *)params[0];
	w->func = own;
}

static void note_spin(const struct work *w, void **params)
{
	uint64_t *where = (uint64_t *)*(const uintptr_t *)params[1];

	where[0] = w->op.start;
	where[1] = w->op.end;
}

static CUresult launch(CUfunction f, const uint32_t grid[3], const uint32_t block[3],
		       uint32_t shared, CUstream stream, uint8_t type, void **params)
{
	struct sim_stream *s;
	struct sim_func own;
	struct work w;
	CUresult r = sim_stream_now(stream, &s);

	if (r || !f)
		return r ? r : CUDA_ERROR_INVALID_HANDLE;
	if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
	    (uint64_t)block[0] * block[1] * block[2] > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	sim_kernel_work(&w, f, grid, block, shared);
	w.op.kernel.launch_type = type;
	w.op.kernel.priority = s->priority;
	if (s->capture || !is_spin(f, params))
		return sim_submit(s, &w);
	spin(&w, &own, params);
	r = sim_submit(s, &w);
	note_spin(&w, params);
	return r;
}

CUresult do_cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			   CUstream stream, void **params, void **extra)
{
	(void)extra;
	return launch(f, (uint32_t[]){ grid_x, grid_y, grid_z },
		      (uint32_t[]){ block_x, block_y, block_z }, shared, stream, 0, params);
}

CUresult do_cuLaunchCooperativeKernel(CUfunction f, unsigned grid_x, unsigned grid_y,
				      unsigned grid_z, unsigned block_x, unsigned block_y,
				      unsigned block_z, unsigned shared, CUstream stream,
				      void **params)
{
	return launch(f, (uint32_t[]){ grid_x, grid_y, grid_z },
		      (uint32_t[]){ block_x, block_y, block_z }, shared, stream, 1, params);
}

CUresult do_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	(void)extra;
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(f, c->gridDim, c->blockDim, c->sharedMemBytes, c->hStream, 0, params);
}
