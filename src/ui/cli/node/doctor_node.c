/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_node.c - the kernel, the clock, memory, the daemon, the store, and this user's rights. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/num.h"
#include "cli/node/doctor.h"
#include "cli/core/locate.h"
#include "cli/core/temp_daemon.h"
#include "stacks/find.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define DISK_LOW (1ull << 30)

static void check_seals(struct doctor *d)
{
	int fd = memfd_create("aon-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && ftruncate(fd, 4096) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) == 0) {
		doctor_put(d, "memfd", HEALTH_OK, NULL, NULL, "sealed memory (memfd)");
	} else {
		doctor_put(d, "memfd", HEALTH_FAIL, "no process can be recorded",
			   "Linux 5.1 or later is needed, and a sandbox must allow memfd_create",
			   "sealed memory (memfd): %s", strerror(errno));
		d->cannot_record = true;
	}
	if (fd >= 0)
		close(fd);
}

static void check_pidfd(struct doctor *d)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0) {
		doctor_put(d, "pidfd", HEALTH_OK, NULL, NULL, "process descriptors (pidfd)");
		close(fd);
	} else {
		doctor_put(d, "pidfd", HEALTH_WARN,
			   "a process that ends is noticed by its socket only",
			   "Linux 5.3 or later, or a sandbox that allows pidfd_open",
			   "process descriptors (pidfd): %s", strerror(errno));
	}
}

/* Whether the alarm of a hang can name where its ranks are. */
static void check_stacks(struct doctor *d)
{
	char path[PATH_MAX], scope[8] = "0";

	if (stacks_find(path) < 0)
		doctor_put(d, "stacks", HEALTH_OFF,
			   "the alarm of a hang will not name where its ranks are",
			   "install aon-stacks beside aon", "stacks: no aon-stacks");
	else if (geteuid() != 0 &&
		 doctor_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) &&
		 *scope != '0')
		doctor_put(d, "stacks", HEALTH_WARN,
			   "the alarm of your hang will not name where its ranks are",
			   "sysctl kernel.yama.ptrace_scope=0, or an aond with CAP_SYS_PTRACE "
			   "(docs/alarms.md)",
			   "stacks: kernel.yama.ptrace_scope is %s", scope);
	else
		doctor_put(d, "stacks", HEALTH_OK, NULL, NULL, "stacks of programs that hang");
}

/* Whether it can be said which code a GPU waited for. */
static void check_sampling(struct doctor *d)
{
	const char *so = "no report names the code that a GPU waited for";
	struct admin_status s;
	char path[PATH_MAX];

	if (admin_status(locate_run_dir(), &s) < 0) {
		if (helper_find(path, "sample", "aon-sample") < 0)
			doctor_put(d, "sampling", HEALTH_OFF, so, "build and install aon-sample",
				   "sampling: no aon-sample");
		else
			doctor_put(d, "sampling", HEALTH_OK, NULL, NULL, "sampling of threads: %s",
				   path);
	} else if (*s.sampling) {
		doctor_put(d, "sampling", s.sampled ? HEALTH_WARN : HEALTH_OFF, so,
			   "docs/sampling.md says what sampling needs", "sampling: %s", s.sampling);
	} else {
		doctor_put(d, "sampling", HEALTH_OK, NULL, NULL,
			   "sampling of threads: %" PRIu64 " now", s.sampled);
	}
}

static void check_clock(struct doctor *d)
{
	char source[32] = "?", line[8192];
	bool constant = false, nonstop = false;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		constant = strstr(line, " constant_tsc");
		nonstop = strstr(line, " nonstop_tsc");
		break;
	}
	if (f)
		fclose(f);
	doctor_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		    sizeof(source));
	if (constant && nonstop)
		doctor_put(d, "tsc", HEALTH_OK, NULL, NULL,
			   "time stamp counter is constant and never stops (kernel clock: %s)",
			   source);
	else
		doctor_put(d, "tsc", HEALTH_WARN,
			   "times may be off where cores change speed or sleep",
			   "use a machine or virtual CPU that shows constant_tsc and nonstop_tsc",
			   "time stamp counter: %s%s%s", constant ? "" : "not constant",
			   constant || nonstop ? "" : ", ", nonstop ? "" : "may stop");
}

/* The limit of this process's memory cgroup: v2, then v1. False: none to be seen. */
static bool cgroup_limit(uint64_t *bytes)
{
	char line[4096], path[4200], value[64];
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *group = strrchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group + 1);
		else if (strstr(line, ":memory:"))
			snprintf(path, sizeof(path),
				 "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group + 1);
		else
			continue;
		found = doctor_read(path, value, sizeof(value)) && strcmp(value, "max") != 0;
	}
	if (f)
		fclose(f);
	if (found)
		*bytes = num_front(value, NULL);
	return found && *bytes < 1ull << 60;
}

static void check_cgroup(struct doctor *d)
{
	char text[FMT_LEN];
	uint64_t limit;

	if (!cgroup_limit(&limit))
		doctor_put(d, "cgroup", HEALTH_OK, NULL, NULL, "memory cgroup: no limit");
	else if (limit >= 256u << 20)
		doctor_put(d, "cgroup", HEALTH_OK, NULL, NULL, "memory cgroup: limit %s",
			   fmt_bytes(text, limit));
	else
		doctor_put(
			d, "cgroup", HEALTH_WARN,
			"`aon run` starts aond inside this limit; the node's aond does not count",
			"run the node's aond, or raise the limit to 256 MB",
			"memory cgroup: limit %s", fmt_bytes(text, limit));
}

static void check_aond(struct doctor *d)
{
	struct admin_status s;
	char path[PATH_MAX], up[FMT_LEN];
	int err = admin_status(locate_run_dir(), &s), own = temp_daemon_find(path);

	if (!err)
		doctor_put(d, "aond", HEALTH_OK, NULL, NULL,
			   "aond %s runs (pid %" PRIu64 ", up %s), %s", s.version, s.pid,
			   fmt_time(up, s.uptime_s * 1000000000u), locate_run_dir());
	else if (err == -EACCES || err == -EPERM)
		doctor_put(d, "aond", HEALTH_OFF, "your runs are recorded by an aond of their own",
			   "to use the node's: join the group that owns its admin socket",
			   "the node's aond in %s does not talk to you", locate_run_dir());
	else if (err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR)
		doctor_put(d, "aond", HEALTH_OFF, "only what `aon run` starts is recorded",
			   "for always-on: sudo systemctl start aond", "no aond runs in %s",
			   locate_run_dir());
	else
		doctor_put(d, "aond", HEALTH_WARN, "only what `aon run` starts is recorded",
			   "look at its log: journalctl -u aond", "aond in %s does not answer: %s",
			   locate_run_dir(), strerror(-err));
	if (!own) {
		doctor_put(d, "aond_program", HEALTH_OK, NULL, NULL, "aond for `aon run`: %s",
			   path);
	} else {
		doctor_put(d, "aond_program", err ? HEALTH_FAIL : HEALTH_WARN,
			   err ? "nothing can be recorded" : "`aon run -o FILE` cannot work",
			   "reinstall aon: aond belongs beside it", "aond is not installed");
		d->cannot_record |= err != 0;
	}
}

/* As aon-collect looks for them; which of them it may read is in its log. */
static void check_bandwidth(struct doctor *d)
{
	static const char *const where[][2] = {
		{ "/sys/bus/event_source/devices/uncore_imc*/events",
		  "memory controllers (uncore_imc)" },
		{ "/sys/fs/resctrl/mon_data/mon_L3_*/mbm_total_bytes", "L3 domains (resctrl)" },
	};
	const char *found = NULL;

	for (size_t i = 0; i < 2 && !found; i++) {
		glob_t g = { .gl_pathc = 0 };

		if (glob(where[i][0], 0, NULL, &g) == 0)
			found = where[i][1];
		globfree(&g);
	}
	if (found)
		doctor_put(d, "memory_bandwidth", HEALTH_OK, NULL, NULL, "memory bandwidth: %s",
			   found);
	else
		doctor_put(d, "memory_bandwidth", HEALTH_OFF, "memory bandwidth is not measured",
			   "bare metal has them; on AMD: mount -t resctrl resctrl /sys/fs/resctrl",
			   "the kernel has no counters of memory controllers, and no resctrl");
}

void doctor_machine(struct doctor *d)
{
	check_aond(d);
	check_seals(d);
	check_pidfd(d);
	check_stacks(d);
	check_sampling(d);
	check_clock(d);
	check_cgroup(d);
	check_bandwidth(d);
}

static void check_join(struct doctor *d)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if ((size_t)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" AON_SOCKET_NAME,
			     locate_run_dir()) >= sizeof(sa.sun_path) ||
	    fd < 0) {
		doctor_put(d, "join", HEALTH_WARN, "no process of yours can join",
			   "choose a shorter AON_RUN_DIR", "the run directory's name is too long");
	} else if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0) {
		doctor_put(d, "join", HEALTH_OK, NULL, NULL, "may record your own processes");
	} else if (errno == EACCES || errno == EPERM) {
		doctor_put(d, "join", HEALTH_WARN,
			   "your processes are not recorded by the node's aond",
			   "the socket must be writable by all: restart aond", "%s: %s",
			   sa.sun_path, strerror(errno));
	} else {
		doctor_put(d, "join", HEALTH_OFF, "your processes run unrecorded, at no cost",
			   "aon run -- CMD records one of them", "no aond to join: %s",
			   strerror(errno));
	}
	if (fd >= 0)
		close(fd);
}

static void check_store(struct doctor *d)
{
	struct admin_status s;
	struct store_why why = { "" };
	struct store *st;
	int err;

	if (admin_status(locate_run_dir(), &s) < 0 || !*s.store)
		return;
	err = store_open_ro(&st, s.store, &why);
	if (!err) {
		doctor_put(d, "store", HEALTH_OK, NULL, NULL, "may read the node's store %s",
			   s.store);
		store_close(st);
	} else {
		doctor_put(d, "store", HEALTH_OFF, "aon report and top show your own runs only",
			   err == -EACCES ? "join the group that owns the store" : why.text,
			   "the node's store %s: %s", s.store, strerror(-err));
	}
}

static void check_disk(struct doctor *d)
{
	char free_text[FMT_LEN];
	struct statvfs fs;
	uint64_t left;

	if (statvfs(".", &fs) < 0)
		return;
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	fmt_bytes(free_text, left);
	if (access(".", W_OK) < 0)
		doctor_put(d, "disk", HEALTH_WARN, "`aon run` cannot write its store here",
			   "go to a directory of yours, or name one: aon run -o FILE -- CMD",
			   "this directory is not writable");
	else if (left < DISK_LOW)
		doctor_put(d, "disk", HEALTH_WARN, "a long run may not fit",
			   "make room, or name another place: aon run -o FILE -- CMD",
			   "%s free in this directory", free_text);
	else
		doctor_put(d, "disk", HEALTH_OK, NULL, NULL, "%s free in this directory",
			   free_text);
}

void doctor_you(struct doctor *d)
{
	check_join(d);
	check_store(d);
	check_disk(d);
}
