/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - the identity of a socket's peer: asked of the kernel, never of the peer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer {
	pid_t pid; /* in our namespace */
	uid_t uid;
	gid_t gid;
	uint64_t start; /* of the process, clock ticks since boot */
};

/* *pidfd is the caller's on success. -ESRCH: gone already, or not to be seen from here. */
int peer_get(struct peer *p, int *pidfd, int sock);
bool peer_gone(int pidfd);
