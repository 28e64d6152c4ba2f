/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wake.c - what the kernel alone takes for a sample: wake PID HZ SECONDS
 *
 * Prints the CPU of a waking, and of a waking with the two system calls that a look at a running thread
 * cannot do without, in ns. Both take turns of a second, so that both meet the same machine.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The first page that is mapped: any will do. */
static uintptr_t a_page(const char *pid)
{
	char path[64];
	unsigned long at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lx", &at) != 1)
		at = 0;
	if (f)
		fclose(f);
	return at;
}

static void look(int fd, pid_t pid, uintptr_t page)
{
	static char text[256], copy[512];
	struct iovec to = { copy, sizeof(copy) }, from = { (void *)page, sizeof(copy) };

	if (pread(fd, text, sizeof(text), 0) < 0 || process_vm_readv(pid, &to, 1, &from, 1, 0) < 0)
		exit(1);
}

int main(int argc, char *argv[])
{
	uint64_t sum[2] = { 0 }, before;
	uintptr_t page;
	char path[64];
	int fd, hz, seconds;

	if (argc != 4)
		return 2;
	hz = atoi(argv[2]);
	seconds = atoi(argv[3]);
	snprintf(path, sizeof(path), "/proc/%s/syscall", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	page = a_page(argv[1]);
	if (fd < 0 || !page || hz < 1 || seconds < 2)
		return 1;
	for (int s = 0; s < seconds / 2 * 2; s++) {
		before = cpu_ns();
		for (int i = 0; i < hz; i++) {
			struct timespec t = { 0, 1000000000 / hz - 1 };

			ppoll(NULL, 0, &t, NULL);
			if (s % 2)
				look(fd, (pid_t)atoi(argv[1]), page);
		}
		sum[s % 2] += cpu_ns() - before;
	}
	for (int i = 0; i < 2; i++)
		printf("%llu\n", (unsigned long long)(sum[i] / (uint64_t)(seconds / 2 * hz)));
	return 0;
}
