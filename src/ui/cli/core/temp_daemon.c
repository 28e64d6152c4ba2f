/* SPDX-License-Identifier: Apache-2.0 */
/* temp_daemon.c - an aond for one command; see temp_daemon.h. */
#include "cli/core/temp_daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/core/child.h"
#include "cli/core/cli.h"

#define READY_MS 10000
#define STOP_MS  30000
#define LOG_NAME "aond.log"

#ifndef AON_SBINDIR
#define AON_SBINDIR "/usr/sbin"
#endif

/* Beside aon (a build placed together), in the build tree, or where it was installed. Never
 * from $PATH: this program is run with the user's rights. */
int temp_daemon_find(char path[PATH_MAX])
{
	static const char *const place[] = { "aond", "../../node/daemon/aond", "../sbin/aond" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(place) / sizeof(place[0]); i++) {
		snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - self), self, place[i]);
		if (access(path, X_OK) == 0)
			return 0;
	}
	snprintf(path, PATH_MAX, "%s", AON_SBINDIR "/aond");
	return access(path, X_OK) == 0 ? 0 : -ENOENT;
}

/* A directory of our own; a socket's name must fit, so a long $TMPDIR is passed over. */
static int make_run_dir(char dir[80])
{
	const char *base[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };

	for (size_t i = 0; i < 3; i++) {
		if (!base[i] || base[i][0] != '/' || strlen(base[i]) > 60)
			continue;
		snprintf(dir, 80, "%s/aon-XXXXXX", base[i]);
		if (mkdtemp(dir))
			return 0;
	}
	dir[0] = '\0';
	return -errno;
}

void temp_daemon_remove_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(fd, e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* In the child: nothing of the command's terminal, pipes or signals. */
static _Noreturn void become_aond(const struct temp_daemon *d, const char *store, unsigned how,
				  int life, int ready)
{
	char path[PATH_MAX], log[128], conf[128], a[16], b[16];
	char *argv[] = { "aond",
			 "--config",
			 conf,
			 "--run-dir",
			 (char *)d->run_dir,
			 "--store",
			 (char *)store,
			 "--parent-fd",
			 a,
			 "--ready-fd",
			 b,
			 "--set",
			 how & TEMP_KINETO ? "kineto=on" : "kineto=off",
			 "--set",
			 "audit_kib=0", /* who could ask it for anything but this command */
			 "--set",
			 "cpu_percent=100", /* who runs it wants to see all */
			 NULL,
			 "measure=off",
			 "--set",
			 "max_slowdown=0",
			 "--set",
			 "max_probe_cost=0",
			 NULL };
	sigset_t none;
	int fd, top;

	for (size_t i = 0; how & TEMP_UNBOUNDED && i < sizeof(argv) / sizeof(argv[0]) - 1; i++)
		argv[i] = argv[i] ? argv[i] : (char *)"--set"; /* the rest counts, too */
	setsid();
	sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(log, sizeof(log), "%s/" LOG_NAME, d->run_dir);
	snprintf(conf, sizeof(conf), "%s/aond.conf", d->run_dir); /* not the node's */
	close(open(conf, O_WRONLY | O_CREAT | O_EXCL, 0600));
	fd = open("/dev/null", O_RDWR);
	dup2(fd, 0);
	dup2(fd, 1);
	fd = open(log, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
	dup2(fd < 0 ? 1 : fd, 2);
	fd = fcntl(life, F_DUPFD, 10);
	ready = fcntl(ready, F_DUPFD, 10);
	snprintf(a, sizeof(a), "%d", fd);
	snprintf(b, sizeof(b), "%d", ready);
	top = fd > ready ? fd : ready;
	for (int i = 3; i < top; i++)
		if (i != fd && i != ready)
			close(i);
	close_range((unsigned)top + 1, ~0u, 0);
	if (temp_daemon_find(path) == 0)
		execv(path, argv);
	_exit(127);
}

/* What stands between msg=" and the last quote of aond's log is why it did not start. */
static void say_why(const struct temp_daemon *d, const char *store)
{
	char path[128], line[512], last[512] = "it left no word", *msg;
	FILE *f;

	snprintf(path, sizeof(path), "%s/" LOG_NAME, d->run_dir);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		msg = strstr(line, "msg=\"");
		if (!msg)
			continue;
		msg += strlen("msg=\"");
		*(strrchr(msg, '"') ? strrchr(msg, '"') : msg + strlen(msg)) = '\0';
		if (!strncmp(msg, store, strlen(store)))
			msg += strlen(store) + strspn(msg + strlen(store), ": ");
		memmove(last, msg, strlen(msg) + 1);
	}
	if (f)
		fclose(f);
	cli_say(0, "%s: aond did not start: %s. Choose another file: aon run -o FILE -- CMD", store,
		last);
}

static int wait_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	if (poll(&p, 1, READY_MS) <= 0)
		return -ETIMEDOUT;
	return read(fd, &byte, 1) == 1 ? 0 : -ECHILD;
}

int temp_daemon_start(struct temp_daemon *d, const char *store, unsigned how)
{
	char aond[PATH_MAX];
	int life[2], ready[2], err;

	memset(d, 0, sizeof(*d));
	if (temp_daemon_find(aond) < 0) {
		cli_say(0, "aond is not installed beside aon. Reinstall, or start a node's aond.");
		return -ENOENT;
	}
	err = make_run_dir(d->run_dir);
	if (err < 0) {
		cli_say(0, "no directory for sockets: %s. Set XDG_RUNTIME_DIR or TMPDIR to one.",
			strerror(-err));
		return err;
	}
	if (pipe2(life, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0) {
		err = -errno;
		goto remove_dir;
	}
	d->pid = fork();
	if (d->pid == 0)
		become_aond(d, store, how, life[0], ready[1]);
	err = d->pid < 0 ? -errno : 0;
	close(life[0]);
	close(ready[1]);
	d->life = life[1];
	err = err ? err : wait_ready(ready[0]);
	close(ready[0]);
	if (!err)
		return 0;
	say_why(d, store);
	close(d->life);
	if (d->pid > 0) {
		kill(d->pid, SIGKILL);
		waitpid(d->pid, NULL, 0);
	}
remove_dir:
	temp_daemon_remove_dir(d->run_dir);
	return err;
}

int temp_daemon_stop(struct temp_daemon *d)
{
	const struct timespec nap = { 0, 2000000 };
	struct rusage ru = { 0 };
	int status, err = 0;
	pid_t got;

	close(d->life);
	for (int ms = 0; (got = wait4(d->pid, &status, WNOHANG, &ru)) == 0; ms += 2) {
		if (!err && (ms >= STOP_MS || child_interrupted())) {
			kill(d->pid, SIGKILL);
			err = -ETIMEDOUT;
		}
		nanosleep(&nap, NULL);
	}
	if (got == d->pid) {
		d->cpu_ns = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000u +
			    (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000u;
		d->rss_bytes = (uint64_t)ru.ru_maxrss * 1024u;
	}
	temp_daemon_remove_dir(d->run_dir);
	return err;
}
