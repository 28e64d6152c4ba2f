/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_drawn.tbl.h - a hundred kernels that were drawn from recorded traces, 60 from all pairs of name and
 * operator and 40 by their time, and read by hand before the rules were written.
 *
 *	DRAWN(CLASS, "operators around the launch, outermost first", "name")
 *
 * Names are cut.
 */
/* clang-format off */
DRAWN(EMBEDDING, "",
      "void split_embedding_codegen_grad_indice_weights_kernel<float, float, float, 1ul>(at::GenericPackedTensorAccessor<float, 2ul, at::RestrictPtrTraits, long>, at::GenericPackedTensorA")
DRAWN(EMBEDDING, "autograd::engine::evaluate_function: torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>|torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>",
      "void cub::DeviceCompactInitKernel<cub::ReduceByKeyScanTileState<int, int, true>, int*>(cub::ReduceByKeyScanTileState<int, int, true>, int, int*)")
DRAWN(EMBEDDING, "fbgemm::permute_sparse_features",
      "void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*, int*)")
DRAWN(ELEMENTWISE, "MeanBackward1|aten::div|aten::div",
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(at:")
DRAWN(ELEMENTWISE, "aten::clamp",
      "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::native::detail::Clam")
DRAWN(GEMM, "aten::linear|aten::matmul|aten::mm",
      "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas")
DRAWN(CONV, "autograd::engine::evaluate_function: ConvolutionBackward0|ConvolutionBackward0|aten::convolution_backward",
      "cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1")
DRAWN(GEMM, "autograd::engine::evaluate_function: AddmmBackward0|AddmmBackward0|aten::mm",
      "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align1>(cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align1::Params)")
DRAWN(CONV, "aten::convolution|aten::_convolution|aten::cudnn_convolution",
      "ampere_gcgemm_64x64_nt")
DRAWN(INDEX, "aten::index_put|aten::index_put_|aten::_index_put_impl_",
      "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl<at::native::OpaqueType<4> >(at::TensorIterator&, c10::ArrayRef<long")
DRAWN(ELEMENTWISE, "aten::add",
      "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<at::native::AddFunctor<long> >, at::detail::Array<char*, 2> >(int, at::native::BUnaryFunctor<at::native:")
DRAWN(LAYOUT, "aten::linear|aten::addmm",
      "void at::native::unrolled_elementwise_kernel<at::native::copy_device_to_device(at::TensorIterator&, bool)::{lambda()#2}::operator()() const::{lambda()#8}::operator()() const::{lamb")
DRAWN(ELEMENTWISE, "CompiledFunction",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)")
DRAWN(EMBEDDING, "autograd::engine::evaluate_function: torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>|torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>",
      "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int*, int*, cub::ScanTileState<int, true>, cub::Sum, cub::NullType, int>(int*, int*, cub::ScanTileState<int, true>")
DRAWN(ELEMENTWISE, "aten::add_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<double>, at::detail::Array<char*, 2> >(int, at::native::CUDAFunctorOnSelf_add<double>, at::detai")
DRAWN(EMBEDDING, "fbgemm::asynchronous_complete_cumsum",
      "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int*, int*, cub::ScanTileState<int, true>, cub::Sum, cub::NullType, int>(int*, int*, cub::ScanTileState<int, true>")
DRAWN(LAYOUT, "aten::linear|aten::addmm",
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::(anonymous namespace)::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator(")
DRAWN(SOFTMAX, "MseLossBackward0|aten::mse_loss_backward|aten::mse_loss_backward",
      "void at::native::elementwise_kernel_manual_unroll<128, 4, at::native::gpu_kernel_impl_nocast<at::native::mse_backward_cuda_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda(")
DRAWN(EMBEDDING, "fbgemm::block_bucketize_sparse_features",
      "void cub::DeviceScanInitKernel<cub::ScanTileState<int, true> >(cub::ScanTileState<int, true>, int)")
DRAWN(GEMM, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "void splitKreduce_kernel<float, float, float, float, true, false, false>(cublasSplitKParams<float>, float const*, float const*, float*, float const*, float const*, float const*, fl")
DRAWN(GEMM, "aten::mm",
      "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTLA0_DTLB0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMBSK_GLS0_")
DRAWN(REDUCTION, "",
      "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::")
DRAWN(SOFTMAX, "aten::binary_cross_entropy_with_logits|aten::exp_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(")
DRAWN(CONV, "",
      "igemm_wrw_gtcx2_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8_ws1x1_wr1x2_ta1x4x1x4_1x8x1x32_tb1x4x1x2_1x8x1x32_gkgs")
DRAWN(OPTIMIZER, "Optimizer.step#SGD.step|aten::add_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>, at::detail::Array<char*, 3>)")
DRAWN(GEMM, "",
      "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT128x224x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0_GRPM1_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA942_IU1_K1")
DRAWN(ELEMENTWISE, "aten::mul",
      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::M")
DRAWN(SOFTMAX, "aten::cross_entropy_loss|aten::sum|aten::sum",
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::")
DRAWN(ELEMENTWISE, "aten::where",
      "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::where_kernel_impl(at::TensorIterator&)::{lambda()#1}::operator()() const::{lambda()#14}::operat")
DRAWN(GEMM, "aten::linear|aten::addmm",
      "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4>(cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4::Params)")
DRAWN(ELEMENTWISE, "",
      "void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &, const c10::Scalar &, const c10::Scalar &, at::Tensor &)::[lambda() (instance 1)]")
DRAWN(ELEMENTWISE, "autograd::engine::evaluate_function: SigmoidBackward0|SigmoidBackward0|aten::sigmoid_backward",
      "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() co")
DRAWN(CONV, "CudnnConvolutionBackward|aten::cudnn_convolution_backward|aten::cudnn_convolution_backward_input",
      "volta_sgemm_32x128_nt")
DRAWN(GEMM, "autograd::engine::evaluate_function: BmmBackward0|BmmBackward0|aten::bmm",
      "volta_sgemm_128x32_nt")
DRAWN(EMBEDDING, "torch::autograd::CppNode<SplitLookupFunction_Dense_Op>|aten::zero_|aten::fill_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<int>, at::detail::Array<char*, 1>)")
DRAWN(ELEMENTWISE, "CompiledFunction|aten::div",
      "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int")
DRAWN(POOL, "aten::max_pool2d|aten::max_pool2d_with_indices",
      "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float const*, int, int, int, int, int, int, int, int, int, int, int, int, int, int, float*, long*)")
DRAWN(NORM, "autograd::engine::evaluate_function: NativeGroupNormBackward0|NativeGroupNormBackward0|aten::native_group_norm_backward",
      "void at::native::elementwise_kernel_manual_unroll<128, 4, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::GroupNormBackwardKernelImplInternal<float>(at::Tenso")
DRAWN(ELEMENTWISE, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_backward_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const")
DRAWN(REDUCTION, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::")
DRAWN(LAYOUT, "aten::cat",
      "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*, at::native::(anonymous namespace)::CatArrInputTensorMetadata<float, unsigned int")
DRAWN(ELEMENTWISE, "",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)")
DRAWN(ELEMENTWISE, "",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, at::detail::Array<char*, 2> >(int, at::native::CUDAFunctorOnSelf_add<float>, at::detail:")
DRAWN(ELEMENTWISE, "",
      "void at::native::elementwise_kernel_manual_unroll<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<")
DRAWN(CONV, "",
      "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt256x64x8_wt64x16x4_ws1x1_wr2x2_ta1x1x8x1_1x8x1x32_tb1x1x2x1_1x8x1x32_me")
DRAWN(OPTIMIZER, "Optimizer.step#FusedAdam.step",
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float, float, float, float, float, adamMode_t, float, int, int>(int, int volatile*, TensorListMetad")
DRAWN(EMBEDDING, "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
      "void split_embedding_codegen_forward_weighted_kernel<float, float, float, long, 1ul>(at::GenericPackedTensorAccessor<float, 1ul, at::RestrictPtrTraits, long>, at::GenericPackedTens")
DRAWN(SOFTMAX, "aten::binary_cross_entropy_with_logits|aten::add_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*")
DRAWN(ELEMENTWISE, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(at::Tensor")
DRAWN(GEMM, "CompiledFunction|aten::bmm",
      "volta_sgemm_64x64_nn")
DRAWN(EMBEDDING, "fbgemm::block_bucketize_sparse_features",
      "void fbgemm_gpu::_block_bucketize_sparse_features_cuda_kernel2<false, true, false, int, int, float>(int, int, int const*, int, int const*, int const*, float const*, int*, int*, flo")
DRAWN(GEMM, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "volta_sgemm_32x32_sliced1x4_nt")
DRAWN(ELEMENTWISE, "aten::neg",
      "void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#12}::operator()() const::{lambda")
DRAWN(SOFTMAX, "aten::mse_loss|aten::mean",
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::MeanOps<floa")
DRAWN(GEMM, "CompiledFunction",
      "volta_sgemm_128x32_tn")
DRAWN(OTHER, "",
      "void clover::par_ranged1d_kernel<update_halo_kernel(int, int, int, int, const std::array<int, (unsigned long)4> &, const std::array<int, (unsigned long)4> &, field_type &, const in")
DRAWN(NORM, "aten::rms_norm|aten::_fused_rms_norm",
      "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, true>(int, float, float const*, float const*, float const*, float*, float*, float*)")
DRAWN(GEMM, "autograd::engine::evaluate_function: AddmmBackward0|AddmmBackward0|aten::mm",
      "void gemmSN_NN_kernel<float, 256, 4, 2, 8, 4, 4, false, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<float const>, cublasGemvTensorStridedBatched<flo")
DRAWN(ELEMENTWISE, "autograd::engine::evaluate_function: ReluBackward0|ReluBackward0|aten::threshold_backward",
      "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::(anonymous namespace)::threshold_kernel_impl<float>(at::TensorIteratorB")
DRAWN(OPTIMIZER, "Optimizer.step#FusedAdam.step",
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float, float, float, float, float, float, float, adamMode_t, float, int, int, int>(int, int volatil")
DRAWN(ELEMENTWISE, "",
      "void at::native::elementwise_add<float>(float*, float*)")
DRAWN(GEMM, "",
      "void cutlass::gemm_nn_128x128<float>(float*, float*)")
DRAWN(COMM, "c10d::allreduce_",
      "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)")
DRAWN(CONV, "aten::convolution|aten::_convolution|aten::cudnn_convolution",
      "void cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>(cudnn::winograd_nonfused::WinogradOutputParams<float, float>)")
DRAWN(ELEMENTWISE, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad|aten::zero_|aten::fill_",
      "void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)")
DRAWN(COMM, "c10d::alltoall_base_",
      "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)")
DRAWN(CONV, "CudnnConvolutionBackward|aten::cudnn_convolution_backward|aten::cudnn_convolution_backward_input",
      "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int, int, int, float const*, int, float const*, int, float*, kernel_grad_params, unsigned long long, int, unsigne")
DRAWN(CONV, "aten::convolution|aten::_convolution|aten::cudnn_convolution",
      "void implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1, false, true, true>(int, int, int, float const*, int, float*, float const*, kernel_conv_params, unsigned long long,")
DRAWN(OPTIMIZER, "Optimizer.step#SGD.step|aten::add_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*")
DRAWN(EMBEDDING, "autograd::engine::evaluate_function: torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>|torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>",
      "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1<float, float, float, 5ul>(at::GenericPackedTensorAccessor<float, 2ul, at::RestrictPtrTraits, ")
DRAWN(GEMM, "autograd::engine::evaluate_function: BmmBackward0|BmmBackward0|aten::bmm",
      "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_tn_align1>(cutlass_80_tensorop_s1688gemm_64x64_32x4_tn_align1::Params)")
DRAWN(COMM, "",
      "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)")
DRAWN(OTHER, "",
      "void clover::par_ranged2d_kernel<accelerate_kernel(int, int, int, int, double, clover::Buffer2D<double> &, clover::Buffer2D<double> &, clover::Buffer2D<double> &, clover::Buffer2D<")
DRAWN(NORM, "aten::batch_norm|aten::_batch_norm_impl_index|aten::cudnn_batch_norm",
      "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float const*, float, float, float*, float*")
DRAWN(GEMM, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward|aten::mm",
      "volta_sgemm_128x64_nt")
DRAWN(COMM, "c10d::allreduce_",
      "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)")
DRAWN(POOL, "MaxPool2DWithIndicesBackward|aten::max_pool2d_with_indices_backward",
      "void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(int, float const*, long const*, int, int, int, int, int, int, int, int, int, int, int, int, int, int, f")
DRAWN(CONV, "CudnnConvolutionBackward|aten::cudnn_convolution_backward|aten::cudnn_convolution_backward_weight",
      "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int, int, float const*, int, float*, float const*, kernel_grad_params, unsigned long long, int, float")
DRAWN(ELEMENTWISE, "CompiledFunction|aten::add",
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::CUDAFunctor_add<float> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> const&)::{l")
DRAWN(CONV, "aten::convolution|aten::_convolution|aten::cudnn_convolution",
      "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>(int, int, int, float const*, int, float*, float const*, kernel_conv_params, unsigned long long")
DRAWN(COMM, "",
      "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)")
DRAWN(OTHER, "",
      "void clover::par_ranged2d_kernel<advec_mom_kernel(int, int, int, int, clover::Buffer2D<double> &, clover::Buffer2D<double> &, clover::Buffer2D<double> &, clover::Buffer2D<double> &")
DRAWN(EMBEDDING, "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
      "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, long, 5ul>(at::GenericPackedTensorAccessor<float, 1ul, at::RestrictPtrTraits, long>, at::GenericPackedTe")
DRAWN(ELEMENTWISE, "ReluBackward1|aten::threshold_backward",
      "void at::native::vectorized_elementwise_kernel<4, at::native::threshold_kernel_impl<float>(at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}, at::detail::Array<char*")
DRAWN(CONV, "CudnnConvolutionBackward|aten::cudnn_convolution_backward|aten::cudnn_convolution_backward_input",
      "volta_sgemm_64x64_nt")
DRAWN(GEMM, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "volta_sgemm_128x64_nn")
DRAWN(CONV, "aten::convolution|aten::_convolution|aten::cudnn_convolution",
      "void explicit_convolve_sgemm<float, int, 1024, 5, 5, 3, 3, 3, 0, false>(int, int, int, float const*, int, float const*, int, float*, kernel_conv_params, unsigned long long, int, un")
DRAWN(OTHER, "",
      "void clover::par_ranged2d_kernel<PdV_kernel(bool, int, int, int, int, double, clover::Buffer2D<double> &, clover::Buffer2D<double> &, clover::Buffer2D<double> &, clover::Buffer2D<d")
DRAWN(INDEX, "aten::repeat_interleave|aten::index_select",
      "void at::native::(anonymous namespace)::indexSelectLargeIndex<long, long, unsigned int, 1, 1, -2, true>(at::cuda::detail::TensorInfo<long, unsigned int>, at::cuda::detail::TensorIn")
DRAWN(GEMM, "aten::linear|aten::addmm",
      "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_32x3_tn_align4>(cutlass_80_tensorop_s1688gemm_256x128_32x3_tn_align4::Params)")
DRAWN(NORM, "aten::batch_norm|aten::_batch_norm_impl_index|aten::cudnn_batch_norm",
      "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 32, true, 1, true>(cudnnTensorStruct, float const*, cudnnTensorStruct, float*, float const*, float const*, float, float, fl")
DRAWN(ELEMENTWISE, "aten::add",
      "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>, at::detail::Array<char*, 3>)")
DRAWN(CONV, "aten::convolution|aten::_convolution|aten::cudnn_convolution",
      "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>(cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4::Params)")
DRAWN(GEMM, "CompiledFunction",
      "volta_sgemm_128x64_tn")
DRAWN(EMBEDDING, "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
      "void split_embedding_codegen_forward_unweighted_kernel<c10::Half, c10::Half, float, false, long, 2ul, 32ul>(at::GenericPackedTensorAccessor<c10::Half, 1ul, at::RestrictPtrTraits, l")
DRAWN(EMBEDDING, "autograd::engine::evaluate_function: torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>|torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>",
      "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<float, float, float, 2ul>(at::GenericPackedTensorAccessor<float, 2ul, at::RestrictPtrTraits, i")
DRAWN(ELEMENTWISE, "aten::silu",
      "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#6}::operator(")
DRAWN(GEMM, "autograd::engine::evaluate_function: CompiledFunctionBackward|CompiledFunctionBackward",
      "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_32x3_nt_align1>(cutlass_80_tensorop_s1688gemm_256x128_32x3_nt_align1::Params)")
DRAWN(CONV, "CudnnConvolutionBackward|aten::cudnn_convolution_backward|aten::cudnn_convolution_backward_weight",
      "volta_sgemm_128x32_nt")
/* clang-format on */
#undef DRAWN
