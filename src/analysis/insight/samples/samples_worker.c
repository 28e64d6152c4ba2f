/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_worker.c - what the workers of a process do while it waits for them: DataLoader workers, pools of
 * processes, compilers; see samples.h.
 *
 * A process waits for a worker if its stack is in one of the libraries by which Python hands work to other
 * processes. Its workers are the sampled processes that it started. What a worker does is the innermost
 * frame of the program's own code: inside of where the worker began, as a forked one still has the frames of
 * its parent around that. A worker without such a frame waits for work.
 */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "insight/insight.h"

bool samples_waits_for_worker(const struct insight *in, uint32_t stack)
{
	static const char *const way[] = { "/multiprocessing/", "/concurrent/futures/",
					   "/subprocess.py", "/torch/utils/data/" };
	struct stack_row s = trace_stack(in->t, stack);

	for (uint32_t i = 0; i < s.n; i++) {
		const char *file = s.frame[i].kind == FRAME_PYTHON && s.frame[i].file
					   ? trace_text(in->t, s.frame[i].file)
					   : "";

		if (s.frame[i].flags & FRAME_USER)
			return false; /* what it called did not come to wait for a worker */
		for (size_t k = 0; k < sizeof(way) / sizeof(way[0]); k++)
			if (strstr(file, way[k]))
				return true;
	}
	return false;
}

/* Where a process of multiprocessing begins. */
static bool begins(const struct trace *t, const struct stack_frame *f)
{
	return f->kind == FRAME_PYTHON && f->name && f->file &&
	       !strcmp(trace_text(t, f->name) + strcspn(trace_text(t, f->name), "_"),
		       "_bootstrap") &&
	       strstr(trace_text(t, f->file), "/multiprocessing/process.py");
}

/* Its own code; NULL: none. */
static const struct stack_frame *own_code(const struct trace *t, struct stack_row s)
{
	for (uint32_t i = 0; i < s.n && !begins(t, &s.frame[i]); i++)
		if (s.frame[i].kind == FRAME_PYTHON && s.frame[i].flags & FRAME_USER)
			return &s.frame[i];
	return NULL;
}

static bool is_worker(const struct trace *t, uint32_t process, uint32_t of)
{
	const struct trace_process *p = &t->process[process], *parent = &t->process[of];

	return process != of && p->parent && p->parent == parent->pid && p->node == parent->node;
}

bool samples_worker(const struct insight *in, uint32_t process, struct sample_worker *out)
{
	const struct trace *t = in->t;
	struct sample_worker best = { 0 };
	struct map sums = { 0 };
	uint64_t count = 0, most = 0;

	for (size_t i = 0; i < in->samples.rows; i++) {
		const struct sample_row *r = &in->samples.row[i];
		const struct stack_frame *f = is_worker(t, r->process, process)
						      ? own_code(t, trace_stack(t, r->stack))
						      : NULL;
		uint64_t *sum =
			f ? map_at(&sums, hash_mix(hash_mix(r->process, f->name), f->file)) : NULL;

		if (!sum)
			continue;
		count += r->count;
		*sum += (uint64_t)r->ns;
		if (*sum <= most)
			continue;
		most = *sum;
		best = (struct sample_worker){ t->process[r->process].pid, *f };
	}
	map_fini(&sums);
	if (count < SAMPLES_ENOUGH)
		return false;
	*out = best;
	return true;
}
