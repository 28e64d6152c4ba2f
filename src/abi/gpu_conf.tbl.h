/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_conf.tbl.h - every line of gpu.conf, once.
 *
 *	TEXT(name, bytes)  NUM(name, least, most, without a file)  WORD(name, "first is the default|...")
 */
/* clang-format off */
TEXT(date,       16)                                 /* of the proof */
TEXT(driver,     32)                                 /* the driver's build; - if not known */
NUM(cuda,        0, 1000000, 0)                      /* cuDriverGetVersion() */
NUM(cupti,       0, 10000000, 0)                     /* cuptiGetVersion() */
WORD(fidelity,   "all|heartbeat")                    /* heartbeat: CUPTI is left alone */
TEXT(why,        16)                                 /* the check that says so; - if none does */
WORD(graphs,     "node|template|graph")              /* AON_CUDA_GRAPHS */
NUM(callbacks,   0, 1, 1)                            /* AON_CUDA_PULSE */
NUM(buffer_kib,  4, 16384, 16)                       /* AON_CUDA_BUFFER_KIB */
NUM(late_ms,     1, 1000, 100)                       /* how long the exit waits for buffers */
NUM(launch_ns,   0, 1000000, 0)                      /* what recording adds to a launch; 0: not measured */
/* clang-format on */
#undef TEXT
#undef NUM
#undef WORD
