/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - checks and decodes untrusted rows of any table. */
#include "store/priv.h"

#include <errno.h>
#include <string.h>

#include "store/blob.h"

void row_codecs_fini(struct row_codecs *c)
{
	blob_dec_free(c->events);
	window_codec_free(c->window);
	steps_codec_free(c->steps);
	block_codec_free(c->block);
	*c = (struct row_codecs){ 0 };
}

/* Only these have as many rows as there is time. */
static bool has_long_id(uint32_t type)
{
	return type == SEAL_EVENTS || type == SEAL_WINDOW || type == SEAL_JOURNAL ||
	       type == SEAL_ENTRY || type == SEAL_STEPS || type == SEAL_TELEMETRY;
}

static int decode_name(struct store_row *r, const void *body)
{
	if (r->s.len > ROW_NAME_MAX)
		return -EBADMSG;
	memcpy(r->name, body, r->s.len);
	r->name[r->s.len] = '\0';
	return 0;
}

int row_decode(struct row_codecs *c, const uint8_t *row, size_t len, struct store_row *r)
{
	const void *body = row + sizeof(r->s);
	int err = seal_check(&r->s, row, len);

	if (err < 0)
		return err;
	if (r->s.row < 1 || r->s.row > INT64_MAX ||
	    (r->s.row >= UINT32_MAX && !has_long_id(r->s.type)))
		return -EBADMSG;
	switch (r->s.type) {
	case SEAL_EVENTS:
		err = c->events ? 0 : blob_dec_new(&c->events);
		return err ? err
			   : blob_columns(c->events, row, len, EVENT_COLS_ALL, ~0u, &r->events);
	case SEAL_WINDOW:
		err = c->window ? 0 : window_codec_new(&c->window);
		return err ? err : window_unpack(c->window, row, len, &r->window);
	case SEAL_STEPS:
		err = c->steps ? 0 : steps_codec_new(&c->steps);
		return err ? err : steps_unpack(c->steps, row, len, &r->steps);
	case SEAL_TELEMETRY:
		err = c->block ? 0 : block_codec_new(&c->block);
		return err ? err : block_unpack(c->block, row, len, &r->block);
	case SEAL_NAME:
		return decode_name(r, body);
	case SEAL_GEO:
		return row_get_geo(&r->s, body, &r->geo);
	case SEAL_STACK:
		return row_get_stack(&r->s, body, &r->stack, c->frame);
	case SEAL_TRACK:
		return row_get_track(&r->s, body, &r->track);
	case SEAL_PROCESS:
		return row_get_process(&r->s, body, &r->process);
	case SEAL_JOURNAL:
	case SEAL_ENTRY:
		return row_get_entry(&r->s, body, &r->entry, c->old);
	case SEAL_NODE:
		return row_get_node(&r->s, body, &r->node);
	case SEAL_SERIES:
		return row_get_series(&r->s, body, &r->series);
	case SEAL_AGED:
		return 0;
	default:
		return -EBADMSG;
	}
}
