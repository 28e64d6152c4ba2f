/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - sd_listen_fds(3) and sd_notify(3), as far as aond needs them. */
#include "daemon/core/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"

#define FIRST_FD 3

/* Is the i-th of the names, which colons separate, this one? */
static int is_named(const char *names, int i, const char *name)
{
	size_t len = strlen(name);

	while (names && i-- > 0) {
		names = strchr(names, ':');
		if (names)
			names++;
	}
	return names && strcspn(names, ":") == len && !memcmp(names, name, len);
}

static int is_bound_to(int fd, const char *base)
{
	struct sockaddr_un sa = { 0 };
	socklen_t len = sizeof(sa) - 1;
	const char *slash;

	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 || sa.sun_family != AF_UNIX)
		return 0;
	slash = strrchr(sa.sun_path, '/');
	return slash && !strcmp(slash + 1, base);
}

static int is_seqpacket(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_SEQPACKET;
}

int notify_listen_fd(const char *name, const char *base)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");

	if (!pid || !fds || num_front_i64(pid, NULL) != (long)getpid())
		return -ENOENT;
	for (int i = 0, n = (int)num_front_i64(fds, NULL); i < n && i < 16; i++) {
		int fd = FIRST_FD + i;

		if (!is_seqpacket(fd) || !(is_named(names, i, name) || is_bound_to(fd, base)))
			continue;
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
			return -errno;
		return fd;
	}
	return -ENOENT;
}

void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(sa.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(sa.sun_path, path, len);
	if (path[0] == '@')
		sa.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that is not there is none of our troubles. */
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&sa,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

void notify_reloading(void)
{
	char text[80];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)clock_mono_ns() / 1000u);
	notify(text);
}

uint64_t notify_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && num_front_i64(pid, NULL) != (long)getpid()))
		return 0;
	return num_front(usec, NULL) * 1000u;
}
