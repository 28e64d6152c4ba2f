/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - messages between aond and aon-sample, of which nothing is believed. */
#include "sample/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct head {
	uint32_t magic;
	uint8_t type, version;
	uint16_t count;
};

struct frame_head {
	uint8_t kind, flags;
	uint16_t name_len, file_len, zero;
	uint32_t line;
};

struct status_head {
	uint64_t cpu_ns, samples, missed;
};

struct budget {
	uint32_t permille, zero;
};

_Static_assert(sizeof(struct head) == 8 && sizeof(struct frame_head) == 12 &&
		       sizeof(struct status_head) == 24 && sizeof(struct budget) == 8,
	       "these are on the wire");

/* --- reading --- */

struct bytes {
	const uint8_t *p, *end;
};

static bool take(struct bytes *b, void *out, size_t n)
{
	if ((size_t)(b->end - b->p) < n)
		return false;
	memcpy(out, b->p, n);
	b->p += n;
	return true;
}

/* A text without a NUL in it; borrowed. */
static bool take_text(struct bytes *b, const char **out, size_t n, size_t max)
{
	if (n > max || (size_t)(b->end - b->p) < n || memchr(b->p, '\0', n))
		return false;
	*out = (const char *)b->p;
	b->p += n;
	return true;
}

static bool rate_ok(uint32_t centihertz)
{
	return centihertz >= 1 && centihertz <= 100 * SWIRE_HZ_MAX;
}

static int get_targets(struct bytes *b, unsigned count, const struct swire_fns *fns, void *arg)
{
	const struct swire_target *t = (const void *)b->p;

	if (count > SWIRE_TARGETS || (size_t)(b->end - b->p) != count * sizeof(*t))
		return -EBADMSG;
	for (unsigned i = 0; i < count; i++)
		if (!t[i].pid || !t[i].tid || t[i].zero || !rate_ok(t[i].centihertz))
			return -EBADMSG;
	return fns->targets ? fns->targets(arg, t, count) : 0;
}

static bool take_frame(struct bytes *b, struct swire_frame *f)
{
	struct frame_head h;

	if (!take(b, &h, sizeof(h)) || h.kind >= FRAME_KINDS || h.zero)
		return false;
	*f = (struct swire_frame){ .kind = h.kind,
				   .flags = h.flags,
				   .line = h.line,
				   .name_len = h.name_len,
				   .file_len = h.file_len };
	return take_text(b, &f->name, h.name_len, SWIRE_TEXT) &&
	       take_text(b, &f->file, h.file_len, SWIRE_TEXT);
}

static int get_stack(struct bytes *b, unsigned count, const struct swire_fns *fns, void *arg)
{
	struct swire_frame f[STACK_FRAMES_MAX];
	uint32_t id;

	if (!take(b, &id, sizeof(id)) || id < 1 || id > SWIRE_STACKS || count < 1 ||
	    count > STACK_FRAMES_MAX)
		return -EBADMSG;
	for (unsigned i = 0; i < count; i++)
		if (!take_frame(b, &f[i]))
			return -EBADMSG;
	if (b->p != b->end)
		return -EBADMSG;
	return fns->stack ? fns->stack(arg, id, f, count) : 0;
}

static int get_samples(struct bytes *b, unsigned count, const struct swire_fns *fns, void *arg)
{
	const struct swire_sample *s = (const void *)b->p;

	if ((size_t)(b->end - b->p) != count * sizeof(*s))
		return -EBADMSG;
	for (unsigned i = 0; i < count; i++)
		if (!s[i].pid || !s[i].tid || s[i].zero || s[i].zero2 ||
		    s[i].stack > SWIRE_STACKS || s[i].state < 1 || s[i].state >= SAMPLE_STATES ||
		    !rate_ok(s[i].centihertz))
			return -EBADMSG;
	return fns->samples ? fns->samples(arg, s, count) : 0;
}

static int get_status(struct bytes *b, unsigned count, const struct swire_fns *fns, void *arg)
{
	struct swire_status s = { 0 };
	struct status_head h;

	if (count || !take(b, &h, sizeof(h)))
		return -EBADMSG;
	s = (struct swire_status){ .cpu_ns = h.cpu_ns, .samples = h.samples, .missed = h.missed };
	s.reason_len = (size_t)(b->end - b->p);
	if (!take_text(b, &s.reason, s.reason_len, SWIRE_REASON))
		return -EBADMSG;
	return fns->status ? fns->status(arg, &s) : 0;
}

static int get_budget(struct bytes *b, unsigned count, const struct swire_fns *fns, void *arg)
{
	struct budget h;

	if (count || !take(b, &h, sizeof(h)) || b->p != b->end || h.permille > 1000 || h.zero)
		return -EBADMSG;
	return fns->budget ? fns->budget(arg, h.permille) : 0;
}

int swire_read(const void *msg, size_t n, const struct swire_fns *fns, void *arg)
{
	struct bytes b = { msg, (const uint8_t *)msg + n };
	struct head h;

	if ((uintptr_t)msg % 8)
		return -EINVAL;
	if (n > SWIRE_BYTES || !take(&b, &h, sizeof(h)) || h.magic != SWIRE_MAGIC ||
	    h.version != SWIRE_VERSION)
		return -EBADMSG;
	switch (h.type) {
	case SWIRE_TARGETS_OF:
		return get_targets(&b, h.count, fns, arg);
	case SWIRE_STACK:
		return get_stack(&b, h.count, fns, arg);
	case SWIRE_SAMPLES:
		return get_samples(&b, h.count, fns, arg);
	case SWIRE_STATUS:
		return get_status(&b, h.count, fns, arg);
	case SWIRE_BUDGET:
		return get_budget(&b, h.count, fns, arg);
	default:
		return -EBADMSG;
	}
}

uint32_t swire_blame(const struct swire_frame *f, size_t n)
{
	uint32_t best = n ? 0 : UINT32_MAX;
	int worth = 0;

	for (size_t i = 0; i < n; i++) {
		int is = f[i].flags & FRAME_USER ? 2 + (f[i].kind != FRAME_NATIVE)
						 : f[i].kind == FRAME_PYTHON;

		if (is <= worth)
			continue;
		worth = is;
		best = (uint32_t)i;
	}
	return best;
}

/* --- writing --- */

struct out {
	uint8_t *p, *end;
	bool full;
};

static void put(struct out *o, const void *data, size_t n)
{
	if ((size_t)(o->end - o->p) < n || o->full) {
		o->full = true;
		return;
	}
	if (n)
		memcpy(o->p, data, n);
	o->p += n;
}

static struct out begin(void *out, enum swire_type type, size_t count)
{
	struct head h = { SWIRE_MAGIC, (uint8_t)type, SWIRE_VERSION, (uint16_t)count };
	struct out o = { out, (uint8_t *)out + SWIRE_BYTES, count > UINT16_MAX };

	put(&o, &h, sizeof(h));
	return o;
}

static int end(const struct out *o, const void *from)
{
	return o->full ? -EMSGSIZE : (int)(o->p - (const uint8_t *)from);
}

int swire_put_targets(void *out, const struct swire_target *t, size_t n)
{
	struct out o = begin(out, SWIRE_TARGETS_OF, n);

	o.full |= n > SWIRE_TARGETS;
	put(&o, t, n * sizeof(*t));
	return end(&o, out);
}

int swire_put_stack(void *out, uint32_t id, const struct swire_frame *f, size_t n)
{
	struct out o = begin(out, SWIRE_STACK, n);

	put(&o, &id, sizeof(id));
	for (size_t i = 0; i < n; i++) {
		struct frame_head h = { .kind = f[i].kind,
					.flags = f[i].flags,
					.name_len = f[i].name_len,
					.file_len = f[i].file_len,
					.line = f[i].line };

		put(&o, &h, sizeof(h));
		put(&o, f[i].name, f[i].name_len);
		put(&o, f[i].file, f[i].file_len);
		o.full |= f[i].name_len > SWIRE_TEXT || f[i].file_len > SWIRE_TEXT;
	}
	o.full |= n < 1 || n > STACK_FRAMES_MAX;
	return end(&o, out);
}

int swire_put_samples(void *out, const struct swire_sample *s, size_t n)
{
	struct out o = begin(out, SWIRE_SAMPLES, n);

	put(&o, s, n * sizeof(*s));
	return end(&o, out);
}

int swire_put_status(void *out, const struct swire_status *s)
{
	struct status_head h = { s->cpu_ns, s->samples, s->missed };
	struct out o = begin(out, SWIRE_STATUS, 0);

	put(&o, &h, sizeof(h));
	put(&o, s->reason, s->reason_len);
	o.full |= s->reason_len > SWIRE_REASON;
	return end(&o, out);
}

int swire_put_budget(void *out, uint32_t permille)
{
	struct budget h = { permille, 0 };
	struct out o = begin(out, SWIRE_BUDGET, 0);

	put(&o, &h, sizeof(h));
	o.full |= permille > 1000;
	return end(&o, out);
}
