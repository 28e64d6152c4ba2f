/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.tbl.h - kinds of device that the stand-in can be. SIM_DEVICE_TYPE names them, one for
 * all or one for each device with commas. Public data-sheet figures; the model needs no better.
 *
 *	DEVICE(key, name, cc, SMs, warps/SM, shared memory/SM, clock MHz, L2 MiB, memory GiB,
 *	       bandwidth GB/s, TFLOPS, host link GB/s, launch ns)
 */
/* clang-format off */
DEVICE("v100", "Tesla V100-SXM2-32GB",    7, 0,  80, 64,  98304, 1530,  6,  32,  900,  125, 12, 5000)
DEVICE("a100", "NVIDIA A100-SXM4-80GB",   8, 0, 108, 64, 167936, 1410, 40,  80, 2039,  312, 25, 4500)
DEVICE("h100", "NVIDIA H100 80GB HBM3",   9, 0, 132, 64, 233472, 1980, 50,  80, 3352,  989, 50, 4000)
DEVICE("l40s", "NVIDIA L40S",             8, 9, 142, 48, 102400, 2520, 96,  48,  864,  362, 25, 4000)
DEVICE("b200", "NVIDIA B200",            10, 0, 148, 64, 233472, 1965, 126, 180, 8000, 2250, 55, 3500)
/* clang-format on */
#undef DEVICE
