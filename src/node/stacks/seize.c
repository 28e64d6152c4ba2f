/* SPDX-License-Identifier: Apache-2.0 */
/* seize.c - stop, copy, let go; see seize.h. */
#include "stacks/seize.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int wait_stop(pid_t tid)
{
	const struct timespec nap = { 0, 500000 };
	int status;

	for (int i = 0; i < SEIZE_MS * 2; i++) {
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
	}
	return -EBUSY;
}

static int copy(pid_t tid, int mem_fd, struct snap *s)
{
	struct user_regs_struct r;
	ssize_t n;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &r) < 0)
		return -errno;
	s->reg[0] = r.rax, s->reg[1] = r.rdx, s->reg[2] = r.rcx, s->reg[3] = r.rbx;
	s->reg[4] = r.rsi, s->reg[5] = r.rdi, s->reg[6] = r.rbp, s->reg[7] = r.rsp;
	s->reg[8] = r.r8, s->reg[9] = r.r9, s->reg[10] = r.r10, s->reg[11] = r.r11;
	s->reg[12] = r.r12, s->reg[13] = r.r13, s->reg[14] = r.r14, s->reg[15] = r.r15;
	s->reg[16] = r.rip;
	s->self = r.fs_base;
	s->sp = r.rsp;
	n = pread(mem_fd, s->mem, SEIZE_BYTES, (off_t)r.rsp); /* as far as the stack goes */
	s->len = n > 0 ? (size_t)n : 0;
	return 0;
}

int seize(pid_t tid, int mem_fd, struct snap *out)
{
	struct snap s = { .mem = malloc(SEIZE_BYTES) };
	int err;

	if (!s.mem)
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		err = -errno;
		goto free_mem;
	}
	err = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? -errno : wait_stop(tid);
	err = err ? err : copy(tid, mem_fd, &s);
	/* One that has not stopped is let go when this process ends. */
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	if (err)
		goto free_mem;
	*out = s;
	return 0;

free_mem:
	free(s.mem);
	return err;
}

void snap_fini(struct snap *s)
{
	free(s->mem);
	s->mem = NULL;
}
