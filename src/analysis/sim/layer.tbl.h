/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.tbl.h - the parts of a decoder, in the order of the forward pass, once.
 *
 *	PART(ID, WHERE, KIND, "forward", "backward", a, b, before, after)
 *
 * WHERE: FIRST before the layers of the first stage, LAYER in each, LAST behind those of the last
 * stage. KIND and what a and b are:
 *	GEMM   columns of the result and depth of the sum; a row for each token (of EXPERT: for
 *	       each of the experts a token goes to); backward is two of them
 *	NORM, GATE, GATHER, ROPE, ADD   a: bytes that are read and written for a token
 *	ATTN   attention of all tokens
 * before, after: groups that communicate there. H F V: hidden, ffn, vocab; KV: of H; G: 1 if gated.
 */
/* clang-format off */
PART(EMBED,  FIRST, GATHER, "embedding_kernel",     "embedding_backward_kernel", 4 * H,            0,      NONE, NONE)
PART(NORM1,  LAYER, NORM,   "rms_norm_kernel",      "rms_norm_bwd_kernel",       4 * H,            0,      NONE, NONE)
PART(QKV,    LAYER, GEMM,   "gemm_qkv",             "gemm_qkv_bwd",              (H + 2 * KV) / TP, H,     NONE, NONE)
PART(ROPE,   LAYER, ROPE,   "rotary_kernel",        "rotary_bwd_kernel",         4 * (H + KV) / TP, 0,     NONE, NONE)
PART(ATTN,   LAYER, ATTN,   "flash_fwd_kernel",     "flash_bwd_kernel",          0,                0,      NONE, NONE)
PART(PROJ,   LAYER, GEMM,   "gemm_proj",            "gemm_proj_bwd",             H,                H / TP, NONE, TP)
PART(ADD1,   LAYER, ADD,    "elementwise_add",      "elementwise_add_bwd",       6 * H,            0,      NONE, NONE)
PART(NORM2,  LAYER, NORM,   "rms_norm_kernel",      "rms_norm_bwd_kernel",       4 * H,            0,      NONE, NONE)
PART(UP,     LAYER, EXPERT, "gemm_up",              "gemm_up_bwd",               (1 + G) * F / TP, H,      EP,   NONE)
PART(ACT,    LAYER, GATE,   "silu_and_mul_kernel",  "silu_and_mul_bwd_kernel",   (4 + 2 * G) * F / TP, 0,  NONE, NONE)
PART(DOWN,   LAYER, EXPERT, "gemm_down",            "gemm_down_bwd",             H,                F / TP, NONE, EP_TP)
PART(ADD2,   LAYER, ADD,    "elementwise_add",      "elementwise_add_bwd",       6 * H,            0,      NONE, NONE)
PART(HEAD,   LAST,  GEMM,   "gemm_logits",          "gemm_logits_bwd",           V / TP,           H,      NONE, NONE)
PART(LOSS,   LAST,  NORM,   "cross_entropy_kernel", "cross_entropy_bwd_kernel",  8 * V / TP,       0,      NONE, NONE)
/* clang-format on */
#undef PART
