/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sm.tbl.h - what an SM holds, by compute capability x 10. CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"; units of allocation: cuda_occupancy.h of CUDA 13.4.
 *
 *	SM(capability, warps, blocks, shared memory KiB, of a block at most KiB, in units of bytes,
 *	   bytes that the driver keeps of each block)
 *
 * All have 65,536 registers, given to warps in units of 256 out of four equal parts.
 */
/* clang-format off */
SM( 70, 64, 32,  96,  96, 256, 0)
SM( 75, 32, 16,  64,  64, 256, 0)
SM( 80, 64, 32, 164, 163, 128, 1024)
SM( 86, 48, 16, 100,  99, 128, 1024)
SM( 87, 48, 16, 164, 163, 128, 1024)
SM( 89, 48, 24, 100,  99, 128, 1024)
SM( 90, 64, 32, 228, 227, 128, 1024)
SM(100, 64, 32, 228, 227, 128, 1024)
SM(103, 64, 32, 228, 227, 128, 1024)
SM(120, 48, 24, 100,  99, 128, 1024)
/* clang-format on */
#undef SM
