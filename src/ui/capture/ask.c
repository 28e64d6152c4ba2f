/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - see ask.h. */
#include "capture/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/dial.h"
#include "base/proc.h"

#define PACKET_BYTES 65536

const char *locate_run_dir(void)
{
	const char *dir = getenv(AON_ENV_RUN_DIR);

	return dir && *dir ? dir : AON_RUN_DIR;
}

static void each_line(char *text, admin_line_fn *fn, void *arg)
{
	char *line;

	while (fn && (line = strsep(&text, "\n")))
		if (*line)
			fn(arg, line);
}

int ask_open(const char *run_dir, int timeout_ms)
{
	static const struct aon_msg_head ask = { AON_MSG_MAGIC, AON_MSG_ASK, sizeof(ask) };
	int fd = dial(run_dir, AON_ADMIN_NAME, timeout_ms), err;

	if (fd != -EACCES && fd != -EPERM)
		return fd;
	fd = dial(run_dir, AON_SOCKET_NAME, timeout_ms);
	if (fd >= 0 && send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int ask_on(int fd, const char *word, admin_line_fn *fn, void *arg)
{
	char *packet = malloc(PACKET_BYTES);
	int err = packet ? 0 : -ENOMEM;
	ssize_t n;

	if (!err && send(fd, word, strlen(word), MSG_NOSIGNAL) < 0)
		err = -errno;
	while (!err && (n = recv(fd, packet, PACKET_BYTES - 1, 0)) != 0) {
		if (n < 0) {
			err = errno == EAGAIN ? -ETIMEDOUT : -errno;
			break;
		}
		packet[n] = '\0';
		each_line(packet, fn, arg);
	}
	free(packet);
	return err;
}

int admin_ask(const char *run_dir, const char *word, int timeout_ms, admin_line_fn *fn, void *arg)
{
	int fd = dial(run_dir, AON_ADMIN_NAME, timeout_ms), err;

	if (fd < 0)
		return fd;
	err = ask_on(fd, word, fn, arg);
	close(fd);
	return err;
}

void locate_run_dir_of(pid_t pid, char dir[PATH_MAX])
{
	proc_env(pid, AON_ENV_RUN_DIR, dir, PATH_MAX);
}
