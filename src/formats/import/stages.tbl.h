/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages.tbl.h - what is in a timeline of pipeline stages, once.
 *
 *	WORK(NAME, "name", class, forward)                 the rank's own
 *	EXCHANGE(NAME, "name", OP, AMONG, act)             act: activations, from stage to stage
 *
 * AMONG: PAIR two stages, STAGE all of the stage, ENDS first and last stage, ALL.
 */
/* clang-format off */
#ifdef WORK
WORK(FORWARD,   "forward-compute",  OTHER,     1)
WORK(BACKWARD,  "backward-compute", OTHER,     0)
WORK(OPTIMIZER, "optimizer",        OPTIMIZER, 0)
#undef WORK
#endif

#ifdef EXCHANGE
EXCHANGE(SEND_ACT,  "forward-send",               SEND,           PAIR,  1)
EXCHANGE(RECV_ACT,  "forward-recv",               RECV,           PAIR,  1)
EXCHANGE(SEND_GRAD, "backward-send",              SEND,           PAIR,  0)
EXCHANGE(RECV_GRAD, "backward-recv",              RECV,           PAIR,  0)
EXCHANGE(REDUCE,    "grads-reduce-scatter",       REDUCE_SCATTER, STAGE, 0)
EXCHANGE(GATHER,    "params-all-gather",          ALL_GATHER,     STAGE, 0)
EXCHANGE(EMBEDDING, "embedding-grads-all-reduce", ALL_REDUCE,     ENDS,  0)
EXCHANGE(CLIP,      "optimizer-clip-main-grad",   ALL_REDUCE,     ALL,   0)
#undef EXCHANGE
#endif
/* clang-format on */
