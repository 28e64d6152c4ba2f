/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - runs a program as if aon were not there; see child.h. */
#include "cli/core/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void child_prepare(struct child *c)
{
	static const int own[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				   SIGTRAP, SIGABRT, SIGSYS, SIGPIPE };
	struct sigaction plain = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };

	sigfillset(&c->sent);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&c->sent, own[i]);
	sigprocmask(SIG_BLOCK, &c->sent, &c->old);
	/* Whoever started us may ignore SIGCHLD, and then nothing could be waited for. A closed
	 * stderr must not change how we end. */
	sigaction(SIGCHLD, &plain, &c->old_chld);
	sigaction(SIGPIPE, &ignore, &c->old_pipe);
}

bool child_interrupted(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) ||
	       sigismember(&set, SIGQUIT) || sigismember(&set, SIGHUP);
}

static _Noreturn void become(const struct child *c, char *const argv[], int tell)
{
	int err;

	sigaction(SIGCHLD, &c->old_chld, NULL);
	sigaction(SIGPIPE, &c->old_pipe, NULL);
	sigprocmask(SIG_SETMASK, &c->old, NULL);
	execvp(argv[0], argv);
	err = errno;
	while (write(tell, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

int child_start(struct child *c, char *const argv[])
{
	int tell[2], err = 0;
	ssize_t n;

	if (pipe2(tell, O_CLOEXEC) < 0)
		return -errno;
	c->pid = fork();
	if (c->pid < 0) {
		err = errno;
		close(tell[0]);
		close(tell[1]);
		return -err;
	}
	if (c->pid == 0)
		become(c, argv, tell[1]);
	close(tell[1]);
	do
		n = read(tell[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(tell[0]);
	if (n != sizeof(err))
		return 0; /* exec closed it */
	waitpid(c->pid, NULL, 0);
	return -err;
}

/* True when it ended. A stop is ours too, so that the shell sees its job stop. */
static int reap(struct child *c)
{
	int status;

	while (waitpid(c->pid, &status, WNOHANG | WUNTRACED) == c->pid) {
		if (!WIFSTOPPED(status)) {
			c->status = status;
			return 1;
		}
		raise(SIGSTOP); /* the SIGCONT that ends it is sent on by child_wait() */
	}
	return 0;
}

/* The kernel's own signals went to the whole process group. */
static void pass_on(const struct child *c, int sig, const siginfo_t *si)
{
	if (sig == SIGCHLD || si->si_code == SI_KERNEL)
		return;
	if (si->si_code == SI_QUEUE)
		sigqueue(c->pid, sig, si->si_value);
	else
		kill(c->pid, sig);
}

void child_wait(struct child *c)
{
	const struct timespec none = { 0, 0 };
	siginfo_t si;
	int sig;

	while (!reap(c)) {
		sig = sigwaitinfo(&c->sent, &si);
		if (sig > 0)
			pass_on(c, sig, &si);
	}
	/* What ended the program may wait for us, too; only what comes from now on is ours. */
	while (sigtimedwait(&c->sent, &si, &none) > 0)
		;
}

void child_mimic(const struct child *c)
{
	struct rlimit none = { 0, 0 };
	int sig;
	sigset_t set;

	if (WIFEXITED(c->status))
		exit(WEXITSTATUS(c->status));
	sig = WTERMSIG(c->status);
	setrlimit(RLIMIT_CORE, &none); /* the program has left its own */
	prctl(PR_SET_DUMPABLE, 0);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + sig);
}
