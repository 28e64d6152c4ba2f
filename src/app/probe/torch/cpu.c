/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c - blocks of torch's CPU allocator, as it reports them.
 *
 * The allocator reports every block to c10::ProfiledCPUMemoryReporter, which reports it to a profiler if one runs on
 * the thread. The probe cannot be that profiler: there is one place for it, and the program's own would then fail. So
 * the calls are intercepted where libc10.so makes them: in its table of imported functions, whose entries lead here
 * and from here to torch.
 *
 *	New(reporter, block, bytes)   a block was allocated
 *	Delete(reporter, block)       is about to be freed
 *	OutOfMemory(reporter, bytes)  could not be allocated: an exception follows
 *
 * Blocks are counted by block.c, by chance; with AON_TORCH_MEMORY=cpu each one, and a step's sums are counters of the
 * recording. Blocks of before the probe was loaded are not counted. The entries stay intercepted until the process ends.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "probe/torch/box.h"
#include "probe/got.h"
#include "probe/torch/torch.h"

#define NEW    "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
#define REFUSE "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm"

typedef void new_fn(void *reporter, void *block, size_t bytes);
typedef void delete_fn(void *reporter, void *block);

typedef void refuse_fn(void *reporter, size_t bytes);

static struct {
	new_fn *made;
	delete_fn *freed;
	refuse_fn *refused;
	bool exact;
	_Atomic int64_t allocated; /* bytes, if exact, */
	_Atomic int64_t highest;   /* max since the step's begin */
} cpu;

static void on_new(void *reporter, void *block, size_t bytes)
{
	int64_t now, high, counts;

	cpu.made(reporter, block, bytes);
	counts = (int64_t)block_made(AON_MEMORY_HOST, block, bytes, site_now);
	if (!cpu.exact || !counts)
		return;
	now = atomic_fetch_add_explicit(&cpu.allocated, counts, memory_order_relaxed) + counts;
	high = atomic_load_explicit(&cpu.highest, memory_order_relaxed);
	while (now > high &&
	       !atomic_compare_exchange_weak_explicit(&cpu.highest, &high, now,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static void on_delete(void *reporter, void *block)
{
	uint64_t counts = block_freed(block);

	if (cpu.exact)
		atomic_fetch_sub_explicit(&cpu.allocated, (int64_t)counts, memory_order_relaxed);
	cpu.freed(reporter, block);
}

static void on_refuse(void *reporter, size_t bytes)
{
	struct aon_memory *m = block_table();

	box_fail(m, AON_MEMORY_HOST, bytes, site_now(m, AON_MEMORY_HOST, NULL));
	cpu.refused(reporter, bytes);
}

void cpu_step(uint64_t number)
{
	int64_t now;

	if (!cpu.exact)
		return;
	now = atomic_load_explicit(&cpu.allocated, memory_order_relaxed);
	memory_put(0, MEMORY_HIGHEST,
		   atomic_exchange_explicit(&cpu.highest, now, memory_order_relaxed), number);
	memory_put(0, MEMORY_ALLOCATED, now, number);
}

AON_API int aon_torch_cpu_memory(int exact);

/* 0, or -ENOSYS: this torch has no such calls to take. */
AON_API int aon_torch_cpu_memory(int exact)
{
	static const struct got_place want[] = { { NEW, (void *)on_new },
						 { DELETE, (void *)on_delete },
						 { REFUSE, (void *)on_refuse } };
	void *lib = library_open("libc10.so");
	int err;

	if (block_on())
		return 0;
	if (!lib)
		return -ENOSYS;
	cpu.made = (new_fn *)dlsym(lib, NEW);
	cpu.freed = (delete_fn *)dlsym(lib, DELETE);
	cpu.refused = (refuse_fn *)dlsym(lib, REFUSE);
	if (!cpu.made || !cpu.freed)
		return -ENOSYS;
	err = block_start(exact);
	if (err)
		return err;
	cpu.exact = exact;
	return library_take("libc10.so", want, cpu.refused ? 3 : 2, 2);
}
