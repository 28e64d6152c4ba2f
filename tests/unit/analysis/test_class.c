/* SPDX-License-Identifier: Apache-2.0 */
/* What names mean: a row for each rule of class.tbl.h that a real name has met. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "names/class.h"
#include "names/code.h"
#include "names/match.h"
#include "t.h"

static const struct {
	enum kclass want;
	const char *name;
} kernels[] = {
	/* clang-format off */
	{ CLASS_GEMM,        "volta_sgemm_128x32_nt" },
	{ CLASS_GEMM,        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas" },
	{ CLASS_GEMM,        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1" },
	{ CLASS_GEMM,        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>" },
	{ CLASS_GEMM,        "nvjet_hsh_128x192_64x5_1x2_h_bz_coopA_TNT" },
	{ CLASS_GEMM,        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu" },
	{ CLASS_GEMM,        "void splitKreduce_kernel<32, 16, int, float>" },
	{ CLASS_ATTENTION,   "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>, cutlass" },
	{ CLASS_ATTENTION,   "kernel_unified_attention_3d" },
	{ CLASS_ATTENTION,   "fmha_cutlassF_bf16_aligned_64x64_rf_sm80" },
	{ CLASS_CONV,        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>" },
	{ CLASS_CONV,        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32" },
	{ CLASS_CONV,        "volta_scudnn_128x64_relu_interior_nn_v1" },
	{ CLASS_CONV,        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>" },
	{ CLASS_NORM,        "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>" },
	{ CLASS_NORM,        "void at::native::(anonymous namespace)::LayerNormForwardCUDAKernel<float, float>" },
	{ CLASS_NORM,        "triton_red_fused_native_layer_norm_3" },
	{ CLASS_NORM,        "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>" },
	{ CLASS_SOFTMAX,     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>" },
	{ CLASS_ELEMENTWISE, "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >" },
	{ CLASS_ELEMENTWISE, "triton_poi_fused_convolution_relu_2" },
	{ CLASS_ELEMENTWISE, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>" },
	{ CLASS_REDUCTION,   "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>" },
	{ CLASS_REDUCTION,   "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1" },
	{ CLASS_EMBEDDING,   "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float>" },
	{ CLASS_EMBEDDING,   "void permute_pooled_embs_kernel<float>(float const*, long const*)" },
	{ CLASS_OPTIMIZER,   "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>" },
	{ CLASS_POOL,        "void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>" },
	{ CLASS_INDEX,       "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800>" },
	{ CLASS_LAYOUT,      "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>" },
	{ CLASS_RANDOM,      "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int>" },
	{ CLASS_FFT,         "void fft2d_r2c_32x32<float, false, 5u, true>(float2*, float const*)" },
	{ CLASS_QUANT,       "void fbgemm_gpu::(anonymous namespace)::_compute_FP8_quantize_cuda_kernel<float>" },
	{ CLASS_COMM,        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)" },
	{ CLASS_COMM,        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)" },
	{ CLASS_COMM,        "mscclKernel_Sum_half_Simple_RunRecvReduceCopySend_rccl" },
	{ CLASS_COMM,        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>" },
	{ CLASS_COMM,        "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport" },
	{ CLASS_COMM,        "void deep_ep::internode::dispatch<false, 4, false, 28>" },
	{ CLASS_COMM,        "nvshmemi_proxy_quiet" },
	{ CLASS_COMM,        "two_shot_all_reduce_kernel<c10::BFloat16>" },
	{ CLASS_COMM,        "void flashinfer::trtllm_moe_allreduce_fusion" },
	{ CLASS_COMM,        "void mscclpp::allgather8" },
	/* The own name decides, not the types and functions in its template's arguments. */
	{ CLASS_MOE,         "void vllm::moe::topkGating<8, 32, cutlass::bfloat16_t, cutlass::gemm::GemmShape<8, 8> >(float const*)" },
	{ CLASS_MOE,         "void moe_align_block_size_kernel<int>(int*)" },
	{ CLASS_GEMM,        "fused_moe_kernel" },
	{ CLASS_OTHER,       "void mixer<cutlass::bfloat16_t, cutlass::layout::RowMajor>(float*)" },
	{ CLASS_LAYOUT,      "void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, unsigned char>(float*)" },
	{ CLASS_LAYOUT,      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::(anonymous namespace)::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}> >(int)" },
	{ CLASS_ELEMENTWISE, "void at::native::vectorized_elementwise_kernel<4, at::native::where_kernel_impl(at::TensorIterator&)::{lambda()#1}>(int)" },
	{ CLASS_ATTENTION,   "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<cutlass::bfloat16_t> > >(int)" },
	{ CLASS_ATTENTION,   "void ck_tile::kentry<256, 1, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipeline> >(int)" },
	{ CLASS_CONV,        "void cutlass::Kernel2<cutlass::conv::kernel::ImplicitGemmConvolution<cutlass::half_t> >(int)" },
	{ CLASS_GEMM,        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int> > >(int)" },
	{ CLASS_REDUCTION,   "triton_red_fused_add_embedding_sum_4" },
	{ CLASS_COMM,        "void internode_ll::dispatch<false, 4>(int*)" },
	{ CLASS_OTHER,       "at::cuda::(anonymous namespace)::spin_kernel(long)" },
	{ CLASS_OTHER,       "void clover::par_ranged2d_kernel<PdV_kernel(bool, int)>" },
	{ CLASS_OTHER,       "" },
	/* clang-format on */
};

/* What an operator launches, with the operators around it, outermost first. */
static const struct {
	enum kclass want;
	const char *operators, *name;
} launched[] = {
	/* clang-format off */
	{ CLASS_CONV,        "aten::conv2d|aten::convolution|aten::cudnn_convolution", "volta_sgemm_128x32_nt" },
	{ CLASS_CONV,        "aten::convolution|aten::cudnn_convolution", "void cudnn::ops::nchwToNhwcKernel<float, float>(int)" },
	{ CLASS_GEMM,        "aten::linear|aten::addmm", "ampere_sgemm_128x32_tn" },
	{ CLASS_GEMM,        "aten::mm", "a kernel that nobody knows" },
	{ CLASS_ATTENTION,   "aten::scaled_dot_product_attention|aten::_scaled_dot_product_attention_math|aten::bmm", "ampere_sgemm_128x32_tn" },
	{ CLASS_OPTIMIZER,   "Optimizer.step#AdamW.step|aten::addcmul_", "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)" },
	{ CLASS_LAYOUT,      "aten::linear|aten::addmm", "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}>(int)" },
	{ CLASS_LAYOUT,      "aten::contiguous|aten::clone|aten::copy_", "void at::native::elementwise_kernel<128, 4>(int)" },
	{ CLASS_COMM,        "aten::convolution", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)" },
	{ CLASS_GEMM,        "my_ops::forward_block", "ampere_sgemm_128x32_tn" },
/* clang-format on */
#define DRAWN(ID, operators, name) { CLASS_##ID, operators, name },
#include "class_drawn.tbl.h"
};

static const struct {
	enum call want;
	const char *name;
} calls[] = {
	/* clang-format off */
	{ CALL_LAUNCH,     "cudaLaunchKernel" },
	{ CALL_LAUNCH,     "cuLaunchKernelEx" },
	{ CALL_LAUNCH,     "cudaGraphLaunch" },
	{ CALL_LAUNCH,     "hipExtModuleLaunchKernel" },
	{ CALL_SYNC,       "cudaDeviceSynchronize" },
	{ CALL_SYNC,       "hipStreamSynchronize" },
	{ CALL_SYNC,       "cudaEventSynchronize_v3020" },
	{ CALL_COPY,       "cudaMemcpyAsync" },
	{ CALL_COPY,       "hipMemcpyWithStreamAsync" },
	{ CALL_COPY_WAITS, "cudaMemcpy" },
	{ CALL_COPY_WAITS, "cudaMemcpy2D_v3020" },
	{ CALL_MEMSET,     "cudaMemsetAsync" },
	{ CALL_ALLOC,      "cudaMallocAsync" },
	{ CALL_ALLOC,      "cudaFree" },
	{ CALL_OTHER,      "cudaStreamIsCapturing" },
	{ CALL_OTHER,      "cudaEventQuery" },
	/* clang-format on */
};

static void check_rules(void)
{
	static const struct match_rule rule[] = { { "abc|^x", 1 }, { "bc|q", 2 }, { "abcd", 3 } };
	static const struct {
		const char *name;
		uint8_t want;
	} want[] = { { "zzabc", 1 },
		     { "aabcd", 1 },
		     { "bbc", 2 },
		     { "X", 1 },
		     { "ax", 9 },
		     { "", 9 },
		     { "qx", 2 },
		     { "ab\xff"
		       "c",
		       9 } };
	struct match *m;

	T_OK(match_new(&m, rule, T_LEN(rule)) == 0, "rules become an automaton");
	for (size_t i = 0; i < T_LEN(want); i++)
		T_OK(match_find(m, want[i].name, strlen(want[i].name), 9) == want[i].want,
		     "case %zu: the first rule that is met holds", i);
	match_free(m);
}

/* The n-th text of a list that '|' separates; false: there are fewer. */
static bool nth_text(const char *list, size_t n, char *out, size_t cap)
{
	for (; n && list; n--) {
		list = strchr(list, '|');
		list = list ? list + 1 : NULL;
	}
	if (!list || !*list)
		return false;
	snprintf(out, cap, "%.*s", (int)strcspn(list, "|"), list);
	return true;
}

static void check_launched(void)
{
	for (size_t i = 0; i < T_LEN(launched); i++) {
		enum kclass op = CLASSES, got;
		struct names *n;
		struct trace *t;
		uint32_t id, kernel;
		char text[300];

		trace_new(&t);
		trace_name(t, launched[i].name, strlen(launched[i].name), &kernel);
		names_new(&n, t);
		for (size_t k = 0; nth_text(launched[i].operators, k, text, sizeof(text)); k++) {
			trace_name(t, text, strlen(text), &id);
			op = class_inside(op, names_operator(n, id));
		}
		got = class_launched(names_kernel(n, kernel), op);
		T_OK(got == launched[i].want, "%.40s of %.60s is %s, not %s", launched[i].name,
		     launched[i].operators, class_word[launched[i].want], class_word[got]);
		names_free(n);
		trace_free(t);
	}
}

/* What prepares batches is input, and what only makes a loader is none. */
static void check_input(const struct names *n)
{
	static const char *const input[] = {
		"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		"train.py(9): collate_fn",
		"transformers/image_processing_utils.py(40): preprocess",
		"data.py(3): tokenize_batch",
		"aug.py(7): random_augment",
		"torch/utils/data/dataloader.py(630): __next__"
	};
	static const char *const none[] = { "torch/utils/data/dataloader.py(90): __init__",
					    "torch/utils/data/dataloader.py(440): __iter__",
					    "my_dataset/train.py(3): main" };

	for (size_t i = 0; i < T_LEN(input); i++)
		T_OK(names_range_text(n, input[i]) == RANGE_INPUT, "%s is input", input[i]);
	for (size_t i = 0; i < T_LEN(none); i++)
		T_OK(names_range_text(n, none[i]) != RANGE_INPUT, "%s is no batch", none[i]);
}

/* What Inductor made a kernel of, and whose code a function is. */
static void check_code(void)
{
	static const char *const of[][2] = {
		{ "triton_poi_fused_add_relu_3", "add, relu" },
		{ "triton_poi_fused__unsafe_view_mul_silu_2", "_unsafe_view, mul, silu" },
		{ "triton_per_fused_native_layer_norm_native_layer_norm_backward_11",
		  "native_layer_norm, native_layer_norm_backward" },
		{ "triton_red_fused__softmax_add_0", "_softmax, add" },
		{ "triton_tem_fused_mm_1", "mm" },
		{ "triton_", "" },
		{ "ampere_sgemm_fused_2", "" },
	};
	char ops[64];

	for (size_t i = 0; i < T_LEN(of); i++) {
		bool is = code_fused(of[i][0], ops, sizeof(ops));

		T_OK(is == (*of[i][1] != '\0') && (!is || !strcmp(ops, of[i][1])),
		     "%s was made of %s", of[i][0], is ? ops : "nothing");
	}
	T_OK(code_fused("triton_poi_fused_add_relu_3", ops, 6) && !strcmp(ops, "add"),
	     "only whole operators are told where there is no room");
	T_OK(code_is_generated("/tmp/torchinductor_me/ov/cov7.py(40): call") &&
		     !code_is_own("/tmp/torchinductor_me/ov/cov7.py(40): call") &&
		     code_is_own("train.py(9): main") && !code_is_own("torch/nn/mod.py(1): f"),
	     "code that a compiler generated is not the program's own");
}

int main(void)
{
	struct trace *t;
	struct names *n;
	uint32_t id;

	check_rules();
	check_launched();
	trace_new(&t);
	for (size_t i = 0; i < T_LEN(kernels); i++)
		trace_name(t, kernels[i].name, strlen(kernels[i].name), &id);
	for (size_t i = 0; i < T_LEN(calls); i++)
		trace_name(t, calls[i].name, strlen(calls[i].name), &id);
	T_OK(names_new(&n, t) == 0, "the names of a trace get their meanings");
	for (size_t i = 0; i < T_LEN(kernels); i++) {
		trace_name(t, kernels[i].name, strlen(kernels[i].name), &id);
		T_OK(names_kernel(n, id) == kernels[i].want, "%.60s is %s, not %s", kernels[i].name,
		     class_word[kernels[i].want], class_word[names_kernel(n, id)]);
	}
	for (size_t i = 0; i < T_LEN(calls); i++) {
		trace_name(t, calls[i].name, strlen(calls[i].name), &id);
		T_OK(names_call(n, id) == calls[i].want, "%s is call %d", calls[i].name,
		     calls[i].want);
	}
	T_OK(names_kernel(n, UINT32_MAX) == CLASS_OTHER, "a name that is none is other");
	check_input(n);
	names_free(n);
	trace_free(t);
	check_code();
	return t_done();
}
