/* SPDX-License-Identifier: Apache-2.0 */
/* api_download.c - a run in the formats of other tools, through an unnamed file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "export/export.h"
#include "serve/analysis.h"

#define FILE_MAX (2ull << 30)

struct out {
	int fd;
	uint64_t bytes;
};

static int write_all(void *arg, const void *bytes, size_t n)
{
	struct out *o = arg;
	const char *p = bytes;

	o->bytes += n;
	if (o->bytes > FILE_MAX)
		return -EFBIG;
	while (n) {
		ssize_t done = write(o->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int open_nameless(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd = open(tmp && *tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

int api_download(struct ask *q, struct answer *a)
{
	struct export_opts o = { .file = -1, .write = write_all };
	int format = ask_choice(q, "format", "perfetto|kineto|pprof|collapsed|csv"), err;
	struct export_count count;
	struct analysis *an;
	struct out out = { .bytes = 0 };

	if (format < 0)
		return format;
	if (!url_get(&q->url, "format"))
		return ask_mistake(q,
				   "format is needed: perfetto, kineto, pprof, collapsed or csv");
	err = analysis_loads(q); /* refuse a run that is too large before reading it */
	err = err ? err : analysis_get(q, &an);
	if (err < 0)
		return err;
	if (!an->whole || an->in->parted)
		return -EFBIG;
	if (export_kinds[format].flags & EXPORT_ONE && an->t->files > 1)
		return ask_mistake(q, "that format holds one rank: choose it with ranks");
	out.fd = open_nameless();
	if (out.fd < 0)
		return out.fd;
	o.format = (enum export_format)format;
	o.arg = &out;
	err = export_trace(an->t, &o, &count);
	if (err < 0) {
		close(out.fd);
		return err;
	}
	a->fd = out.fd;
	a->type = "application/octet-stream";
	snprintf(a->file, sizeof(a->file), "aon-%s%s%s", q->run.id, export_kinds[format].ending,
		 export_kinds[format].flags & EXPORT_GZ ? ".gz" : "");
	return 0;
}
