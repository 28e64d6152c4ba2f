/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.tbl.h - what a simulated job is, once: members of struct job, words of --set and --layout.
 *
 *	COUNT(name, default, min, max, "what it is")
 *	REAL(name, default, min, max, "what it is")
 */
/* clang-format off */
COUNT(dp,             8,     1, 65536, "replicas that share their gradients")
COUNT(tp,             1,     1, 1024,  "ranks that share each matrix (tensor parallel)")
COUNT(pp,             1,     1, 256,   "stages of the pipeline")
COUNT(ep,             1,     1, 4096,  "ranks among the replicas that share the experts")
COUNT(zero,           0,     0, 3,     "sharded over the replicas: 1, 2 optimizer and gradients, 3 also weights (FSDP)")
COUNT(ranks_per_node, 8,     1, 64,    "GPUs per node")
COUNT(layers,         8,     1, 4096,  "layers of the model, distributed over the stages")
COUNT(hidden,         2048,  1, 1<<20, "width of the model")
COUNT(heads,          16,    1, 4096,  "heads of attention")
COUNT(kv_heads,       16,    1, 4096,  "heads of keys and values")
COUNT(ffn,            5632,  1, 1<<22, "width inside the feed-forward part")
COUNT(gated,          1,     0, 1,     "1: the feed-forward part has three matrices, 0: two")
COUNT(vocab,          32000, 1, 1<<24, "size of the vocabulary")
COUNT(experts,        0,     0, 4096,  "experts of each layer, 0: dense")
COUNT(topk,           2,     1, 64,    "top-k experts per token")
COUNT(seq,            2048,  1, 1<<24, "tokens per sequence")
COUNT(micro_batch,    4,     1, 65536, "sequences per micro-batch")
COUNT(micro_batches,  1,     1, 4096,  "micro-batches per step and replica")
COUNT(chunks,         1,     1, 64,    "parts of the model that a stage holds: more than 1 is an interleaved pipeline")
COUNT(infer,          0,     0, 1,     "1: each step is a batch of an inference, prompts or one token of each sequence")
COUNT(coarse,         0,     0, 1,     "1: merge the kernels between two collectives, for many steps of many ranks")
COUNT(telemetry,      1,     0, 1,     "1: telemetry of nodes and GPUs, every second of the job")
COUNT(confound,       0,     0, 31,    "signs in telemetry that slow nothing: 1 a hot GPU, 2 memory errors, 4 idle clocks, 8 link errors, 16 busy CPUs; add them")
COUNT(contend,        0,     0, 1,     "1: concurrent transfers share NICs and the uplinks of a leaf switch")
COUNT(nics,           0,     0, 64,    "NICs per node, 0: one per GPU")
COUNT(leaf,           16,    1, 65536, "nodes behind a leaf switch")
COUNT(steps,          10,    1, 1<<20, "steps")
REAL(loader_ms,       2,     0, 1e7,   "time to prepare a batch, ahead of its step")
COUNT(ckpt_every,     0,     0, 1<<20, "steps between two checkpoints, 0: never")
REAL(ckpt_ms,         0,     0, 1e7,   "time that all hosts need to write a checkpoint")
REAL(oversub,         1,     1, 64,    "oversubscription of a leaf switch's uplinks, with contend=1")
REAL(call_us,         4,     0, 1e6,   "host time of a launch call")
REAL(gap_us,          3,     0, 1e6,   "host time between two calls")
REAL(packed,          0,     0, 4,     "spread of the lengths of packed sequences (sigma of a lognormal); 0: no packing")
REAL(routing,         0,     0, 4,     "spread of tokens over the ranks' experts; 0: equal")
REAL(prefill,         0.2,   0, 1,     "share of inference batches that read prompts")
REAL(noise,           1,     0, 100,   "scale of the noise measured on real jobs; 0: none")
REAL(clock_ms,        1,     0, 1e6,   "spread of the nodes' clocks")
/* clang-format on */
#undef COUNT
#undef REAL
