/* SPDX-License-Identifier: Apache-2.0 */
/* locate.c - finding the daemon and the store to read; see locate.h. */
#include "cli/core/locate.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/dial.h"
#include "store/backend.h"

#define STATUS_MS    2000
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
	static char packet[PACKET_BYTES];
	int err = 0;
	ssize_t n;

	if (send(fd, word, strlen(word), MSG_NOSIGNAL) < 0)
		err = -errno;
	while (!err && (n = recv(fd, packet, sizeof(packet) - 1, 0)) != 0) {
		if (n < 0) {
			err = errno == EAGAIN ? -ETIMEDOUT : -errno;
			break;
		}
		packet[n] = '\0';
		each_line(packet, fn, arg);
	}
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

static void on_info(void *arg, char *line)
{
	struct admin_status *s = arg;
	char *value = line + strcspn(line, " =");

	if (*value)
		*value++ = '\0';
	if (!strcmp(line, "version"))
		snprintf(s->version, sizeof(s->version), "%s", value);
	else if (!strcmp(line, "store"))
		snprintf(s->store, sizeof(s->store), "%s", value);
	else if (!strcmp(line, "pid"))
		s->pid = strtoull(value, NULL, 10);
	else if (!strcmp(line, "uptime_s"))
		s->uptime_s = strtoull(value, NULL, 10);
	else if (!strcmp(line, "sessions"))
		s->sessions = strtoull(value, NULL, 10);
}

int admin_status(const char *run_dir, struct admin_status *out)
{
	memset(out, 0, sizeof(*out));
	return admin_ask(run_dir, "info", STATUS_MS, on_info, out);
}

/* The newest ./aon-*.db, if there is one. */
static bool newest_here(char path[PATH_MAX])
{
	time_t best = 0;
	struct stat sb;
	glob_t g;

	*path = '\0';
	if (glob("aon-*.db", 0, NULL, &g) != 0)
		return false;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (stat(g.gl_pathv[i], &sb) < 0 || !S_ISREG(sb.st_mode) || sb.st_mtime < best)
			continue;
		best = sb.st_mtime;
		snprintf(path, PATH_MAX, "%s", g.gl_pathv[i]);
	}
	globfree(&g);
	return *path != '\0';
}

static int choose(char path[PATH_MAX])
{
	struct admin_status s;

	if (admin_status(locate_run_dir(), &s) == 0 && *s.store && access(s.store, R_OK) == 0) {
		snprintf(path, PATH_MAX, "%s", s.store);
		return CLI_OK;
	}
	if (access(NODE_STORE, R_OK) == 0) {
		snprintf(path, PATH_MAX, NODE_STORE);
		return CLI_OK;
	}
	if (newest_here(path)) {
		cli_say(CLI_OK, "no node store to read here; reading ./%s, the newest.", path);
		return CLI_OK;
	}
	if (access(NODE_STORE, F_OK) == 0 || errno == EACCES || *s.store)
		return cli_say(CLI_FAIL,
			       "%s: not readable by you. Join group aon, or record your "
			       "own: aon run -- CMD",
			       *s.store ? s.store : NODE_STORE);
	return cli_say(CLI_FAIL,
		       "no store: no aond runs here and there is no ./aon-*.db. Record one: "
		       "aon run -- CMD");
}

static const char *remedy(int err)
{
	switch (err) {
	case -ENOENT:
		return "Check the name, or record one: aon run -- CMD";
	case -EACCES:
	case -EPERM:
		return "Ask its owner, or join its group.";
	case -EMEDIUMTYPE:
	case -EISDIR:
		return "Give a file that aon wrote.";
	case -EPROTO:
		return "Update aon.";
	case -EBADMSG:
		return "Save what is whole: aon recover FILE -o NEW";
	case -EBUSY:
		return "Stop the aond that writes it, or choose another file.";
	case -EEXIST:
		return "Name a file that is not there.";
	case -ENOSPC:
		return "Make room, or choose another place.";
	default:
		return "Nothing was changed.";
	}
}

int locate_failed(const char *path, int err, const struct store_why *why)
{
	static const char *const tail[] = { ": try `", ": `", ": update" };
	const char *what = why && *why->text ? why->text : strerror(-err);
	size_t len = strlen(path), keep = SIZE_MAX;

	if (store_is_elsewhere(path) && why && *why->text)
		return cli_say(CLI_FAIL, "%s", what); /* with its address */
	if (!strncmp(what, path, len))                /* it stands in front already */
		what += len + strspn(what + len, ": ");
	for (size_t i = 0; i < sizeof(tail) / sizeof(tail[0]); i++) { /* the remedy is ours */
		const char *at = strstr(what, tail[i]);

		if (at && (size_t)(at - what) < keep)
			keep = (size_t)(at - what);
	}
	if (keep == SIZE_MAX)
		keep = strlen(what);
	return cli_say(CLI_FAIL, "%s: %.*s. %s", path, (int)keep, what, remedy(err));
}

int locate_open(const char *given, struct store **st, char path[PATH_MAX])
{
	struct store_why why = { "" };
	int err;

	if (given)
		snprintf(path, PATH_MAX, "%s", given);
	else if (choose(path) != CLI_OK)
		return CLI_FAIL;
	err = store_open_ro(st, path, &why);
	return err < 0 ? locate_failed(path, err, &why) : CLI_OK;
}

void locate_run_dir_of(pid_t pid, char dir[PATH_MAX])
{
	static const char word[] = AON_ENV_RUN_DIR "=";
	char path[64], *line = NULL;
	size_t cap = 0;
	FILE *f;

	*dir = '\0';
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	while (f && getdelim(&line, &cap, '\0', f) > 0)
		if (!strncmp(line, word, sizeof(word) - 1))
			snprintf(dir, PATH_MAX, "%s", line + sizeof(word) - 1);
	free(line);
	if (f)
		fclose(f);
}
