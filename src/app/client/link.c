/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c - libaon's system calls: sockets, descriptors, mappings.
 *
 * All go through syscall(), which is not a cancellation point: a cancelled thread must not die
 * in here while it holds the turn. Only link_wait() waits, and its wait is bounded.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/client.h"

#define FD_FLOOR 64 /* out of the way of apps that count on low numbers */

static int stat_fd(int fd, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

static void close_fd(int fd)
{
	syscall(SYS_close, fd);
}

int link_hold(int fd, struct held_fd *out)
{
	struct stat st;
	int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_FLOOR);

	close_fd(fd);
	if (high < 0)
		return -EMFILE; /* what a tight limit leaves is the app's */
	if (stat_fd(high, &st) < 0) {
		close_fd(high);
		return -EBADF;
	}
	*out = (struct held_fd){ .fd = high, .dev = st.st_dev, .ino = st.st_ino };
	return 0;
}

bool link_ours(const struct held_fd *h)
{
	struct stat st;

	return h->fd >= 0 && stat_fd(h->fd, &st) == 0 && st.st_dev == h->dev && st.st_ino == h->ino;
}

void link_drop(struct held_fd *h)
{
	if (link_ours(h))
		close_fd(h->fd);
	h->fd = -1;
}

/* The path of the file `name` in the run directory, never truncated: -ENAMETOOLONG instead. */
static int run_path(char *out, size_t cap, const char *run_dir, const char *name)
{
	size_t d = strlen(run_dir), n = strlen(name);

	if (d + 1 + n + 1 > cap)
		return -ENAMETOOLONG;
	memcpy(out, run_dir, d);
	out[d] = '/';
	memcpy(out + d + 1, name, n + 1);
	return 0;
}

int link_connect(const char *run_dir, struct held_fd *out)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, err;

	err = run_path(sa.sun_path, sizeof(sa.sun_path), run_dir, AON_SOCKET_NAME);
	if (err)
		return err;
	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_connect, fd, &sa, sizeof(sa)) < 0) {
		err = -errno;
		close_fd(fd);
		return err;
	}
	return link_hold(fd, out);
}

int link_send(const struct held_fd *s, const void *msg, size_t len, int pass_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ctl = { { 0 } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg, .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!link_ours(s))
		return -EBADF;
	if (pass_fd >= 0) {
		struct cmsghdr *c;

		mh.msg_control = ctl.bytes;
		mh.msg_controllen = sizeof(ctl.bytes);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &pass_fd, sizeof(int));
	}
	if (syscall(SYS_sendmsg, s->fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

static void take_fds(struct msghdr *mh, int fds[AON_MSG_FDS], int *nfds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (*nfds < (int)AON_MSG_FDS)
				fds[(*nfds)++] = fd;
			else
				close_fd(fd);
		}
	}
}

int link_recv(const struct held_fd *s, void *msg, size_t cap, int fds[AON_MSG_FDS], int *nfds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * AON_MSG_FDS)];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { .iov_base = msg, .iov_len = cap };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = ctl.bytes,
			     .msg_controllen = sizeof(ctl.bytes) };
	long n;

	*nfds = 0;
	if (!link_ours(s))
		return -EBADF;
	n = syscall(SYS_recvmsg, s->fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	take_fds(&mh, fds, nfds);
	return (int)n;
}

int link_gone(const struct held_fd *s)
{
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	long n;

	if (!link_ours(s))
		return -EBADF;
	n = syscall(SYS_recvmsg, s->fd, &mh, MSG_DONTWAIT | MSG_PEEK);
	if (n == 0)
		return 1;
	return n < 0 && errno != EAGAIN && errno != EINTR ? 1 : 0;
}

int link_wait(const struct held_fd *s, unsigned ms)
{
	struct pollfd p = { .fd = s ? s->fd : -1, .events = POLLIN };
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	if (s && !link_ours(s))
		return -EBADF;
	return (int)syscall(SYS_ppoll, &p, 1, &ts, NULL, 0);
}

size_t link_size(int fd)
{
	struct stat st;

	return stat_fd(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
}

/*
 * Not by libc's mmap() for read-only mappings: TSan treats that as a plain write of every byte, and
 * ended programs whose threads read the gate while another one mapped it. No ordering is needed:
 * readers follow the pointer, or read a word of the old page or of the new one, which the kernel
 * swaps as a whole.
 */
static void *map_fd(int fd, size_t bytes, bool writable, int flags, const void *at)
{
	if (writable)
		return mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	return (void *)(uintptr_t)syscall(SYS_mmap, at, bytes, PROT_READ, flags, fd, 0);
}

void *link_map(int fd, size_t bytes, bool writable, const void *at)
{
	/* Populated: the daemon touched the pages, but our page table has none of them. */
	int flags = MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0);
	void *map = map_fd(fd, bytes, writable, flags, at);

	if (map == MAP_FAILED)
		return NULL;
	madvise(map, bytes, MADV_DONTDUMP); /* an app's core must not grow by our pages */
	if (writable)
		madvise(map, bytes, MADV_DONTFORK); /* nobody writes into a parent's segment */
	return map;
}

/* Private zeroed memory; with wipe, a child finds it zeroed again (or we get none at all). */
void *link_private(size_t bytes, bool wipe_on_fork)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	if (wipe_on_fork && madvise(map, bytes, MADV_WIPEONFORK) < 0) {
		munmap(map, bytes);
		return NULL;
	}
	return map;
}

bool link_filtered(void)
{
	return syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
}

bool link_born_filtered(void)
{
	static const char key[] = "\nSeccomp:\t";
	char text[2048];
	const char *at;
	long n;
	int fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = syscall(SYS_read, fd, text, sizeof(text));
	close_fd(fd);
	at = n > 0 ? memmem(text, (size_t)n, key, sizeof(key) - 1) : NULL;
	return at && at + sizeof(key) - 1 < text + n && at[sizeof(key) - 1] != '0';
}

const void *link_map_rendezvous(const char *run_dir)
{
	const struct aon_rendezvous *rendezvous = NULL;
	char path[128];
	int fd;

	if (run_path(path, sizeof(path), run_dir, AON_RENDEZVOUS_NAME))
		return NULL;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (link_size(fd) >= AON_PAGE)
		rendezvous = link_map(fd, AON_PAGE, false, NULL);
	close_fd(fd);
	if (rendezvous && (rendezvous->magic != AON_RENDEZVOUS_MAGIC || rendezvous->version != 1)) {
		munmap((void *)(uintptr_t)rendezvous, AON_PAGE);
		rendezvous = NULL;
	}
	return rendezvous;
}
