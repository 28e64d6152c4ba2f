/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_child.c - see gpu_child.h. */
#include "cli/node/gpu_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define NAP_NS 2000000

struct run {
	pid_t pid;
	int fd;
	uint64_t until_ms;
	char *text;
	size_t len;
	bool hung, too_much;
	int status;
};

/* A process group of its own, so that what it starts ends with it. */
static _Noreturn void become(const char *program, const char *check, int to)
{
	struct rlimit none = { 0, 0 };
	char *argv[] = { (char *)"aon-gpu-check", (char *)check, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(to, STDOUT_FILENO);
	execv(program, argv);
	_exit(127);
}

static int start(struct run *r, const char *program, const char *check)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	r->pid = fork();
	if (!r->pid)
		become(program, check, fd[1]);
	if (r->pid > 0)
		setpgid(r->pid, r->pid); /* here too: whoever comes first */
	close(fd[1]);
	r->fd = fd[0];
	return r->pid < 0 ? -EAGAIN : 0;
}

static int left_ms(const struct run *r)
{
	uint64_t now = clock_mono_ms();

	return now < r->until_ms ? (int)(r->until_ms - now) : 0;
}

/* All that it writes, until it closes its end, writes too much or takes too long. */
static void listen_to(struct run *r)
{
	for (;;) {
		struct pollfd p = { .fd = r->fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, left_ms(r)) <= 0) {
			r->hung = !left_ms(r);
			if (r->hung)
				return;
			continue;
		}
		n = read(r->fd, r->text + r->len, GPU_OUTPUT - r->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		r->len += (size_t)n;
		if (r->len == GPU_OUTPUT) {
			r->too_much = true;
			return;
		}
	}
}

/* Until it has ended, or its time is over; then the whole group. Its number is its own until it is
 * waited for. */
static void finish(struct run *r)
{
	for (;;) {
		siginfo_t si = { .si_pid = 0 };

		if (r->hung || r->too_much ||
		    waitid(P_PID, (id_t)r->pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid)
			break;
		r->hung = !left_ms(r);
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
	kill(-r->pid, SIGKILL);
	while (waitpid(r->pid, &r->status, 0) < 0 && errno == EINTR)
		;
	close(r->fd);
}

static void became(struct gpu_result *r, const struct run *run, int parsed, unsigned limit_s)
{
	char why[GPU_TEXT];

	if (run->hung)
		snprintf(why, sizeof(why), "it hung: ended after %u s", limit_s);
	else if (run->too_much || parsed < 0)
		snprintf(why, sizeof(why), "its output is not one of a check");
	else if (WIFSIGNALED(run->status))
		snprintf(why, sizeof(why), "it crashed%s: signal %d, %s",
			 r->whole ? " at its end" : "", WTERMSIG(run->status),
			 strsignal(WTERMSIG(run->status)));
	else if (!r->whole || WEXITSTATUS(run->status))
		snprintf(why, sizeof(why), "it ended with status %d%s", WEXITSTATUS(run->status),
			 r->whole ? "" : ", without a result");
	else
		return;
	if (parsed < 0)
		memset(r, 0, sizeof(*r)); /* nothing in it can be believed */
	r->verdict = GPU_FAIL;
	r->whole = false;
	gpu_result_add(r, why);
}

void gpu_child_run(struct gpu_result *r, const char *program, const char *check, unsigned limit_s)
{
	struct run run = { .until_ms = clock_mono_ms() + 1000ull * limit_s };
	uint64_t begin = clock_mono_ms();
	int parsed;

	memset(r, 0, sizeof(*r));
	run.text = malloc(GPU_OUTPUT);
	if (!run.text || start(&run, program, check) < 0) {
		r->verdict = GPU_UNKNOWN;
		r->whole = true;
		gpu_result_add(r, "no process could be started");
		free(run.text);
		return;
	}
	listen_to(&run);
	finish(&run);
	/* A line that the end cut off is not garbage. */
	while (run.len && (run.hung || WIFSIGNALED(run.status)) && run.text[run.len - 1] != '\n')
		run.len--;
	parsed = gpu_result_parse(r, run.text, run.len);
	became(r, &run, parsed, limit_s);
	r->ms = clock_mono_ms() - begin;
	free(run.text);
}
