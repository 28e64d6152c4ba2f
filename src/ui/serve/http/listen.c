/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - where the server listens, and who is at the other end. */
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/http/http_priv.h"

#define BACKLOG 64

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

static int say(char why[256], int err, const char *what, const char *where)
{
	snprintf(why, 256, "%.160s: %s: %s", where, what, strerror(-err));
	return err;
}

static int listen_unix(struct http *h, const char *path, char why[256])
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat sb;
	int fd, err = 0;

	if (!*path || strlen(path) >= sizeof(sa.sun_path))
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
	snprintf(h->address, sizeof(h->address), "unix:%s", path);
	h->is_unix = h->guard.any_host = true;
	return fd;
}

/* "HOST:PORT" or "[HOST]:PORT" in two. */
static int split(const char *text, char host[256], char port[8])
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!n || n >= 256 || strlen(colon + 1) > 5 ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || !colon[1])
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

/* The address as it may stand in a browser, and the name that requests must have. */
static void name_tcp(struct http *h, int fd, const char *host)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	char ip[64] = "", port[8] = "";
	bool any;

	if (getsockname(fd, (struct sockaddr *)&sa, &len) == 0)
		getnameinfo((struct sockaddr *)&sa, len, ip, sizeof(ip), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	any = !strcmp(ip, "0.0.0.0") || !strcmp(ip, "::");
	if (any)
		gethostname(h->guard.host, sizeof(h->guard.host) - 1);
	else
		snprintf(h->guard.host, sizeof(h->guard.host),
			 strchr(host, ':') ? "[%.250s]" : "%.250s", host);
	snprintf(h->address, sizeof(h->address), "http://%s:%s/", h->guard.host, port);
	snprintf(h->guard.cookie, sizeof(h->guard.cookie), "aon_%s", port);
}

int http_listen(struct http *h, const char *listen, char why[256])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	char host[256], port[8];
	int fd;

	if (!strncmp(listen, "unix:", 5))
		return listen_unix(h, listen + 5, why);
	if (split(listen, host, port) < 0)
		return say(why, -EINVAL, "not HOST:PORT or unix:PATH", listen);
	fd = getaddrinfo(host, port, &hints, &found);
	if (fd) {
		snprintf(why, 256, "%.160s: %s", listen, gai_strerror(fd));
		return -EINVAL;
	}
	fd = open_tcp(found);
	freeaddrinfo(found);
	if (fd < 0)
		return say(why, fd, "cannot listen", listen);
	name_tcp(h, fd, host);
	return fd;
}
