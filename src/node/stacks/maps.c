/* SPDX-License-Identifier: Apache-2.0 */
/* maps.c - where a process has code, from /proc/PID/maps; see native.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/vec.h"
#include "stacks/native_priv.h"

#define AGAIN_NS 1000000000ull  /* between two reads because an address is not known */
#define STALE_NS 60000000000ull /* libraries may have gone, and others come in their place */

int native_target_new(struct native_target **out, struct native *n, pid_t pid, int mem_fd)
{
	struct native_target *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->n = n;
	t->pid = pid;
	t->mem_fd = mem_fd;
	*out = t;
	return 0;
}

static void maps_fini(struct native_target *t)
{
	free(t->map);
	free(t->paths);
	t->map = NULL;
	t->paths = NULL;
	t->maps = t->maps_cap = t->paths_len = t->paths_cap = 0;
}

void native_target_free(struct native_target *t)
{
	if (!t)
		return;
	maps_fini(t);
	free(t);
}

/* --- memory --- */

size_t target_read_some(const struct native_target *t, uint64_t addr, void *out, size_t n)
{
	struct iovec here = { out, n }, there = { (void *)(uintptr_t)addr, n };
	ssize_t got;

	if (addr > INT64_MAX)
		return 0;
	got = t->mem_fd >= 0 ? pread(t->mem_fd, out, n, (off_t)addr)
			     : process_vm_readv(t->pid, &here, 1, &there, 1, 0);
	return got > 0 ? (size_t)got : 0;
}

int target_read(const struct native_target *t, uint64_t addr, void *out, size_t n)
{
	return target_read_some(t, addr, out, n) == n ? 0 : -EFAULT;
}

/* --- lines --- */

struct line_of {
	uint64_t start, end, offset;
	bool exec;
	const char *path;
};

/* "7f..-7f.. r-xp 0001f000 fd:01 1234   /usr/lib/libx.so\n" */
static bool parse(char *text, struct line_of *out)
{
	const char *at = num_digits(text, 16, &out->start);
	char *end = strchr(text, '\n'), *perms;
	uint64_t skip;

	if (end)
		*end = '\0';
	if (*at != '-')
		return false;
	at = num_digits(at + 1, 16, &out->end);
	if (*at != ' ' || strlen(at) < 6 || out->end <= out->start)
		return false;
	perms = text + (at + 1 - text);
	out->exec = perms[2] == 'x';
	at = num_digits(perms + 5, 16, &out->offset);
	at = strchr(*at ? at + 1 : at, ' '); /* behind the device */
	if (!at)
		return false;
	at = num_digits(at + 1, 10, &skip);
	out->path = at + strspn(at, " ");
	return true;
}

static int add(struct native_target *t, const struct line_of *l, uint64_t head)
{
	size_t len = strlen(l->path) + 1;
	struct mapping *last = t->maps ? &t->map[t->maps - 1] : NULL;
	bool shared = last && !strcmp(t->paths + last->path, l->path);

	if (t->maps == NATIVE_MAPS || (!shared && t->paths_len + len > NATIVE_PATHS))
		return 0;
	if (vec_room(&t->map, &t->maps_cap, t->maps + 1, sizeof(*t->map)) ||
	    vec_room(&t->paths, &t->paths_cap, t->paths_len + len, 1))
		return -ENOMEM;
	t->map[t->maps] = (struct mapping){ .start = l->start,
					    .end = l->end,
					    .offset = l->offset,
					    .head = head,
					    .path = (uint32_t)t->paths_len };
	if (shared) {
		t->map[t->maps].path = t->map[t->maps - 1].path;
	} else {
		memcpy(t->paths + t->paths_len, l->path, len);
		t->paths_len += len;
	}
	t->maps++;
	return 0;
}

static int read_lines(struct native_target *t, FILE *f)
{
	char *text = NULL, head_path[4096] = "";
	struct line_of l;
	uint64_t head = 0;
	size_t cap = 0;
	int err = 0;

	while (!err && getline(&text, &cap, f) > 0) {
		if (!parse(text, &l))
			continue;
		if (!l.offset && *l.path == '/') {
			snprintf(head_path, sizeof(head_path), "%s", l.path);
			head = l.start;
		}
		if (l.exec)
			err = add(t, &l, strcmp(head_path, l.path) ? 0 : head);
	}
	free(text);
	return err;
}

/* What is as it was keeps its module. */
static void carry_over(struct native_target *to, const struct native_target *from)
{
	for (size_t i = 0, k = 0; i < to->maps; i++) {
		struct mapping *m = &to->map[i];
		const struct mapping *o;

		while (k < from->maps && from->map[k].start < m->start)
			k++;
		o = k < from->maps ? &from->map[k] : NULL;
		if (o && o->start == m->start && o->end == m->end && o->offset == m->offset &&
		    o->head == m->head && !strcmp(from->paths + o->path, to->paths + m->path))
			m->module = o->module;
	}
}

int native_maps(struct native_target *t)
{
	struct native_target new = { .n = t->n, .pid = t->pid, .mem_fd = t->mem_fd };
	char path[40];
	FILE *f;
	int err;

	new.read_ns = clock_mono_ns();
	t->read_ns = new.read_ns; /* if it fails, too: not at once again */
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t->pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_lines(&new, f);
	fclose(f);
	if (err) {
		maps_fini(&new);
		return err;
	}
	carry_over(&new, t);
	maps_fini(t);
	*t = new;
	return 0;
}

static struct mapping *search(struct native_target *t, uint64_t pc)
{
	size_t low = 0, high = t->maps;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->map[mid].end <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->maps && t->map[low].start <= pc ? &t->map[low] : NULL;
}

struct mapping *mapping_at(struct native_target *t, uint64_t pc, bool again)
{
	struct mapping *m = search(t, pc);
	uint64_t age;

	if (!again)
		return m;
	age = t->read_ns ? clock_mono_ns() - t->read_ns : UINT64_MAX;
	if (age > (m ? STALE_NS : AGAIN_NS) && !native_maps(t))
		m = search(t, pc);
	return m;
}
