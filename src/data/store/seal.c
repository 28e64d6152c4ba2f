/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - makes and checks the head of a row. */
#include "store/seal.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

void seal_head(struct seal *s)
{
	s->sum = XXH3_64bits(s, offsetof(struct seal, sum));
}

void seal_close(struct seal *s, const void *body)
{
	s->magic = SEAL_MAGIC;
	s->version = SEAL_VERSION;
	s->reserved = 0;
	s->body_sum = XXH3_64bits(body, s->len);
	seal_head(s);
}

int seal_check(struct seal *out, const void *data, size_t len)
{
	struct seal s;

	if (len < sizeof(s))
		return -EBADMSG;
	memcpy(&s, data, sizeof(s));
	if (s.magic != SEAL_MAGIC || s.sum != XXH3_64bits(&s, offsetof(struct seal, sum)))
		return -EBADMSG;
	*out = s;
	if (s.len != len - sizeof(s) ||
	    s.body_sum != XXH3_64bits((const uint8_t *)data + sizeof(s), s.len))
		return -EILSEQ;
	return s.version > SEAL_VERSION ? -EPROTO : 0;
}
