/* SPDX-License-Identifier: Apache-2.0 */
/* rowin.c - see rowin.h. Little endian; a String is its length as LEB128, then its bytes. */
#include "fleet/rowin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "base/vec.h"

#define LENGTH_BYTES 4u /* limit: no row is longer */

void rowin_init(struct rowin *r, const char *types, uint64_t most, rowin_fn *fn, void *arg)
{
	*r = (struct rowin){ .types = types, .most = most, .fn = fn, .arg = arg };
}

void rowin_fini(struct rowin *r)
{
	free(r->held);
	r->held = NULL;
	r->used = r->cap = 0;
}

/* Bytes that the length takes; 0: more bytes are needed; -EFBIG: longer than any row. */
static int get_length(const uint8_t *p, size_t n, size_t *out)
{
	struct varint_in in = { p, p + (n < LENGTH_BYTES ? n : LENGTH_BYTES), false };
	size_t v = varint_get(&in);

	if (in.bad)
		return n < LENGTH_BYTES ? 0 : -EFBIG;
	*out = v;
	return v > ROWIN_ROW ? -EFBIG : (int)(in.p - p);
}

/* Size of the row at `p`; 0: it is incomplete; -EFBIG. Texts are not NUL-terminated yet. */
static int64_t get_row(const char *types, const uint8_t *p, size_t n, struct rowin_field *f)
{
	size_t at = 0, len;
	int head;

	for (size_t c = 0; types[c] && c < ROWIN_COLUMNS; c++) {
		if (types[c] == 's') {
			head = get_length(p + at, n - at, &len);
			if (head <= 0)
				return head;
			if (at + (size_t)head + len > ROWIN_ROW)
				return -EFBIG;
			if (n - at - (size_t)head < len)
				return 0;
			f[c].text = (const char *)p + at + head;
			f[c].len = len;
			at += (size_t)head + len;
			continue;
		}
		if (n - at < sizeof(f[c].u))
			return 0;
		memcpy(&f[c].u, p + at, sizeof(f[c].u));
		at += sizeof(f[c].u);
	}
	return (int64_t)at;
}

/* Copies the row with room for a NUL behind each text: in the buffer the next column follows. */
static int give(struct rowin *r, struct rowin_field *f)
{
	size_t need = 0, at = 0;
	char small[1024], *room = small;
	int err;

	for (size_t c = 0; r->types[c]; c++)
		need += r->types[c] == 's' ? f[c].len + 1 : 0;
	if (need > sizeof(small)) {
		room = malloc(need);
		if (!room)
			return -ENOMEM;
	}
	for (size_t c = 0; r->types[c]; c++) {
		if (r->types[c] != 's')
			continue;
		memcpy(room + at, f[c].text, f[c].len);
		room[at + f[c].len] = '\0';
		f[c].text = room + at;
		at += f[c].len + 1;
	}
	err = r->fn(r->arg, f);
	if (room != small)
		free(room);
	return err;
}

/* Passes on all complete rows at `p`; *done gets their size. */
static int take(struct rowin *r, const uint8_t *p, size_t n, size_t *done)
{
	struct rowin_field f[ROWIN_COLUMNS];
	int err = 0;

	*done = 0;
	while (!err && *done < n) {
		int64_t len = get_row(r->types, p + *done, n - *done, f);

		if (len <= 0)
			return (int)len;
		if (r->rows++ >= r->most)
			return -EFBIG;
		*done += (size_t)len;
		err = give(r, f);
	}
	return err;
}

static int hold(struct rowin *r, const uint8_t *p, size_t n)
{
	if (r->used + n > 2u * ROWIN_ROW)
		return -EFBIG;
	if (vec_room(&r->held, &r->cap, r->used + n, 1) < 0)
		return -ENOMEM;
	if (n)
		memcpy(r->held + r->used, p, n);
	r->used += n;
	return 0;
}

int rowin_feed(struct rowin *r, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	size_t done;
	int err;

	while (r->used && n) { /* completes a row that began in the last call */
		size_t more = n < 65536 ? n : 65536;

		err = hold(r, p, more);
		err = err ? err : take(r, r->held, r->used, &done);
		if (err)
			return err;
		p += more;
		n -= more;
		r->used -= done;
		memmove(r->held, r->held + done, r->used);
	}
	err = take(r, p, n, &done);
	return err ? err : n > done ? hold(r, p + done, n - done) : 0;
}

int rowin_end(const struct rowin *r)
{
	return r->used ? -EBADMSG : 0;
}
