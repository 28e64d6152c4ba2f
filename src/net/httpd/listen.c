/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - the listening socket: TCP, a path, or one that the service manager opened. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"
#include "net/httpd/priv.h"

#define BACKLOG 128

static int say(char why[256], int err, const char *what, const char *where)
{
	snprintf(why, 256, "%.160s: %s: %s", where, what, strerror(-err));
	return err;
}

static int listen_unix(struct httpd *h, const char *path, char why[256])
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat sb;
	int fd, err = 0;

	if (!*path) {
		snprintf(why, 256, "unix: expected unix:PATH, the path of a socket");
		return -EINVAL;
	}
	if (strlen(path) >= sizeof(sa.sun_path))
		return say(why, -ENAMETOOLONG, "not a name for a socket", path);
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return say(why, -errno, "no socket", path);
	/* One that nobody listens on any more is in the way; anything else is somebody's. */
	if (lstat(path, &sb) == 0 && S_ISSOCK(sb.st_mode) && sb.st_uid == geteuid() &&
	    connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Everybody may connect: each sees what is theirs. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, BACKLOG) < 0)
		err = -errno;
	if (err) {
		if (fd >= 0)
			close(fd);
		return say(why, err, "cannot listen", path);
	}
	strcpy(h->unix_path, path);
	return fd;
}

/* "HOST:PORT" or "[HOST]:PORT" in two. */
static int split(const char *text, char host[256], char port[8])
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!n || n >= 256 || strlen(colon + 1) > 5 || !colon[1] ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    num_front(colon + 1, NULL) > 65535)
		return -EINVAL;
	if (*text == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	memcpy(host, text, n);
	host[n] = '\0';
	strcpy(port, colon + 1);
	return 0;
}

static int open_tcp(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err, on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* What it is bound to: the port may have been 0, and another may have bound it. */
static int name_tcp(struct httpd *h, int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&sa, len, h->ip, sizeof(h->ip), h->port, sizeof(h->port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return -ENOTSOCK;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

int httpd_listen(struct httpd *h, char why[256])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	const char *where = h->o.listen;
	char port[8];
	int fd, end = 0;

	if (!strncmp(where, "unix:", 5))
		return listen_unix(h, where + 5, why);
	if (sscanf(where, "fd:%d%n", &fd, &end) == 1 && !where[end]) {
		fd = name_tcp(h, fd);
		strcpy(h->host, h->ip);
		return fd < 0 ? say(why, fd, "not a listening socket", where) : fd;
	}
	if (split(where, h->host, port) < 0) {
		snprintf(why, 256,
			 "%.160s: expected HOST:PORT, a port from 0 to 65535, or unix:PATH", where);
		return -EINVAL;
	}
	fd = getaddrinfo(h->host, port, &hints, &found);
	if (fd) {
		snprintf(why, 256, "%.160s: %s", where, gai_strerror(fd));
		return -EINVAL;
	}
	fd = open_tcp(found);
	freeaddrinfo(found);
	fd = fd < 0 ? fd : name_tcp(h, fd);
	return fd < 0 ? say(why, fd, "cannot listen", where) : fd;
}
