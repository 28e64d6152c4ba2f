/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c - small reads of /proc: bounded, without trust in the form of the text. */
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define TASKS 4096u /* of a process that are looked through */

int proc_start(pid_t pid, uint64_t *ticks)
{
	char path[32], buf[1024], *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = file_text(AT_FDCWD, path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	/* The command's name may hold spaces and brackets: the last bracket ends it. */
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	if (!p)
		return -EPROTO;
	*ticks = strtoull(p, NULL, 10);
	return 0;
}

int proc_usage(pid_t pid, struct proc_usage *out)
{
	char path[32], buf[1024], *p;
	uint64_t field[25] = { 0 };
	double hz = (double)sysconf(_SC_CLK_TCK);
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = file_text(AT_FDCWD, path, buf, sizeof(buf));
	p = n < 0 ? NULL : strrchr(buf, ')');
	if (!p)
		return n < 0 ? (int)n : -EPROTO;
	for (int i = 3; i < 25 && p; i++) {
		p = strchr(p, ' ');
		field[i] = p ? strtoull(++p, NULL, 10) : 0;
	}
	if (!p)
		return -EPROTO;
	out->start_ticks = field[22];
	out->cpu_s = (double)(field[14] + field[15]) / hz;
	out->age_s = (double)clock_ns(CLOCK_BOOTTIME) / 1e9 - (double)field[22] / hz;
	out->rss_bytes = field[24] * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int proc_boot_id(uint64_t id[2])
{
	char buf[64];
	ssize_t n = file_text(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, sizeof(buf));
	unsigned digits = 0;

	if (n < 0)
		return (int)n;
	id[0] = id[1] = 0;
	for (const char *p = buf; *p && digits < 32; p++) {
		char one[2] = { *p, '\0' };

		if (!strchr("0123456789abcdef", *p))
			continue;
		id[digits / 16] = id[digits / 16] << 4 | strtoull(one, NULL, 16);
		digits++;
	}
	return digits == 32 ? 0 : -EPROTO;
}

void proc_comm(pid_t pid, char *out, size_t cap)
{
	char path[32], buf[64];

	out[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (file_text(AT_FDCWD, path, buf, sizeof(buf)) < 0)
		return;
	buf[strcspn(buf, "\n")] = '\0';
	snprintf(out, cap, "%s", buf);
}

void proc_exe(pid_t pid, char *out, size_t cap)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, out, cap - 1);
	out[n > 0 ? n : 0] = '\0';
}

void proc_env(pid_t pid, const char *name, char *out, size_t cap)
{
	char path[32], *line = NULL;
	size_t room = 0, len = strlen(name);
	FILE *f;

	out[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	while (f && getdelim(&line, &room, '\0', f) > 0)
		if (!strncmp(line, name, len) && line[len] == '=')
			snprintf(out, cap, "%s", line + len + 1);
	free(line);
	if (f)
		fclose(f);
}

/* The number behind `key` at the start of a line; 0 if there is none. */
static uint64_t field(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, key, len))
			return strtoull(p + len, NULL, 10);
		if (!*p)
			break;
	}
	return 0;
}

pid_t proc_parent(pid_t pid)
{
	char path[32], buf[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	n = file_text(AT_FDCWD, path, buf, sizeof(buf));
	return n < 0 ? (pid_t)n : (pid_t)field(buf, "PPid:");
}

/* The last number of the line NSpid is that of the innermost namespace, its own. */
pid_t proc_own_tid(pid_t pid, pid_t tid)
{
	char path[48], buf[4096], *p, *end;
	pid_t own = -ESRCH;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	n = file_text(AT_FDCWD, path, buf, sizeof(buf));
	if (n < 0)
		return -ESRCH;
	p = strstr(buf, "\nNSpid:");
	p = p ? p + 7 : NULL;
	for (long v; p; p = end) {
		while (*p == '\t' || *p == ' ')
			p++;
		v = strtol(p, &end, 10);
		if (end == p || v <= 0)
			break;
		own = (pid_t)v;
	}
	return own;
}

pid_t proc_tid_of(pid_t pid, pid_t own_tid)
{
	char path[32];
	pid_t found = -ESRCH, tid;
	struct dirent *e;
	DIR *dir;

	if (proc_own_tid(pid, own_tid) == own_tid)
		return own_tid; /* it is in our namespace */
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	for (uint32_t i = 0; dir && found < 0 && i < TASKS && (e = readdir(dir)); i++) {
		tid = (pid_t)strtol(e->d_name, NULL, 10);
		if (tid > 0 && proc_own_tid(pid, tid) == own_tid)
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

int proc_seccomp(pid_t pid, struct proc_seccomp *out)
{
	char path[32], buf[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	n = file_text(AT_FDCWD, path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	out->mode = (uint32_t)field(buf, "Seccomp:");
	out->filters = (uint32_t)field(buf, "Seccomp_filters:");
	return 0;
}

uint64_t proc_rss(void)
{
	unsigned long long pages = 0;
	char buf[128];

	if (file_text(AT_FDCWD, "/proc/self/statm", buf, sizeof(buf)) <= 0 ||
	    sscanf(buf, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int proc_memory(struct proc_memory *out)
{
	char buf[2048];
	ssize_t n = file_text(AT_FDCWD, "/proc/self/smaps_rollup", buf, sizeof(buf));

	if (n < 0)
		return (int)n;
	out->rss_kib = field(buf, "Rss:");
	out->pss_kib = field(buf, "Pss:");
	return 0;
}
