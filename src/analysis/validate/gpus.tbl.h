/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.tbl.h - what NVML is asked of each GPU.
 *
 *	TEXT("function", field of struct gpu_seen)        f(device, char *, unsigned)
 *	NUMBER("function", field, scale)                  f(device, unsigned *)
 */
/* clang-format off */
TEXT("nvmlDeviceGetName",                 name)
TEXT("nvmlDeviceGetVbiosVersion",         vbios)
TEXT("nvmlDeviceGetInforomImageVersion",  inforom)
NUMBER("nvmlDeviceGetPersistenceMode",             persistence, 1)
NUMBER("nvmlDeviceGetPowerManagementLimit",        limit_W, 1e-3)
NUMBER("nvmlDeviceGetPowerManagementDefaultLimit", usual_W, 1e-3)
NUMBER("nvmlDeviceGetCurrPcieLinkGeneration",      gen, 1)
NUMBER("nvmlDeviceGetMaxPcieLinkGeneration",       gen_max, 1)
NUMBER("nvmlDeviceGetCurrPcieLinkWidth",           width, 1)
NUMBER("nvmlDeviceGetMaxPcieLinkWidth",            width_max, 1)
NUMBER("nvmlDeviceGetPerformanceState",            pstate, 1)
/* clang-format on */
#undef TEXT
#undef NUMBER
