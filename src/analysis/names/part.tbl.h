/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part.tbl.h - the parts of a step, and what names them, once.
 *
 *	PART(ID, "word in JSON and options", "when that is, for people")
 *	BY_RANGE(PART, "words")              the name of a range of the thread
 *	BY_FILE(PART, "words", "function")   a Python frame: its file, and what is in the function's name
 *	BY_FUNCTION(PART, "words")           a frame of the program's own code: the function's name
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
PART(EVALUATION, "evaluation", "while it evaluates the model")
PART(LOGGING,    "logging",    "while it writes logs")
PART(COMPILE,    "compile",    "while code is compiled")
PART(GC,         "gc",         "in Python's garbage collector")
PART(REST,       "rest",       "in the rest of a step")
PART(OUTSIDE,    "outside",    "outside of steps")
#undef PART
#endif

#ifdef BY_RANGE
BY_RANGE(GC,         "^python gc")
BY_RANGE(COMPILE,    "^torch.compile |^jax compile|^jax trace|^jax lower|clbuildprogram|clcompileprogram|cllinkprogram")
BY_RANGE(CHECKPOINT, "save_checkpoint|checkpoint_save|checkpoint.save|save checkpoint|torch.save|save_state_dict|save_ckpt|ckpt_save|write_checkpoint|write checkpoint|save_pretrained")
BY_RANGE(DATA,       "dataloader|data_loader|dataiter|data_iter|dataset|next_batch|nextbatch|get_batch|getbatch|load_batch|loadbatch|fetch_batch|iteratorgetnext|iterator::getnext|data_loading|dataloading|input_pipeline|prefetch_batch|read_batch")
BY_RANGE(COLLECTIVE, "^nccl|^gloo|^mpi:|allreduce|all_reduce|allgather|all_gather|reducescatter|reduce_scatter|alltoall|all_to_all")
BY_RANGE(EVALUATION, "evaluat|validat|^eval")
BY_RANGE(LOGGING,    "^log_|logging|write_log|write log|tensorboard|wandb")
BY_RANGE(OPTIMIZER,  "optimizer|optim.")
BY_RANGE(BACKWARD,   "backward")
BY_RANGE(FORWARD,    "forward")
#undef BY_RANGE
#endif

#ifdef BY_FILE
BY_FILE(CHECKPOINT, "torch/serialization.py|torch/distributed/checkpoint/|safetensors/", "")
BY_FILE(CHECKPOINT, "numpy/lib/_npyio_impl.py|numpy/lib/npyio.py", "save")
BY_FILE(DATA,       "torch/utils/data/|tensorflow/python/data/|grain/", "")
BY_FILE(COLLECTIVE, "torch/distributed/distributed_c10d.py|torch/distributed/_functional_collectives.py", "")
BY_FILE(OPTIMIZER,  "torch/optim/|bitsandbytes/optim/|apex/optimizers/", "")
BY_FILE(BACKWARD,   "torch/_tensor.py|torch/autograd/", "backward")
BY_FILE(FORWARD,    "torch/nn/modules/module.py", "_call_impl")
BY_FILE(LOGGING,    "/logging/__init__.py|/logging/handlers.py|/wandb/|/mlflow/|torch/utils/tensorboard/|/tensorboardx/|/tensorboard/|/loguru/|/structlog/|/tqdm/|/rich/|torch/_tensor_str.py|core/arrayprint.py", "")
BY_FILE(COMPILE,    "torch/_dynamo/convert_frame.py|torch/_dynamo/symbolic_convert.py|torch/_inductor/compile_fx.py|torch/_inductor/graph.py|torch/_inductor/codecache.py|jax/_src/compiler.py|jax/_src/interpreters/partial_eval.py|tinygrad/codegen/|tinygrad/renderer/", "")
BY_FILE(COMPILE,    "tinygrad/device.py", "compile")
BY_FILE(COMPILE,    "pyopencl/__init__.py", "build")
#undef BY_FILE
#endif

#ifdef BY_FUNCTION
BY_FUNCTION(CHECKPOINT, "save_checkpoint|checkpoint_save|savecheckpoint|save_model|save_state|write_checkpoint|save_ckpt")
BY_FUNCTION(LOGGING,    "log_metric|log_step|log_stat|log_loss|write_log|logger|logging|print_log|print_stat|print_metric|add_scalar")
BY_FUNCTION(EVALUATION, "evaluate|evaluation|validate|validation|run_eval|eval_epoch|eval_step|eval_model")
BY_FUNCTION(DATA,       "__getitem__|get_batch|getbatch|next_batch|load_batch|fetch_batch|make_batch|read_batch|collate|preprocess|tokeniz|augment|load_sample|read_sample|load_image|decode_image|load_data|read_data")
#undef BY_FUNCTION
#endif
/* clang-format on */
