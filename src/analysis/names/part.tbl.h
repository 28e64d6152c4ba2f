/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part.tbl.h - the parts of a step, and what names them, once.
 *
 *	PART(ID, "word in JSON and options", "when that is, for people")
 *	BY_RANGE(PART, "words")              the name of a range of the thread
 *	BY_FILE(PART, "words", "function")   a Python frame: its file, and what is in the function's name
 *
 * Words are of match.h: the first row that is met holds.
 */
/* clang-format off */
#ifdef PART
PART(DATA,       "data",       "while it waits for data")
PART(FORWARD,    "forward",    "in the forward pass")
PART(BACKWARD,   "backward",   "in the backward pass")
PART(OPTIMIZER,  "optimizer",  "in the optimizer")
PART(COLLECTIVE, "collective", "in collectives")
PART(CHECKPOINT, "checkpoint", "while it writes a checkpoint")
PART(REST,       "rest",       "in the rest of a step")
PART(OUTSIDE,    "outside",    "outside of steps")
#undef PART
#endif

#ifdef BY_RANGE
BY_RANGE(CHECKPOINT, "save_checkpoint|checkpoint_save|checkpoint.save|save checkpoint|torch.save|save_state_dict|save_ckpt|ckpt_save|write_checkpoint|write checkpoint|save_pretrained")
BY_RANGE(DATA,       "dataloader|data_loader|dataiter|data_iter|dataset|next_batch|nextbatch|get_batch|getbatch|load_batch|loadbatch|fetch_batch|iteratorgetnext|iterator::getnext|data_loading|dataloading|input_pipeline|prefetch_batch|read_batch")
BY_RANGE(COLLECTIVE, "^nccl|^gloo|^mpi:|allreduce|all_reduce|allgather|all_gather|reducescatter|reduce_scatter|alltoall|all_to_all")
BY_RANGE(OPTIMIZER,  "optimizer|optim.")
BY_RANGE(BACKWARD,   "backward")
BY_RANGE(FORWARD,    "forward")
#undef BY_RANGE
#endif

#ifdef BY_FILE
BY_FILE(CHECKPOINT, "torch/serialization.py|torch/distributed/checkpoint/|safetensors/", "")
BY_FILE(DATA,       "torch/utils/data/|tensorflow/python/data/|grain/", "")
BY_FILE(COLLECTIVE, "torch/distributed/distributed_c10d.py|torch/distributed/_functional_collectives.py", "")
BY_FILE(OPTIMIZER,  "torch/optim/|bitsandbytes/optim/|apex/optimizers/", "")
BY_FILE(BACKWARD,   "torch/_tensor.py|torch/autograd/", "backward")
BY_FILE(FORWARD,    "torch/nn/modules/module.py", "_call_impl")
#undef BY_FILE
#endif
/* clang-format on */
