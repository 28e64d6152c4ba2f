/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - a child process that reads debug information, and what it says; see lines.h. */
#include "stacks/debug/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "stacks/debug/dwarf.h"

#define CPU_S   4             /* of a child, */
#define STRIKES 3u            /* and of so many that were late or killed: then no more */
#define IDLE_S  2             /* then a child ends */
#define LATE_NS 3000000000ull /* then it is ended */
#define ASKS    128u          /* at a time */
#define ROOM    (48ull << 20) /* bytes that a child may fill */
#define NICE    10            /* nobody waits for it; others may for the CPU */

struct answer {
	uint64_t vaddr;
	struct native_name name[NATIVE_INLINES]; /* as many as there are */
};

struct lines {
	int file; /* owned */
	bool check;
	uint32_t crc;
	pid_t pid;         /* 0: there is none */
	int fd;            /* owned; to the child */
	uint32_t asked;    /* and not answered */
	uint64_t since_ns; /* that an answer is waited for */
	uint32_t strikes;
};

static uint64_t cpu_ns;

uint64_t lines_cpu_ns(void)
{
	return cpu_ns;
}

/* --- in the child --- */

static void limit(int resource, rlim_t to)
{
	const struct rlimit l = { to, to };

	setrlimit(resource, &l);
}

static void close_but(unsigned int a, unsigned int b)
{
	unsigned int low = a < b ? a : b, high = a < b ? b : a;

	if (low)
		close_range(0, low - 1, 0); /* nobody reads what may go wrong here */
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

/* Of memory that can be written, as it is counted (statm: size, and five further on the data). */
static void limit_memory(uint64_t file)
{
	unsigned long pages = 0, data = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%lu %*u %*u %*u %*u %lu", &pages, &data) != 2)
		pages = data = 0;
	if (f)
		fclose(f);
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
	limit(RLIMIT_DATA, data * 4096 + ROOM);
	limit(RLIMIT_AS, pages * 4096 + file + 2 * ROOM);
#else
	(void)file;
#endif
}

/* If memory is short, it is the first to go. */
static void first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

/* For the case that a file takes over: no rights, no file but its own, and none that is opened anew. */
static void confine(int end, int fd)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct stat st = { .st_size = 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fstat(fd, &st);
	first_to_go();
	limit_memory((uint64_t)st.st_size);
	close_but((unsigned int)end, (unsigned int)fd);
	limit(RLIMIT_NOFILE, 0);
	limit(RLIMIT_CPU, CPU_S);
	limit(RLIMIT_CORE, 0);
	syscall(SYS_capset, &h, none);
}

/* As .gnu_debuglink has it. */
static bool has_crc(int fd, uint32_t want)
{
	static uint32_t table[256];
	unsigned char part[65536];
	uint32_t crc = ~0u;
	off_t at = 0;
	ssize_t n;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (; (n = pread(fd, part, sizeof(part), at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++)
			crc = crc >> 8 ^ table[(crc ^ part[i]) & 255];
	return ~crc == want;
}

static _Noreturn void serve(const struct lines *l, int end, int nice)
{
	const struct timeval idle = { .tv_sec = IDLE_S };
	static struct answer a; /* large */
	struct dwarf *d;

	/* Not by poll(): that takes no descriptor where none may be opened. */
	setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	setpriority(PRIO_PROCESS, 0, nice);
	confine(end, l->file);
	d = l->check && !has_crc(l->file, l->crc) ? NULL : dwarf_open(l->file);
	while (recv(end, &a.vaddr, sizeof(a.vaddr), 0) == sizeof(a.vaddr)) {
		size_t n = d ? dwarf_look(d, a.vaddr, a.name) : 0;
		size_t bytes = offsetof(struct answer, name) + n * sizeof(a.name[0]);

		if (send(end, &a, bytes, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* --- in the parent --- */

struct lines *lines_new(int fd, const uint32_t *crc)
{
	struct lines *l = NULL;

#ifdef AON_LIBDW
	l = calloc(1, sizeof(*l));
#endif
	if (!l) {
		close(fd);
		return NULL;
	}
	*l = (struct lines){ .file = fd, .check = crc != NULL, .crc = crc ? *crc : 0, .fd = -1 };
	return l;
}

static int start(struct lines *l, int nice)
{
	int end[2];

	if (l->strikes >= STRIKES)
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) < 0)
		return -EAGAIN;
	l->pid = fork();
	if (!l->pid) {
		close(end[0]);
		serve(l, end[1], nice);
	}
	close(end[1]);
	l->asked = 0;
	l->fd = end[0];
	if (l->pid > 0)
		return 0;
	l->pid = 0;
	close(end[0]);
	return -EAGAIN;
}

/* It has ended, or does now. */
static void reap(struct lines *l)
{
	struct rusage r = { .ru_utime = { 0 } };
	int status = 0;

	while (wait4(l->pid, &status, 0, &r) < 0 && errno == EINTR)
		;
	cpu_ns += 1000ull * ((uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000u +
			     (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec));
	if (l->asked) /* else it had nothing to do any more */
		l->strikes++;
	close(l->fd);
	l->fd = -1;
	l->pid = 0;
	l->asked = 0;
}

void lines_stop(struct lines *l)
{
	if (!l->pid)
		return;
	kill(l->pid, SIGKILL);
	reap(l);
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	lines_stop(l);
	close(l->file);
	free(l);
}

bool lines_alive(const struct lines *l)
{
	return l->pid > 0;
}

bool lines_asked(const struct lines *l)
{
	return l->pid && l->asked;
}

void lines_tick(struct lines *l, uint64_t now_ns)
{
	siginfo_t info = { .si_pid = 0 };

	if (!l->pid)
		return;
	if (l->asked && now_ns - l->since_ns > LATE_NS)
		lines_stop(l);
	else if (!waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		 info.si_pid == l->pid &&
		 (!l->asked || recv(l->fd, &info, 1, MSG_PEEK | MSG_DONTWAIT) <= 0))
		reap(l);
}

static int send_ask(struct lines *l, uint64_t vaddr)
{
	if (send(l->fd, &vaddr, sizeof(vaddr), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(vaddr))
		return 0;
	return errno == EAGAIN ? -EAGAIN : -EPIPE;
}

static int ask(struct lines *l, uint64_t vaddr, int nice)
{
	int err = l->pid ? 0 : start(l, nice);

	if (err)
		return err;
	if (l->asked == ASKS)
		return -EAGAIN;
	err = send_ask(l, vaddr);
	if (err == -EPIPE && !l->asked) { /* it had waited long enough */
		lines_stop(l);
		err = start(l, nice);
		err = err ? err : send_ask(l, vaddr);
	}
	if (err)
		return err == -ENOENT ? err : -EAGAIN;
	if (!l->asked++)
		l->since_ns = clock_mono_ns();
	return 0;
}

int lines_ask(struct lines *l, uint64_t vaddr)
{
	return ask(l, vaddr, NICE);
}

int lines_take(struct lines *l, uint64_t *vaddr, struct native_name *out, size_t cap)
{
	static struct answer a; /* large; a reader of stacks is one thread */
	const size_t head = offsetof(struct answer, name);
	ssize_t bytes = l->asked ? recv(l->fd, &a, sizeof(a), MSG_DONTWAIT) : -1;
	size_t n, skip;

	if (bytes < (ssize_t)head)
		return -EAGAIN;
	l->asked--;
	l->since_ns = clock_mono_ns();
	*vaddr = a.vaddr;
	n = ((size_t)bytes - head) / sizeof(a.name[0]);
	skip = n > cap ? n - cap : 0; /* the function itself stays: what is inlined deepest goes */
	for (size_t i = skip; i < n; i++) {
		struct native_name *to = &out[i - skip];

		*to = a.name[i];
		to->name[sizeof(to->name) - 1] = '\0';
		to->file[sizeof(to->file) - 1] = '\0';
		to->flags = (to->flags & NATIVE_SYSTEM) | (i + 1 < n ? FRAME_INLINE : 0);
	}
	return (int)(n - skip);
}

size_t lines_at(struct lines *l, uint64_t vaddr, struct native_name *out, size_t cap, int wait_ms)
{
	struct pollfd p = { .events = POLLIN };
	uint64_t of;
	int n = ask(l, vaddr, 0);

	if (n)
		return 0;
	p.fd = l->fd;
	n = poll(&p, 1, wait_ms) == 1 ? lines_take(l, &of, out, cap) : -EAGAIN;
	if (n < 0)
		lines_stop(l);
	return n > 0 ? (size_t)n : 0;
}
