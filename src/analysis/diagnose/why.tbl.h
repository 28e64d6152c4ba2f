/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.tbl.h - ways to know that something is wrong, once.
 *
 *	WHY(NAME, "word", "what was measured")
 */
/* clang-format off */
WHY(COMPUTE,    "compute",    "kernels take longer than on ranks of the same role")
WHY(HOST,       "host",       "the GPU waits for its host more than on ranks of the same role")
WHY(INPUT,      "input",      "batches come later than on ranks of the same role")
WHY(STAGE,      "stage",      "a stage computes longer than the others")
WHY(IMBALANCE,  "imbalance",  "ranks get unequal work")
WHY(EXPERTS,    "experts",    "a rank's experts get more tokens")
WHY(NETWORK,    "network",    "collectives between hosts take longer")
WHY(LINK,       "link",       "collectives within a host take longer")
WHY(ALL_HOST,   "all_host",   "all GPUs wait for their hosts")
WHY(ALL_INPUT,  "all_input",  "all batches come late")
WHY(ALL_COMPUTE,"all_compute","all ranks' kernels take longer")
WHY(OVERLAP,    "overlap",    "communication is no longer hidden")
WHY(GC,         "gc",         "Python collects garbage, on one rank or another")
WHY(ALLOC,      "alloc",      "memory is allocated and freed within steps")
WHY(CHECKPOINT, "checkpoint", "checkpoints are written often")
WHY(DRIFT,      "drift",      "steps take longer than they did hours ago, little by little or at once")
WHY(DEAD,       "dead",       "the process no longer exists")
WHY(OUTSIDE,    "outside",    "the rank has not reached a collective in which others wait")
WHY(TRANSPORT,  "transport",  "all ranks reached a collective that does not end")
WHY(MISMATCH,   "mismatch",   "ranks are in different collectives of one communicator")
WHY(DEADLOCK,   "deadlock",   "ranks wait for each other in a cycle")
WHY(SILENT,     "silent",     "the rank does not report")
/* clang-format on */
#undef WHY
