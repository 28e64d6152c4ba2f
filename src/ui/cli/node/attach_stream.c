/* SPDX-License-Identifier: Apache-2.0 */
/* attach_stream.c - aon-sample as a child, and what it says as events of a trace; see attach.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/vec.h"
#include "cli/node/attach.h"
#include "sample/wire.h"
#include "stacks/find.h"

#define STREAM  (4u + SWIRE_BYTES) /* a message behind its length */
#define LAST_MS 2000               /* for what it says last */

/* --- may we? --- */

static long yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int c = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return c >= '0' && c <= '9' ? c - '0' : 0;
}

void attach_denied(pid_t pid, char *why, size_t cap)
{
	struct stat sb = { 0 };
	char path[64];
	int fd;

	*why = '\0';
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC); /* as reading its memory is checked */
	if (fd >= 0) {
		close(fd);
		return;
	}
	if (errno != EACCES && errno != EPERM) {
		snprintf(why, cap, "%s", errno == ENOENT ? "it is gone" : strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!stat(path, &sb) && sb.st_uid != geteuid())
		snprintf(
			why, cap,
			"permission denied (ptrace): it belongs to user %u; run aon attach as that "
			"user or as root",
			sb.st_uid);
	else if (yama_scope())
		snprintf(why, cap,
			 "permission denied (ptrace): kernel.yama.ptrace_scope is %ld; run aon "
			 "attach "
			 "as root, or set it to 0",
			 yama_scope());
	else
		snprintf(why, cap, "permission denied (ptrace): CAP_SYS_PTRACE is needed");
}

/* --- what it says --- */

static int on_stack(void *arg, uint32_t id, const struct swire_frame *f, size_t n)
{
	struct stack_frame frame[STACK_FRAMES_MAX];
	struct attach *a = arg;
	uint32_t to;
	int err = 0;

	n = n < STACK_FRAMES_MAX ? n : STACK_FRAMES_MAX;
	for (size_t i = 0; i < n && !err; i++) {
		frame[i] = (struct stack_frame){ .line = f[i].line,
						 .kind = f[i].kind,
						 .flags = f[i].flags };
		err = trace_name(a->t, f[i].name, f[i].name_len, &frame[i].name);
		err = err ? err : trace_name(a->t, f[i].file, f[i].file_len, &frame[i].file);
	}
	err = err ? err : trace_stack_add(a->t, frame, n, &to);
	if (err || id > SWIRE_STACKS)
		return err ? err : -EBADMSG;
	err = vec_room0(&a->stack, &a->stack_room, (size_t)id + 1, sizeof(*a->stack));
	if (!err)
		a->stack[id] = to;
	return err;
}

static int on_samples(void *arg, const struct swire_sample *s, size_t n)
{
	struct attach *a = arg;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct trace_track l = { .process = a->process,
					 .device = TRACK_HOST,
					 .stream = s[i].tid };
		struct event e = { .kind = EVENT_SAMPLE,
				   .start_ns = s[i].t_ns,
				   .a = s[i].stack < a->stack_room ? a->stack[s[i].stack] : 0,
				   .b = sample_b((enum sample_state)s[i].state, s[i].flags,
						 s[i].detail) };

		if (s[i].centihertz)
			e.dur_ns = 100000000000ull / s[i].centihertz;
		err = trace_track(a->t, &l, &e.track);
		err = err ? err : trace_add(a->t, &e, 0);
	}
	return err;
}

static int on_status(void *arg, const struct swire_status *s)
{
	struct attach *a = arg;

	a->cpu_ns = s->cpu_ns;
	a->missed = s->missed;
	snprintf(a->reason, sizeof(a->reason), "%.*s", (int)s->reason_len, s->reason);
	return 0;
}

static int take_messages(struct attach *a)
{
	static const struct swire_fns fns = { .stack = on_stack,
					      .samples = on_samples,
					      .status = on_status };
	size_t at = 0;
	uint32_t n;
	int err = 0;

	while (a->len - at >= sizeof(n) && !err) {
		memcpy(&n, a->buf + at, sizeof(n));
		if (n > SWIRE_BYTES)
			return -EBADMSG;
		if (a->len - at - sizeof(n) < n)
			break;
		memcpy(a->message, a->buf + at + sizeof(n), n);
		err = swire_read(a->message, n, &fns, a);
		at += sizeof(n) + n;
	}
	a->len -= at;
	memmove(a->buf, a->buf + at, a->len);
	return err;
}

bool attach_read(struct attach *a)
{
	ssize_t n = read(a->fd, a->buf + a->len, STREAM - a->len);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	a->wall_ns = clock_mono_ns() - a->began_ns;
	if (n <= 0)
		return false;
	a->len += (size_t)n;
	a->err = take_messages(a);
	return !a->err;
}

/* --- the child --- */

static void run_child(const struct attach *a, const char *path, int out)
{
	char pid[16], hz[32], *argv[8] = { "aon-sample", "--pid", pid, "--stream", "--hz", hz };
	sigset_t none;

	snprintf(pid, sizeof(pid), "%d", (int)a->pid);
	snprintf(hz, sizeof(hz), "%g", a->hz);
	if (a->threads)
		argv[6] = "--all-threads";
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C is ours: it ends when we say so */
	dup2(out, STDOUT_FILENO);
	execv(path, argv);
	_exit(127);
}

int attach_start(struct attach *a)
{
	char path[PATH_MAX];
	uint32_t file;
	int fd[2], err = helper_find(path, "sample", "aon-sample");

	a->fd = -1;
	if (err < 0)
		return err;
	a->buf = malloc(STREAM);
	a->message = malloc(SWIRE_BYTES); /* aligned, which they are not in the stream */
	err = a->buf && a->message ? trace_new(&a->t) : -ENOMEM;
	err = err ? err : trace_file_add(a->t, "aon attach", &file);
	err = err ? err : trace_process(a->t, file, (uint64_t)a->pid, &a->process);
	if (!err && pipe2(fd, O_CLOEXEC) < 0)
		err = -errno;
	if (err < 0)
		return err;
	a->t->file[file].wall_offset_ns = (int64_t)(clock_wall_ns() - clock_mono_ns());
	a->began_ns = clock_mono_ns();
	a->child = fork();
	if (!a->child)
		run_child(a, path, fd[1]);
	err = a->child < 0 ? -errno : 0;
	close(fd[1]);
	a->fd = fd[0];
	return err;
}

void attach_stop(struct attach *a)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	uint64_t until = clock_mono_ms() + LAST_MS;
	uint64_t wall = clock_mono_ns() - a->began_ns;

	if (a->child <= 0)
		return;
	kill(a->child, SIGTERM);
	while (clock_mono_ms() < until && poll(&p, 1, LAST_MS) > 0 && attach_read(a))
		continue;
	if (waitpid(a->child, NULL, WNOHANG) != a->child) {
		kill(a->child, SIGKILL);
		waitpid(a->child, NULL, 0);
	}
	a->child = 0;
	a->wall_ns = wall;
}

void attach_fini(struct attach *a)
{
	attach_stop(a);
	if (a->fd >= 0 && a->buf)
		close(a->fd);
	trace_free(a->t);
	free(a->stack);
	free(a->buf);
	free(a->message);
}
