/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - SO_PEERCRED, SO_PEERPIDFD, and the start time, which detects that a pid was reused. */
#include "daemon/session/peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5; not in the headers of Debian 12 */
#endif

bool peer_gone(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Before Linux 6.5 the pid may have been reused since the peer connected: only then. */
static int peer_pidfd(int sock, pid_t pid)
{
	int fd = -1;
	socklen_t len = sizeof(fd);

	if (!getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		return fd;
	if (errno != ENOPROTOOPT)
		return -errno;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? -errno : fd;
}

int peer_get(struct peer *p, int *pidfd, int sock)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int fd, err;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (cred.pid <= 0)
		return -ESRCH;
	fd = peer_pidfd(sock, cred.pid);
	if (fd < 0)
		return fd;
	*p = (struct peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	err = proc_start(cred.pid, &p->start);
	/* Alive still, so what /proc said was about this process. */
	if (err < 0 || peer_gone(fd)) {
		close(fd);
		return -ESRCH;
	}
	*pidfd = fd;
	return 0;
}
