/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class.tbl.h - what names mean, once: classes of kernels, kinds of calls, kinds of ranges.
 *
 *	CLASS(ID, "word in JSON", "words for people")
 *	KERNEL(CLASS, "words")   a kernel's own name: without parameters and the arguments of its template
 *	OPERATOR(CLASS, "words") an operator of a framework that launches kernels
 *	EXPERTS(KIND, "words")   a kernel or a module of a mixture of experts
 *	CALL(KIND, "words")      a call of a runtime or driver
 *	RANGE(KIND, "words")     an op, annotation, counter or Python function of the host
 *	FILE_OF(KIND, "words")   the file of a Python function, if its name says nothing
 *
 * Words are of match.h: anywhere in the name, any case, the first row that is met holds. So the
 * order is the rule: a fused kernel's name lists what it was fused from, and what it was made
 * for stands above what it is made of.
 */
/* clang-format off */
#ifdef CLASS
CLASS(OTHER,       "other",         "other kernels")
CLASS(GEMM,        "gemm",          "matmul")
CLASS(ATTENTION,   "attention",     "attention")
CLASS(CONV,        "convolution",   "convolution")
CLASS(NORM,        "normalisation", "normalisation")
CLASS(SOFTMAX,     "softmax",       "softmax and loss")
CLASS(ELEMENTWISE, "elementwise",   "pointwise")
CLASS(REDUCTION,   "reduction",     "reduction")
CLASS(EMBEDDING,   "embedding",     "embedding")
CLASS(OPTIMIZER,   "optimizer",     "optimizer")
CLASS(POOL,        "pooling",       "pooling and resampling")
CLASS(INDEX,       "index",         "sort, gather, scatter")
CLASS(LAYOUT,      "layout",        "copy kernels")
CLASS(RANDOM,      "random",        "random numbers")
CLASS(QUANT,       "quantisation",  "quantisation")
CLASS(MOE,         "moe",           "expert routing")
CLASS(FFT,         "fft",           "FFT")
CLASS(COMM,        "communication", "comm")
CLASS(COPY,        "copy",          "copy")
CLASS(MEMSET,      "memset",        "memset")
#undef CLASS
#endif

#ifdef KERNEL
/* Everything that moves data between GPUs. */
KERNEL(COMM, "nccl|rccl|nvshmem|rocshmem|oneccl|^ccl_|::ccl::|deep_ep|deepep|userbuffers|mscclpp")
KERNEL(COMM, "allreduce|all_reduce|all-reduce|allgather|all_gather|all-gather|reducescatter|reduce_scatter|reduce-scatter")
KERNEL(COMM, "alltoall|all_to_all|all-to-all|all2all|collective-permute|collective_permute|cross_device_reduce|sendrecv|send_recv")
KERNEL(COMM, "one_shot_all|two_shot_all|oneshotall|twoshotall|multimem_|moe_a2a|moealltoall|barrier_all_blocks|intranode::|internode::|internode_ll::|notify_dispatch|low_latency_dispatch|low_latency_combine|symm_mem|custom_ar")
/* What is written to a cache of keys and values is copied. */
KERNEL(LAYOUT, "reshape_and_cache|concat_and_cache|kv_cache|kvcache|set_kv_buffer|store_kv")
/* Inductor's pointwise kernels list everything that they were fused with. */
KERNEL(ELEMENTWISE, "triton_poi_|triton_tem_fused_copy")
KERNEL(GEMM, "triton_mm|triton_tem_|triton_bmm")
KERNEL(ELEMENTWISE, "rotary|rope_|_rope")
KERNEL(EMBEDDING, "embedding|_emb_|pooled_embs|jagged|bucketize_sparse|linearize_index|permute_indices_weights|permute_2d_|permute_1d_|embs_kernel|expand_into_|tbe_|_tbe|offset_range|bounds_check_indices")
KERNEL(OPTIMIZER, "adam|adagrad|rmsprop|_lamb|lambstage|lambfunctor|lamb_|sgd_|fusedsgd|sgdfunctor|multi_tensor|multitensor|foreach|optimizer|l2normfunctor|lion_kernel|muon")
KERNEL(ATTENTION, "attention|attn|fmha|flash_fwd|flash_bwd|flashfwd|flashbwd|flash::|flash_dq|flashinfer|mha_|_mha|cudnn_generated_fort_native_sdpa|sdpa|mla_|_mla|merge_states|batchdecode|batchprefill|paged_kv")
KERNEL(NORM, "layer_norm|layernorm|batch_norm|batchnorm|rms_norm|rmsnorm|group_norm|groupnorm|instance_norm|instancenorm|weight_norm")
KERNEL(NORM, "bn_fw|bn_bw|bnfwd|bnbwd|bnorm|rowwisemoments|welford|cudnn_bn|norm_fwd|norm_bwd|norm_kernel|cugammabeta|gammabeta|_norm_|computeinternalgradients|computebackwardfused")
KERNEL(SOFTMAX, "softmax|nllcriterion|cross_entropy|crossentropy|nll_loss|nllloss|logsumexp|_loss|loss_")
KERNEL(REDUCTION, "triton_red_|triton_per_")
KERNEL(CONV, "conv|fprop|dgrad|wgrad|winograd|cudnn_cnn|scudnn|im2col|col2im|miopen|nchwkcyx|igemm_|naive_conv|cudnn::cnn|computeoffsets|computewgrad|computeboffsets|cask_cudnn|depthwise|xdlops_nhwc")
KERNEL(QUANT, "quantize")
KERNEL(GEMM, "fused_moe_kernel|moe_gemm|moegemm|grouped_gemm|groupgemm|moe_fc|router_gemm")
KERNEL(MOE, "moe_|_moe|moe::|topkgating|topk_gating|gating_|topk_softmax|topksoftmax|expert|permute_tokens|routing")
KERNEL(EMBEDDING, "fbgemm_gpu::")
KERNEL(GEMM, "matmul|_gemm|gemm_|fused_moe|grouped_mm")
KERNEL(QUANT, "quant|fp8_cast|cast_fp8|mxfp|nvfp4|per_token_group|scaled_fp8")
KERNEL(GEMM, "gemm|gemv|matmul|cutlass_|_tensorop|cublas|cublaslt|splitk|split_k|cijk_|hgemm|wvspltk|wv_splt|dot_kernel|fused_moe|grouped_mm|nvjet|xmma|_mm_|bmm_|trsm|syrk|s1688|s16816|h16816|ampere_|volta_|sm90_|sm80_|epilogue::|dot_|marlin|machete|linear_kernel|llmm|reducespltk")
KERNEL(FFT, "fft")
KERNEL(POOL, "pool|upsample|interpolate|grid_sampler|roi_align|resize|bilinear|bicubic")
KERNEL(RANDOM, "philox|dropout|distribution|random|curand|hiprand|uniform|bernoulli|multinomial|exponential|rand_")
KERNEL(ELEMENTWISE, "elementwise_kernel_with_index")
KERNEL(INDEX, "sort|scatter|gather|index|topk|top_k|nonzero|unique|searchsorted|masked_sel|take_|histogram|bincount|onesweep|scan|cumsum|cumprod|select|compact|lookup|bucket|sampling|argmax|argmin|mode_kernel|triu|tril|flip_|roll_|partition|inclusive|exclusive")
KERNEL(LAYOUT, "catarray|copy|transpose|nchwto|nhwcto|nchw2|nhwc2|permute|reshape|pad_|_pad|memcpy|contiguous|concat|split_|tensortransform|cast_|_cast|convert|slice|stack_|pack_|unpack|swizzle|subtensor|repack")
KERNEL(REDUCTION, "reduce|reduction|_sum|sum_|mean_|_norm|max_kernel|min_kernel|prod_|var_|std_")
KERNEL(ELEMENTWISE, "elementwise|pointwise|functor|fill|activation|relu|gelu|silu|swiglu|sigmoid|tanh|act_and_mul|binary|unary|scale|add_|_add|mul_|_mul|div_|sub_|clamp|bias|arange|eye_|axpy|exp_|log_|sqrt|pow_|triton_|loop_|fusion|fused|wrapped_|lerp|compare|isfinite|isnan|^broadcast|select_and|opaquetype|addcmul|tensoriterator|broadcast_")
#undef KERNEL
#endif

#ifdef OPERATOR
OPERATOR(OPTIMIZER,   "optimizer.step|optimizer.zero_grad|aten::_foreach_|_amp_foreach|_fused_adam|_fused_sgd|_fused_adagrad|fusedadam|fused_lamb")
OPERATOR(ATTENTION,   "dot_product_|scaleddotproduct|flash_attention|flash_attn|flashattn|efficient_attention|cudnn_attention|unified_attention|paged_attention|attention_forward|attention_backward|fmha|flex_attention")
OPERATOR(CONV,        "convolution|conv1d|conv2d|conv3d|conv_transpose|conv_tbc|conv_depthwise|slow_conv|thnn_conv")
OPERATOR(NORM,        "layer_norm|layernorm|batch_norm|batchnorm|group_norm|groupnorm|instance_norm|instancenorm|rms_norm|rmsnorm|weight_norm")
OPERATOR(SOFTMAX,     "softmax|cross_entropy|crossentropy|nll_loss|nllloss|_loss|lossbackward|logsumexp|logits_")
OPERATOR(QUANT,       "quant|fp8_cast|scaled_fp8|tohfp8|tofp8")
OPERATOR(EMBEDDING,   "embedding|emb_lookup|splitlookup|fbgemm::|embs|tbe::|jagged")
OPERATOR(POOL,        "pool|upsample|interpolate|grid_sampler|roi_align")
OPERATOR(MOE,         "moe_align|topk_softmax|topksoftmax|moe_permute|moe_unpermute|grouped_topk|moe_sum|moe_sorting|gating")
OPERATOR(RANDOM,      "dropout|bernoulli|aten::normal_|aten::uniform_|aten::rand|multinomial|exponential_|aten::random_")
OPERATOR(FFT,         "_fft|fft_")
OPERATOR(INDEX,       "index|gather|scatter|aten::sort|aten::argsort|topk|cumsum|cumprod|nonzero|unique|masked_select|searchsorted|bincount|aten::triu|aten::tril|aten::flip|aten::roll|aten::take|bucketize")
OPERATOR(GEMM,        "aten::mm|addmm|bmm|aten::linear|matmul|scaled_mm|grouped_mm|aten::mv|aten::dot|aten::einsum|gemm")
OPERATOR(LAYOUT,      "aten::copy_|aten::cat|aten::_cat|aten::clone|aten::contiguous|aten::_to_copy|aten::stack|pad|im2col|col2im|aten::unfold|aten::repeat|reshape_and_cache|kv_cache|kvcache|pixel_shuffle")
OPERATOR(REDUCTION,   "aten::sum|aten::mean|aten::norm|vector_norm|aten::max|aten::min|aten::amax|aten::amin|aten::any|aten::all|aten::argm|aten::var|aten::std|aten::prod|count_nonzero")
OPERATOR(ELEMENTWISE, "aten::add|aten::sub|aten::mul|aten::div|aten::neg|aten::exp|aten::log|aten::sqrt|aten::rsqrt|aten::pow|aten::sin|aten::cos|aten::abs|aten::sign|aten::where|aten::masked_fill|aten::fill_|aten::zero_|relu|gelu|silu|sigmoid|tanh|swiglu|aten::clamp|aten::eq|aten::ne|aten::lt|aten::le|aten::gt|aten::ge|aten::logical|aten::bitwise|aten::arange|aten::isnan|aten::isfinite|aten::reciprocal|aten::lerp|aten::floor|aten::ceil|aten::round|aten::remainder|threshold_backward|rotary|_mul|mul_and|aten::erf")
#undef OPERATOR
#endif

#ifdef EXPERTS
/* Of a mixture of experts: kernels of the experts, modules that have them, and kernels that send tokens to
 * experts of other ranks and back. */
EXPERTS(MEET, "deep_ep|deepep|intranode::|internode::|internode_ll::|notify_dispatch|low_latency_dispatch|low_latency_combine|moe_a2a|moealltoall|moe_dispatch|moe_combine|dispatch_kernel|combine_kernel|ep_dispatch|ep_combine")
EXPERTS(WORK, "fused_moe|moe_gemm|moegemm|grouped_gemm|groupgemm|group_gemm|grouped_mm|moe_fc|moe_kernel|matmul_ogs|experts|expert_|_expert|moegroup")
#undef EXPERTS
#endif

#ifdef CALL
CALL(SYNC,   "synchronize|eventsynchronize|clfinish|clwaitforevents")
/* While a graph is captured, work is not launched. */
CALL(CAPTURE_BEGIN, "streambegincapture|streambeginrecapture")
CALL(CAPTURE_END, "streamendcapture")
CALL(CAPTURE, "graphinstantiate|graphexecupdate")
CALL(LAUNCH, "launch|clenqueuendrange")
CALL(MEMSET, "memset|clenqueuefill")
/* What happens once: code is loaded when it is used for the first time. */
CALL(LOAD,   "moduleload|libraryload|librarygetkernel|modulegetloadingmode|moduleget|fatbinary|linkadd|linkcomplete|primaryctxretain|devicesetlimit|clbuildprogram|clcreateprogram|kernelgetattribute")
CALL(ALLOC,  "mallocasync|freeasync")
CALL(COPY,   "async|clenqueueread|clenqueuewrite|clenqueuecopy")
CALL(COPY_WAITS, "memcpy")
CALL(ALLOC,  "malloc|free|memalloc|hostalloc|mempool|hostregister|clcreatebuffer|clrelease|memcreate|memaddressreserve|memmap|memsetaccess|memunmap|memrelease")
#undef CALL
#endif

#ifdef RANGE
RANGE(COMPILE,    "torch.compile |jax compile|torchdynamo|_dynamo|dynamo_timed|convert_frame|compile_fx|_inductor|inductor_codecache|async_compile|aotautograd|aot_autograd|triton.compile|backend_compile|xlacompile|xla_compile|jit_compile|compilefunction|pjrtcompile|pxla.compile|compile_or_get_cached|hlocompile|compiletobackend|nvrtc")
RANGE(CHECKPOINT, "save_checkpoint|checkpoint_save|checkpoint.save|save checkpoint|torch.save|save_state_dict|save_ckpt|ckpt_save|write_checkpoint|write checkpoint|save_pretrained|load_checkpoint|checkpoint.load|torch.load|load_state_dict")
RANGE(GC,         "python gc|gc.collect|gc_collect|collectgarbage")
RANGE(PROFILER,   "activity buffer request|command buffer full|cuptiactivity|profiler::stop|profiler::start")
RANGE(INPUT,      "dataloader|data_loader|dataiter|data_iter|dataset|next_batch|nextbatch|next_data|get_batch|getbatch|load_batch|loadbatch|fetch_batch|iteratorgetnext|iterator::getnext|iterator::next|data_loading|dataloading|input_pipeline|prefetch_batch|read_batch|collate|preprocess|pre_process|image_processing|image_processor|tokenize|augment|decode_image|decode_jpeg|load_image|prepare_input|prepare_batch")
RANGE(ALLOC,      "^aten::empty|^aten::resize_|_lazy_init|cuda_init")
RANGE(MEMORY,     "allocated|memory|reserved")
RANGE(MODULE,     "^nn")
#undef RANGE
#endif

#ifdef FILE_OF
FILE_OF(INPUT,      "torch/utils/data/|tensorflow/python/data/|grain/|torchvision/transforms|torchvision/datasets|datasets/arrow_dataset|datasets/iterable_dataset|image_processing|tokenization_|feature_extraction_|webdataset/|streaming/base/")
FILE_OF(COMPILE,    "torch/_dynamo/convert_frame|torch/_inductor/|torch/_functorch/|triton/compiler/|triton/runtime/jit|jax/_src/compiler|jax/_src/interpreters/pxla|torch/fx/")
FILE_OF(CHECKPOINT, "torch/serialization.py|torch/distributed/checkpoint/|safetensors/")
FILE_OF(PROFILER,   "torch/profiler/profiler.py|torch/autograd/profiler.py|jax/_src/profiler")
#undef FILE_OF
#endif
/* clang-format on */
