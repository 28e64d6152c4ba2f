/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - a program that forbids itself the system calls by which one talks to others. */
#ifndef AON_TEST_FILTER_H
#define AON_TEST_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define KILL_ON(nr)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static int put_on_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_ON(SYS_socket),
		KILL_ON(SYS_connect),
		KILL_ON(SYS_sendmsg),
		KILL_ON(SYS_recvmsg),
		KILL_ON(SYS_openat),
		KILL_ON(SYS_memfd_create),
		KILL_ON(SYS_newfstatat),
		KILL_ON(SYS_ppoll),
		KILL_ON(SYS_fcntl),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

#endif /* AON_TEST_FILTER_H */
