/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.c - asks the daemon of PyTorch processes for its identity; see fabric.h. */
#include "cli/capture/fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi/fabric.h"
#include "abi/msg.h"
#include "cli/core/locate.h"

#define WAIT_MS 2000 /* for an answer; somebody else gives none */

/* A name to be answered at: the kernel's choice, or a file that we remove. */
static int bind_own(int fd, const char *dir, struct sockaddr_un *own)
{
	socklen_t len = sizeof(sa_family_t);
	char name[32];

	*own = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (dir && *dir) {
		snprintf(name, sizeof(name), "aon-%d", (int)getpid());
		len = fabric_address(own, dir, name);
		if (!len)
			return -ENAMETOOLONG;
		unlink(own->sun_path);
	}
	return bind(fd, (struct sockaddr *)own, len) < 0 ? -errno : 0;
}

static int ask_who(int fd, char run_dir[PATH_MAX])
{
	struct fabric_head head = { .type = "aon" };
	char data[sizeof(head) + 256];
	ssize_t n;

	if (send(fd, &head, sizeof(head), MSG_NOSIGNAL) < 0)
		return errno == ECONNREFUSED ? -ENOENT : -errno;
	n = recv(fd, data, sizeof(data), 0);
	if (n < (ssize_t)sizeof(head))
		return -EADDRINUSE;
	memcpy(&head, data, sizeof(head));
	if (strncmp(head.type, "aon", sizeof(head.type)) || head.size != (size_t)n - sizeof(head))
		return -EADDRINUSE;
	snprintf(run_dir, PATH_MAX, "%.*s", (int)head.size, data + sizeof(head));
	return 0;
}

int fabric_who(char run_dir[PATH_MAX])
{
	struct timeval tv = { WAIT_MS / 1000, WAIT_MS % 1000 * 1000 };
	const char *dir = getenv(FABRIC_ENV_DIR);
	struct sockaddr_un sa, own;
	socklen_t len = fabric_address(&sa, dir, FABRIC_NAME);
	int fd, err;

	if (!len)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	err = bind_own(fd, dir, &own);
	if (!err && connect(fd, (struct sockaddr *)&sa, len) < 0)
		err = errno == ECONNREFUSED ? -ENOENT : -errno;
	err = err ? err : ask_who(fd, run_dir);
	if (*own.sun_path)
		unlink(own.sun_path);
	close(fd);
	return err;
}

int fabric_run_dir(char run_dir[PATH_MAX])
{
	const char *given = getenv(AON_ENV_RUN_DIR);
	struct stat sb;
	int err;

	if (given && *given) {
		snprintf(run_dir, PATH_MAX, "%s", given);
		return 0;
	}
	err = fabric_who(run_dir);
	/* Anybody can take the name first: a stranger's aond is not asked. */
	if (!err && strcmp(run_dir, AON_RUN_DIR) &&
	    (stat(run_dir, &sb) < 0 || (sb.st_uid != 0 && sb.st_uid != geteuid())))
		return -EPERM;
	return err;
}

const char *fabric_trouble(int err)
{
	switch (err) {
	case -ENOENT:
		return "no aond listens for PyTorch processes. Start one (sudo systemctl start "
		       "aond), or: aon run --kineto -- CMD";
	case -EADDRINUSE:
		return "another daemon, such as dynolog, has the name that PyTorch processes ask. "
		       "Stop it, or let aond use a directory: setting kineto_dir";
	case -EPERM:
	case -EACCES:
		return "an aond of another user has the name that PyTorch processes ask. Ask its "
		       "owner, or name yours: AON_RUN_DIR";
	default:
		return strerror(-err);
	}
}

void fabric_doctor(struct doctor *d)
{
	char run_dir[PATH_MAX];
	int err = fabric_who(run_dir);

	if (!err)
		doctor_put(d, "kineto", HEALTH_OK, NULL, NULL,
			   "Kineto traces on demand: the aond in %s listens", run_dir);
	else if (err == -EADDRINUSE)
		doctor_put(d, "kineto", HEALTH_OFF, "aon capture --kineto cannot work",
			   "stop it, or let aond use a directory: setting kineto_dir",
			   "Kineto traces on demand: another daemon, such as dynolog, has the name "
			   "that PyTorch processes ask");
	else
		doctor_put(d, "kineto", HEALTH_OFF,
			   "aon capture --kineto works for programs of aon run --kineto only",
			   "start aond, with the setting kineto on",
			   "Kineto traces on demand: no aond listens%s%s",
			   err == -ENOENT ? "" : ": ", err == -ENOENT ? "" : strerror(-err));
}
