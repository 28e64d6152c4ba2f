/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - shows a tool a recorded trace as if it happened now.
 *
 * Every recorded op becomes the activity record that CUPTI would have made of it, with its
 * device, context, stream, graph and correlation ids, in the order of the launches. Durations
 * are the recorded ones to the nanosecond. With speed 1 the distances between starts are, too,
 * and a record is there from its launch on, incomplete until its end; with speed 2 starts come
 * twice as fast. Speed 0 is as fast as it goes: the trace has just ended, with exact distances.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"
#include "replay.h"

#define LAUNCH_CBID 307 /* cuLaunchKernel: a kernel's launch, whatever the program called */
#define SEEN_MAX    256

_Static_assert(sizeof(struct replay_op) == 120, "replay.py packs it");

struct replay {
	const struct replay_head *head;
	const struct replay_op *ops;
	const char *text;
	uint64_t base;
	double speed;
	struct {
		uint32_t context, stream;
	} seen[SEEN_MAX];
	uint32_t nseen;
};

static int map_file(struct replay *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*r->head))
		return close(fd), -EINVAL;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -errno;
	r->head = p;
	r->ops = (const void *)(r->head + 1);
	r->text = (const char *)(r->ops + r->head->ops);
	if (memcmp(r->head->magic, REPLAY_MAGIC, sizeof(r->head->magic)) || !r->head->text ||
	    (uint64_t)st.st_size !=
		    sizeof(*r->head) + (uint64_t)r->head->ops * sizeof(*r->ops) + r->head->text ||
	    r->text[r->head->text - 1])
		return -EINVAL;
	return 0;
}

static uint64_t when(const struct replay *r, uint64_t t)
{
	return r->base + (r->speed > 0 ? (uint64_t)((double)t / r->speed) : t);
}

static void emit(const struct sim_op *op)
{
	struct sim_tool *tool = sim_tool_get();

	if (sim_wants(tool, op->kind))
		tool->op(op);
}

/* The context and the stream of an op come into being when it is the first of them. */
static void introduce(struct replay *r, const struct sim_op *op)
{
	struct sim_op o = { .device = op->device, .context = op->context, .stream = op->stream };
	bool context = true;

	if (!op->context || op->stream == UINT32_MAX)
		return;
	for (uint32_t i = 0; i < r->nseen; i++) {
		if (r->seen[i].context != op->context)
			continue;
		context = false;
		if (r->seen[i].stream == op->stream)
			return;
	}
	if (r->nseen < SEEN_MAX) {
		r->seen[r->nseen].context = op->context;
		r->seen[r->nseen++].stream = op->stream;
	}
	o.kind = SIM_CONTEXT;
	if (context)
		emit(&o);
	o.kind = SIM_STREAM;
	o.stream_made.flag = 1;
	emit(&o);
}

static void fill(const struct replay *r, const struct replay_op *f, struct sim_op *op)
{
	*op = (struct sim_op){ .kind = f->kind,
			       .corr = f->corr,
			       .device = f->device,
			       .context = f->context,
			       .stream = f->stream,
			       .graph = f->graph,
			       .node = f->node,
			       .queued = when(r, f->launch),
			       .submitted = when(r, f->launch),
			       .start = when(r, f->start) };
	op->end = op->start + (f->end - f->start);
	switch (f->kind) {
	case SIM_KERNEL:
		op->kernel.name = r->text + (f->name < r->head->text ? f->name : 0);
		memcpy(op->kernel.grid, f->grid, sizeof(f->grid));
		memcpy(op->kernel.block, f->block, sizeof(f->block));
		op->kernel.regs = (uint16_t)f->regs;
		op->kernel.smem_static = f->smem_static;
		op->kernel.smem_dynamic = f->smem_dynamic;
		break;
	case SIM_MEMCPY:
	case SIM_MEMCPY2:
		op->copy.bytes = f->bytes;
		op->copy.dir = (uint8_t)f->value;
		op->copy.src = (uint8_t)f->src;
		op->copy.dst = (uint8_t)f->dst;
		break;
	case SIM_MEMSET:
		op->set.bytes = f->bytes;
		op->set.memory = (uint8_t)f->dst;
		break;
	case SIM_SYNC:
		op->sync.type = f->value;
		op->sync.event = f->src;
		break;
	default:
		op->api.cbid = f->value;
		op->api.tid = f->src;
		op->api.result = f->dst;
	}
}

static void play(struct replay *r, const struct replay_op *f)
{
	struct sim_tool *tool = sim_tool_get();
	struct sim_call c;
	struct sim_op op;
	bool launch = f->kind == SIM_KERNEL && !f->graph;

	fill(r, f, &op);
	if (r->speed > 0)
		sim_wait(op.queued);
	if (f->kind != SIM_RUNTIME && f->kind != SIM_DRIVER)
		introduce(r, &op);
	if (launch && tool && GET(tool->driver[LAUNCH_CBID])) {
		sim_call_begin(&c, tool, LAUNCH_CBID, "cuLaunchKernel", NULL, op.kernel.name,
			       op.corr);
		emit(&op);
		sim_leave(&c, CUDA_SUCCESS);
	} else {
		emit(&op);
	}
}

/* Not of CUDA's interface: cuda_replay calls it. 0 or -errno. */
SIM_API int simReplay(const char *path, double speed);

int simReplay(const char *path, double speed)
{
	struct replay r = { .speed = speed };
	int err = map_file(&r, path);

	if (err)
		return err;
	r.base = speed > 0 ? sim_now() + 1000000 : sim_now() - r.head->span_ns;
	for (uint32_t i = 0; i < r.head->ops; i++)
		play(&r, &r.ops[i]);
	sim_wait(when(&r, r.head->span_ns));
	return 0; /* the file stays mapped: records point at its names */
}
