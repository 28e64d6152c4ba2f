/* SPDX-License-Identifier: Apache-2.0 */
/* step_file.c - records of steps from a file, step after step. */
#include "model/step_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct steps {
	struct step_rec *rec; /* owned: of the step in hand */
	size_t n;
	uint32_t world;
};

static int begin(struct steps *s, uint32_t world)
{
	if (world > STEP_FILE_WORLD_MAX)
		return -EBADMSG;
	s->rec = malloc(world * sizeof(*s->rec));
	s->world = world;
	return s->rec ? 0 : -ENOMEM;
}

static int put(struct steps *s, const struct step_rec *r, step_file_fn *fn, void *arg)
{
	int err = 0;

	if (s->n && s->rec[0].step != r->step) {
		err = fn(arg, s->rec, s->n);
		s->n = 0;
	}
	if (!s->world)
		err = begin(s, r->world);
	if (err || s->n == s->world || r->world != s->world)
		return err ? err : -EBADMSG;
	s->rec[s->n++] = *r;
	return err;
}

int step_file_read(FILE *f, uint32_t world, step_file_fn *fn, void *arg)
{
	uint8_t buf[64 * STEP_MAX];
	struct steps s = { 0 };
	size_t have = 0;
	struct step_rec r;
	int err = 0, n = 0;

	if (world)
		err = begin(&s, world);
	while (!err) {
		size_t got = fread(buf + have, 1, sizeof(buf) - have, f), at = 0;

		have += got;
		while (!err && (n = step_rec_decode(&r, buf + at, have - at)) > 0) {
			err = put(&s, &r, fn, arg);
			at += (size_t)n;
		}
		memmove(buf, buf + at, have - at);
		have -= at;
		if (!err && n < 0 && n != -ENODATA)
			err = n;
		if (!got)
			break;
	}
	if (!err && (have || ferror(f)))
		err = -EBADMSG;
	if (!err && s.n)
		err = fn(arg, s.rec, s.n);
	free(s.rec);
	return err;
}
