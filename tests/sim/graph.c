/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - graphs: nodes and their edges, capture of streams, executable copies, launches.
 *
 * A graph keeps its nodes in an order in which every node comes after those it depends on:
 * a node can depend only on what is there already, and cuGraphAddDependencies() may not turn
 * that round. Instantiating copies the nodes, with ids of their own, as the real one does.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define DEPS_MAX 16

struct sim_node {
	struct sim_graph *graph;
	uint64_t id, source_id;
	struct work work;
	uint32_t index;
	uint32_t ndeps, deps[DEPS_MAX]; /* indices */
	uint64_t end;                   /* in the launch under way */
};

struct sim_graph {
	uint32_t id, source_id;
	struct sim_node **nodes; /* owned */
	uint32_t n, room;
};

struct sim_exec {
	struct sim_graph *graph; /* owned */
	bool whole;              /* GRAPH_TRACE was enabled when it was made */
};

static atomic_uint graphs_made;
static _Atomic uint64_t nodes_made;

uint64_t sim_node_id(CUgraphNode n)
{
	return n->id;
}

uint32_t sim_graph_id(CUgraph g)
{
	return g->id;
}

uint32_t sim_exec_id(CUgraphExec e)
{
	return e->graph->id;
}

static void tell(uint32_t cbid, struct sim_graph_data d)
{
	struct sim_ctx *c = sim_me.depth ? sim_me.stack[sim_me.depth - 1] : NULL;

	sim_resource(cbid, c, NULL, &d);
}

static struct sim_graph *graph_new(void)
{
	struct sim_graph *g = calloc(1, sizeof(*g));

	if (g)
		g->id = g->source_id = atomic_fetch_add(&graphs_made, 1) + 1;
	return g;
}

static void graph_free(struct sim_graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		free(g->nodes[i]);
	free(g->nodes);
	free(g);
}

static struct sim_node *add(struct sim_graph *g, const struct work *w)
{
	struct sim_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	if (g->n == g->room) {
		uint32_t room = g->room ? 2 * g->room : 16;
		struct sim_node **more = realloc(g->nodes, room * sizeof(struct sim_node *));

		if (!more)
			return free(n), NULL;
		g->nodes = more;
		g->room = room;
	}
	n->graph = g;
	n->id = n->source_id = atomic_fetch_add(&nodes_made, 1) + 1;
	n->work = *w;
	n->index = g->n;
	g->nodes[g->n++] = n;
	return n;
}

static CUresult depend(struct sim_node *n, struct sim_node *on)
{
	if (!on || on->graph != n->graph || on->index >= n->index || n->ndeps == DEPS_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	n->deps[n->ndeps++] = on->index;
	tell(15, (struct sim_graph_data){
			 .graph = n->graph, .node = n, .dependency = on, .type = n->work.type });
	return CUDA_SUCCESS;
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
			 const struct work *w)
{
	struct sim_node *n;
	CUresult r = CUDA_SUCCESS;

	if (!node || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	n = add(graph, w);
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell(13, (struct sim_graph_data){ .graph = graph, .node = n, .type = w->type });
	for (size_t i = 0; i < ndeps && !r; i++)
		r = depend(n, deps[i]);
	*node = n;
	return r;
}

CUresult do_cuGraphCreate(CUgraph *graph, unsigned flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = graph_new();
	if (!*graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell(9, (struct sim_graph_data){ .graph = *graph });
	return CUDA_SUCCESS;
}

CUresult do_cuGraphDestroy(CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	tell(10, (struct sim_graph_data){ .graph = graph });
	graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				    size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work w;

	if (!p || !p->func)
		return CUDA_ERROR_INVALID_VALUE;
	sim_kernel_work(&w, p->func, p->gridDim, p->blockDim, p->sharedMemBytes);
	return add_node(node, graph, deps, n, &w);
}

CUresult do_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	return do_cuGraphAddKernelNode_v2(node, graph, deps, n, p);
}

CUresult do_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	size_t rows = p->Height ? p->Height : 1, slices = p->Depth ? p->Depth : 1;
	struct work w;

	(void)ctx;
	sim_copy_work(&w,
		      p->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)p->dstHost : p->dstDevice,
		      p->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)p->srcHost : p->srcDevice,
		      p->WidthInBytes * rows * slices, true);
	return add_node(node, graph, deps, n, &w);
}

CUresult do_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				 size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct work w;

	(void)ctx;
	sim_set_work(&w, p->dst, p->value, p->width * p->elementSize * (p->height ? p->height : 1),
		     true);
	return add_node(node, graph, deps, n, &w);
}

CUresult do_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			       const CUDA_HOST_NODE_PARAMS *p)
{
	struct work w = { .type = CU_GRAPH_NODE_TYPE_HOST, .fn = p->fn, .arg = p->userData };

	return add_node(node, graph, deps, n, &w);
}

CUresult do_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n)
{
	struct work w = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

	return add_node(node, graph, deps, n, &w);
}

CUresult do_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   size_t n)
{
	CUresult r = graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; i < n && !r; i++)
		r = depend(to[i], from[i]);
	return r;
}

CUresult do_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	if (!graph || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; nodes && i < *n && i < graph->n; i++)
		nodes[i] = graph->nodes[i];
	*n = graph->n;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetType(CUgraphNode node, int *type)
{
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->work.type;
	return CUDA_SUCCESS;
}

static struct sim_graph *copy_of(struct sim_graph *g, CUgraphExec exec)
{
	struct sim_graph *c = graph_new();

	if (!c)
		return NULL;
	c->source_id = g->id;
	for (uint32_t i = 0; i < g->n; i++) {
		struct sim_node *n = add(c, &g->nodes[i]->work);

		if (!n)
			return graph_free(c), NULL;
		n->source_id = g->nodes[i]->id;
		n->ndeps = g->nodes[i]->ndeps;
		memcpy(n->deps, g->nodes[i]->deps, sizeof(n->deps));
		tell(20, (struct sim_graph_data){ .graph = c,
						  .original = g,
						  .node = n,
						  .original_node = g->nodes[i],
						  .type = n->work.type,
						  .exec = exec });
	}
	return c;
}

CUresult do_cuGraphClone(CUgraph *out, CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	*out = copy_of(graph, NULL);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell(11, (struct sim_graph_data){ .graph = *out, .original = graph });
	return CUDA_SUCCESS;
}

static bool sim_graph_trace(void)
{
	struct sim_tool *tool = sim_tool_get();

	return tool && GET(tool->graph_trace);
}

/* SIM_STRICT: whether its launches are recorded whole or by node is decided here, for its life. */
CUresult do_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct sim_exec *e;

	(void)flags;
	if (!graph || !exec)
		return CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell(17, (struct sim_graph_data){ .graph = graph, .exec = e });
	e->whole = sim_graph_trace();
	e->graph = copy_of(graph, e);
	if (!e->graph)
		return free(e), CUDA_ERROR_OUT_OF_MEMORY;
	tell(18, (struct sim_graph_data){ .graph = graph, .exec = e });
	*exec = e;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log,
				  size_t len)
{
	(void)bad, (void)log, (void)len;
	return do_cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult do_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	return exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGraphExecDestroy(CUgraphExec exec)
{
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	tell(19, (struct sim_graph_data){ .exec = exec });
	graph_free(exec->graph);
	free(exec);
	return CUDA_SUCCESS;
}

/* Places one node after those that it depends on, or after `from`. */
static void place(struct sim_stream *s, struct sim_node *n, uint64_t from, uint64_t now,
		  struct work *w)
{
	struct sim_graph *g = n->graph;

	for (uint32_t i = 0; i < n->ndeps; i++)
		if (g->nodes[n->deps[i]]->end > from)
			from = g->nodes[n->deps[i]]->end;
	*w = n->work;
	sim_place(s, w, from, now);
	n->end = w->op.end;
	w->op.device = s->ctx->dev->id;
	w->op.context = s->ctx->id;
	w->op.stream = s->id;
	w->op.corr = sim_me.corr;
	w->op.graph = g->id;
	w->op.source_graph = g->source_id;
	w->op.node = n->id;
	w->op.source_node = n->source_id;
}

CUresult do_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct sim_tool *tool = sim_tool_get();
	struct sim_op whole = { .kind = SIM_GRAPH_TRACE, .start = SIM_NEVER, .corr = sim_me.corr };
	bool whole_only = exec && sim_env_int("SIM_STRICT", 0) ? exec->whole : sim_graph_trace();
	struct sim_stream *s;
	struct work w;
	uint64_t now, from;
	CUresult r = sim_stream_now(stream, &s);

	if (r || !exec)
		return r ? r : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&s->ctx->dev->lock);
	now = sim_now();
	from = sim_stream_after(s);
	for (uint32_t i = 0; i < exec->graph->n; i++) {
		place(s, exec->graph->nodes[i], from, now, &w);
		if (w.op.start < whole.start)
			whole.start = w.op.start;
		if (w.op.end > whole.end)
			whole.end = w.op.end;
		if (w.type == CU_GRAPH_NODE_TYPE_HOST)
			sim_host_call(w.op.start, w.fn, w.arg);
		else if (!whole_only && w.op.kind && sim_wants(tool, w.op.kind))
			tool->op(&w.op);
	}
	sim_stream_done(s, whole.end);
	pthread_mutex_unlock(&s->ctx->dev->lock);
	whole.device = s->ctx->dev->id;
	whole.context = s->ctx->id;
	whole.stream = s->id;
	whole.graph = exec->graph->id;
	if (tool && whole_only && exec->graph->n)
		tool->op(&whole);
	return CUDA_SUCCESS;
}

CUresult sim_capture(struct sim_stream *s, const struct work *w)
{
	struct sim_node *last = s->captured;

	return add_node(&s->captured, s->capture, &last, last != NULL, w);
}

CUresult do_cuStreamBeginCapture_v2(CUstream stream, int mode)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	(void)mode;
	if (r || s->capture)
		return r ? r : CUDA_ERROR_ILLEGAL_STATE;
	if (s == &s->ctx->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	s->captured = NULL;
	return do_cuGraphCreate(&s->capture, 0);
}

CUresult do_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	if (r || !s->capture)
		return r ? r : CUDA_ERROR_ILLEGAL_STATE;
	*graph = s->capture;
	pthread_mutex_lock(&s->ctx->dev->lock);
	for (struct sim_stream *i = s->ctx->streams; i; i = i->next)
		if (i->capture == *graph)
			i->capture = NULL;
	s->capture = NULL;
	pthread_mutex_unlock(&s->ctx->dev->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamIsCapturing(CUstream stream, int *status)
{
	struct sim_stream *s;
	CUresult r = sim_stream_now(stream, &s);

	if (!r)
		*status = s->capture ? 1 : 0;
	return r;
}
