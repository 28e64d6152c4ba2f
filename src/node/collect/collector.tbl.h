/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.tbl.h - every collector, once. aon-collect's help, its page and docs/telemetry.md follow.
 *
 *	COLLECTOR(name, interval ms, limit of a poll ms, runs unless others are named, "help")
 */
/* clang-format off */
COLLECTOR(host, 1000, 10000, 1, "cores, memory, disks, networks, InfiniBand, PCIe, sensors, cgroups of jobs, kernel log, GPUs of AMD and Intel: from files")
COLLECTOR(dcgm, 10000, 20000, 1, "activity of SMs, tensor cores and memory of GPUs before Hopper, through a DCGM hostengine that runs (=embedded: or one of its own; =PATH: another library)")
COLLECTOR(ipmi, 10000, 5000, 0, "BMCs by IPMI over the network or /dev/ipmi0: what /etc/aon/bmc.conf names (=FILE,DIR as redfish)")
COLLECTOR(redfish, 10000, 5000, 0, "BMCs by Redfish: what /etc/aon/bmc.conf names (=FILE: another; =FILE,DIR: DIR for aon rack)")
COLLECTOR(nvml, 1000, 10000, 1, "GPUs of NVIDIA, through NVML (=PATH: another library)")
COLLECTOR(pods, 10000, 5000, 1, "which GPU is whose pod's, from kubelet's pod-resources (=SOCKET,FILE: another; FILE: for aond's setting pods)")
COLLECTOR(fake, 1000,  2000, 0, "nothing real: what goes wrong with collectors, for tests (=hang, =die, =flood, =fail, =lose, =none)")
/* clang-format on */
#undef COLLECTOR
