/* SPDX-License-Identifier: Apache-2.0 */
/* viewer.c - identifies the viewer: the user who serves, or the peer of a unix socket. */
#include <errno.h>
#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/http_priv.h"

void viewer_self(struct viewer *v)
{
	int n = getgroups((int)(sizeof(v->group) / sizeof(v->group[0])) - 1, v->group);

	v->uid = geteuid();
	v->groups = n > 0 ? (size_t)n : 0;
	v->group[v->groups++] = getegid();
	v->all = v->uid == 0;
}

int viewer_peer(struct viewer *v, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred), room = sizeof(v->group) - sizeof(v->group[0]);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	v->uid = cred.uid;
	v->groups = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, v->group, &room) == 0)
		v->groups = room / sizeof(v->group[0]);
	v->group[v->groups++] = cred.gid;
	v->all = cred.uid == 0;
	return 0;
}
