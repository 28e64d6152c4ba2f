/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in.h - JSON text through a sliding window, for the steps of base/json_read.h.
 *
 * If a step reports the end of the text, only the window has ended: call json_in_more(), then
 * repeat the step.
 */
#pragma once

#include "base/json_read.h"
#include "import/source.h"

#define JSON_WINDOW  (256u << 10)
#define JSON_LARGEST (16u << 20) /* of one value that must be seen as a whole */

struct json_in {
	struct source *src; /* borrowed */
	char *buf;          /* owned; cap + JSON_PAD bytes */
	size_t cap;
	char *p, *end; /* what was not consumed */
	uint64_t at;   /* offset of buf[0] in the text */
	bool eof;
	int err; /* of the source */
};

int json_in_init(struct json_in *in, struct source *src, size_t window); /* 0: JSON_WINDOW */
void json_in_fini(struct json_in *in);

/* Keeps p..end and reads on. 1: there is more. 0: the text ends. -EMSGSIZE: no room. */
int json_in_more(struct json_in *in);

/* Consumes one value of any size. 0, or -ENODATA when the text ends in it. */
int json_in_skip(struct json_in *in);

/* The next byte that is not space, comma or comment, without consuming it; -1: the end. */
int json_in_next(struct json_in *in);

/*
 * A document that is larger than any window, step by step. 1: there is one. 0: the object or array
 * has ended, and is consumed. -ENODATA: the text ended. -EBADMSG: this is not JSON.
 */
int json_in_enter(struct json_in *in, char bracket);        /* consumes it */
int json_in_key(struct json_in *in, char *key, size_t cap); /* at the value then; cut to cap */
int json_in_item(struct json_in *in);                       /* at the value then */
/* Consumes a value that is seen as a whole, until the next call. Also -EMSGSIZE: it is too large. */
int json_in_value(struct json_in *in, struct json_tok *value);

/* The value of a key of an object that is whole; false: it has none, or is no object. */
bool json_in_member(struct json_tok obj, const char *name, struct json_tok *value);

static inline uint64_t json_in_at(const struct json_in *in)
{
	return in->at + (uint64_t)(in->p - in->buf);
}
