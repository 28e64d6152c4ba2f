/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.tbl.h - ways to know that something is wrong, once.
 *
 *	WHY(NAME, "word", "what was measured")
 */
/* clang-format off */
WHY(COMPUTE,    "compute",    "kernels take longer than those of ranks that do the same")
WHY(HOST,       "host",       "the GPU waits for its host more than those of ranks that do the same")
WHY(INPUT,      "input",      "batches come later than to ranks that do the same")
WHY(STAGE,      "stage",      "a stage computes longer than the others")
WHY(IMBALANCE,  "imbalance",  "ranks get unequal work")
WHY(EXPERTS,    "experts",    "a rank's experts get more tokens")
WHY(NETWORK,    "network",    "exchanges between hosts take longer")
WHY(LINK,       "link",       "exchanges within a host take longer")
WHY(ALL_HOST,   "all_host",   "all GPUs wait for their hosts")
WHY(ALL_INPUT,  "all_input",  "all batches come late")
WHY(ALL_COMPUTE,"all_compute","all ranks' kernels take longer")
WHY(OVERLAP,    "overlap",    "exchanges are not hidden any more")
WHY(GC,         "gc",         "Python collects garbage, on one rank or another")
WHY(ALLOC,      "alloc",      "memory is allocated and freed within steps")
WHY(CHECKPOINT, "checkpoint", "checkpoints are written often")
WHY(DRIFT,      "drift",      "steps take longer than they did hours ago, little by little or at once")
WHY(DEAD,       "dead",       "the process does not exist any more")
WHY(OUTSIDE,    "outside",    "the rank has not come to an exchange in which others wait")
WHY(TRANSPORT,  "transport",  "all have come to an exchange that does not end")
WHY(MISMATCH,   "mismatch",   "ranks are in different exchanges of one communicator")
WHY(DEADLOCK,   "deadlock",   "ranks wait for each other in a circle")
WHY(SILENT,     "silent",     "nothing was heard of the rank")
/* clang-format on */
#undef WHY
