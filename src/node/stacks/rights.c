/* SPDX-License-Identifier: Apache-2.0 */
/* rights.c - see rights.h. */
#include "stacks/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"

#define NOBODY          "65534:65534"
#define BIT(capability) (1u << (capability))
#define SEARCH          BIT(CAP_DAC_READ_SEARCH)

/* Both are among the first 32. What is permitted can be made effective later. */
static int caps(uint32_t effective, uint32_t permitted)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ .effective = effective, .permitted = permitted },
	};

	return syscall(SYS_capset, &h, d) < 0 ? -errno : 0;
}

static uint32_t permitted(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	return syscall(SYS_capget, &h, d) < 0 ? 0 : d[0].permitted;
}

/* From root to the user of "UID:GID"; what is permitted stays. 1: that is root; -errno. */
static int become(const char *who)
{
	const char *end;
	uint64_t uid = num_front(who, &end), gid = *end == ':' ? num_front(end + 1, &end) : 0;

	if (*end)
		return -EINVAL;
	if (uid == 0)
		return 1;
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) < 0 ||
	    setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0)
		return -errno;
	return 0;
}

int rights_as(const char *who)
{
	int err = geteuid() ? 1 : become(who); /* 1: nothing to give up, or nobody to become */

	if (err)
		return err;
	return caps(BIT(CAP_SYS_PTRACE), BIT(CAP_SYS_PTRACE));
}

int rights_drop(void)
{
	return caps(0, 0);
}

/* --- of a sampler --- */

static bool may_search; /* it is permitted, and off outside of rights_search() */

/* Without both capabilities root may look into its own processes by being root, and stays it. */
int rights_sampler(const char *who)
{
	uint32_t both = SEARCH | BIT(CAP_SYS_PTRACE), have = permitted() & both;
	int err = 1;

	if (geteuid() == 0) {
		err = have == both ? become(who ? who : NOBODY) : 1;
		/* In a user namespace there may be no other user. */
		if (err)
			return err < 0 && who ? err : 1;
	}
	may_search = have == both;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return caps(have & ~SEARCH, have);
}

void rights_search(bool on)
{
	int was = errno;

	if (may_search)
		caps(BIT(CAP_SYS_PTRACE) | (on ? SEARCH : 0), BIT(CAP_SYS_PTRACE) | SEARCH);
	errno = was;
}

/* --- why not --- */

static long status_of(pid_t pid, const char *key)
{
	char path[40], line[256];
	long v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = num_front_i64(line + strlen(key), NULL);
	if (f)
		fclose(f);
	return v;
}

static int yama(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int v = f ? fgetc(f) - '0' : 0;

	if (f)
		fclose(f);
	return v;
}

static void where_in_kernel(pid_t tid, char *out, size_t cap)
{
	char path[40];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)tid);
	f = fopen(path, "re");
	if (!f || !fgets(out, (int)cap, f) || !strcmp(out, "0"))
		snprintf(out, cap, "an unknown place");
	if (f)
		fclose(f);
}

void why_not(pid_t pid, pid_t tid, int err, char *out, size_t cap)
{
	long tracer = status_of(pid, "TracerPid:"), uid = status_of(pid, "Uid:");
	char place[64];

	if (err == -ESRCH) {
		snprintf(out, cap, "it is gone");
	} else if (err == -ENOEXEC) {
		snprintf(out, cap, "a program of 32 bits is not sampled");
	} else if (err == -ETIMEDOUT) {
		snprintf(out, cap, "its memory is read too slowly: it is left alone for a while");
	} else if (err == -EBUSY) {
		where_in_kernel(tid, place, sizeof(place));
		snprintf(out, cap, "it sleeps in the kernel and cannot be stopped: %s", place);
	} else if ((err == -EPERM || err == -EACCES) && tracer) {
		snprintf(out, cap, "pid %ld traces it already (a debugger?)", tracer);
	} else if ((err == -EPERM || err == -EACCES) && (uid_t)uid != geteuid()) {
		snprintf(out, cap,
			 "it belongs to user %ld, and user %u may not look into it without "
			 "CAP_SYS_PTRACE",
			 uid, geteuid());
	} else if ((err == -EPERM || err == -EACCES) && yama() > 0) {
		snprintf(out, cap,
			 "kernel.yama.ptrace_scope is %d: only CAP_SYS_PTRACE may look into it",
			 yama());
	} else if (err == -EPERM || err == -EACCES) {
		snprintf(out, cap,
			 "permission denied (ptrace): not dumpable, or owned by another "
			 "user");
	} else {
		snprintf(out, cap, "%s", strerror(-err));
	}
}
