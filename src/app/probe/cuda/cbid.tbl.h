/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbid.tbl.h - the calls whose callbacks are enabled, one by one, never a whole domain.
 *
 *	CBID(function, number, what)
 *
 * what: LAUNCH: the last-launch words; GRAPH: these, and the choice of a graph's level; START: a
 * program that starts a profiler has a tool of its own, which needs room.
 *
 * The driver's calls only: the runtime's end in them, with the same correlation id, so that both
 * would count every launch twice. Numbers of NVIDIA's cupti_driver_cbid.h; never reused there.
 */
/* clang-format off */
CBID(cuLaunch,                                          115, LAUNCH)
CBID(cuLaunchGrid,                                      116, LAUNCH)
CBID(cuLaunchGridAsync,                                 117, LAUNCH)
CBID(cuLaunchKernel,                                    307, LAUNCH)
CBID(cuLaunchKernel_ptsz,                               442, LAUNCH)
CBID(cuLaunchCooperativeKernel,                         477, LAUNCH)
CBID(cuLaunchCooperativeKernel_ptsz,                    478, LAUNCH)
CBID(cuLaunchCooperativeKernelMultiDevice,              480, LAUNCH)
CBID(cuLaunchKernelEx,                                  652, LAUNCH)
CBID(cuLaunchKernelEx_ptsz,                             653, LAUNCH)
CBID(cuGraphLaunch,                                     514, GRAPH)
CBID(cuGraphLaunch_ptsz,                                515, GRAPH)
CBID(cuProfilerStart,                                   308, START)
/* clang-format on */
#undef CBID
