/* SPDX-License-Identifier: Apache-2.0 */
/* seize.c - stop, copy, let go; see seize.h. */
#include "stacks/seize.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int seize(pid_t tid)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0 ? -errno : 0;
}

static int wait_stop(pid_t tid, int *sig)
{
	const struct timespec nap = { 0, 500000 };
	int status;

	for (int i = 0; i < SEIZE_MS * 2; i++) {
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid && !WIFSTOPPED(status))
			return -ESRCH;
		if (got == tid) {
			/* Not our interrupt, but a signal for the program: it is to get it. */
			*sig = status >> 16 ? 0 : WSTOPSIG(status);
			return 0;
		}
		if (got < 0 && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
	}
	return -EBUSY;
}

static int copy(pid_t tid, int mem_fd, struct snap *s)
{
	uint64_t *v = s->regs.value;
	struct user_regs_struct r;
	ssize_t n;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &r) < 0)
		return -errno;
	v[0] = r.rax, v[1] = r.rdx, v[2] = r.rcx, v[3] = r.rbx;
	v[4] = r.rsi, v[5] = r.rdi, v[6] = r.rbp, v[7] = r.rsp;
	v[8] = r.r8, v[9] = r.r9, v[10] = r.r10, v[11] = r.r11;
	v[12] = r.r12, v[13] = r.r13, v[14] = r.r14, v[15] = r.r15;
	v[16] = r.rip;
	s->regs.known = NATIVE_ALL;
	s->self = r.fs_base;
	n = pread(mem_fd, s->mem, SEIZE_BYTES, (off_t)r.rsp); /* as far as the stack goes */
	s->len = n > 0 ? (size_t)n : 0;
	return 0;
}

int seize_stop(pid_t tid, int mem_fd, struct snap *out)
{
	int err;

	out->sig = 0;
	out->len = 0;
	err = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? -errno : wait_stop(tid, &out->sig);
	return err ? err : copy(tid, mem_fd, out);
}

void seize_end(pid_t tid, const struct snap *s)
{
	/* One that has not stopped is let go when this process ends. */
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)s->sig);
}
