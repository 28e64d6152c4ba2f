/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.tbl.h - every rule that may become a finding, once. docs/insights.md says more of each.
 *
 *	RULE(ID, "family", smallest share of the base that fires, min and max share of the cost that
 *	     fixing it saves where it cannot be replayed, "what was looked at, for people",
 *	     "what it means")
 */
/* clang-format off */
RULE(STOPPED,    stopped,         0.00, 0.00, 0.00, "collectives that never ended",
     "A collective was issued and did not end as long as the recording goes on: the job does not move, "
     "and how long its steps took before is not its problem.")
RULE(TOO_LITTLE, too_little,      0.00, 0.00, 0.00, "amount of work",
     "So little GPU work was recorded, or so few of its launches, that the cost of any cause may be wrong "
     "by more than a third.")
RULE(INPUT,      input_bound,     0.03, 0.70, 1.00, "next batch",
     "The thread that launches GPU work was fetching or preparing its next batch while the GPU had "
     "nothing to do.")
RULE(LAUNCH,     launch_bound,    0.03, 0.50, 0.95, "launching",
     "The GPU waits for its host, in many gaps of any length that no single function explains: the host "
     "needs longer to launch the work than the GPU to do it.")
RULE(CPU,        host_code,       0.03, 0.50, 1.00, "host code",
     "The GPU waited while the thread that launches its work was in one piece of code for most of that "
     "time.")
RULE(SYNC,       host_sync,       0.03, 0.60, 1.00, "waits for the GPU",
     "The host waited for the GPU (a synchronize call, .item(), .to(), a blocking copy) instead of "
     "launching. Without the wait it would be ahead, and the gaps behind it would be shorter by so much.")
RULE(COMPILING,  compiling,       0.03, 0.80, 1.00, "compiling",
     "The thread that launches GPU work compiled a function for the first time (torch.compile, JAX, "
     "Triton). That happens once, but it is a part of this recording.")
RULE(CHECKPOINT, checkpoint,      0.03, 0.50, 1.00, "checkpoints",
     "The thread that launches GPU work wrote or read a checkpoint.")
RULE(GC,         gc,              0.02, 0.80, 1.00, "garbage collection",
     "Python collected garbage on the thread that launches GPU work.")
RULE(ALLOC,      allocator,       0.03, 0.50, 1.00, "allocation",
     "Memory of the GPU was allocated or freed by the driver while the GPU had nothing to do.")
RULE(CAPTURE,    graph_capture,   0.03, 0.80, 1.00, "graph capture",
     "Work was recorded into a CUDA or HIP graph. It does not run then, and later runs from the graph: "
     "this is what capturing costs, not what a step costs.")
RULE(WARM_UP,    warm_up,         0.03, 0.80, 1.00, "first use",
     "Code was loaded, or the device set up, on its first use. That happens once: record after a few "
     "steps to see what a step costs.")
RULE(DEPENDENCY, idle_dependency, 0.05, 0.00, 1.00, "dependencies",
     "Work was launched in time, but did not start: it waited for an event, another GPU or a host "
     "function.")
RULE(COMM,       comm_exposed,    0.05, 0.30, 1.00, "communication",
     "Kernels that communicate ran while nothing computed on that GPU.")
RULE(STRAGGLER,  straggler,       0.05, 0.70, 1.00, "late ranks",
     "A collective ends for all ranks together, so the rank with the shortest time in it came last; "
     "the extra time of the others is waiting.")
RULE(EXPERTS,    expert_imbalance, 0.05, 0.30, 1.00, "balance of experts",
     "Tokens are routed to experts unequally. In each layer the ranks wait for the one whose experts "
     "have most to do, which may be another one each time.")
RULE(IMBALANCE,  imbalance,       0.05, 0.50, 1.00, "balance of ranks",
     "One rank computes longer than the mean of all.")
RULE(COPY,       copy_bound,      0.05, 0.50, 1.00, "copies",
     "Copies or memsets ran while no kernel did.")
RULE(SMALL,      small_kernels,   0.05, 0.30, 0.70, "small kernels",
     "Kernels shorter than 10 us cost about as much to launch as to run, and read and write memory "
     "that a fused kernel would keep in registers.")
RULE(UNFUSED,    unfused_attention, 0.05, 0.60, 1.00, "unfused attention",
     "Attention runs as a product, a softmax and a product. The scores between them, a number for "
     "each query and key, are written to memory and read again; a fused kernel never stores them.")
RULE(ROOF,       slow_kernels,    0.05, 0.30, 1.00, "kernels far from their limit",
     "Kernels take longer than their operations and bytes need on this GPU, or, for matrix products, "
     "than the model expects for their shape.")
RULE(SLOW_COPIES, slow_copies,    0.02, 0.30, 1.00, "speed of copies",
     "Copies take longer than their bytes need on this device's link to the host, to another device, or "
     "in its memory.")
RULE(SLOW_LINKS, slow_collectives, 0.02, 0.30, 1.00, "speed of links",
     "Collectives take longer than the model expects for their bytes and ranks, not counting the wait "
     "for late ranks.")
RULE(COMPILE,    recompiling,     0.02, 0.80, 1.00, "compilations",
     "A compiled function was compiled again (JAX, torch.compile): something that its "
     "code depends on had changed.")
RULE(MEMORY,     memory_growth,   0.00, 0.00, 0.00, "memory",
     "The memory allocated after a step grows from step to step.")
/* Of what aon records itself. */
#include "insight/live/find_live.tbl.h"
RULE(SATURATED,  gpu_saturated,   0.50, 0.00, 0.50, "GPU busy",
     "The GPU computes for most of the time: only less work or faster kernels shorten that part.")
/* Out of telemetry: join.h. */
#define CAUSE(ID, word, scope, classes, also, slower, looked, title, action, means) \
	RULE(BY_##ID, word, 0.01, 0.50, 1.00, looked, means)
#include "insight/find/cause.tbl.h"
/* clang-format on */
#undef RULE
