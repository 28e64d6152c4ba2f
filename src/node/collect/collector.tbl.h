/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.tbl.h - every collector, once. aon-collect's help, its page and docs/telemetry.md follow.
 *
 *	COLLECTOR(name, interval ms, limit of a poll ms, runs by default, "help")
 */
/* clang-format off */
COLLECTOR(host, 1000, 10000, 1, "cores, memory, disks, networks, InfiniBand, PCIe, sensors, cgroups of jobs, kernel log, AMD and Intel GPUs: from files")
COLLECTOR(dcgm, 10000, 20000, 1, "activity of SMs, tensor cores and memory of GPUs before Hopper, through a running DCGM hostengine (=embedded: or one of its own; =PATH: another library)")
COLLECTOR(ipmi, 10000, 5000, 0, "BMCs by IPMI over the network or /dev/ipmi0: those in /etc/aon/bmc.conf (=FILE,DIR as redfish)")
COLLECTOR(redfish, 10000, 5000, 0, "BMCs by Redfish: those in /etc/aon/bmc.conf (=FILE: another; =FILE,DIR: DIR for aon rack)")
COLLECTOR(nvml, 1000, 10000, 1, "NVIDIA GPUs, through NVML (=PATH: another library)")
COLLECTOR(clients, 10000, 10000, 1, "processes that use a GPU: time of its engines and memory, from the DRM drivers, amdkfd and NVIDIA's driver")
COLLECTOR(pods, 10000, 5000, 1, "which pod has which GPU, from kubelet's pod-resources (=SOCKET,FILE: another; FILE: for aond's setting pods)")
COLLECTOR(fake, 1000,  2000, 0, "nothing real: faults of collectors, for tests (=hang, =die, =flood, =fail, =lose, =none)")
/* clang-format on */
#undef COLLECTOR
