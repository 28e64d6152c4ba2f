/* SPDX-License-Identifier: Apache-2.0 */
/* say.c - how a check tells its result, and runs a part of itself in another process. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "gpucheck/check.h"

#define AGAIN_BYTES 8192u

static FILE *out;

void say_init(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR);

	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out || null < 0)
		_exit(70);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

static void line(const char *word, const char *key, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	fprintf(out, "%s %s%s%s\n", word, key, *key ? " " : "", text);
	fflush(out); /* a crash must not take it along */
}

#define LINE(word, key)                   \
	do {                              \
		va_list ap;               \
		va_start(ap, fmt);        \
		line(word, key, fmt, ap); \
		va_end(ap);               \
	} while (0)

void say(const char *fmt, ...)
{
	LINE("say", "");
}

void fact(const char *key, const char *fmt, ...)
{
	LINE("fact", key);
}

void setting(const char *key, const char *fmt, ...)
{
	LINE("set", key);
}

void fix(const char *fmt, ...)
{
	LINE("fix", "");
}

/* By way of exit(): what goes wrong there is seen, too. */
void verdict(enum verdict v)
{
	static const char *const word[] = { "pass", "fail", "unknown" };

	fprintf(out, "result %s\n", word[v]);
	fflush(out);
	exit(0);
}

void unknown(const char *fmt, ...)
{
	LINE("say", "");
	verdict(UNKNOWN);
}

void number(const char *name, int64_t value)
{
	fprintf(out, "%s %lld\n", name, (long long)value);
	fflush(out);
}

unsigned scaled(unsigned n, unsigned least)
{
	const char *text = getenv("AON_GPU_SCALE");
	uint32_t by = 1;

	if (text)
		num_u32(text, 1, 1000000, &by);
	return n / by < least ? least : n / by;
}

void nap_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

static void take(struct again *a, char *text)
{
	char *save, *at, *space;

	for (at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		struct number *n = &a->got[a->n];

		space = strchr(at, ' ');
		if (!space || a->n == sizeof(a->got) / sizeof(a->got[0]))
			continue;
		*space = '\0';
		snprintf(n->name, sizeof(n->name), "%s", at);
		a->n += num_i64(space + 1, INT64_MIN, INT64_MAX, &n->value) == 0;
	}
}

static _Noreturn void become(const struct again *a, const char *arm, int to)
{
	char self[] = "/proc/self/exe", word[32];
	char *argv[] = { (char *)"aon-gpu-check", word, NULL };

	snprintf(word, sizeof(word), "%s", arm);
	for (size_t i = 0; i < 8 && a->env[i][0]; i++) {
		if (a->env[i][1])
			setenv(a->env[i][0], a->env[i][1], 1);
		else
			unsetenv(a->env[i][0]);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(to, STDOUT_FILENO);
	if (a->python)
		execlp("python3", "python3", "-c", a->python, NULL);
	else if (a->argv)
		execv(a->argv[0], (char *const *)a->argv);
	else
		execv(self, argv);
	_exit(127);
}

bool again(struct again *a, const char *arm)
{
	char text[AGAIN_BYTES];
	size_t len = 0;
	ssize_t n;
	int fd[2], status;
	pid_t pid;

	a->n = 0;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (!pid)
		become(a, arm, fd[1]);
	close(fd[1]);
	while (pid > 0 && len + 1 < sizeof(text)) {
		n = read(fd[0], text + len, sizeof(text) - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd[0]);
	text[len] = '\0';
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	take(a, text);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int64_t again_number(const struct again *a, const char *name, int64_t none)
{
	for (unsigned i = 0; i < a->n; i++)
		if (!strcmp(a->got[i].name, name))
			return a->got[i].value;
	return none;
}
