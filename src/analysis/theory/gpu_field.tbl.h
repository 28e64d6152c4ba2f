/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_field.tbl.h - the numbers of a device by name, as files of devices and JSON have them. The
 * peaks are apart: vector_flops and tensor_flops, by type.
 *
 *	FIELD(name in struct gpu, its type, the most that is believed)
 */
/* clang-format off */
FIELD(cc,           uint32_t, 200)
FIELD(sms,          uint32_t, 1e6)
FIELD(clock_mhz,    uint32_t, 1e6)
FIELD(memory_mhz,   uint32_t, 1e6)
FIELD(memory_Bps,   double,   1e18)
FIELD(memory_bytes, uint64_t, 1e15)
FIELD(l2_Bps,       double,   1e18)
FIELD(l2_bytes,     uint64_t, 1e15)
FIELD(link_Bps,     double,   1e18)
FIELD(pcie_Bps,     double,   1e18)
FIELD(launch_ns,    double,   1e12)
/* clang-format on */
#undef FIELD
