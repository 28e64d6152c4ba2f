/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes the CPU of a thread that could run: from a /proc that the test wrote. */
#include "daemon/sample/preempt.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t.h"

#define S 1000000000ull

static char root[] = "/tmp/aon-preempt-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

/* A process of some threads, or a thread of it. */
static void stat_of(const char *dir, const char *comm, unsigned ticks, unsigned threads, int cpu)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "%s/stat", dir);
	snprintf(text, sizeof(text),
		 "7 (%s) R 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 %u 0 5 6 7 8 9 1 1 1 1 1 1 1 1 1 1 1 "
		 "17 %d 0 0",
		 comm, ticks, threads, cpu);
	put(path, text);
}

static void cpu_times(unsigned softirq, unsigned steal, int cpu)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "cpu  1 1 1 1 1 1 1 1 0 0\ncpu%d 10 0 10 500 0 0 %u %u 0 0\nintr 5\n", cpu,
		 softirq, steal);
	put("stat", text);
}

int main(void)
{
	struct preempt p = { .root = root };
	struct preempt_stat s;
	char who[PREEMPT_TEXT], us[64], own[64];
	cpu_set_t cpus;
	int cpu = 0;

	if (!mkdtemp(root) || sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		t_skip_all("no /tmp, or no CPUs");
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	T_OK(preempt_parse("1 (a) b) R 1 1 1 0 -1 0 0 0 0 0 11 22 0 0 20 0 3 0 5 6 7 8 9 1 1 1 1 1 "
			   "1 1 1 1 1 1 17 5 0 0",
			   &s) &&
		     !strcmp(s.comm, "a) b") && s.ticks == 33 && s.threads == 3 && s.cpu == 5,
	     "a line of stat is understood, whatever the command is called: %s", s.comm);
	T_OK(!preempt_parse("1 (a", &s) && !preempt_parse(") (", &s) &&
		     !preempt_parse("1 (a) R 1 2", &s),
	     "one that is cut is not");

	snprintf(us, sizeof(us), "%d", getpid());
	snprintf(own, sizeof(own), "%d/task/%d", getpid(), getpid());
	stat_of(us, "us", 100, 1, cpu);
	stat_of(own, "us", 100, 1, cpu);
	stat_of("70001", "hog", 0, 1, cpu);
	stat_of("70002", "many", 0, 2, cpu);
	stat_of("70002/task/70002", "many", 0, 2, cpu);
	stat_of("70002/task/70003", "many", 0, 2, 1023);
	cpu_times(0, 0, cpu);
	T_OK(!preempt_look(&p, 10 * S) && !preempt_who(&p, getpid(), getpid(), who),
	     "one look says nothing");
	T_OK(!preempt_look(&p, 11 * S), "the next one is not due at once");
	stat_of("70002", "many", 40, 2, cpu);
	T_OK(preempt_look(&p, 1000000 * S) == false, "two that are far apart say nothing");
	stat_of(us, "us", 190, 1, cpu);
	stat_of("70001", "hog", 90, 1, cpu);
	stat_of("70002", "many", 240, 2, cpu);
	stat_of("70002/task/70002", "many", 5, 2, cpu);
	stat_of("70002/task/70003", "many", 195, 2, 1023);
	T_OK(preempt_look(&p, p.next_ns) && preempt_who(&p, getpid(), getpid(), who) &&
		     !strcmp(who, "hog (pid 70001)"),
	     "who ran most on its CPU is named, not who ran elsewhere: %s", who);
	cpu_times(150, 0, cpu);
	stat_of("70001", "hog", 130, 1, cpu);
	T_OK(preempt_look(&p, p.next_ns) && preempt_who(&p, getpid(), getpid(), who) &&
		     !strcmp(who, "interrupts"),
	     "interrupts are, too: %s", who);
	cpu_times(150, 180, cpu);
	T_OK(preempt_look(&p, p.next_ns) && preempt_who(&p, getpid(), getpid(), who) &&
		     strstr(who, "steal"),
	     "and other virtual machines: %s", who);
	T_OK(preempt_look(&p, p.next_ns) && !preempt_who(&p, getpid(), getpid(), who),
	     "where nobody ran, nobody is");
	preempt_fini(&p);
	return t_done();
}
