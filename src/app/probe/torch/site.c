/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.c - where a thread allocates: in a module, the backward pass, the optimizer, a fetch of data, or the program's
 * own code; and the line of the program, which Python tells once for each site.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "probe/torch/box.h"
#include "probe/torch/torch.h"

#define TYPE_NAME 24 /* of tp_name in PyTypeObject */
#define LINE_NS \
	10000000u /* at least, between two blocks whose line is asked for: it takes some 5 us */

static struct {
	void *place; /* a function: "model.py:88" of the program's innermost frame; owned for good */
	_Atomic uint32_t began; /* a module was called, or a step has ended */
} program;

static struct {
	_Atomic uint32_t queued; /* in Python's list */
	_Atomic uint64_t next_ns;
	const void *at; /* the block, of whoever has queued it */
} own_line;

static struct {
	uint32_t generation;
	uint8_t of[AON_MEMORY_SITES]; /* the GPU's site of a host's; 0: none yet */
} gpu_sites;

/* Two threads may make the same site: both find the same one. */
static uint32_t gpu_site(struct aon_memory *m, uint32_t site)
{
	if (gpu_sites.generation != block_generation()) {
		memset(gpu_sites.of, 0, sizeof(gpu_sites.of));
		gpu_sites.generation = block_generation();
	}
	if (site < AON_MEMORY_FIXED)
		return box_fixed(AON_MEMORY_GPU, (enum aon_memory_part)site);
	if (!gpu_sites.of[site]) {
		gpu_sites.of[site] = (uint8_t)box_site(m, AON_MEMORY_GPU, AON_MEMORY_FORWARD,
						       m->site[site].name);
		box_place(m, gpu_sites.of[site], m->site[site].place);
	}
	return gpu_sites.of[site];
}

/* --- lines of the program's own code: of one block now and then --- */

/* On Python's main thread, between two of its instructions: mostly right behind the call that has allocated. */
static int tell_line(void *unused)
{
	void *answer = program.place ? py.call_with(program.place, NULL) : NULL;
	const char *text = answer ? py.utf8(answer, NULL) : NULL;

	(void)unused;
	if (text && *text)
		block_move(own_line.at,
			   box_site(block_table(), AON_MEMORY_HOST, AON_MEMORY_OTHER, text));
	if (!text)
		py.clear();
	if (answer)
		py.dec_ref(answer);
	atomic_store_explicit(&own_line.queued, 0, memory_order_release);
	return 0;
}

static void ask_line(const struct torch_thread *t, const void *at)
{
	uint64_t now = clock_mono_ns();

	if (!at || !program.place ||
	    now < atomic_load_explicit(&own_line.next_ns, memory_order_relaxed) ||
	    t->tid != (uint32_t)getpid() ||
	    atomic_exchange_explicit(&own_line.queued, 1, memory_order_acquire))
		return;
	atomic_store_explicit(&own_line.next_ns, now + LINE_NS, memory_order_relaxed);
	own_line.at = at;
	if (py.add_pending(tell_line, NULL))
		atomic_store_explicit(&own_line.queued, 0, memory_order_relaxed);
}

uint32_t site_now(struct aon_memory *m, enum aon_memory_space space, const void *at)
{
	struct torch_thread *t = thread_self();
	uint32_t site = t ? t->site : 0;

	if (!site && t && t->quiet)
		site = AON_MEMORY_OPTIMIZER;
	else if (!site)
		site = atomic_load_explicit(&program.began, memory_order_relaxed)
			       ? AON_MEMORY_OTHER
			       : AON_MEMORY_START;
	if (site == AON_MEMORY_OTHER && t && space == AON_MEMORY_HOST)
		ask_line(t, at);
	return space == AON_MEMORY_GPU ? gpu_site(m, site) : site;
}

void site_step(uint64_t number)
{
	struct aon_memory *m;

	if (!block_on())
		return;
	atomic_store_explicit(&program.began, 1, memory_order_relaxed);
	m = block_table();
	box_step(m, number ? number : m->step);
}

void site_forked(void)
{
	atomic_store_explicit(&own_line.queued, 0, memory_order_relaxed);
}

void site_ended(void)
{
	if (block_on())
		__atomic_store_n(&block_table()->ended, 1, __ATOMIC_RELAXED);
}

uint32_t site_enter(struct torch_thread *t, enum aon_memory_part part)
{
	uint32_t was = t->site;

	if (block_on()) {
		site_ask_place(part);
		t->site = part;
	}
	return was;
}

void site_leave(struct torch_thread *t, uint32_t was)
{
	t->site = was;
}

uint32_t site_module(const char *path)
{
	return block_on() ? box_site(block_table(), AON_MEMORY_HOST, AON_MEMORY_FORWARD, path) : 0;
}

void site_ask_place(uint32_t site)
{
	struct aon_memory *m;
	const char *text;
	void *answer;

	if (!block_on() || !program.place)
		return;
	m = block_table();
	if (__atomic_load_n(&m->site[site].placed, __ATOMIC_RELAXED))
		return;
	answer = py.call_with(program.place, NULL);
	text = answer ? py.utf8(answer, NULL) : NULL;
	if (text)
		box_place(m, site, *text ? text : "?"); /* not to be asked again */
	else
		py.clear();
	if (answer)
		py.dec_ref(answer);
}

/* --- the batch --- */

/* The first dimension of a tensor; 0: it is none, or this torch has no shims. */
static uint64_t first_dim(void *o)
{
	const char *type = *(const char *const *)(((char *const *)o)[1] + TYPE_NAME);
	int64_t dims = 0, *size = NULL;
	void *number, *impl = NULL;

	if (strcmp(type, "Tensor") != 0 || !torch.dim || !torch.sizes)
		return 0;
	number = py.get(o, "_cdata");
	if (number)
		impl = (void *)(uintptr_t)py.number(number);
	else
		py.clear();
	if (number)
		py.dec_ref(number);
	if (!impl || torch.dim(&impl, &dims) || dims < 1 || torch.sizes(&impl, &size) || !size)
		return 0;
	return size[0] > 0 ? (uint64_t)size[0] : 0;
}

void site_batch(void *args, void *kwargs)
{
	long n = args ? py.tuple_size(args) : 0, at = 0;
	void *key, *value;
	uint64_t batch = 0;

	if (!block_on())
		return;
	atomic_store_explicit(&program.began, 1, memory_order_relaxed);
	for (long i = 0; i < n && !batch; i++)
		batch = first_dim(py.tuple_item(args, i));
	while (!batch && kwargs && py.dict_next(kwargs, &at, &key, &value))
		batch = first_dim(value);
	if (batch)
		__atomic_store_n(&block_table()->batch, batch, __ATOMIC_RELAXED);
}

AON_API void aon_torch_place(void *function);

AON_API void aon_torch_place(void *function)
{
	if (!python_find(&py))
		return;
	py.inc_ref(function);
	program.place = function;
}
