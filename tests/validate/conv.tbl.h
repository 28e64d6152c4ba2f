/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.tbl.h - convolutions of ResNet-50 in fp32, 32 images a GPU, forward, on V100 (cuDNN, PyTorch 1.8).
 *
 *	CONV(channels, height = width, filters, their height = width, stride, ns)
 *
 * From the four traces of pytorch/kineto's sample (tb_plugin/samples/resnet50_num_workers_*, BSD-3,
 * "Tesla V100-DGXS-32GB"): of each shape of aten::cudnn_convolution the median, over 24 to 144 calls, of
 * the time of all kernels that it launched. Strides are those of the gradients' shapes, pads half of the
 * filter.
 */
/* clang-format off */
CONV( 1024,   14,  2048,  1,  2,   723000)
CONV( 1024,   14,   256,  1,  1,   358000)
CONV( 1024,   14,   512,  1,  1,   710500)
CONV(  128,   28,   128,  3,  1,   306000)
CONV(  128,   28,   512,  1,  1,   379000)
CONV(  128,   56,   128,  3,  2,   666000)
CONV( 2048,    7,   512,  1,  1,   435000)
CONV(  256,   14,  1024,  1,  1,   353500)
CONV(  256,   14,   256,  3,  1,   290000)
CONV(  256,   28,   256,  3,  2,   746500)
CONV(  256,   56,   128,  1,  1,   649000)
CONV(  256,   56,   512,  1,  2,   602000)
CONV(  256,   56,    64,  1,  1,   275000)
CONV(    3,  224,    64,  7,  2,   606000)
CONV(  512,   14,   512,  3,  2,   795000)
CONV(  512,   28,  1024,  1,  2,   710000)
CONV(  512,   28,   128,  1,  1,   361500)
CONV(  512,   28,   256,  1,  1,   598500)
CONV(  512,    7,  2048,  1,  1,   384500)
CONV(  512,    7,   512,  3,  1,   309500)
CONV(   64,   56,   256,  1,  1,   311000)
CONV(   64,   56,    64,  1,  1,    97000)
CONV(   64,   56,    64,  3,  1,   353000)
/* clang-format on */
#undef CONV
