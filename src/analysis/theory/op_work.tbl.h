/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_work.tbl.h - what an operator of PyTorch has to do, by its name, once.
 *
 *	OP(name, FORM, n)
 *
 * name  without "aten::"; `add` is also `add_`
 * FORM  how floating-point operations come from shapes, below
 * n     of EACH, REDUCE: operations for an element, of which a multiplication, an addition, a
 *       comparison and a call of exp() or the like are one each
 *
 *	MM, BMM     two matrices, after n other tensors: 2 m k n
 *	MV          a matrix and a vector, after n other tensors: 2 m k
 *	CONV        x, weight and the result; CONV_BACK: gradient, x, weight, and which results there are
 *	SDPA        q, k, v; SDPA_BACK: gradient, q, k, v
 *	EACH        n for each element of the result
 *	MOVE        none: the second tensor is read, the first one written
 *	REDUCE      n for each element of the first tensor
 *	GATHER      none; the table that is read from counts as much as is read
 *
 * MM to SDPA_BACK are what torch.utils.flop_counter says, to the operation.
 */
/* clang-format off */
OP(mm,                       MM,    0) OP(addmm,                    MM,    1) OP(_scaled_mm,          MM,   0)
OP(_int_mm,                  MM,    0) OP(bmm,                      BMM,   0) OP(baddbmm,             BMM,  1)
OP(mv,                       MV,    0) OP(addmv,                    MV,    1) OP(_addmm_activation,   MM,   1)
OP(convolution,              CONV,  0) OP(_convolution,             CONV,  0) OP(cudnn_convolution,   CONV, 0)
OP(convolution_overrideable, CONV,  0) OP(_slow_conv2d_forward,     CONV,  0) OP(mkldnn_convolution,  CONV, 0)
OP(miopen_convolution,       CONV,  0) OP(thnn_conv2d,              CONV,  0)
OP(convolution_backward,     CONV_BACK, 0)
OP(_scaled_dot_product_efficient_attention,              SDPA, 0)
OP(_scaled_dot_product_flash_attention,                  SDPA, 0)
OP(_scaled_dot_product_flash_attention_for_cpu,          SDPA, 0)
OP(_scaled_dot_product_cudnn_attention,                  SDPA, 0)
OP(_scaled_dot_product_efficient_attention_backward,     SDPA_BACK, 0)
OP(_scaled_dot_product_flash_attention_backward,         SDPA_BACK, 0)
OP(_scaled_dot_product_flash_attention_for_cpu_backward, SDPA_BACK, 0)
OP(_scaled_dot_product_cudnn_attention_backward,         SDPA_BACK, 0)
/* pointwise */
OP(add,     EACH, 1) OP(sub,     EACH, 1) OP(rsub,    EACH, 1) OP(mul,        EACH, 1) OP(div,       EACH, 1)
OP(neg,     EACH, 1) OP(abs,     EACH, 1) OP(pow,     EACH, 1) OP(square,     EACH, 1) OP(sqrt,      EACH, 1)
OP(rsqrt,   EACH, 1) OP(exp,     EACH, 1) OP(log,     EACH, 1) OP(sin,        EACH, 1) OP(cos,       EACH, 1)
OP(tanh,    EACH, 1) OP(erf,     EACH, 1) OP(sigmoid, EACH, 3) OP(reciprocal, EACH, 1) OP(sign,      EACH, 1)
OP(relu,    EACH, 1) OP(clamp,   EACH, 2) OP(clamp_min, EACH, 1) OP(clamp_max, EACH, 1) OP(hardtanh, EACH, 2)
OP(gelu,    EACH, 5) OP(silu,    EACH, 4) OP(leaky_relu, EACH, 2) OP(elu,     EACH, 3) OP(mish,      EACH, 6)
OP(maximum, EACH, 1) OP(minimum, EACH, 1) OP(lerp,    EACH, 3) OP(addcmul,    EACH, 3) OP(addcdiv,   EACH, 3)
OP(eq,      EACH, 1) OP(ne,      EACH, 1) OP(lt,      EACH, 1) OP(le,         EACH, 1) OP(gt,        EACH, 1)
OP(ge,      EACH, 1) OP(where,   EACH, 0) OP(masked_fill, EACH, 0) OP(isnan,  EACH, 1) OP(logical_not, EACH, 0)
OP(threshold_backward, EACH, 1) OP(gelu_backward, EACH, 10) OP(silu_backward, EACH, 7) OP(sigmoid_backward, EACH, 3)
OP(tanh_backward,      EACH, 3) OP(native_dropout, EACH, 2) OP(native_dropout_backward, EACH, 2) OP(mse_loss_backward, EACH, 3)
/* moves and fills */
OP(copy,    MOVE, 0) OP(clone,   EACH, 0) OP(_to_copy, EACH, 0) OP(contiguous, EACH, 0) OP(cat, EACH, 0) OP(stack, EACH, 0)
OP(fill,    MOVE, 0) OP(zero,    MOVE, 0) OP(zeros_like, EACH, 0) OP(ones_like, EACH, 0) OP(normal, EACH, 0)
OP(uniform, EACH, 0) OP(bernoulli, EACH, 0) OP(constant_pad_nd, EACH, 0)
/* normalisation, softmax */
OP(native_layer_norm, EACH, 8) OP(native_layer_norm_backward, EACH, 14)
OP(native_group_norm, EACH, 8) OP(native_group_norm_backward, EACH, 14)
OP(native_batch_norm, EACH, 8) OP(native_batch_norm_backward, EACH, 14) OP(cudnn_batch_norm, EACH, 8)
OP(_fused_rms_norm,   EACH, 5) OP(_fused_rms_norm_backward, EACH, 10)
OP(_softmax,          EACH, 5) OP(_softmax_backward_data, EACH, 4)
OP(_log_softmax,      EACH, 5) OP(_log_softmax_backward_data, EACH, 4)
/* reductions */
OP(sum,    REDUCE, 1) OP(mean,   REDUCE, 1) OP(prod,   REDUCE, 1) OP(amax,   REDUCE, 1) OP(amin, REDUCE, 1)
OP(max,    REDUCE, 1) OP(min,    REDUCE, 1) OP(argmax, REDUCE, 1) OP(argmin, REDUCE, 1) OP(any,  REDUCE, 0)
OP(all,    REDUCE, 0) OP(var,    REDUCE, 3) OP(std,    REDUCE, 3) OP(var_mean, REDUCE, 3) OP(logsumexp, REDUCE, 3)
OP(norm,   REDUCE, 2) OP(linalg_vector_norm, REDUCE, 2) OP(dot, REDUCE, 2) OP(cumsum, REDUCE, 1) OP(mse_loss, REDUCE, 3)
OP(nll_loss_forward, REDUCE, 0) OP(max_pool2d_with_indices, REDUCE, 1) OP(avg_pool2d, REDUCE, 1)
OP(_adaptive_avg_pool2d, REDUCE, 1)
/* tables */
OP(embedding, GATHER, 0) OP(index_select, GATHER, 0) OP(gather, GATHER, 0) OP(index, GATHER, 0)
OP(embedding_dense_backward, EACH, 0)
/* clang-format on */
#undef OP
