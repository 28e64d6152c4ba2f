/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - snappy, zlib and zstd, into memory of a known limit; see unpack.h. */
#include "import/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/varint.h"
#include "base/vec.h"

#define STEP      65536u
#define ANY_FRAME (15 + 32) /* zlib's or gzip's, by its first bytes */
#define WINDOW    27        /* log2 of the most that zstd may hold of what it has written */

/* --- snappy: a length, then literals and copies of what was written before --- */

/* `n` bytes, low first. */
static size_t little(const uint8_t *p, unsigned n)
{
	size_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (size_t)p[i] << 8 * i;
	return v;
}

/* A tag's low bits say how many bytes follow it: of a literal's length, or of a copy's distance. */
static unsigned more_bytes(uint8_t tag)
{
	static const uint8_t of_copy[] = { 0, 1, 2, 4 };

	if (tag & 3)
		return of_copy[tag & 3];
	return tag >> 2 >= 60 ? (tag >> 2) - 59u : 0;
}

static int copy_back(uint8_t *out, size_t at, size_t len, size_t back, size_t n)
{
	if (!back || back > at || n > len - at)
		return -EBADMSG;
	/* It may overlap itself: then it repeats. */
	for (size_t i = 0; i < n; i++)
		out[at + i] = out[at - back + i];
	return 0;
}

int unpack_snappy(uint8_t *out, size_t len, struct unpack_in in)
{
	struct varint_in head = { in.p, in.p + in.len, false };
	uint64_t says = varint_get(&head);
	const uint8_t *p = head.p, *end = head.end;
	size_t at = 0;

	if (head.bad || says != len)
		return -EBADMSG;
	while (p < end) {
		uint8_t tag = *p++;
		unsigned more = more_bytes(tag);
		size_t v, n;

		if (more > (size_t)(end - p))
			return -EBADMSG;
		v = little(p, more);
		p += more;
		if ((tag & 3) == 0) {
			n = (more ? v : tag >> 2) + 1;
			if (n > (size_t)(end - p) || n > len - at)
				return -EBADMSG;
			memcpy(out + at, p, n);
			p += n;
		} else {
			if ((tag & 3) == 1) {
				n = (tag >> 2 & 7) + 4u;
				v |= (size_t)(tag >> 5) << 8;
			} else {
				n = (tag >> 2) + 1u;
			}
			if (copy_back(out, at, len, v, n) < 0)
				return -EBADMSG;
		}
		at += n;
	}
	return at == len ? 0 : -EBADMSG;
}

/* --- zlib --- */

int unpack_zlib(uint8_t *out, size_t len, struct unpack_in in)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)in.p,
		       .avail_in = (uInt)in.len,
		       .next_out = out,
		       .avail_out = (uInt)len };
	int rc;

	if (in.len > UINT32_MAX || len > UINT32_MAX)
		return -EBADMSG;
	if (inflateInit2(&z, ANY_FRAME) != Z_OK)
		return -ENOMEM;
	rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return rc == Z_STREAM_END && z.total_out == len ? 0 : -EBADMSG;
}

int unpack_grow_zlib(uint8_t **out, size_t *len, size_t most, struct unpack_in in)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)in.p, .avail_in = (uInt)in.len };
	uint8_t *buf = NULL;
	size_t cap = 0;
	int rc, err = 0;

	if (in.len > UINT32_MAX)
		return -EBADMSG;
	rc = inflateInit2(&z, ANY_FRAME);
	if (rc != Z_OK)
		return -ENOMEM;
	while (!err && rc == Z_OK) {
		if (z.total_out >= most)
			err = -EBADMSG;
		else
			err = vec_room(&buf, &cap, z.total_out + STEP, 1);
		if (err)
			break;
		z.next_out = buf + z.total_out;
		z.avail_out = (uInt)(cap - z.total_out);
		rc = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	*out = buf;
	*len = z.total_out;
	return err ? err : rc == Z_STREAM_END ? 0 : -EBADMSG;
}

/* --- zstd --- */

int unpack_zstd(uint8_t *out, size_t len, struct unpack_in in)
{
	size_t n = ZSTD_decompress(out, len, in.p, in.len);

	return !ZSTD_isError(n) && n == len ? 0 : -EBADMSG;
}

static int grow_zstd(ZSTD_DCtx *d, uint8_t **buf, size_t *len, size_t most, struct unpack_in from)
{
	ZSTD_inBuffer in = { from.p, from.len, 0 };
	size_t cap = 0, rc = 1;

	while (rc || in.pos < in.size) { /* frame after frame */
		ZSTD_outBuffer out;
		size_t before = in.pos;

		if (*len >= most)
			return -EBADMSG;
		if (vec_room(buf, &cap, *len + STEP, 1) < 0)
			return -ENOMEM;
		out = (ZSTD_outBuffer){ *buf, cap, *len };
		rc = ZSTD_decompressStream(d, &out, &in);
		if (ZSTD_isError(rc) || (in.pos == before && out.pos == *len))
			return -EBADMSG;
		*len = out.pos;
	}
	return 0;
}

int unpack_grow_zstd(uint8_t **out, size_t *len, size_t most, struct unpack_in in)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	int err;

	*out = NULL;
	*len = 0;
	if (!d)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, WINDOW);
	err = grow_zstd(d, out, len, most, in);
	ZSTD_freeDCtx(d);
	return err;
}
