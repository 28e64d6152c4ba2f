/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.tbl.h - short words for kinds of device that the stand-in can be. SIM_DEVICE_TYPE has them,
 * or any key of theory/gpu_spec.tbl.h with a compute capability; one for all, or one for each
 * device with commas. What they can do is there, and in theory/sm.tbl.h.
 *
 *	DEVICE("word", "key", ns from a launch to its start on an idle device)
 */
/* clang-format off */
DEVICE("v100", "V100_SXM",    5000)
DEVICE("a100", "A100_SXM_80", 4500)
DEVICE("h100", "H100_SXM",    4000)
DEVICE("l40s", "L40S",        4000)
DEVICE("b200", "B200",        3500)
/* clang-format on */
#undef DEVICE
