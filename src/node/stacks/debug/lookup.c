/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup.c - where the debug information of a module is, and who is asked for it; see native_priv.h.
 *
 * It is in the module, or in a file of its own: below /usr/lib/debug by the build-id, or by the name that
 * .gnu_debuglink has, in the module's folder, in .debug there, or in the same folder below
 * /usr/lib/debug. Each is looked for as the process sees it, then as we do. Nothing is fetched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stacks/native_priv.h"

#define DEBUG "/usr/lib/debug"
#define PATH  4300u

/* --- a file of its own --- */

struct search {
	const struct module *m;
	const uint32_t *crc; /* that it must have if there is no build-id; NULL: none is known */
};

/* Is it the one of this module? Without a build-id the child compares the CRC. */
static bool is_of(const struct search *s, const struct image *i)
{
	const struct image *m = &s->m->img;

	if (!i->debug)
		return false;
	if (m->id_len)
		return i->id_len == m->id_len && !memcmp(i->id, m->id, m->id_len);
	return s->crc != NULL;
}

/* A descriptor, or -ENOENT. */
static int try_path(const struct search *s, const char *path)
{
	struct image i;
	int fd = open_regular(path);
	bool good;

	if (fd < 0)
		return -ENOENT;
	if (image_open(&i, fd)) {
		close(fd);
		return -ENOENT;
	}
	good = is_of(s, &i);
	fd = good ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	image_fini(&i);
	return fd < 0 ? -ENOENT : fd;
}

static int try_both(const struct search *s, const char *path)
{
	char there[PATH];
	int fd = -ENOENT;

	if ((size_t)snprintf(there, sizeof(there), "/proc/%d/root%s", (int)s->m->pid, path) <
	    sizeof(there))
		fd = try_path(s, there);
	return fd < 0 ? try_path(s, path) : fd;
}

static int by_id(const struct search *s)
{
	static const char dir[] = DEBUG "/.build-id/";
	char path[sizeof(dir) + 2 * IMAGE_ID + sizeof("/.debug")];
	const struct image *m = &s->m->img;
	size_t at = sizeof(dir) - 1;

	if (m->id_len < 2)
		return -ENOENT;
	memcpy(path, dir, sizeof(dir));
	for (size_t i = 0; i < m->id_len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, i ? "%02x" : "%02x/",
				       m->id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	return try_both(s, path);
}

static int by_link(const struct search *s, const char *name)
{
	static const char *const in[] = { "%.*s/%s", "%.*s/.debug/%s", DEBUG "%.*s/%s" };
	const char *path = s->m->path, *slash = strrchr(path, '/');
	char file[PATH];
	int fd = -ENOENT;

	for (size_t i = 0; slash && fd < 0 && i < sizeof(in) / sizeof(in[0]); i++)
		if ((size_t)snprintf(file, sizeof(file), in[i], (int)(slash - path), path, name) <
		    sizeof(file))
			fd = try_both(s, file);
	return fd;
}

static struct lines *find(const struct module *m)
{
	struct search s = { .m = m };
	char name[IMAGE_LINK];
	uint32_t crc;
	int fd;

	if (m->img.fd < 0)
		return NULL;
	if (m->img.debug) {
		fd = fcntl(m->img.fd, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? NULL : lines_new(fd, NULL);
	}
	fd = by_id(&s);
	if (fd < 0 && image_link(&m->img, name, &crc)) {
		s.crc = &crc;
		fd = by_link(&s, name);
	}
	return fd < 0 ? NULL : lines_new(fd, m->img.id_len ? NULL : s.crc);
}

/* --- asking --- */

/* False: so many children run that one must end first. An idle one does. */
static bool make_room(struct native *n)
{
	struct module *idle = NULL;
	size_t alive = 0;

	for (size_t i = 0; i < NATIVE_MODULES; i++) {
		struct module *m = n->slot[i];

		if (!m || !m->lines || !lines_alive(m->lines))
			continue;
		alive++;
		if (!lines_asked(m->lines) && (!idle || m->used < idle->used))
			idle = m;
	}
	if (alive >= NATIVE_LINES && idle)
		lines_stop(idle->lines);
	return alive < NATIVE_LINES || idle;
}

struct lines *module_lines(struct native *n, struct module *m, int *err)
{
	*err = -ENOENT;
	if (!m->lines_tried) {
		m->lines_tried = true;
		m->lines = find(m);
	}
	if (!m->lines)
		return NULL;
	*err = -EAGAIN;
	return lines_alive(m->lines) || make_room(n) ? m->lines : NULL;
}

int native_ask(struct native *n, const struct native_frame *f)
{
	struct module *m = module_get(n, f->module);
	int err = -ENOENT;
	struct lines *l = m ? module_lines(n, m, &err) : NULL;

	return l ? lines_ask(l, f->offset) : err;
}

int native_take(struct native *n, struct native_frame *of, struct native_name *out, size_t cap)
{
	for (size_t i = 0; i < NATIVE_MODULES; i++) {
		struct module *m = n->slot[i];
		int got = m && m->lines && lines_asked(m->lines)
				  ? lines_take(m->lines, &of->offset, out, cap)
				  : -EAGAIN;

		if (got < 0)
			continue;
		of->module = m->id;
		return got;
	}
	return -EAGAIN;
}

bool native_asked(const struct native *n)
{
	bool some = false;

	for (size_t i = 0; i < NATIVE_MODULES && !some; i++)
		some = n->slot[i] && n->slot[i]->lines && lines_asked(n->slot[i]->lines);
	return some;
}

void native_tick(struct native *n, uint64_t now_ns)
{
	for (size_t i = 0; i < NATIVE_MODULES; i++)
		if (n->slot[i] && n->slot[i]->lines)
			lines_tick(n->slot[i]->lines, now_ns);
}
