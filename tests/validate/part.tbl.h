/* SPDX-License-Identifier: Apache-2.0 */
/* part.tbl.h - what `make validate-models` holds against measured tables: PART(name, "what") */
PART(gemm, "matrix products")
#undef PART
