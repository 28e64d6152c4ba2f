/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_sock.c - the sockets that Kineto polls, and the thread that answers; see kineto.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/core/count.h"
#include "daemon/capture/kineto.h"

#define STACK_BYTES (128u << 10)
#define BATCH       64u
#define HEARD_MAX   4000u  /* messages in a second; a full table sends 205 */
#define SLOW_US     1000u  /* for each one above that, so that a flood costs no core */
#define DIR_MODE    01777u /* every process makes a socket of its own there, and keeps it */

/* --- names --- */

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	return fd;
}

/* Does somebody hear what is sent to this address? */
static bool is_served(const struct sockaddr_un *sa, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool yes =
		fd >= 0 && (connect(fd, (const struct sockaddr *)sa, len) == 0 || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return yes;
}

static int bind_name(const char *dir)
{
	struct sockaddr_un sa;
	socklen_t len = fabric_address(&sa, dir, FABRIC_NAME);
	int fd, err = 0;
	mode_t old;

	if (!len)
		return -ENAMETOOLONG;
	fd = new_socket();
	if (fd < 0)
		return fd;
	if (*dir && is_served(&sa, len))
		err = -EADDRINUSE;
	else if (*dir)
		unlink(sa.sun_path); /* of a daemon that died */
	old = umask(0111);
	if (!err && bind(fd, (struct sockaddr *)&sa, len) < 0)
		err = -errno;
	umask(old);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* A directory for sockets of all users, and nobody's but ours or root's to arrange. */
static int open_dir(const char *path)
{
	mode_t old = umask(0);
	int made = mkdir(path, DIR_MODE), fd;
	struct stat st;

	umask(old);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && (st.st_uid == geteuid() || st.st_uid == 0) &&
	    (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX)) {
		if (!made)
			(void)!fchmod(fd,
				      DIR_MODE); /* mkdir() leaves the sticky bit to the system */
		return fd;
	}
	close(fd);
	return -EPERM;
}

static void take_name(struct kineto *k, int i, const char *dir)
{
	const char *what = i ? dir : "the abstract socket";

	k->sock[i] = bind_name(i ? dir : "");
	if (k->sock[i] == -EADDRINUSE)
		log_info("kineto: %s: another daemon has the name " FABRIC_NAME
			 ": its processes are not ours to trace",
			 what);
	else if (k->sock[i] < 0)
		log_warn("kineto: %s: %s", what, strerror(-k->sock[i]));
}

/* --- answers --- */

/* To a path that the sender chose: only to a socket that stands in our directory. */
static int send_into_dir(struct kineto *k, const char *name, const void *data, size_t len)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = openat(k->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		err = -EPERM;
	else if (sendto(k->sock[1], data, len, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&sa,
			sizeof(sa)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int reply(struct kineto *k, int i, const struct sockaddr_un *to, socklen_t to_len,
		 const void *data, size_t len)
{
	size_t dir = strlen(k->path), at = offsetof(struct sockaddr_un, sun_path);
	bool abstract = to_len > at + 1 && !to->sun_path[0];

	if (i == 0 && abstract)
		return sendto(k->sock[0], data, len, MSG_DONTWAIT | MSG_NOSIGNAL,
			      (const struct sockaddr *)to, to_len) < 0
			       ? -errno
			       : 0;
	if (i == 1 && to_len > at + dir + 1 && !strncmp(to->sun_path, k->path, dir) &&
	    to->sun_path[dir] == '/' && !strchr(to->sun_path + dir + 1, '/'))
		return send_into_dir(k, to->sun_path + dir + 1, data, len);
	return -EDESTADDRREQ;
}

struct letter {
	char data[KINETO_PACKET + 1];
	size_t len;
	struct sockaddr_un from;
	socklen_t from_len;
	struct ucred who;
	struct timespec at; /* when it was sent */
};

static int receive(int sock, struct letter *l)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { l->data, sizeof(l->data) };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_name = &l->from,
			     .msg_namelen = sizeof(l->from) - 1,
			     .msg_control = &ctl,
			     .msg_controllen = sizeof(ctl) };
	ssize_t n;

	memset(&l->from, 0, sizeof(l->from));
	l->who = (struct ucred){ 0 };
	l->at = (struct timespec){ 0 };
	/* No descriptor comes in: the kernel drops what the control buffer does not hold, and what
	 * it does hold is closed below. */
	n = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c; c = CMSG_NXTHDR(&mh, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&l->who, CMSG_DATA(c), sizeof(l->who));
		else if (c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&l->at, CMSG_DATA(c), sizeof(l->at));
		else if (c->cmsg_type == SCM_RIGHTS)
			for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
				int fd;

				memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
				close(fd);
			}
	}
	l->len = (size_t)n;
	l->from_len = mh.msg_namelen;
	return 0;
}

/* How long its sender has waited. */
static void account(const struct letter *l)
{
	int64_t us =
		(int64_t)(clock_wall_ns() / 1000u) - l->at.tv_sec * 1000000 - l->at.tv_nsec / 1000;

	if (!l->at.tv_sec || us < 0)
		return;
	count_max(COUNT_kineto_us_max, (uint64_t)us);
	if (us > (int64_t)FABRIC_WAIT_MS * 1000)
		count_add(COUNT_kineto_late, 1);
}

static void answer(struct kineto *k, int i, const struct letter *l)
{
	char config[KINETO_CONFIG] = "", out[sizeof(struct fabric_head) + KINETO_CONFIG];
	const void *body = config;
	struct fabric_msg m;
	int32_t one = 1;
	size_t len = 0;

	count_add(COUNT_kineto_requests, 1);
	if (fabric_check(&m, l->data, l->len) < 0) {
		count_add(COUNT_kineto_bad, 1);
		return;
	}
	if (m.kind == FABRIC_WHO) {
		body = k->run_dir;
		len = strlen(k->run_dir);
	} else if (kineto_heard(k, &m, l->who.pid, l->who.uid, clock_mono_ns(), config) < 0) {
		count_add(COUNT_kineto_refused, 1); /* answered all the same: it waits */
	}
	if (m.kind == FABRIC_CTXT) {
		body = &one;
		len = sizeof(one);
	} else if (m.kind == FABRIC_REQ) {
		len = strlen(config);
	}
	len = fabric_answer(out, sizeof(out), m.kind, body, len);
	if (reply(k, i, &l->from, l->from_len, out, len) < 0)
		count_add(COUNT_kineto_unanswered, 1);
	else if (len > sizeof(struct fabric_head) && m.kind == FABRIC_REQ)
		count_add(COUNT_kineto_orders, 1);
	account(l);
}

static void hear(struct kineto *k, int i)
{
	struct letter l;

	for (unsigned n = 0; n < BATCH && !receive(k->sock[i], &l); n++) {
		uint64_t second = clock_mono_ns() / 1000000000u;

		k->heard = second == k->second ? k->heard + 1 : 0;
		k->second = second;
		answer(k, i, &l);
		if (k->heard > HEARD_MAX)
			usleep(SLOW_US);
	}
}

static void *kineto_main(void *arg)
{
	struct kineto *k = arg;
	struct pollfd p[3] = { { k->sock[0], POLLIN, 0 },
			       { k->sock[1], POLLIN, 0 },
			       { k->wake, POLLIN, 0 } };

	setpriority(PRIO_PROCESS, 0, k->nice);
	while (poll(p, 3, -1) >= 0 || errno == EINTR) {
		if (p[2].revents)
			break;
		for (int i = 0; i < 2; i++)
			if (p[i].revents & POLLIN)
				hear(k, i);
	}
	return NULL;
}

/* --- life --- */

static int start(struct kineto *k)
{
	pthread_attr_t attr;
	int err;

	k->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->proc = calloc(KINETO_PROCS, sizeof(*k->proc));
	if (k->wake < 0 || !k->proc)
		return -ENOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = -pthread_create(&k->thread, &attr, kineto_main, k);
	pthread_attr_destroy(&attr);
	k->runs = !err;
	if (k->runs)
		pthread_setname_np(k->thread, "aond-kineto");
	return err;
}

int kineto_init(struct kineto *k, const char *run_dir, const char *dir, int nice)
{
	*k = (struct kineto){ .sock = { -1, -1 }, .dir = -1, .wake = -1, .nice = nice };
	pthread_mutex_init(&k->lock, NULL);
	snprintf(k->run_dir, sizeof(k->run_dir), "%s", run_dir);
	snprintf(k->path, sizeof(k->path), "%s", dir);
	take_name(k, 0, dir);
	if (*dir) {
		k->dir = open_dir(dir);
		if (k->dir < 0)
			log_warn("kineto: %s: %s", dir, strerror(-k->dir));
		else
			take_name(k, 1, dir);
	}
	return k->sock[0] >= 0 || k->sock[1] >= 0 ? start(k) : 0;
}

void kineto_fini(struct kineto *k)
{
	uint64_t one = 1;

	if (k->runs) {
		(void)!write(k->wake, &one, sizeof(one));
		pthread_join(k->thread, NULL);
	}
	if (k->sock[1] > 0 && k->dir > 0)
		unlinkat(k->dir, FABRIC_NAME, 0);
	for (int i = 0; i < 2; i++)
		if (k->sock[i] > 0)
			close(k->sock[i]);
	if (k->wake > 0)
		close(k->wake);
	if (k->dir > 0)
		close(k->dir);
	for (size_t i = 0; i < k->top; i++)
		if (k->proc[i].pid && k->proc[i].pidfd >= 0)
			close(k->proc[i].pidfd);
	free(k->proc);
	*k = (struct kineto){ .sock = { -1, -1 }, .dir = -1, .wake = -1 };
}
