/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - reads pages and finds the rows in them, whatever the pages contain. */
#include "store/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAL_HEAD   32u
#define FRAME_HEAD 24u
#define FRAME      (FRAME_HEAD + STORE_PAGE)
#define LEAF       0x0d
#define INTERIOR   0x05

static uint32_t be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* SQLite's varint: high groups first, nine bytes at most. Returns its length, 0: cut off. */
static size_t get_varint(const uint8_t *p, size_t len, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len && i < 9; i++) {
		if (i == 8) {
			*out = v << 8 | p[i];
			return 9;
		}
		v = v << 7 | (p[i] & 0x7f);
		if (!(p[i] & 0x80)) {
			*out = v;
			return i + 1;
		}
	}
	return 0;
}

static int read_at(int fd, uint64_t at, void *out, size_t len)
{
	ssize_t n = pread(fd, out, len, (off_t)at);

	if (n < 0)
		return -errno;
	/* A page that is cut off by the end of the file is its bytes and zeroes. */
	memset((uint8_t *)out + n, 0, len - (size_t)n);
	return n ? 0 : -ENODATA;
}

int pages_read(const struct pages *p, uint32_t page, bool bare, uint8_t out[STORE_PAGE])
{
	if (page < 1 || page > p->count)
		return -ERANGE;
	if (!bare && p->frame[page])
		return read_at(p->wal_fd,
			       WAL_HEAD + (uint64_t)(p->frame[page] - 1) * FRAME + FRAME_HEAD, out,
			       STORE_PAGE);
	return read_at(p->fd, (uint64_t)(page - 1) * STORE_PAGE, out, STORE_PAGE);
}

/* --- the log --- */

static void checksum(const uint8_t *data, size_t len, bool big, uint32_t sum[2])
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint32_t a = be32(data + i), b = be32(data + i + 4);

		sum[0] += (big ? a : __builtin_bswap32(a)) + sum[1];
		sum[1] += (big ? b : __builtin_bswap32(b)) + sum[0];
	}
}

/*
 * Is the frame as it was written? Each sum goes on from the one before it, which is in the
 * file too: so one bad frame does not make those after it doubtful.
 */
static bool frame_good(const uint8_t *frame, const uint8_t before[8], const uint8_t salt[8],
		       bool big)
{
	uint32_t sum[2] = { be32(before), be32(before + 4) };

	if (memcmp(frame + 8, salt, 8) != 0)
		return false;
	checksum(frame, 8, big, sum);
	checksum(frame + FRAME_HEAD, STORE_PAGE, big, sum);
	return sum[0] == be32(frame + 16) && sum[1] == be32(frame + 20);
}

struct log {
	uint8_t head[WAL_HEAD];
	uint8_t frame[FRAME];
	uint32_t frames, last; /* `last`: frames up to and with the last good commit */
};

/*
 * Finds the last commit or, in a second pass, applies the good frames up to it. What comes
 * after it was not committed, or its commit is what was damaged: not used, but not kept quiet.
 * Frames of another round of the log are none of either.
 */
static void scan_log(struct pages *p, struct log *l, bool apply)
{
	uint8_t before[8], salt[8];
	uint32_t page;
	bool good;

	memcpy(before, l->head + 24, 8);
	memcpy(salt, l->head + 16, 8);
	for (uint32_t i = 0; i < l->frames; i++) {
		if (read_at(p->wal_fd, WAL_HEAD + (uint64_t)i * FRAME, l->frame, FRAME) < 0)
			break;
		page = be32(l->frame);
		good = page && frame_good(l->frame, before, salt, l->head[3] & 1);
		if (!apply && good && be32(l->frame + 4))
			l->last = i + 1;
		else if (apply && good && i < l->last && page <= p->count)
			p->frame[page] = i + 1;
		else if (apply && (i < l->last || memcmp(l->frame + 8, salt, 8) == 0))
			p->frames_bad++;
		memcpy(before, l->frame + 16, 8);
	}
}

static int read_log(struct pages *p, uint64_t wal_bytes, uint64_t *grown)
{
	struct log *l = calloc(1, sizeof(*l));

	*grown = 0;
	if (!l)
		return -ENOMEM;
	l->frames = wal_bytes < WAL_HEAD ? 0 : (uint32_t)((wal_bytes - WAL_HEAD) / FRAME);
	if (l->frames && read_at(p->wal_fd, 0, l->head, WAL_HEAD) == 0) {
		scan_log(p, l, false);
		*grown = l->last;
	}
	if (p->frame)
		scan_log(p, l, true);
	free(l);
	return 0;
}

/* --- opening --- */

/* Marks what is on SQLite's list of free pages: rows there were deleted. */
static void mark_free(struct pages *p)
{
	uint8_t page[STORE_PAGE];
	uint32_t next, n;

	if (pages_read(p, 1, false, page) < 0)
		return;
	next = be32(page + 32);
	while (next >= 2 && next <= p->count && p->state[next] == PAGE_UNKNOWN &&
	       pages_read(p, next, false, page) == 0) {
		p->state[next] = PAGE_FREE;
		n = be32(page + 4);
		for (uint32_t i = 0; i < n && 8 + 4 * i + 4 <= STORE_PAGE; i++) {
			uint32_t leaf = be32(page + 8 + 4 * i);

			if (leaf >= 2 && leaf <= p->count)
				p->state[leaf] = PAGE_FREE;
		}
		next = be32(page);
	}
}

static int open_files(struct pages *p, const char *path, uint64_t *bytes, uint64_t *wal_bytes,
		      struct store_why *why)
{
	char log[PATH_MAX];
	struct stat sb;
	int err;

	p->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (p->fd < 0) {
		err = -errno;
		return store_because(why, err, "%s: %s", path, strerror(-err));
	}
	if (flock(p->fd, LOCK_SH | LOCK_NB) < 0)
		return store_because(why, -EBUSY, "%s: aond writes it; stop it first", path);
	if (fstat(p->fd, &sb) < 0 || !S_ISREG(sb.st_mode))
		return store_because(why, -EMEDIUMTYPE, "%s is not a file", path);
	*bytes = (uint64_t)sb.st_size;
	*wal_bytes = 0;
	if ((size_t)snprintf(log, sizeof(log), "%s-wal", path) < sizeof(log))
		p->wal_fd = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (p->wal_fd >= 0 && fstat(p->wal_fd, &sb) == 0 && S_ISREG(sb.st_mode))
		*wal_bytes = (uint64_t)sb.st_size;
	if (*bytes == 0 && *wal_bytes == 0)
		return store_because(why, -EMEDIUMTYPE, "%s is empty, not an aon store", path);
	if ((*bytes + *wal_bytes) / STORE_PAGE > UINT32_MAX / 8)
		return store_because(why, -EFBIG, "%s is too large", path);
	return 0;
}

int pages_open(struct pages *p, const char *path, struct store_why *why)
{
	uint64_t bytes, wal_bytes, grown;
	int err;

	*p = (struct pages){ .fd = -1, .wal_fd = -1 };
	err = open_files(p, path, &bytes, &wal_bytes, why);
	if (err == 0)
		err = read_log(p, wal_bytes, &grown);
	if (err < 0)
		goto close;
	/* A frame may stand for a page that the file does not have yet. */
	p->count = (uint32_t)((bytes + STORE_PAGE - 1) / STORE_PAGE + grown);
	p->frame = calloc(p->count + 1ul, sizeof(*p->frame));
	p->state = calloc(p->count + 1ul, sizeof(*p->state));
	err = p->frame && p->state ? read_log(p, wal_bytes, &grown) : -ENOMEM;
	if (err < 0)
		goto close;
	while (p->count > 1 && !p->frame[p->count] &&
	       (uint64_t)(p->count - 1) * STORE_PAGE >= bytes)
		p->count--;
	mark_free(p);
	return 0;

close:
	pages_close(p);
	return err;
}

void pages_close(struct pages *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->wal_fd >= 0)
		close(p->wal_fd);
	free(p->frame);
	free(p->state);
	*p = (struct pages){ .fd = -1, .wal_fd = -1 };
}

/* --- rows --- */

/* How much of a row of `len` bytes is in its leaf, by SQLite's rule for 4-KiB pages. */
static size_t local_bytes(uint64_t len)
{
	const size_t most = STORE_PAGE - 35, least = (STORE_PAGE - 12) * 32 / 255 - 23;
	size_t k;

	if (len <= most)
		return (size_t)len;
	k = least + (size_t)((len - least) % (STORE_PAGE - 4));
	return k <= most ? k : least;
}

/* Appends the overflow chain from `next` on until `len` bytes are there, or it breaks. */
static int follow(struct pages *p, uint32_t next, bool bare, struct rows *buf, size_t len)
{
	uint8_t page[STORE_PAGE];
	size_t n;

	while (buf->len < len) {
		if (next < 2 || next > p->count || pages_read(p, next, bare, page) < 0 ||
		    (!bare && p->state[next] == PAGE_FREE))
			return -ENODATA;
		if (!bare)
			p->state[next] = PAGE_CHAIN;
		n = len - buf->len < STORE_PAGE - 4 ? len - buf->len : STORE_PAGE - 4;
		memcpy(buf->data + buf->len, page + 4, n);
		buf->len += n;
		next = be32(page);
	}
	return 0;
}

/* The row of one cell. Returns 0, -EBADMSG if it is not a row, or fn's result. */
static int cell_row(struct pages *p, const uint8_t *cell, size_t room, bool bare, struct rows *buf,
		    page_row_fn *fn, void *arg)
{
	struct page_row row = { 0 };
	uint64_t len;
	size_t n, m, local;

	n = get_varint(cell, room, &len);
	m = n ? get_varint(cell + n, room - n, &row.id) : 0;
	if (!m || len > SEAL_BODY_MAX + 128)
		return -EBADMSG;
	cell += n + m;
	room -= n + m;
	local = local_bytes(len);
	if (local + (local < len ? 4 : 0) > room)
		return -EBADMSG;
	row.payload = cell;
	row.len = local;
	if (local < len) {
		buf->len = 0;
		if (rows_reserve(buf, len) < 0)
			return -ENOMEM;
		memcpy(buf->data, cell, local);
		buf->len = local;
		row.cut = follow(p, be32(cell + local), bare, buf, len) < 0;
		row.payload = buf->data;
		row.len = buf->len;
	}
	return fn(arg, &row);
}

int pages_rows(struct pages *p, uint32_t number, bool bare, struct rows *buf, page_row_fn *fn,
	       void *arg)
{
	uint8_t page[STORE_PAGE];
	const size_t head = number == 1 ? 100 : 0;
	uint32_t cells, at;
	bool bad = false;
	int err;

	err = pages_read(p, number, bare, page);
	if (err < 0)
		return err;
	cells = be16(page + head + 3);
	at = (uint32_t)head + (page[head] == LEAF ? 8 : 12);
	if ((page[head] != LEAF && page[head] != INTERIOR) || at + 2 * cells > STORE_PAGE)
		return 0; /* overflow, or nothing: whose chain it is in will tell */
	for (uint32_t i = 0; page[head] == LEAF && i < cells; i++) {
		uint32_t cell = be16(page + at + 2 * i);

		err = cell < at + 2 * cells || cell + 4 > STORE_PAGE
			      ? -EBADMSG
			      : cell_row(p, page + cell, STORE_PAGE - cell, bare, buf, fn, arg);
		if (err == -EBADMSG)
			bad = true;
		else if (err)
			return err;
	}
	if (!bare && p->state[number] != PAGE_CHAIN)
		p->state[number] = bad ? PAGE_BAD : PAGE_TREE;
	return 0;
}

/* Bytes of a value by its serial type. */
static uint64_t value_bytes(uint64_t type)
{
	static const uint8_t fixed[12] = { 0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0 };

	return type < 12 ? fixed[type] : (type - 12) / 2;
}

static int64_t get_int(const uint8_t *p, uint64_t type)
{
	uint64_t v = 0;

	if (type == 9)
		return 1;
	if (type < 1 || type > 6)
		return 0;
	for (uint64_t i = 0; i < value_bytes(type); i++)
		v = v << 8 | p[i];
	/* Numbers of a store are never negative, but for those that a flipped bit made so. */
	return (int64_t)v;
}

int record_parse(const struct page_row *row, const uint8_t **blob, size_t *blob_len, int64_t *num,
		 int max)
{
	uint64_t head, type, at;
	size_t n, pos;
	int cols = 0;

	*blob = NULL;
	pos = get_varint(row->payload, row->len, &head);
	if (!pos || head > row->len || head < pos)
		return -EBADMSG;
	for (at = head; pos < head && cols < max; cols++) {
		n = get_varint(row->payload + pos, head - pos, &type);
		if (!n || at > row->len)
			return -EBADMSG;
		pos += n;
		num[cols] = 0;
		if (type >= 12 && !(type & 1)) {
			*blob = row->payload + at;
			*blob_len = row->len - at < value_bytes(type) ? row->len - at
								      : value_bytes(type);
		} else if (at + value_bytes(type) <= row->len) {
			num[cols] = get_int(row->payload + at, type);
		}
		at += value_bytes(type);
	}
	return cols;
}
