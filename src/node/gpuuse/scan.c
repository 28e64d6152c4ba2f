/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - walks through /proc: which process has which of the GPUs' files open. */
#include "gpuuse/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/vec.h"
#include "gpuuse/scan_priv.h"

#define DEVICES_POLLS 6u /* polls between two looks at which GPUs there are */

int gpu_scan_new(struct gpu_scan **out, const char *root)
{
	char path[PATH_MAX];
	struct gpu_scan *s;

	if (snprintf(path, sizeof(path), "%s/proc", root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	snprintf(s->root, sizeof(s->root), "%s", root);
	s->pid = calloc(PIDS_MAX, sizeof(*s->pid));
	s->walked = calloc(PIDS_MAX, 1);
	s->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!s->pid || !s->walked || s->proc < 0) {
		int err = s->pid && s->walked ? -errno : -ENOMEM;

		gpu_scan_free(s);
		return err;
	}
	gpu_devices_load(&s->devices, root);
	*out = s;
	return 0;
}

void gpu_scan_free(struct gpu_scan *s)
{
	if (!s)
		return;
	if (s->proc >= 0)
		close(s->proc);
	free(s->use);
	free(s->client);
	free(s->pid);
	free(s->walked);
	lookup_fini(&s->by_key);
	map_fini(&s->rest);
	free(s);
}

const struct gpu_use *gpu_scan_uses(const struct gpu_scan *s, uint32_t *n)
{
	*n = s->uses;
	return s->use;
}

const pid_t *gpu_scan_pids(const struct gpu_scan *s, uint32_t *n)
{
	*n = s->pids;
	return s->pid;
}

const struct gpu_devices *gpu_scan_devices(const struct gpu_scan *s)
{
	return &s->devices;
}

const struct gpu_scan_count *gpu_scan_count(const struct gpu_scan *s)
{
	return &s->count;
}

/* --- a process --- */

static DIR *folder_of(const struct gpu_scan *s, pid_t pid, const char *name)
{
	char path[48];
	int fd;
	DIR *d;

	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(s->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	return d;
}

void gpu_scan_identity(const struct gpu_scan *s, struct gpu_use *u)
{
	char path[48], buf[1024];
	const char *p = NULL;
	struct stat sb;

	snprintf(path, sizeof(path), "%d/stat", (int)u->pid);
	if (file_text(s->proc, path, buf, sizeof(buf)) > 0)
		p = strrchr(buf, ')'); /* the name before it may hold anything */
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
		if (p && field == 3)
			u->parent = (pid_t)num_front(p, NULL);
	}
	u->start = p ? num_front(p, NULL) : 0;
	snprintf(path, sizeof(path), "%d", (int)u->pid);
	if (!fstatat(s->proc, path, &sb, 0))
		u->uid = sb.st_uid;
}

/* The number behind "/dev/nvidia"; -1: it is another file. */
static int32_t minor_of(const char *link)
{
	uint32_t v;

	return strncmp(link, "/dev/nvidia", 11) || num_u32(link + 11, 0, 254, &v) < 0 ? -1
										      : (int32_t)v;
}

/* A file of /dev/dri: what its fdinfo says. */
static void take_dri(struct gpu_scan *s, pid_t pid, const char *fd, const char *node)
{
	char path[NAME_MAX + 32];
	struct gpu_device *d;
	struct gpu_use *u;
	ssize_t n;
	int at;

	if (s->count.files == FILES_MAX) {
		s->count.left++;
		return;
	}
	s->count.files++;
	snprintf(path, sizeof(path), "%d/fdinfo/%s", (int)pid, fd);
	n = file_text(s->proc, path, s->text, sizeof(s->text));
	if (n <= 0 || fdinfo_parse(&s->info, s->text, (size_t)n) < 0)
		return; /* closed meanwhile, or a driver that says nothing */
	at = gpu_device_bus(&s->devices, s->info.pdev);
	at = at < 0 ? gpu_device_dri(&s->devices, node) : at;
	if (at < 0 && s->devices.n < GPU_DEVICES) { /* it came after the last look */
		at = (int)s->devices.n++;
		d = &s->devices.d[at];
		*d = (struct gpu_device){ .render = -1, .minor = -1 };
		snprintf(d->name, sizeof(d->name), "%.15s", node);
		snprintf(d->bus, sizeof(d->bus), "%s", s->info.pdev);
	}
	u = at < 0 ? NULL : scan_use(s, pid, (uint32_t)at);
	if (!u) {
		s->count.left += at < 0;
		return;
	}
	d = &s->devices.d[at];
	if (!*d->driver)
		snprintf(d->driver, sizeof(d->driver), "%s", s->info.driver);
	scan_client(s, u, &s->info);
}

/* What a process has open. */
struct open_files {
	uint64_t minors[4]; /* of NVIDIA: a bit each */
	bool uvm, any;
};

static void take_link(struct gpu_scan *s, pid_t pid, const char *fd, const char *link,
		      struct open_files *o)
{
	int32_t minor = minor_of(link);

	if (!strncmp(link, "/dev/dri/", 9)) {
		take_dri(s, pid, fd, link + 9);
		o->any = true;
	} else if (minor >= 0) {
		o->minors[minor / 64] |= 1ull << minor % 64;
		o->any = true;
	} else if (!strcmp(link, "/dev/nvidia-uvm")) {
		o->uvm = true;
	} else if (!strcmp(link, "/dev/kfd")) {
		o->any = true;
	}
}

static void take_nvidia(struct gpu_scan *s, pid_t pid, const struct open_files *o)
{
	for (int32_t minor = 0; minor < 255; minor++) {
		struct gpu_use *u;
		int at;

		if (!(o->minors[minor / 64] >> minor % 64 & 1))
			continue;
		at = gpu_device_minor(&s->devices, minor);
		u = at < 0 ? NULL : scan_use(s, pid, (uint32_t)at);
		if (u)
			u->by |= GPU_BY_NVIDIA | (o->uvm ? GPU_BY_UVM : 0u);
	}
}

/* Whether it has a GPU's file open. */
static bool take_process(struct gpu_scan *s, pid_t pid)
{
	DIR *d = folder_of(s, pid, "fd");
	struct open_files o = { { 0 }, false, false };
	char link[64];
	struct dirent *e;
	uint32_t n = 0;

	s->count.processes++;
	if (!d) {
		s->count.denied += errno == EACCES || errno == EPERM;
		return false;
	}
	for (; n < LINKS_A_PID && s->count.links < LINKS_MAX && (e = readdir(d));) {
		ssize_t len;

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		len = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		n++;
		s->count.links++;
		if (len < 0 && n == 1 && (errno == EACCES || errno == EPERM)) {
			s->count.denied++; /* its names may be read, and not what they are */
			break;
		}
		if (len <= 5 || memcmp(link, "/dev/", 5) != 0)
			continue;
		link[len] = '\0';
		take_link(s, pid, e->d_name, link, &o);
	}
	s->count.left += n == LINKS_A_PID || s->count.links == LINKS_MAX;
	closedir(d);
	take_nvidia(s, pid, &o);
	return o.any;
}

/* --- which of them --- */

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static void list_processes(struct gpu_scan *s)
{
	int fd = openat(s->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	uint32_t pid;

	s->pids = 0;
	while (d && (e = readdir(d))) {
		if (num_u32(e->d_name, 1, INT32_MAX, &pid) < 0)
			continue;
		if (s->pids == PIDS_MAX) {
			s->count.left++;
			break;
		}
		s->pid[s->pids++] = (pid_t)pid;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	qsort(s->pid, s->pids, sizeof(s->pid[0]), by_number);
}

/* Of a PID: the poll in which it is looked at again, and behind it the polls that it rested. */
#define REST(due, polls) ((uint64_t)(due) << 8 | (polls))

static bool is_resting(const struct gpu_scan *s, pid_t pid)
{
	return map_get(&s->rest, (uint64_t)pid) >> 8 > s->poll;
}

static void let_rest(struct gpu_scan *s, pid_t pid, bool uses)
{
	uint64_t polls = map_get(&s->rest, (uint64_t)pid) & 0xff;

	polls = uses ? 1 : polls < REST_MAX ? polls + 1 : REST_MAX;
	map_put(&s->rest, (uint64_t)pid, REST(s->poll + polls, polls));
}

static bool has_gone(void *arg, uint64_t key, uint64_t value)
{
	const struct gpu_scan *s = arg;

	(void)key;
	return (value >> 8) + REST_MAX < s->poll;
}

static bool out_of_time(const struct gpu_scan *s)
{
	return s->count.links >= LINKS_MAX || clock_mono_ns() - s->began_ns > TIME_NS;
}

/* Those that used a GPU in the last poll come first, so that their series never break. */
static void walk_users(struct gpu_scan *s)
{
	uint32_t uses = s->uses; /* more may come, behind them */

	memset(s->walked, 0, s->pids);
	for (uint32_t i = 0; i < uses; i++) {
		pid_t pid = s->use[i].pid;
		pid_t *at = bsearch(&pid, s->pid, s->pids, sizeof(pid), by_number);

		if (!at || s->walked[at - s->pid])
			continue;
		s->walked[at - s->pid] = 1;
		take_process(s, pid);
		map_put(&s->rest, (uint64_t)pid, REST(s->poll + 1, 1));
	}
}

static void walk_others(struct gpu_scan *s, bool all)
{
	uint32_t first = 0;

	while (first < s->pids && s->pid[first] < s->from)
		first++;
	s->from = 0;
	for (uint32_t i = 0; i < s->pids; i++) {
		uint32_t at = (first + i) % s->pids;
		pid_t pid = s->pid[at];

		if (s->walked[at])
			continue;
		if (is_resting(s, pid) && !all) {
			s->count.rested++;
			continue;
		}
		if (out_of_time(s)) {
			s->from = pid;
			s->count.left++;
			return;
		}
		let_rest(s, pid, take_process(s, pid));
	}
}

/* A worker that was forked off has the files of its parent; its work is the parent's. */
static bool is_forked(const struct gpu_scan *s, const struct gpu_use *u)
{
	char path[48], own[PATH_MAX], of_parent[PATH_MAX];
	ssize_t a, b;

	for (uint32_t i = 0; i < s->uses; i++) {
		if (s->use[i].pid != u->parent || s->use[i].device != u->device)
			continue;
		snprintf(path, sizeof(path), "%d/exe", (int)u->pid);
		a = readlinkat(s->proc, path, own, sizeof(own));
		snprintf(path, sizeof(path), "%d/exe", (int)u->parent);
		b = readlinkat(s->proc, path, of_parent, sizeof(of_parent));
		return a > 0 && a == b && !memcmp(own, of_parent, (size_t)a);
	}
	return false;
}

/* A PID that another process has now is another user. */
static void drop_reused(struct gpu_scan *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->uses; i++) {
		struct gpu_use now = { .pid = s->use[i].pid };

		gpu_scan_identity(s, &now);
		if (now.start == s->use[i].start)
			s->use[n++] = s->use[i];
	}
	s->uses = n;
}

void gpu_scan_poll(struct gpu_scan *s, uint64_t now_ns, bool all)
{
	s->count = (struct gpu_scan_count){ 0 };
	s->began_ns = clock_mono_ns();
	s->now_ns = now_ns;
	if (s->poll++ % DEVICES_POLLS == 0 && !s->uses)
		gpu_devices_load(&s->devices, s->root);
	drop_reused(s);
	scan_begin(s);
	list_processes(s);
	walk_users(s);
	walk_others(s, all);
	scan_kfd(s);
	scan_end(s);
	for (uint32_t i = 0; i < s->uses; i++)
		s->use[i].inherited = is_forked(s, &s->use[i]);
	if (s->rest.used > 2 * (size_t)s->pids + 1024)
		map_drop(&s->rest, has_gone, s);
	s->before_ns = now_ns;
}
