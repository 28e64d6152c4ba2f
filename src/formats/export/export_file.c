/* SPDX-License-Identifier: Apache-2.0 */
/* export_file.c - see export_file.h. */
#include "export/export_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "model/trace.h"

/* One output: its descriptor, and what its bytes are called until they are whole. */
struct output {
	int fd;
	char part[PATH_MAX]; /* "": they go where they belong at once */
	const struct export_to *o;
	struct export_wrote w;
};

static int write_all(void *arg, const void *bytes, size_t n)
{
	struct output *out = arg;
	const char *at = bytes;

	out->w.bytes += n;
	while (n) {
		ssize_t w = write(out->fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

static int progress(void *arg, uint64_t done, uint64_t all)
{
	struct output *out = arg;

	return out->o->progress(out->o->arg, out->o->to ? out->w.path : "export", done, all);
}

static int open_output(struct output *out)
{
	if (!out->o->to) {
		fflush(stdout);
		out->fd = STDOUT_FILENO;
		return 0;
	}
	if (file_is_stream(out->w.path)) {
		out->fd = open(out->w.path, O_WRONLY | O_CLOEXEC);
		return out->fd < 0 ? -errno : 0;
	}
	if (snprintf(out->part, sizeof(out->part), "%s.part", out->w.path) >=
	    (int)sizeof(out->part))
		return -ENAMETOOLONG;
	out->fd = open(out->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	return out->fd < 0 ? -errno : 0;
}

static int close_output(struct output *out, int err)
{
	if (!out->o->to)
		return err;
	if (close(out->fd) < 0 && !err)
		err = -errno;
	if (!err && *out->part && rename(out->part, out->w.path) < 0)
		err = -errno;
	if (err && *out->part)
		unlink(out->part);
	return err;
}

struct writing {
	const struct trace *t;
	const struct export_to *o;
	export_wrote_fn *fn;
	void *arg;
	char *failed;
};

static int write_one(const struct writing *x, const char *path, int32_t file)
{
	struct output out = { .o = x->o, .w.rank = TRACE_NO_RANK };
	struct export_opts eo = { .format = x->o->format,
				  .gz = x->o->gz,
				  .file = file,
				  .write = write_all,
				  .progress = x->o->progress ? progress : NULL,
				  .arg = &out };
	int err;

	snprintf(out.w.path, sizeof(out.w.path), "%s", path);
	if (file >= 0)
		out.w.rank = x->t->file[file].rank;
	err = open_output(&out);
	err = err ? err : close_output(&out, export_trace(x->t, &eo, &out.w.n));
	if (err)
		snprintf(x->failed, PATH_MAX, "%s", path);
	else if (x->fn)
		x->fn(x->arg, &out.w);
	return err;
}

/* "DIR/rank-3.json": each rank by itself, as HTA wants them. */
static int write_each(const struct writing *x)
{
	const struct export_kind *k = &export_kinds[x->o->format];
	size_t len = strlen(x->o->to);
	char path[PATH_MAX];
	int err = 0;

	while (len > 1 && x->o->to[len - 1] == '/')
		len--;
	if (mkdir(x->o->to, 0777) < 0 && errno != EEXIST) {
		err = -errno;
		snprintf(x->failed, PATH_MAX, "%s", x->o->to);
		return err;
	}
	for (size_t i = 0; i < x->t->files && !err; i++) {
		bool known = x->t->file[i].rank >= 0;

		snprintf(path, sizeof(path), "%.*s/%s-%zu%s%s", (int)len, x->o->to,
			 known ? "rank" : "file", known ? (size_t)x->t->file[i].rank : i, k->ending,
			 k->flags & EXPORT_GZ ? ".gz" : "");
		err = write_one(x, path, (int32_t)i);
	}
	return err;
}

int export_files(const struct trace *t, const struct export_to *o, export_wrote_fn *fn, void *arg,
		 char failed[PATH_MAX])
{
	struct writing x = { t, o, fn, arg, failed };

	if (o->folder)
		return write_each(&x);
	if (export_kinds[o->format].flags & EXPORT_ONE && t->files > 1)
		return -EMLINK;
	return write_one(&x, o->to ? o->to : "-", t->files == 1 ? 0 : -1);
}
