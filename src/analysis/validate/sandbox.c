/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - see sandbox.h. Facts come by a pipe, as JSON; shared memory has what is done now. */
#include "validate/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define ANSWER  (4u << 20)
#define LAST_MS 200u /* that a process may take to end, once it was killed or has answered */

void sandbox_at(struct sandbox *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->at, SANDBOX_AT, fmt, ap);
	va_end(ap);
}

static _Noreturn void ask(int fd, pid_t parent, char *at, sandbox_fn *fn, void *arg)
{
	struct sandbox a = { .at = at };
	struct json j;
	FILE *f;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	fn(&a, arg);
	f = fdopen(fd, "w");
	if (!f)
		_exit(1);
	json_init(&j, f);
	json_open(&j, NULL, '{');
	facts_json(&a.f, &j);
	json_end(&j);
	if (fflush(f) || ferror(f))
		_exit(1);
	_exit(-a.err); /* nothing of the vendor's runs at the end */
}

/* Whole within its time: how many bytes, or -ETIMEDOUT. */
static ssize_t hear(int fd, char *text, uint64_t until_ms)
{
	size_t n = 0;

	for (;;) {
		uint64_t now = clock_mono_ms();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t r;

		if (now >= until_ms)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(until_ms - now)) <= 0)
			continue;
		r = read(fd, text + n, ANSWER - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return (ssize_t)n;
		n += (size_t)r;
		if (n == ANSWER)
			return -EIO;
	}
}

static int reap(pid_t pid)
{
	uint64_t until = clock_mono_ms() + LAST_MS;
	int status = -1;

	while (waitpid(pid, &status, WNOHANG) == 0 && clock_mono_ms() < until)
		usleep(1000);
	return status;
}

static int result(pid_t pid, ssize_t n, struct facts *out, const char *text)
{
	int status;

	if (n < 0)
		kill(pid, SIGKILL);
	status = reap(pid);
	if (n < 0)
		return (int)n;
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 1 || facts_parse(out, text, (size_t)n))
		return -EIO;
	return -WEXITSTATUS(status);
}

int sandbox_run(struct facts *out, unsigned limit_ms, sandbox_fn *fn, void *arg, char *at)
{
	char *text = malloc(ANSWER), *shared = mmap(NULL, SANDBOX_AT, PROT_READ | PROT_WRITE,
						    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd[2] = { -1, -1 }, err = -ENOMEM;
	pid_t pid, parent = getpid();

	if (!text || shared == MAP_FAILED || pipe(fd) < 0)
		goto done;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		ask(fd[1], parent, shared, fn, arg);
	}
	err = pid < 0 ? -errno : 0;
	close(fd[1]);
	err = err ? err : result(pid, hear(fd[0], text, clock_mono_ms() + limit_ms), out, text);
	close(fd[0]);
	memcpy(at, shared, SANDBOX_AT);
	at[SANDBOX_AT - 1] = '\0';
done:
	if (shared != MAP_FAILED)
		munmap(shared, SANDBOX_AT);
	free(text);
	return err;
}
