/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_sandbox - programs that lock themselves in, or close everything that they do not know.
 *
 *	app_sandbox closefrom | filter-before | filter-after | strict | nofile LIMIT | as | hog MIB
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <aon/provider.h>

#include "app.h"
#include "filter.h"

#define EVENTS 300000u /* more than two pools: doorbells are due, chunks are changed */

/* Emits for so long that every slow way is taken; no system call of its own. */
static uint64_t emit_for(uint64_t ns)
{
	uint64_t end = now_ns() + ns, n = 0;

	while (now_ns() < end)
		n += ticks(100);
	return n;
}

/* --- descriptors that are closed and come back as something else --- */

#define FILES 100

/* Even places are files, odd ones both ends of socket pairs (four places hold one pair). */
static int open_files(int fd[FILES], const char *dir)
{
	char path[128];
	int pair[2];

	for (int i = 0; i < FILES; i += 2) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		fd[i] = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		unlink(path);
		if (fd[i] < 0 || write(fd[i], "mine", 4) != 4)
			return -1;
		if (i % 4 == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
			return -1;
		fd[i + 1] = pair[i / 2 % 2];
	}
	return 0;
}

/* Bytes in any of them that the program did not write. */
static uint64_t foreign(const int fd[FILES])
{
	uint64_t n = 0;
	char buf[64];

	for (int i = 0; i < FILES; i++) {
		if (i % 2) {
			n += recv(fd[i], buf, sizeof(buf), MSG_DONTWAIT) >= 0;
			continue;
		}
		n += pread(fd[i], buf, sizeof(buf), 0) != 4 || memcmp(buf, "mine", 4);
	}
	return n;
}

static int run_closefrom(void)
{
	char dir[] = "/tmp/aon-app-XXXXXX";
	uint64_t n;
	int fd[FILES], err;

	aon_join(2000);
	n = ticks(EVENTS);
	syscall(SYS_close_range, 3u, ~0u, 0u);
	err = mkdtemp(dir) ? open_files(fd, dir) : -1;
	n += emit_for(1200000000);
	aon_note("test", "note", "after closing");
	n += ticks(EVENTS);
	truth_say(n);
	truth_print(err ? 1000 : foreign(fd), "");
	rmdir(dir);
	return 0;
}

/* --- filters --- */

static int run_filter(bool after)
{
	static char out[1 << 16];
	uint64_t n = 0;
	int err;

	setvbuf(stdout, out, _IOFBF, sizeof(out)); /* its own first write would ask for fstat */
	if (after) {
		aon_join(2000);
		n += ticks(100);
	}
	err = put_on_filter();
	n += ticks(EVENTS);
	n += emit_for(after ? 1300000000 : 100000000);
	aon_step_begin(1);
	aon_note("test", "note", "behind a filter");
	n += aon_joined(); /* the step's record */
	truth_say(n);
	truth_print(err ? 1 : 0, "");
	return 0;
}

/* Neither clock nor counter of the CPU are left in strict mode: count. */
static void spin(uint64_t turns)
{
	for (volatile uint64_t i = 0; i < turns; i++)
		;
}

static uint64_t turns_of(uint64_t ns)
{
	uint64_t start = now_ns();

	spin(50000000);
	return 50000000 * ns / (now_ns() - start);
}

/* Four system calls are left; the end is exit(2). aond, which looks once a second, has shut the
 * gate by then: reading the counter, as an emit does, would be the end, too. */
static int run_strict(void)
{
	char line[128];
	uint64_t n, turns;
	int len;

	aon_join(2000);
	n = ticks(1000);
	turns = turns_of(2500000000u);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	spin(turns);
	n += ticks(EVENTS);
	len = snprintf(line, sizeof(line), "{\"result\":0,\"truth\":[[0,%llu,1]]}\n",
		       (unsigned long long)n);
	syscall(SYS_exit, write(1, line, (size_t)len) == len ? 0 : 1);
	return 1;
}

/* --- limits --- */

static int run_nofile(unsigned limit)
{
	struct rlimit r = { limit, limit };
	uint64_t n;
	int fd;

	if (setrlimit(RLIMIT_NOFILE, &r))
		return 1;
	n = emit_for(100000000);
	aon_join(100);
	n += ticks(1000);
	fd = open("/dev/null", O_RDONLY);
	truth_say(n);
	truth_print((uint64_t)(fd + 1), ""); /* the same descriptor, or the same failure */
	return 0;
}

static uint64_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f) {
		if (fscanf(f, "%llu", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int run_as(void)
{
	uint64_t room = address_space() + (3 << 20), n;
	struct rlimit r = { room, room };
	void *mine;

	if (setrlimit(RLIMIT_AS, &r))
		return 1;
	n = emit_for(100000000);
	aon_join(100);
	n += ticks(1000);
	mine = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_say(n);
	truth_print(mine != MAP_FAILED, ""); /* what was left is still the program's */
	return 0;
}

/* Near the limit of its memory cgroup by itself, and then emits. */
static int run_hog(unsigned mib)
{
	volatile char *mine = malloc((size_t)mib << 20);
	uint64_t n;

	for (size_t i = 0; mine && i < (size_t)mib << 20; i += 4096)
		mine[i] = 1;
	aon_join(2000);
	n = ticks(2000000);
	truth_say(n);
	truth_print(mine ? (uint64_t)mine[4096] : 0, "");
	return 0;
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 3;

	truth_open();
	if (!strcmp(what, "closefrom"))
		return run_closefrom();
	if (!strncmp(what, "filter-", 7))
		return run_filter(what[7] == 'a');
	if (!strcmp(what, "strict"))
		return run_strict();
	if (!strcmp(what, "nofile"))
		return run_nofile(n);
	if (!strcmp(what, "as"))
		return run_as();
	if (!strcmp(what, "hog"))
		return run_hog(n);
	return 2;
}
