/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - finds a process's job and container in /proc/PID/cgroup: versions 1 and 2, by systemd
 * or cgroupfs; Kubernetes with containerd, cri-o or docker, docker and podman alone, Slurm.
 *
 *	0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
 *	5:memory:/kubepods/besteffort/podUID/ID
 *	0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0
 */
#pragma once

#include <stddef.h>

struct cgroup_ident {
	char pod_uid[40];   /* with dashes; of a static pod 32 digits */
	char container[72]; /* 64 digits */
	char job[24];       /* of Slurm */
};

/* Any bytes; what is not there is "". Of several lines the first that says something counts. */
void cgroup_read(struct cgroup_ident *out, const char *text, size_t len);
