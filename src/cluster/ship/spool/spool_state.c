/* SPDX-License-Identifier: Apache-2.0 */
/* spool_state.c - reads, checks and replaces the state. */
#include "ship/spool/spool_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ship/spool/durable.h"

#define NAME "state"

static uint64_t sum_of(void *data, size_t len)
{
	memset((char *)data + offsetof(struct state, sum), 0, sizeof(uint64_t));
	return XXH3_64bits(data, len);
}

static int take(struct state *st, void *data, size_t len)
{
	if (len < sizeof(*st))
		return -EBADMSG;
	memcpy(st, data, sizeof(*st));
	if (st->magic != STATE_MAGIC || st->sum != sum_of(data, len))
		return -EBADMSG;
	if (st->version != STATE_VERSION)
		return -EPROTO;
	if (st->gones > STATE_GONE || st->cursor_len != len - sizeof(*st) || !st->src || !st->next)
		return -EBADMSG;
	return 0;
}

int state_read(int dir, struct state *st, void **cursor)
{
	struct state got;
	void *data;
	size_t len;
	int err = durable_read(dir, NAME, sizeof(*st) + SPOOL_CURSOR_MAX, &data, &len);

	if (err)
		return err == -EFBIG ? -EBADMSG : err;
	err = take(&got, data, len);
	if (err) {
		free(data);
		return err;
	}
	memmove(data, (char *)data + sizeof(got), got.cursor_len);
	*st = got;
	*cursor = data;
	return 0;
}

int state_write(int dir, struct state *st, const void *cursor, bool *doubt)
{
	char *buf = malloc(sizeof(*st) + st->cursor_len);
	int err;

	if (!buf)
		return -ENOMEM;
	st->magic = STATE_MAGIC;
	st->version = STATE_VERSION;
	memcpy(buf, st, sizeof(*st));
	if (st->cursor_len)
		memcpy(buf + sizeof(*st), cursor, st->cursor_len);
	st->sum = sum_of(buf, sizeof(*st) + st->cursor_len);
	memcpy(buf + offsetof(struct state, sum), &st->sum, sizeof(st->sum));
	err = durable_replace(dir, NAME, buf, sizeof(*st) + st->cursor_len, doubt);
	free(buf);
	return err;
}
