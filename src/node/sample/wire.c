/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - see wire.h. */
#include "sample/wire.h"

#include <errno.h>
#include <string.h>

struct head {
	uint32_t magic;
	uint8_t type, version;
	uint16_t count;
};

static char *put_head(void *out, enum swire_type type, size_t n)
{
	struct head h = { SWIRE_MAGIC, (uint8_t)type, SWIRE_VERSION, (uint16_t)n };

	memcpy(out, &h, sizeof(h));
	return (char *)out + sizeof(h);
}

static int put_rows(void *out, enum swire_type type, const void *rows, size_t n, size_t size)
{
	if (n > UINT16_MAX || sizeof(struct head) + n * size > SWIRE_BYTES)
		return -EMSGSIZE;
	memcpy(put_head(out, type, n), rows, n * size);
	return (int)(sizeof(struct head) + n * size);
}

int swire_put_targets(void *out, const struct swire_target *t, size_t n)
{
	return put_rows(out, SWIRE_TARGETS_OF, t, n, sizeof(*t));
}

int swire_put_samples(void *out, const struct swire_sample *s, size_t n)
{
	return put_rows(out, SWIRE_SAMPLES, s, n, sizeof(*s));
}

int swire_put_stack(void *out, uint32_t id, const struct swire_frame *f, size_t n)
{
	char *at = put_head(out, SWIRE_STACK, n), *end = (char *)out + SWIRE_BYTES;

	memcpy(at, &id, 4);
	at += 4;
	for (size_t i = 0; i < n; i++) {
		uint16_t len[3] = { f[i].name_len, f[i].file_len, 0 };

		if ((size_t)(end - at) < 12u + len[0] + len[1])
			return -EMSGSIZE;
		at[0] = (char)f[i].kind;
		at[1] = (char)f[i].flags;
		memcpy(at + 2, len, 6);
		memcpy(at + 8, &f[i].line, 4);
		memcpy(at + 12, f[i].name, len[0]);
		memcpy(at + 12 + len[0], f[i].file, len[1]);
		at += 12 + len[0] + len[1];
	}
	return (int)(at - (char *)out);
}

int swire_put_status(void *out, const struct swire_status *s)
{
	char *at = put_head(out, SWIRE_STATUS, 0);
	uint64_t v[3] = { s->cpu_ns, s->samples, s->missed };

	memcpy(at, v, sizeof(v));
	memcpy(at + sizeof(v), s->reason, s->reason_len);
	return (int)(sizeof(struct head) + sizeof(v) + s->reason_len);
}

int swire_read(const void *msg, size_t n, const struct swire_fns *fns, void *arg)
{
	static struct swire_target t[SWIRE_TARGETS];
	struct head h;

	if (n < sizeof(h) || n > SWIRE_BYTES)
		return -EBADMSG;
	memcpy(&h, msg, sizeof(h));
	if (h.magic != SWIRE_MAGIC || h.version != SWIRE_VERSION || h.type != SWIRE_TARGETS_OF ||
	    h.count > SWIRE_TARGETS || n != sizeof(h) + h.count * sizeof(*t))
		return -EBADMSG;
	memcpy(t, (const char *)msg + sizeof(h), h.count * sizeof(*t));
	return fns->targets ? fns->targets(arg, t, h.count) : 0;
}
