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
COUNT(ep,             1,     1, 4096,  "of the replicas, ranks that share the experts")
COUNT(zero,           0,     0, 3,     "shared by the replicas: 1, 2 optimizer and gradients, 3 weights, too (FSDP)")
COUNT(ranks_per_node, 8,     1, 64,    "GPUs of a node")
COUNT(layers,         8,     1, 4096,  "layers of the model, shared out over the stages")
COUNT(hidden,         2048,  1, 1<<20, "width of the model")
COUNT(heads,          16,    1, 4096,  "heads of attention")
COUNT(kv_heads,       16,    1, 4096,  "heads of keys and values")
COUNT(ffn,            5632,  1, 1<<22, "width inside the feed-forward part")
COUNT(gated,          1,     0, 1,     "1: the feed-forward part has three matrices, 0: two")
COUNT(vocab,          32000, 1, 1<<24, "words")
COUNT(experts,        0,     0, 4096,  "experts of each layer, 0: dense")
COUNT(topk,           2,     1, 64,    "experts of a token")
COUNT(seq,            2048,  1, 1<<24, "tokens of a sequence")
COUNT(micro_batch,    4,     1, 65536, "sequences of a micro-batch")
COUNT(micro_batches,  1,     1, 4096,  "micro-batches of a step and replica")
COUNT(chunks,         1,     1, 64,    "parts of the model that a stage holds: more than 1 is an interleaved pipeline")
COUNT(infer,          0,     0, 1,     "1: each step is a batch of an inference, prompts or one token of each sequence")
COUNT(coarse,         0,     0, 1,     "1: kernels between two exchanges are one, for many steps of many ranks")
COUNT(telemetry,      1,     0, 1,     "1: nodes and GPUs measure themselves, every second of the job")
COUNT(confound,       0,     0, 31,    "what telemetry shows and slows nothing: 1 a hot GPU, 2 memory errors, 4 idle clocks, 8 link errors, 16 busy CPUs, added")
COUNT(contend,        0,     0, 1,     "1: exchanges that use a NIC or the links up from a leaf at the same time share them")
COUNT(nics,           0,     0, 64,    "NICs of a node, 0: one for each GPU")
COUNT(leaf,           16,    1, 65536, "nodes behind a leaf switch")
COUNT(steps,          10,    1, 1<<20, "steps")
REAL(loader_ms,       2,     0, 1e7,   "to prepare a batch, ahead of its step")
COUNT(ckpt_every,     0,     0, 1<<20, "a checkpoint each so many steps, 0: never")
REAL(ckpt_ms,         0,     0, 1e7,   "of all hosts, to write one")
REAL(oversub,         1,     1, 64,    "of a leaf switch: how much more its nodes have than its links up, where exchanges share")
REAL(call_us,         4,     0, 1e6,   "of the host, in a call that launches")
REAL(gap_us,          3,     0, 1e6,   "of the program between two calls")
REAL(packed,          0,     0, 4,     "spread of lengths of sequences that are packed into one (sigma of a lognormal); 0: none are")
REAL(routing,         0,     0, 4,     "spread of the tokens that ranks' experts get; 0: all alike")
REAL(prefill,         0.2,   0, 1,     "of an inference's batches, those that read prompts")
REAL(noise,           1,     0, 100,   "of the noise that was measured on real jobs; 0: none")
REAL(clock_ms,        1,     0, 1e6,   "spread of the nodes' clocks")
/* clang-format on */
#undef COUNT
#undef REAL
