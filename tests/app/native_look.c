/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_look - unwinds all threads of a process, often, and says how many stacks are whole, how long
 * it took and how much memory it has; as JSON.
 *
 *	native_look PID ROUNDS [stop]
 *
 * Threads that are blocked, from their PC and SP alone; with "stop" all of them, each stopped for a
 * moment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/proc.h"
#include "stacks/native_priv.h"
#include "stacks/seize.h"

#define COPY 16384u

static struct {
	size_t stacks, whole, scanned, moved; /* moved: went on while it was looked at */
	size_t frames[2];                     /* of the first round, and of the others */
	uint64_t ns[2];
	/* Stacks by rules alone: how many are the same from PC and SP alone; and where that needs a scan. */
	size_t compared, same, compared_scan, same_scan;
} sum;

static struct native *native;
static struct native_target *target;
static int mem_fd;
static struct snap snap;

static bool read_syscall(pid_t pid, const char *tid, char line[256])
{
	char path[64];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", (int)pid, tid);
	f = fopen(path, "re");
	ok = f && fgets(line, 256, f);
	if (f)
		fclose(f);
	return ok;
}

/* false: it runs, or has gone on. */
static bool take_blocked(pid_t pid, const char *tid, struct native_copy *c)
{
	char line[256], again[256];
	unsigned long long sp, pc;
	ssize_t n;

	if (!read_syscall(pid, tid, line) ||
	    sscanf(line, "%*d %*s %*s %*s %*s %*s %*s %llx %llx", &sp, &pc) != 2)
		return false;
	snap.regs = (struct native_regs){ .known = NATIVE_BLOCKED };
	snap.regs.value[NATIVE_SP] = sp;
	snap.regs.value[NATIVE_PC] = pc;
	n = pread(mem_fd, snap.mem, COPY, (off_t)sp);
	*c = (struct native_copy){ .base = sp, .mem = snap.mem, .stays = true };
	c->len = n > 0 ? (size_t)n : 0;
	return read_syscall(pid, tid, again) && !strcmp(line, again);
}

static bool take_stopped(const char *tid, struct native_copy *c)
{
	pid_t id = (pid_t)num_front_i64(tid, NULL);
	int err = seize(id);

	if (err)
		return false;
	err = seize_stop(id, mem_fd, &snap);
	seize_end(id, &snap);
	*c = (struct native_copy){ .base = snap.regs.value[NATIVE_SP],
				   .mem = snap.mem,
				   .len = snap.len };
	return !err;
}

static bool any_scanned(const struct native_frame *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].flags & FRAME_SCANNED)
			return true;
	return false;
}

static void compare(const struct native_copy *c, const struct native_frame *f, size_t n)
{
	struct native_frame g[STACK_FRAMES_MAX];
	struct native_regs few = snap.regs;
	bool same, scan;
	size_t k;

	few.known = NATIVE_BLOCKED;
	k = native_unwind(target, &few, c, g, STACK_FRAMES_MAX, NULL);
	same = k == n;
	for (size_t i = 0; same && i < n; i++)
		same = f[i].pc == g[i].pc;
	scan = any_scanned(g, k);
	sum.compared++;
	sum.same += same;
	sum.compared_scan += scan;
	sum.same_scan += scan && same;
}

static void look(pid_t pid, const char *tid, bool stop, bool first)
{
	struct native_frame f[STACK_FRAMES_MAX];
	bool scanned;
	struct native_copy c;
	enum native_end end;
	char line[256];
	uint64_t t0;
	size_t n;

	if (!(stop ? take_stopped(tid, &c) : take_blocked(pid, tid, &c))) {
		sum.moved++;
		return;
	}
	t0 = clock_thread_ns();
	n = native_unwind(target, &snap.regs, &c, f, STACK_FRAMES_MAX, &end);
	sum.ns[!first] += clock_thread_ns() - t0;
	sum.frames[!first] += n;
	scanned = any_scanned(f, n);
	if (stop && !scanned && end == NATIVE_WHOLE)
		compare(&c, f, n);
	/* Who has gone on may have written over what was read late. */
	if (!stop && end != NATIVE_WHOLE && !take_blocked(pid, tid, &c)) {
		sum.moved++;
		return;
	}
	sum.stacks++;
	sum.scanned += scanned;
	sum.whole += end == NATIVE_WHOLE;
	if (end == NATIVE_WHOLE)
		return;
	fprintf(stderr, "thread %s ends after %zu frames (%d)\n", tid, n, (int)end);
	for (size_t i = 0; i < n; i++) {
		struct native_module m = { .file = "?" };
		struct native_name name;

		native_module(native, f[i].module, &m);
		native_name(native, &f[i], &name, 1);
		fprintf(stderr, "  %s %s+%llx %.100s\n", f[i].flags & FRAME_SCANNED ? "?" : " ",
			m.file, (unsigned long long)f[i].offset, name.name);
	}
	if (read_syscall(pid, tid, line))
		fprintf(stderr, "  %s", line);
}

static void torch_figures(void)
{
	for (size_t i = 0; i < NATIVE_MODULES; i++) {
		struct module *m = native->slot[i];
		uint64_t t0 = clock_thread_ns();
		const struct symbols *s;

		if (!m || !strstr(m->path, "libtorch_cpu"))
			continue;
		s = module_symbols(native, m);
		printf(",\"torch_functions\":%zu,\"torch_bytes\":%zu,\"torch_ms\":%.1f",
		       s ? s->n : 0, s ? symbols_bytes(s) : 0,
		       (double)(clock_thread_ns() - t0) / 1e6);
	}
}

int main(int argc, char *argv[])
{
	pid_t pid = argc > 2 ? (pid_t)num_front_i64(argv[1], NULL) : 0;
	size_t rounds = argc > 2 ? (size_t)num_front(argv[2], NULL) : 0;
	bool stop = argc > 3;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!pid || mem_fd < 0 || native_new(&native) ||
	    native_target_new(&target, native, pid, mem_fd))
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	for (size_t r = 0; r < rounds; r++) {
		DIR *d = opendir(path);
		struct dirent *e;

		while (d && (e = readdir(d)))
			if (e->d_name[0] != '.')
				look(pid, e->d_name, stop, !r);
		if (d)
			closedir(d);
		usleep(2000);
	}
	printf("{\"stacks\":%zu,\"whole\":%zu,\"scanned\":%zu,\"moved\":%zu,\"first_us\":%.2f,"
	       "\"later_us\":%.3f,\"stack_us\":%.2f,\"rss_mib\":%.1f",
	       sum.stacks, sum.whole, sum.scanned, sum.moved,
	       (double)sum.ns[0] / 1e3 / (double)(sum.frames[0] + 1),
	       (double)sum.ns[1] / 1e3 / (double)(sum.frames[1] + 1),
	       (double)sum.ns[1] / 1e3 / (double)(sum.stacks + 1), (double)proc_rss() / 1048576);
	printf(",\"compared\":%zu,\"same\":%zu,\"compared_scan\":%zu,\"same_scan\":%zu",
	       sum.compared, sum.same, sum.compared_scan, sum.same_scan);
	torch_figures();
	printf(",\"rss_named_mib\":%.1f}\n", (double)proc_rss() / 1048576);
	native_target_free(target);
	native_free(native);
	close(mem_fd);
	return 0;
}
