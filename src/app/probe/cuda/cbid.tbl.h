/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbid.tbl.h - the calls whose callbacks are enabled, one by one, never a whole domain.
 *
 *	CBID(domain, function, number, what)
 *
 * what: LAUNCH: the last-launch words; GRAPH: these, and the choice of a graph's level; START: a
 * program that starts a profiler has a tool of its own, which needs room.
 * Numbers of NVIDIA's cupti_driver_cbid.h and cupti_runtime_cbid.h; never reused there.
 */
/* clang-format off */
CBID(DRIVER,  cuLaunch,                                          115, LAUNCH)
CBID(DRIVER,  cuLaunchGrid,                                      116, LAUNCH)
CBID(DRIVER,  cuLaunchGridAsync,                                 117, LAUNCH)
CBID(DRIVER,  cuLaunchKernel,                                    307, LAUNCH)
CBID(DRIVER,  cuLaunchKernel_ptsz,                               442, LAUNCH)
CBID(DRIVER,  cuLaunchCooperativeKernel,                         477, LAUNCH)
CBID(DRIVER,  cuLaunchCooperativeKernel_ptsz,                    478, LAUNCH)
CBID(DRIVER,  cuLaunchCooperativeKernelMultiDevice,              480, LAUNCH)
CBID(DRIVER,  cuLaunchKernelEx,                                  652, LAUNCH)
CBID(DRIVER,  cuLaunchKernelEx_ptsz,                             653, LAUNCH)
CBID(DRIVER,  cuGraphLaunch,                                     514, GRAPH)
CBID(DRIVER,  cuGraphLaunch_ptsz,                                515, GRAPH)
CBID(DRIVER,  cuProfilerStart,                                   308, START)
CBID(RUNTIME, cudaLaunch_v3020,                                   13, LAUNCH)
CBID(RUNTIME, cudaLaunchKernel_v7000,                            211, LAUNCH)
CBID(RUNTIME, cudaLaunch_ptsz_v7000,                             213, LAUNCH)
CBID(RUNTIME, cudaLaunchKernel_ptsz_v7000,                       214, LAUNCH)
CBID(RUNTIME, cudaLaunchCooperativeKernel_v9000,                 269, LAUNCH)
CBID(RUNTIME, cudaLaunchCooperativeKernel_ptsz_v9000,            270, LAUNCH)
CBID(RUNTIME, cudaLaunchCooperativeKernelMultiDevice_v9000,      272, LAUNCH)
CBID(RUNTIME, cudaGraphLaunch_v10000,                            311, GRAPH)
CBID(RUNTIME, cudaGraphLaunch_ptsz_v10000,                       312, GRAPH)
CBID(RUNTIME, cudaLaunchKernelExC_v11060,                        430, LAUNCH)
CBID(RUNTIME, cudaLaunchKernelExC_ptsz_v11060,                   431, LAUNCH)
CBID(RUNTIME, __cudaLaunchKernel_v13000,                         505, LAUNCH)
CBID(RUNTIME, __cudaLaunchKernel_ptsz_v13000,                    506, LAUNCH)
CBID(RUNTIME, cudaProfilerStart_v4000,                           171, START)
/* clang-format on */
#undef CBID
