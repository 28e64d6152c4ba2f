/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - a step of one stage as operations: 1F1B, communication beside the compute. */
#include "sim/program.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "sim/layer.h"

#define OPS_MAX (1u << 20) /* of one rank in a step */

struct make {
	const struct job *j;
	struct program *p;
	struct layer_costs cost;
	struct layer_costs prompt; /* of an inference's batches of prompts */
	uint32_t stage, layers;    /* layers: of the chunk */
	uint32_t micro, chunk;
	enum op_pass pass;
	uint32_t waits;    /* the next kernel waits for this op; OP_NONE */
	uint32_t gathered; /* the same, of the layer's weights */
	uint32_t ahead;    /* what gathers those of the next layer; OP_NONE */
	bool share;        /* gradients are complete with this pass: reduce them */
};

static struct op *add(struct make *m, enum op_kind kind, enum op_stream stream, const char *name)
{
	static struct op none;
	struct program *p = m->p;
	struct op *o;

	if (p->ops >= OPS_MAX || vec_more(&p->op, p->ops, sizeof(*p->op)) < 0) {
		p->err = p->ops >= OPS_MAX ? -EFBIG : -ENOMEM;
		return &none;
	}
	o = &p->op[p->ops];
	*o = (struct op){ .name = name,
			  .kind = (uint8_t)kind,
			  .stream = (uint8_t)stream,
			  .pass = (uint8_t)m->pass,
			  .micro = m->micro,
			  .chunk = (uint8_t)m->chunk,
			  .wait = { OP_NONE, OP_NONE },
			  .serial = OP_NONE,
			  .before = kind >= OP_WORK ? p->last[stream] : OP_NONE,
			  .calls = kind == OP_KERNEL ? 0 : 1,
			  .task = p->tasks };
	p->tasks += kind >= OP_WORK ? 2 : 1;
	if (kind >= OP_WORK)
		p->last[stream] = p->ops;
	p->ops++;
	return o;
}

static void put_piece(struct make *m, struct op *o, enum step_class class, struct sim_cost cost,
		      struct sim_cost prompt)
{
	struct program *p = m->p;
	struct op_piece *q = p->piece + o->piece;

	for (; q < p->piece + o->piece + o->pieces && q->class != class; q++)
		;
	if (q == p->piece + p->pieces) {
		if (vec_more(&p->piece, p->pieces, sizeof(*p->piece)) < 0) {
			p->err = -ENOMEM;
			return;
		}
		q = p->piece + p->pieces;
		*q = (struct op_piece){ .class = (uint8_t) class };
		p->pieces++;
		o->pieces++;
	}
	q->count++;
	o->calls++;
	sim_cost_add(&q->cost[0], &cost);
	sim_cost_add(&q->cost[1], &prompt);
}

/* Of a coarse job, the kernel before that nothing stands between; NULL: none. */
static struct op *to_join(struct make *m)
{
	struct program *p = m->p;
	struct op *o = p->ops ? &p->op[p->ops - 1] : NULL;

	if (!m->j->coarse || !o || o->kind != OP_KERNEL || o->pass != m->pass ||
	    o->micro != m->micro || o->chunk != m->chunk || m->waits != OP_NONE ||
	    m->gathered != OP_NONE)
		return NULL;
	return o;
}

static void kernel_of(struct make *m, const char *name, enum step_class class, struct sim_cost cost,
		      struct sim_cost prompt)
{
	struct program *p = m->p;
	uint32_t add_coll = p->last[ON_DP];
	struct op *o = to_join(m);

	if (o) {
		put_piece(m, o, class, cost, prompt);
		return;
	}
	o = add(m, OP_KERNEL, ON_COMPUTE, name);
	o->piece = p->pieces;
	if (!p->err)
		put_piece(m, o, class, cost, prompt);
	o->wait[0] = m->waits;
	o->wait[1] = m->gathered;
	m->waits = m->gathered = OP_NONE;
	/* Only the kernel behind a collective would be held up: those after it are in order. */
	if (add_coll != OP_NONE && add_coll + 2 == p->ops)
		o->serial = add_coll;
}

static void kernel(struct make *m, const char *name, enum step_class class, struct sim_cost cost)
{
	kernel_of(m, name, class, cost, cost);
}

static void pause_here(struct make *m, enum op_pause what, const char *name)
{
	uint32_t compute = m->p->last[ON_COMPUTE];
	struct op *o = add(m, OP_PAUSE, ON_COMPUTE, name);

	o->what = (uint8_t)what;
	if (what == PAUSE_ALLOC) /* memory is freed when nothing uses it any more */
		o->wait[0] = compute;
}

/* As torch does: a collective waits for the compute issued before it. */
static struct op *add_coll(struct make *m, enum op_stream stream, enum job_group group,
			   enum coll_op op, uint64_t bytes, uint64_t prompt_bytes)
{
	static const struct {
		const char *kernel, *name;
	} word[] = {
		[COLL_ALL_REDUCE] = { "ncclDevKernel_AllReduce_Sum_f16_RING_LL", "all_reduce" },
		[COLL_ALL_GATHER] = { "ncclDevKernel_AllGather_RING_LL", "all_gather" },
		[COLL_REDUCE_SCATTER] = { "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL",
					  "reduce_scatter" },
		[COLL_ALL_TO_ALL] = { "ncclDevKernel_SendRecv", "all_to_all" },
		[COLL_P2P] = { "ncclDevKernel_SendRecv", "send_recv" },
	};
	uint32_t compute = m->p->last[ON_COMPUTE];
	uint32_t row = group == GROUP_PP ? JOB_GROUPS + stream - ON_FIRST_PP : group;
	struct op *o = add(m, OP_COLL, stream, word[op].kernel);
	struct job_team t = job_team(m->j, group, m->stage * m->j->dp * m->j->tp);
	int err;

	if (group == GROUP_PP) { /* stages stand on other nodes, or beside each other */
		t.stride = m->j->dp * m->j->tp;
		t.per_node = t.stride < m->j->ranks_per_node ? 2 : 1;
	}
	o->coll_name = word[op].name;
	o->coll = (uint8_t)op;
	o->bytes = bytes;
	o->what = (uint8_t)group;
	o->wait[0] = compute;
	o->wait[1] = m->waits; /* what the compute stream waits for, it waits for, too */
	o->sequence = ++m->p->sequence[row];
	if (m->j->forward) {
		o->ns[0] = o->ns[1] = m->j->coll_ns;
		return o;
	}
	err = layer_comm(&o->ns[0], m->j, op, bytes, &t);
	err = err ? err : layer_comm(&o->ns[1], m->j, op, prompt_bytes, &t);
	if (err < 0)
		m->p->err = err;
	return o;
}

/* A collective in the middle of the compute, which waits for it. */
static void meet(struct make *m, enum layer_meet where)
{
	if (where != MEET_TP && where != MEET_NONE && m->j->ep > 1) {
		add_coll(m, ON_EP, GROUP_EP, COLL_ALL_TO_ALL, m->cost.routed, m->prompt.routed);
		m->waits = m->p->last[ON_EP];
	}
	if (where != MEET_EP && where != MEET_NONE && m->j->tp > 1) {
		add_coll(m, ON_TP, GROUP_TP, COLL_ALL_REDUCE, m->cost.activation,
			 m->prompt.activation);
		m->waits = m->p->last[ON_TP];
	}
}

static void share_gradient(struct make *m, uint64_t bytes)
{
	if (m->share && m->j->dp > 1 && bytes)
		add_coll(m, ON_DP, GROUP_DP, m->j->zero ? COLL_REDUCE_SCATTER : COLL_ALL_REDUCE,
			 bytes, bytes);
}

/* The weights of a layer are gathered while the one before computes. */
static void gather(struct make *m)
{
	uint64_t bytes = m->j->forward ? 1 : m->cost.layer_gradient;

	add_coll(m, ON_GATHER, GROUP_DP, COLL_ALL_GATHER, bytes, bytes);
	m->ahead = m->p->last[ON_GATHER];
}

static void gather_ahead(struct make *m, uint32_t i)
{
	if (m->j->zero < 3 || m->j->dp < 2)
		return;
	if (!i)
		gather(m);
	m->gathered = m->ahead;
	if (i + 1 < m->layers)
		gather(m);
}

/* --- layers --- */

static void part(struct make *m, enum layer_part p)
{
	const struct layer_row *row = &layer_table[p];
	enum step_class class = layer_class(m->j, p);

	if (m->pass == PASS_FORWARD) {
		meet(m, row->before);
		kernel_of(m, row->forward, class, m->cost.forward[p], m->prompt.forward[p]);
		meet(m, row->after);
		return;
	}
	/* The other way round: what was gathered behind it is given back before it. */
	meet(m, row->after);
	kernel(m, row->backward, class, m->cost.backward[p]);
	if (m->cost.weight[p].ns > 0)
		kernel(m, row->backward, class, m->cost.weight[p]);
	meet(m, row->before);
}

static void parts(struct make *m, enum layer_where where)
{
	for (int i = 0; i < LAYER_PARTS; i++) {
		int p = m->pass == PASS_FORWARD ? i : LAYER_PARTS - 1 - i;

		if (layer_table[p].where != where)
			continue;
		part(m, (enum layer_part)p);
		if (where != WHERE_LAYER)
			share_gradient(m, m->cost.gradient[p]);
	}
}

static void layer(struct make *m)
{
	const struct job *j = m->j;
	bool forward = m->pass == PASS_FORWARD;

	if (!j->forward) {
		parts(m, WHERE_LAYER);
	} else {
		const struct job_kernel *k = forward ? j->forward : j->backward;

		for (uint32_t i = 0; i < (forward ? j->forwards : j->backwards); i++)
			kernel(m, k[i].name, STEP_CLASS_OTHER,
			       (struct sim_cost){ k[i].ns, k[i].ns, 0 });
		meet(m, MEET_TP);
	}
	if (forward)
		add(m, OP_STRAY, ON_COMPUTE, "cudaStreamSynchronize")->wait[0] =
			m->p->last[ON_COMPUTE];
	else
		share_gradient(m, j->forward ? 1 : m->cost.layer_gradient);
}

/* --- micro-batches --- */

static void p2p(struct make *m, enum op_p2p which)
{
	bool send = which == P2P_SEND_ACT || which == P2P_SEND_GRAD;
	struct op *o;

	if (m->p->err)
		return;
	m->p->p2p[(which * m->j->micro_batches + m->micro) * m->j->chunks + m->chunk] = m->p->ops;
	o = add_coll(m, (enum op_stream)(ON_FIRST_PP + which), GROUP_PP, COLL_P2P,
		     m->cost.activation, m->prompt.activation);
	o->leads = send;
	if (!send)
		m->waits = m->p->last[ON_FIRST_PP + which];
}

/* Whether the chunk is the model's begin, and its end. */
static bool is_begin(const struct make *m)
{
	return !m->stage && !m->chunk;
}
static bool is_end(const struct make *m)
{
	return m->stage == m->j->pp - 1 && m->chunk == m->j->chunks - 1;
}

static void enter(struct make *m, uint32_t micro, uint32_t chunk, enum op_pass pass)
{
	uint32_t parts = m->j->pp * m->j->chunks, at = chunk * m->j->pp + m->stage;

	m->micro = micro;
	m->chunk = chunk;
	m->pass = pass;
	m->layers = m->j->layers / parts + (at < m->j->layers % parts);
}

static void forward(struct make *m, uint32_t micro, uint32_t chunk)
{
	enter(m, micro, chunk, PASS_FORWARD);
	pause_here(m, PAUSE_ALLOC, "cudaMalloc");
	if (!is_begin(m))
		p2p(m, P2P_RECV_ACT);
	else if (!micro)
		m->waits = m->p->last[ON_COPY];
	if (is_begin(m) && !m->j->forward)
		parts(m, WHERE_FIRST);
	for (uint32_t i = 0; i < m->layers; i++) {
		if (!micro && !chunk && i == m->layers / 2)
			pause_here(m, PAUSE_GC, "Python GC");
		gather_ahead(m, i);
		layer(m);
	}
	if (is_end(m) && !m->j->forward)
		parts(m, WHERE_LAST);
	if (!is_end(m))
		p2p(m, P2P_SEND_ACT);
}

static void backward(struct make *m, uint32_t micro, uint32_t chunk)
{
	enter(m, micro, chunk, PASS_BACKWARD);
	m->share = micro == m->j->micro_batches - 1;
	if (!is_end(m))
		p2p(m, P2P_RECV_GRAD);
	if (is_end(m) && !m->j->forward)
		parts(m, WHERE_LAST);
	for (uint32_t i = 0; i < m->layers; i++) {
		gather_ahead(m, i);
		layer(m);
	}
	if (is_begin(m) && !m->j->forward)
		parts(m, WHERE_FIRST);
	if (!is_begin(m))
		p2p(m, P2P_SEND_GRAD);
}

/*
 * The k-th pass of a stage. Interleaved, it goes through its chunks with as many micro-batches at
 * a time as there are stages (Megatron's schedule); backward passes take the chunks from the end.
 */
static void go(struct make *m, enum op_pass pass, uint32_t k)
{
	uint32_t round = m->j->pp * m->j->chunks, in = k % round, chunk = in / m->j->pp;
	uint32_t micro = k / round * m->j->pp + in % m->j->pp;

	if (m->j->chunks == 1)
		micro = k, chunk = 0;
	if (pass == PASS_FORWARD)
		forward(m, micro, chunk);
	else
		backward(m, micro, m->j->chunks - 1 - chunk);
}

/* 1F1B: the first stages run ahead by as many micro-batches as there are stages behind them. */
static void schedule(struct make *m)
{
	uint32_t n = m->j->micro_batches * m->j->chunks, ahead = m->j->pp - 1 - m->stage;

	if (m->j->chunks > 1)
		ahead = 2 * ahead + (m->j->chunks - 1) * m->j->pp;
	ahead = ahead < n && !m->j->infer ? ahead : n;
	for (uint32_t i = 0; i < ahead; i++)
		go(m, PASS_FORWARD, i);
	for (uint32_t i = 0; i < n - ahead; i++) {
		go(m, PASS_FORWARD, ahead + i);
		go(m, PASS_BACKWARD, i);
	}
	for (uint32_t i = n - ahead; i < n && !m->j->infer; i++)
		go(m, PASS_BACKWARD, i);
}

static uint64_t gradient(const struct make *m)
{
	uint32_t layers = 0, parts = m->j->pp * m->j->chunks;

	for (uint32_t at = m->stage; at < parts; at += m->j->pp)
		layers += m->j->layers / parts + (at < m->j->layers % parts);
	return layers * m->cost.layer_gradient + (m->stage ? 0 : m->cost.gradient[LAYER_EMBED]) +
	       (m->stage == m->j->pp - 1 ? m->cost.gradient[LAYER_HEAD] : 0);
}

static void step(struct make *m)
{
	const struct job *j = m->j;
	struct op *o;

	m->pass = PASS_REST;
	add(m, OP_LOAD, ON_COMPUTE, "DataLoader.__next__");
	o = add(m, OP_COPY, ON_COPY, "Memcpy HtoD (Pinned -> Device)");
	o->bytes = (uint64_t)j->seq * j->micro_batch * j->micro_batches * 8; /* ids are 64 bits */
	if (!j->forward)
		o->ns[0] = o->ns[1] = sim_cost_copy(j->gpu, (double)o->bytes, SIM_WAY_HOST);
	schedule(m);
	m->pass = PASS_REST;
	m->micro = m->chunk = 0;
	if (!j->forward && !j->infer) {
		m->waits = m->p->last[ON_DP];
		kernel(m, "multi_tensor_apply_kernel_adam", STEP_CLASS_OPTIMIZER,
		       layer_optimizer(j, gradient(m) / (j->zero ? j->dp : 1)));
		if ((j->zero == 1 || j->zero == 2) && j->dp > 1)
			add_coll(m, ON_GATHER, GROUP_DP, COLL_ALL_GATHER, gradient(m), gradient(m));
	}
	add(m, OP_SYNC, ON_COMPUTE, "cudaStreamSynchronize");
	pause_here(m, PAUSE_CHECKPOINT, "save_checkpoint");
}

int program_new(struct program **out, const struct job *j, uint32_t stage)
{
	struct make m = { .j = j, .stage = stage, .waits = OP_NONE, .gathered = OP_NONE };
	int err;

	m.p = calloc(1, sizeof(*m.p));
	if (!m.p)
		return -ENOMEM;
	m.p->p2p = malloc(P2PS * (size_t)j->micro_batches * j->chunks * sizeof(*m.p->p2p));
	for (size_t i = 0; i < ON_STREAMS; i++)
		m.p->last[i] = OP_NONE;
	err = m.p->p2p ? layer_costs(&m.cost, j, j->infer ? MODE_DECODE : MODE_TRAIN) : -ENOMEM;
	m.prompt = m.cost;
	if (!err && j->infer)
		err = layer_costs(&m.prompt, j, MODE_PREFILL);
	if (!err)
		step(&m);
	err = err ? err : m.p->err;
	if (err < 0) {
		program_free(m.p);
		return err;
	}
	*out = m.p;
	return 0;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	free(p->op);
	free(p->piece);
	free(p->p2p);
	free(p);
}
