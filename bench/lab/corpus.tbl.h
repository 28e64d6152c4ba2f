/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus.tbl.h - what the cases of a fault corpus are drawn from, once.
 *
 *	LAYOUT(word, packs, "model", "what is set", "what it is")
 *	KIND(FAULT, low, high, START, course, course, course)
 *
 * packs: 1: sequences may be packed; 2, 3: the same of a layout that is held out: it is drawn only if it is named, and
 * no constant of the diagnosis was chosen by it. low, high: what six magnitudes are spread over, evenly in the
 * logarithm: published ones where there are any, around what is just worth acting on. START:
 * 1: such a fault is often there from the first step on.
 */
/* clang-format off */
#define BIG "hidden=8192,heads=64,kv_heads=8,ffn=28672,seq=4096,micro_batch=1,"
#define MID "hidden=4096,heads=32,kv_heads=32,ffn=11008,seq=4096,micro_batch=2,"
#ifdef LAYOUT
LAYOUT(ddp8,       1, "small",     "dp=8,layers=6,micro_batches=2,micro_batch=8",                               "one node, gradients shared")
LAYOUT(ddp64,      1, "small",     MID "dp=64,layers=6",                                                       "64 replicas")
LAYOUT(fsdp64,     1, "small",     MID "dp=64,zero=3,layers=6",                                                "weights sharded over 64")
LAYOUT(fsdp512,    1, "small",     MID "dp=512,zero=3,layers=4",                                               "weights sharded over 512")
LAYOUT(tp8pp2dp4,  1, "small",     BIG "tp=8,pp=2,dp=4,layers=4,micro_batches=6",                               "tensors, two stages, four replicas: 64")
LAYOUT(inter64,    0, "small",     BIG "tp=4,pp=4,dp=4,chunks=2,layers=8,micro_batches=8",                      "an interleaved pipeline: 64")
LAYOUT(tp8pp4dp16, 1, "small",     BIG "tp=8,pp=4,dp=16,layers=4,micro_batches=8",                              "512")
LAYOUT(tp8pp8dp64, 0, "small",     BIG "tp=8,pp=8,dp=64,layers=8,micro_batches=8",                              "4,096")
LAYOUT(moe32,      0, "small-moe", MID "dp=32,ep=8,experts=16,layers=4,routing=0.05",                           "experts of 8 ranks, in one node each: 32")
LAYOUT(moe512,     0, "small-moe", MID "dp=512,ep=64,experts=64,layers=4,routing=0.05",                         "experts over 64 ranks of eight nodes: 512")
LAYOUT(infer32,    0, "small",     BIG "infer=1,tp=8,dp=4,layers=8,micro_batch=64,call_us=1,gap_us=0.5",         "four replicas that answer")
LAYOUT(infer128,   0, "small",     BIG "infer=1,tp=8,pp=2,dp=8,layers=8,micro_batch=64,call_us=1,gap_us=0.5,micro_batches=2", "eight replicas of two stages that answer")
LAYOUT(tp4pp3dp4,  3, "small",     BIG "tp=4,pp=3,dp=4,layers=6,micro_batches=6",                               "held out: three stages, four replicas: 48")
LAYOUT(fsdp40,     3, "small",     MID "dp=40,zero=3,layers=6",                                                "held out: weights sharded over 40")
LAYOUT(packed40,   3, "small",     MID "seq=8192,micro_batch=1,dp=40,zero=3,layers=6",                             "held out: sequences of 32,768 tokens, packed: 40")
#undef LAYOUT
#endif

#ifdef KIND
KIND(THERMAL,    1.02, 1.65,  0, RAMP,   SUDDEN, ONOFF)
KIND(POWER,      1.02, 2.0,   0, SUDDEN, SUDDEN, RAMP)
KIND(HBM,        1.05, 2.0,   0, LADDER, SUDDEN, RAMP)
KIND(SLOW_GPU,   1.02, 1.5,   1, SUDDEN, SUDDEN, SUDDEN)
KIND(FOREIGN,    1.05, 2.03,  0, ONOFF,  SUDDEN, ONOFF)
KIND(NVLINK,     1.3,  8,     0, SUDDEN, SUDDEN, RAMP)
KIND(PCIE,       2,    16,    0, SUDDEN, SUDDEN, SUDDEN)
KIND(CONTENTION, 2,    40,    0, ONOFF,  SUDDEN, ONOFF)
KIND(SLOW_CPU,   2,    40,    1, SUDDEN, SUDDEN, SUDDEN)
KIND(GC,         20,   300,   0, SPIKE,  SPIKE,  SPIKE)
KIND(ALLOCATOR,  2,    100,   0, SPIKE,  SPIKE,  SUDDEN)
KIND(STRAY_SYNC, 1,    1,     0, SUDDEN, SUDDEN, SUDDEN)
KIND(STORAGE,    100,  3000,  0, ONOFF,  SUDDEN, ONOFF)
KIND(PREPROCESS, 30,   600,   0, SUDDEN, RAMP,   SUDDEN)
KIND(LENGTHS,    1.05, 1.6,   1, SUDDEN, SUDDEN, SUDDEN)
KIND(LAST_STAGE, 1.05, 2.07,  1, SUDDEN, SUDDEN, SUDDEN)
KIND(EXPERTS,    1.1,  3,     0, RAMP,   SUDDEN, RAMP)
KIND(SERIAL,     1,    1,     0, SUDDEN, SUDDEN, SUDDEN)
KIND(NIC,        1.3,  16,    0, SUDDEN, SUDDEN, RAMP)
KIND(FLAP,       500,  5000,  0, SPIKE,  SPIKE,  SPIKE)
KIND(CONGESTION, 1.3,  16,    0, LADDER, SUDDEN, ONOFF)
KIND(SWITCH,     1.2,  16,    0, SUDDEN, SUDDEN, SUDDEN)
KIND(LOSS,       1.2,  8,     0, SUDDEN, SUDDEN, RAMP)
KIND(GDR,        1.5,  8,     1, SUDDEN, SUDDEN, SUDDEN)
KIND(PROXY,      50,   1000,  0, SPIKE,  SPIKE,  SPIKE)
KIND(CHECKPOINT, 200,  4000,  0, EVERY,  EVERY,  EVERY)
KIND(CRASH,      1,    1,     0, SUDDEN, SUDDEN, SUDDEN)
KIND(TRANSPORT,  1,    1,     0, SUDDEN, SUDDEN, SUDDEN)
KIND(DESYNC,     1,    1,     0, SUDDEN, SUDDEN, SUDDEN)
KIND(HOST_HANG,  1,    1,     0, SUDDEN, SUDDEN, SUDDEN)
#undef KIND
#endif
#undef BIG
#undef MID
/* clang-format on */
