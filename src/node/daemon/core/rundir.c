/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.c - reaches all through a checked directory's descriptor: no path is resolved twice. */
#include "daemon/core/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <aon/aon.h>

#include "abi/msg.h"
#include "base/fmt.h"

#define LOCK_NAME "aond.lock"
#define BACKLOG   512

static int check_dir(int dir, const char *path, struct rundir_why *why)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return why_say(why, -errno, "%s: %s", path, strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return why_say(why, -EPERM, "%s: belongs to user %u: choose another run_dir", path,
			       st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH)) /* sticky or not: they could be first */
		return why_say(why, -EPERM, "%s: others can write to it (mode %04o): chmod go-w",
			       path, st.st_mode & 07777u);
	return 0;
}

static int take_lock(struct rundir *r, const char *path, struct rundir_why *why)
{
	r->lock = openat(r->dir, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->lock < 0)
		return why_say(why, -errno, "%s/" LOCK_NAME ": %s", path, strerror(errno));
	if (flock(r->lock, LOCK_EX | LOCK_NB) < 0)
		return why_say(why, -EBUSY, "%s: another aond runs here", path);
	return 0;
}

int rundir_open(struct rundir *r, const char *path, struct rundir_why *why)
{
	int err;

	*r = (struct rundir){ .dir = -1, .lock = -1 };
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return why_say(why, -errno, "%s: %s", path, strerror(errno));
	r->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->dir < 0)
		return why_say(why, -errno, "%s: %s", path, strerror(errno));
	err = check_dir(r->dir, path, why);
	err = err ? err : take_lock(r, path, why);
	if (err)
		rundir_close(r);
	return err;
}

void rundir_close(struct rundir *r)
{
	if (r->rendezvous)
		munmap(r->rendezvous, AON_PAGE);
	if (r->lock >= 0)
		close(r->lock);
	if (r->dir >= 0)
		close(r->dir);
	*r = (struct rundir){ .dir = -1, .lock = -1 };
}

void rundir_unlink(struct rundir *r, const char *name)
{
	struct stat st;

	if (!fstatat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode))
		unlinkat(r->dir, name, 0);
}

int rundir_listen(struct rundir *r, const char *name, mode_t mode)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	mode_t old;
	int fd, err;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rundir_unlink(r, name); /* of an aond that died: we have the lock */
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", r->dir, name);
	/* The mode is there from the first moment, and no chmod can be led astray. */
	old = umask(~mode & 0777);
	err = bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0 ? -errno
											  : 0;
	umask(old);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* --- the rendezvous page --- */

/* One that processes may have mapped since long, if it is one of ours. */
static int open_rendezvous(struct rundir *r)
{
	struct stat st;
	int fd = openat(r->dir, AON_RENDEZVOUS_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_size == AON_PAGE && st.st_nlink == 1 && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EEXIST;
}

static int make_rendezvous(struct rundir *r)
{
	mode_t old = umask(022);
	int fd, err;

	if (unlinkat(r->dir, AON_RENDEZVOUS_NAME, 0) < 0 && errno != ENOENT) {
		err = -errno;
		umask(old);
		return err;
	}
	fd = openat(r->dir, AON_RENDEZVOUS_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0644);
	err = -errno;
	umask(old);
	if (fd < 0)
		return err;
	return fd;
}

int rundir_rendezvous(struct rundir *r, struct rundir_why *why)
{
	int fd = open_rendezvous(r), err;
	void *map;

	if (fd < 0)
		fd = make_rendezvous(r);
	if (fd < 0)
		return why_say(why, fd, "%s: %s", AON_RENDEZVOUS_NAME, strerror(-fd));
	/* Allocated, so that neither we nor a process gets SIGBUS from a full file system. */
	err = posix_fallocate(fd, 0, AON_PAGE);
	if (err) {
		close(fd);
		return why_say(why, -err, "%s: %s", AON_RENDEZVOUS_NAME, strerror(err));
	}
	map = mmap(NULL, AON_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = errno;
	close(fd);
	if (map == MAP_FAILED)
		return why_say(why, -err, "%s: %s", AON_RENDEZVOUS_NAME, strerror(err));
	r->rendezvous = map;
	return 0;
}

void rundir_announce(struct rundir *r)
{
	struct aon_rendezvous *d = r->rendezvous;
	uint32_t gen = d->magic == AON_RENDEZVOUS_MAGIC ? d->generation + 1 : 1;

	d->version = AON_MSG_VERSION;
	__atomic_store_n(&d->magic, AON_RENDEZVOUS_MAGIC, __ATOMIC_RELEASE);
	for (uint32_t i = 1; i <= AON_GENERATIONS / 2; i++)
		__atomic_store_n(&d->generation_word[(gen + i) % AON_GENERATIONS], 0,
				 __ATOMIC_RELAXED);
	__atomic_store_n(&d->generation, gen, __ATOMIC_RELEASE);
	/* Last: who is led in by it finds the new generation. */
	__atomic_store_n(&d->generation_word[gen % AON_GENERATIONS], AON_WANT_ALL,
			 __ATOMIC_RELEASE);
}
