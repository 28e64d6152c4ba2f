/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - see state.h. */
#include "sample/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"
#include "stacks/rights.h"

#define FD_NS    1000000000ull /* a descriptor may be another file's after */
#define QUOTA_NS 100000000ull
#define SCHED_NS 90000000ull /* schedstat is read so often: shares are means of as long */

enum how { PLAIN, FILE_OF, NONE, NONE2, FUTEX };

static const struct {
	uint16_t nr;
	uint8_t state, how;
} calls[] = {
#define HOW_PLAIN              PLAIN
#define HOW_FILE               FILE_OF
#define HOW_NONE               NONE
#define HOW_NONE2              NONE2
#define HOW_FUTEX              FUTEX
#define CALL(name, state, how) { SYS_##name, SAMPLE_##state, HOW_##how },
#include "sample/syscall.tbl.h"
};

/* --- files --- */

static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	rights_search(true); /* "syscall" is for its owner alone */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rights_search(false);
	return fd;
}

/* From the start, as text. */
static ssize_t read_file(int fd, char *out, size_t cap)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, out, cap - 1, 0);

	out[n > 0 ? n : 0] = '\0';
	return n < 0 ? (fd < 0 ? -EBADF : -errno) : n;
}

void state_open(struct state_thread *s, pid_t pid, pid_t tid)
{
	*s = (struct state_thread){ .pid = pid, .tid = tid, .syscall_fd = -1, .sched_fd = -1 };
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void state_close(struct state_thread *s)
{
	close_fd(&s->syscall_fd);
	close_fd(&s->sched_fd);
}

/* --- the quota --- */

/* "cpu,cpuacct": controllers of version 1. */
static bool has_cpu(const char *names)
{
	for (; *names; names += *names == ',') {
		size_t n = strcspn(names, ",");

		if (n == 3 && !strncmp(names, "cpu", 3))
			return true;
		names += n;
	}
	return false;
}

/* A line is "4:cpu,cpuacct:/job" in version 1, "0::/job" in version 2. */
static int quota_file(char *line)
{
	char path[PATH_MAX + 64], *names = strchr(line, ':'), *group;

	group = names ? strchr(++names, ':') : NULL;
	if (!group)
		return -1;
	*group++ = '\0';
	if (*names && !has_cpu(names))
		return -1;
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s%s/cpu.stat", names, group);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void quota_open(struct state_quota *q, pid_t pid)
{
	char text[PATH_MAX], *line, *rest = NULL;
	int fd;

	*q = (struct state_quota){ .fd = -1 };
	snprintf(text, sizeof(text), "/proc/%d/cgroup", (int)pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (read_file(fd, text, sizeof(text)) > 0)
		for (line = strtok_r(text, "\n", &rest); line && q->fd < 0;
		     line = strtok_r(NULL, "\n", &rest))
			q->fd = quota_file(line);
	close_fd(&fd);
}

void quota_close(struct state_quota *q)
{
	close_fd(&q->fd);
}

static bool is_throttled(struct state_quota *q, uint64_t now_ns)
{
	char text[1024], *at;
	uint64_t sum;

	if (q->fd < 0 || now_ns - q->seen_ns < QUOTA_NS)
		return q->fd >= 0 && q->moved;
	if (read_file(q->fd, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "throttled_"); /* usec; "time" in version 1 */
	at = at ? strchr(at, ' ') : NULL;
	sum = at ? num_front(at + 1, NULL) : 0;
	q->moved = q->seen_ns && sum > q->throttled;
	q->throttled = sum;
	q->seen_ns = now_ns;
	return q->moved;
}

/* --- on a CPU, or not --- */

static bool read_sched(struct state_thread *s, uint64_t out[3])
{
	const char *at;
	char text[96];

	if (s->sched_fd < 0)
		s->sched_fd = open_file(s->pid, s->tid, "schedstat");
	if (read_file(s->sched_fd, text, sizeof(text)) <= 0)
		return false;
	at = text;
	for (int i = 0; i < 3; i++)
		out[i] = num_front(at, &at);
	return true;
}

/* Before its state is read: has it run since it was seen asleep? */
static bool has_not_run(struct state_thread *s)
{
	uint64_t now[3], before = s->slices;

	if (!s->slept || !read_sched(s, now))
		return false;
	s->slices = now[2];
	return before && before == now[2];
}

/* How much of the time that it could run it had no CPU, lately. */
static void share_delay(struct state_thread *s)
{
	uint64_t now[3], cpu, delay, d_cpu, d_delay;

	if (!read_sched(s, now))
		return;
	cpu = now[0];
	delay = now[1];
	d_cpu = cpu - s->cpu_ns;
	d_delay = delay - s->delay_ns;
	if (s->cpu_ns && d_cpu + d_delay)
		s->delayed = (double)d_delay / (double)(d_cpu + d_delay);
	s->cpu_ns = cpu;
	s->delay_ns = delay;
}

static enum sample_state on_cpu(struct state_thread *s, struct state_quota *q, uint64_t now_ns)
{
	if (now_ns - s->sched_ns > SCHED_NS) {
		s->sched_ns = now_ns;
		share_delay(s);
	}
	s->owed += s->delayed;
	if (s->owed < 0.5)
		return SAMPLE_RUNNING;
	s->owed -= 1;
	return is_throttled(q, now_ns) ? SAMPLE_THROTTLED : SAMPLE_RUNNABLE;
}

/* --- in the kernel --- */

/* What the kernel knows already: a file system whose server is dead hangs whoever asks it for more. */
static bool is_file(struct state_thread *s, uint32_t fd, uint64_t now_ns)
{
	struct statx st;
	char path[64];

	if (s->fd == fd + 1 && now_ns - s->fd_ns < FD_NS)
		return s->fd_file;
	snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)s->pid, fd);
	s->fd = fd + 1;
	s->fd_ns = now_ns;
	rights_search(true);
	s->fd_file = statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
		     (S_ISREG(st.stx_mode) || S_ISBLK(st.stx_mode));
	rights_search(false);
	return s->fd_file;
}

static enum sample_state in_call(struct state_thread *s, const struct state_now *now,
				 uint64_t now_ns)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		enum sample_state state = calls[i].state;

		if (calls[i].nr != now->nr)
			continue;
		switch ((enum how)calls[i].how) {
		case FILE_OF:
			return is_file(s, (uint32_t)now->arg[0], now_ns) ? SAMPLE_IO : state;
		case NONE:
			return now->arg[0] ? state : SAMPLE_SLEEP;
		case NONE2:
			return now->arg[1] ? state : SAMPLE_SLEEP;
		case PLAIN:
		case FUTEX:
			return state;
		}
	}
	return SAMPLE_SYSCALL;
}

bool state_is_gil(const struct state_now *s, uint64_t gil, uint32_t bytes)
{
	return s->blocked && s->nr == SYS_futex && gil && s->arg[0] - gil < bytes;
}

static uint64_t next_hex(const char **at)
{
	uint64_t v = 0;
	const char *end;

	while (**at == ' ')
		++*at;
	if (!strncmp(*at, "0x", 2))
		*at += 2;
	end = num_digits(*at, 16, &v);
	*at = end ? end : *at;
	return v;
}

int state_parse(const char *text, struct state_now *out)
{
	struct state_now s = { .nr = -1 };
	const char *at = text;

	if (!strncmp(text, "running", 7)) {
		*out = s;
		return 0;
	}
	if (*text != '-' && (*text < '0' || *text > '9'))
		return -EINVAL;
	s.nr = (int32_t)num_front_i64(text, &at);
	for (size_t i = 0; s.nr >= 0 && i < 6; i++)
		s.arg[i] = next_hex(&at);
	s.sp = next_hex(&at);
	s.pc = next_hex(&at);
	s.blocked = true;
	*out = s;
	return 0;
}

int state_look(struct state_thread *s, struct state_quota *q, uint64_t now_ns,
	       struct state_now *out)
{
	struct state_now now;
	char text[256];
	bool same;
	ssize_t n;

	if (s->syscall_fd < 0)
		s->syscall_fd = open_file(s->pid, s->tid, "syscall");
	if (s->syscall_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	same = has_not_run(s);
	n = read_file(s->syscall_fd, text, sizeof(text));
	if (n <= 0)
		return n ? (int)n : -ESRCH;
	if (state_parse(text, &now))
		return -EINVAL;
	if (now.blocked && !now.sp && !now.pc)
		return -ESRCH; /* it has ended, and nobody has asked how yet */
	if (!now.blocked)
		now.state = on_cpu(s, q, now_ns);
	else if (now.nr < 0)
		now.state = SAMPLE_FAULT;
	else
		now.state = in_call(s, &now, now_ns);
	now.same = same && now.blocked; /* else it was woken, and waits for a CPU */
	if (!now.blocked)
		s->slices = 0;
	s->slept = now.blocked;
	*out = now;
	return 0;
}
