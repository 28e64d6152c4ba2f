/* SPDX-License-Identifier: Apache-2.0 */
/* part.tbl.h - what `make validate-models` holds against measured tables: PART(name, "what") */
PART(gemm, "matrix products")
PART(collective, "exchanges between ranks")
PART(vidur, "layers of Llama 2 7B, and all-reduces")
PART(conv, "convolutions of ResNet-50")
PART(attention, "attention in recorded traces; no bar")
PART(step, "tokens a second and GPU of training Llama 3 in fp8; no bar")
#undef PART
