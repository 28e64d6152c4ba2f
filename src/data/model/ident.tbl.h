/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ident.tbl.h - the identity of a node and of a process in a cluster, once (docs/identity.md). All
 * values are text, empty if unknown. New ones go to the end of their list: stores keep this order.
 *
 *	NODE(name, bytes, "what it is", "source")
 *	IDENT(name, bytes, "what it is", "source")   of a process
 */
/* clang-format off */
#ifdef NODE
NODE(cluster,   64,  "the cluster",                         "site file, Slurm")
NODE(host,      64,  "the node's name",                     "site file, NODE_NAME, the machine's name")
NODE(rack,      48,  "where it stands",                     "site file")
NODE(leaf,      48,  "the switch it is on",                 "site file")
NODE(position,  32,  "its place there",                     "site file")
NODE(nics,      192, "its network cards by GPU, with commas", "site file")
NODE(boot,      40,  "this start of the machine",           "the kernel")
NODE(driver,    48,  "the GPUs' driver",                    "/proc/driver/nvidia")
NODE(gpu_model, 96,  "its GPUs",                            "/proc/driver/nvidia")
#undef NODE
#endif

#ifdef IDENT
IDENT(user,      40, "who runs it",                          "Slurm, the uid's name")
IDENT(account,   40, "on whose account",                     "Slurm")
IDENT(pod,       72, "pod",                                  "downward API, kubelet")
IDENT(pod_uid,   40, "the pod's number",                     "cgroup path")
IDENT(namespace, 72, "namespace of the pod",                 "downward API, kubelet")
IDENT(container, 72, "id of the container",                  "cgroup path")
IDENT(gpu_uuid,  96, "the GPUs it may use, by their UUIDs",  "devices' checkpoint of kubelet, CUDA_VISIBLE_DEVICES, the driver")
IDENT(mig,       48, "the part of a GPU",                    "the same")
IDENT(nic,       24, "network card of its GPU",              "site file")
IDENT(framework, 32, "what it is written with",              "probes")
#undef IDENT
#endif
/* clang-format on */
