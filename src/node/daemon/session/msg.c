/* SPDX-License-Identifier: Apache-2.0 */
/* msg.c - messages from the producer socket: copied, checked, then used. */
#include "daemon/session/msg.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t least_size(unsigned type)
{
	switch (type) {
	case AON_MSG_HELLO:
		return AON_HELLO_LEAST;
	case AON_MSG_NOTE:
		return sizeof(struct aon_msg_note);
	default:
		return sizeof(struct aon_msg_head);
	}
}

static size_t known_size(unsigned type)
{
	return type == AON_MSG_HELLO ? sizeof(struct aon_msg_hello) : least_size(type);
}

#define TERMINATE(text) ((text)[sizeof(text) - 1] = '\0')

int msg_check(union msg *out, const void *data, size_t len)
{
	struct aon_msg_head head;

	if (len < sizeof(head) || len > AON_MSG_MAX)
		return -EPROTO;
	memcpy(&head, data, sizeof(head));
	if (head.magic != AON_MSG_MAGIC || head.size != len || len < least_size(head.type))
		return -EPROTO;
	memset(out, 0, sizeof(*out));
	memcpy(out, data, len < known_size(head.type) ? len : known_size(head.type));
	if (head.type == AON_MSG_HELLO) {
		TERMINATE(out->hello.library);
		TERMINATE(out->hello.run);
		TERMINATE(out->hello.job);
		TERMINATE(out->hello.node);
		TERMINATE(out->hello.pod);
		TERMINATE(out->hello.namespace);
		TERMINATE(out->hello.gpus);
		TERMINATE(out->hello.account);
	} else if (head.type == AON_MSG_NOTE) {
		TERMINATE(out->note.source);
		TERMINATE(out->note.state);
		TERMINATE(out->note.reason);
	}
	return 0;
}

void msg_fds_close(struct msg_fds *f)
{
	while (f->n)
		close(f->fd[--f->n]);
}

/* Keeps the first AON_MSG_FDS; the kernel has dropped what the buffer did not hold. */
static void take_fds(struct msghdr *mh, struct msg_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (fds->n < AON_MSG_FDS)
				fds->fd[fds->n++] = fd;
			else
				close(fd);
		}
	}
}

int msg_recv(int sock, union msg *out, struct msg_fds *fds)
{
	union {
		char buf[CMSG_SPACE(AON_MSG_FDS * sizeof(int))];
		struct cmsghdr align;
	} ctl;
	char data[AON_MSG_MAX];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl, .msg_controllen = sizeof(ctl)
	};
	ssize_t n;

	fds->n = 0;
	do
		n = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	take_fds(&mh, fds);
	if (n == 0) {
		msg_fds_close(fds);
		return -EPIPE;
	}
	if (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || msg_check(out, data, (size_t)n) < 0) {
		msg_fds_close(fds);
		return -EPROTO;
	}
	return 0;
}

int msg_send(int sock, const void *msg, size_t len, const int *fd, unsigned fds)
{
	union {
		char buf[CMSG_SPACE(AON_MSG_FDS * sizeof(int))];
		struct cmsghdr align;
	} ctl = { .buf = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)msg, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		struct cmsghdr *c = &ctl.align;

		mh.msg_control = &ctl;
		mh.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(c), fd, fds * sizeof(int));
	}
	while (sendmsg(sock, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}
