/* SPDX-License-Identifier: Apache-2.0 */
/* find_live.tbl.h - families of findings that only recordings of aon itself have; see find.tbl.h. */
/* clang-format off */
RULE(OPTIMIZER,  optimizer_bound, 0.30, 0.30, 0.80, "optimizer",
     "The optimizer's work grows with the parameters only, the model's with parameters and batch: a "
     "third of a step or more is out of proportion, mostly many small operations.")
RULE(LAYER,      slow_layer,      0.40, 0.30, 0.80, "one layer",
     "One line or layer of the model takes longest, and several times what others take.")
RULE(EVALUATION, evaluation,      0.15, 0.50, 1.00, "evaluation",
     "The model is evaluated between steps.")
RULE(LOGGING,    logging,         0.05, 0.80, 1.00, "logging",
     "The thread that has the steps formats and writes logs, metrics or output.")
RULE(GIL,        gil,             0.05, 0.80, 1.00, "GIL",
     "Another thread of the program holds Python's global interpreter lock.")
RULE(PREEMPTED,  preempted,       0.20, 0.80, 1.00, "waits for a CPU",
     "The thread could run, and other threads or programs have the CPUs.")
RULE(THROTTLED,  throttled,       0.05, 0.80, 1.00, "CPU quota",
     "The process's cgroup has used up its CPU quota, and the kernel stops it until the next period.")
/* clang-format on */
