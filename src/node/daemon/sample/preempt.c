/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.c - see preempt.h. */
#include "daemon/sample/preempt.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"

#define TICKS_NS  10000000ull    /* USER_HZ is 100 wherever aon runs */
#define EVERY_NS  2000000000ull  /* 200 ticks: one of them is half a percent */
#define STALE_NS  (4 * EVERY_NS) /* a look so old says nothing of what lies between */
#define COST      200u           /* times as long as a look took, nothing is looked at */
#define PROCESSES 16384u         /* that are looked at */
#define THREADS   1024u          /* of one */
#define SOME      20u            /* who ran less than one part in so many does not count */
#define THREAD    (1ull << 32)

bool preempt_parse(const char *text, struct preempt_stat *out)
{
	/* The command's name may hold spaces and brackets: the last bracket ends it. */
	const char *open = strchr(text, '('), *p = strrchr(text, ')');
	uint64_t field[40] = { 0 };

	if (!open || !p || p < open)
		return false;
	snprintf(out->comm, sizeof(out->comm), "%.*s", (int)(p - open - 1), open + 1);
	for (int i = 3; i < 40; i++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		field[i] = num_front(++p, NULL);
	}
	out->ticks = field[14] + field[15];
	out->threads = field[20];
	out->cpu = field[39];
	return out->cpu < PREEMPT_CPUS;
}

static bool read_stat(int dir, const char *name, struct preempt_stat *out)
{
	char path[64], buf[1024];

	snprintf(path, sizeof(path), "%.32s/stat", name);
	return file_text(dir, path, buf, sizeof(buf)) > 0 && preempt_parse(buf, out);
}

/* How much it ran since the last look; 0: it was not there. */
static uint64_t ran(struct preempt *p, uint64_t key, uint64_t ticks)
{
	uint64_t before = map_get(&p->before, key);

	map_put(&p->now, key, ticks + 1);
	return before && ticks + 1 > before ? ticks + 1 - before : 0;
}

static void add_row(struct preempt *p, uint64_t pid, uint64_t tid, const struct preempt_stat *s,
		    uint64_t ticks)
{
	struct preempt_row *r = &p->row[p->rows];

	if (!ticks || p->rows == PREEMPT_ROWS)
		return;
	*r = (struct preempt_row){ (uint32_t)pid, (uint32_t)tid, (uint32_t)s->cpu, ticks, "" };
	memcpy(r->comm, s->comm, sizeof(r->comm));
	p->rows++;
}

/* Calls fn for each directory of `dir` whose name is a number. */
typedef void each_fn(struct preempt *p, int dir, const char *name, uint64_t number, void *arg);

static void each(struct preempt *p, int at, const char *path, size_t max, each_fn *fn, void *arg)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	size_t n = 0;

	if (!d && fd >= 0)
		close(fd);
	while (d && n < max && (e = readdir(d))) {
		uint64_t number =
			e->d_name[0] >= '1' && e->d_name[0] <= '9' ? num_front(e->d_name, NULL) : 0;

		if (number && number < UINT32_MAX) {
			fn(p, dirfd(d), e->d_name, number, arg);
			n++;
		}
	}
	if (d)
		closedir(d);
}

static void on_thread(struct preempt *p, int dir, const char *name, uint64_t tid, void *arg)
{
	const uint64_t *pid = arg;
	struct preempt_stat s;

	if (read_stat(dir, name, &s))
		add_row(p, *pid, tid, &s, ran(p, THREAD | tid, s.ticks));
}

/* Threads of a process that runs little are not worth a look each. */
static void on_process(struct preempt *p, int dir, const char *name, uint64_t pid, void *arg)
{
	uint64_t ticks, least = *(uint64_t *)arg / SOME;
	struct preempt_stat s;
	char path[64];

	if (!read_stat(dir, name, &s))
		return;
	ticks = ran(p, pid, s.ticks);
	if (ticks <= least)
		return;
	if (s.threads < 2) {
		add_row(p, pid, pid, &s, ticks);
		return;
	}
	snprintf(path, sizeof(path), "%.32s/task", name);
	each(p, dir, path, THREADS, on_thread, &pid);
}

/* "cpu3 user nice system idle iowait irq softirq steal ..." */
static void look_at_cpus(struct preempt *p, int dir)
{
	static char buf[1 << 17];
	char *line = buf, *next;

	if (file_text(dir, "stat", buf, sizeof(buf)) <= 0)
		return;
	for (; line; line = next) {
		const char *at = line + 3;
		uint64_t v[9];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strncmp(line, "cpu", 3))
			return; /* they come first */
		if (*at < '0' || *at > '9')
			continue;
		for (size_t i = 0; i < 9; i++)
			v[i] = num_front(at + strspn(at, " "), &at);
		if (v[0] < PREEMPT_CPUS) {
			struct preempt_cpu *c = &p->cpu[v[0]], was = *c;

			*c = (struct preempt_cpu){ .irq = v[6] + v[7], .steal = v[8] };
			c->irq_ticks = c->irq > was.irq ? (uint32_t)(c->irq - was.irq) : 0;
			c->steal_ticks =
				c->steal > was.steal ? (uint32_t)(c->steal - was.steal) : 0;
		}
	}
}

bool preempt_look(struct preempt *p, uint64_t now_ns)
{
	uint64_t began = clock_mono_ns(), ticks = (now_ns - p->look_ns) / TICKS_NS;
	bool two = p->look_ns && now_ns - p->look_ns < STALE_NS + p->next_ns - p->look_ns;
	const char *root = p->root ? p->root : "/proc";
	int dir;

	if (now_ns < p->next_ns)
		return false;
	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	p->rows = 0;
	look_at_cpus(p, dir);
	each(p, dir, ".", PROCESSES, on_process, &ticks);
	close(dir);
	map_fini(&p->before);
	p->before = p->now;
	p->now = (struct map){ 0 };
	p->look_ns = now_ns;
	p->next_ns = COST * (clock_mono_ns() - began);
	p->next_ns = now_ns + (p->next_ns > EVERY_NS ? p->next_ns : EVERY_NS);
	p->ticks = two ? ticks : 0;
	return two;
}

/* --- who --- */

struct taker {
	const struct preempt_row *row;
	uint64_t ticks;
};

/* The process that ran most on these CPUs, but for the thread itself. */
static struct taker taker(const struct preempt *p, pid_t tid, const cpu_set_t *cpus)
{
	struct taker best = { NULL, 0 };
	struct map sums = { 0 };

	for (size_t i = 0; i < p->rows; i++) {
		const struct preempt_row *r = &p->row[i];
		uint64_t *sum;

		if (r->tid == (uint32_t)tid || !CPU_ISSET(r->cpu, cpus))
			continue;
		sum = map_at(&sums, r->pid);
		if (!sum)
			break;
		*sum += r->ticks;
		if (*sum > best.ticks)
			best = (struct taker){ r, *sum };
	}
	map_fini(&sums);
	return best;
}

static bool say(const struct preempt *p, pid_t pid, pid_t tid, const cpu_set_t *cpus,
		char out[PREEMPT_TEXT])
{
	struct taker t = taker(p, tid, cpus);
	uint64_t irq = 0, steal = 0;

	for (uint32_t i = 0; i < PREEMPT_CPUS; i++) {
		irq += CPU_ISSET(i, cpus) ? p->cpu[i].irq_ticks : 0;
		steal += CPU_ISSET(i, cpus) ? p->cpu[i].steal_ticks : 0;
	}
	if (t.ticks < p->ticks / SOME && irq < p->ticks / SOME && steal < p->ticks / SOME)
		return false;
	if (steal > t.ticks && steal > irq)
		snprintf(out, PREEMPT_TEXT, "other virtual machines (steal)");
	else if (irq > t.ticks)
		snprintf(out, PREEMPT_TEXT, "interrupts");
	else if (t.row->pid == (uint32_t)pid)
		snprintf(out, PREEMPT_TEXT, "its own threads");
	else
		snprintf(out, PREEMPT_TEXT, "%s (pid %u)", t.row->comm, t.row->pid);
	return true;
}

bool preempt_who(const struct preempt *p, pid_t pid, pid_t tid, char out[PREEMPT_TEXT])
{
	char path[64];
	struct preempt_stat s;
	cpu_set_t cpus, last;
	int dir;

	if (!p->ticks || sched_getaffinity(tid, sizeof(cpus), &cpus) < 0)
		return false;
	/* It waits in the queue of the CPU that it ran on last, until it is moved. */
	dir = open(p->root ? p->root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%d/task/%d", (int)pid, (int)tid);
	CPU_ZERO(&last);
	if (dir >= 0 && read_stat(dir, path, &s))
		CPU_SET(s.cpu, &last);
	if (dir >= 0)
		close(dir);
	return say(p, pid, tid, &last, out) || say(p, pid, tid, &cpus, out);
}

void preempt_fini(struct preempt *p)
{
	map_fini(&p->before);
	map_fini(&p->now);
}
