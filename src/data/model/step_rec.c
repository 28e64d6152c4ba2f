/* SPDX-License-Identifier: Apache-2.0 */
/* step_rec.c - the record of a rank's step: creates, writes, reads and checks it. */
#include "model/step_rec.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

const char *const step_op_word[STEP_OPS] = {
#define OP(NAME, word, synchronising) word,
#include "model/step_rec.tbl.h"
};

const bool step_op_syncs[STEP_OPS] = {
#define OP(NAME, word, synchronising) synchronising,
#include "model/step_rec.tbl.h"
};

/* --- making one --- */

void step_rec_init(struct step_rec *r)
{
	*r = (struct step_rec){ .magic = STEP_MAGIC,
				.version = STEP_VERSION,
				.clock_err_us = UINT32_MAX };
}

uint64_t step_hash(const void *data, size_t len, uint64_t seed)
{
	uint64_t h = XXH3_64bits_withSeed(data, len, seed);

	return h ? h : 1;
}

struct step_slot *step_rec_slot(struct step_rec *r, uint64_t comm, enum step_op op)
{
	struct step_slot *s = r->slot;

	for (; s < r->slot + r->slots; s++)
		if (s->comm == comm && s->op == op)
			return s;
	if (r->slots == STEP_SLOTS) {
		s--;
		s->comm = 0;
		s->op = STEP_OP_OTHER;
		s->flags |= STEP_SLOT_MERGED;
		return s;
	}
	r->slots++;
	*s = (struct step_slot){ .comm = comm, .op = (uint8_t)op, .peer = UINT32_MAX };
	return s;
}

void step_slot_add(struct step_slot *s, uint32_t sequence, uint64_t bytes, double start, double dur)
{
	struct step_probe p = { (float)start, (float)dur };
	uint64_t kib = s->kib + (bytes + 1023) / 1024;

	s->min = !s->count || p.dur < s->min ? p.dur : s->min;
	s->max = p.dur > s->max ? p.dur : s->max;
	s->sum += p.dur;
	s->kib = kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
	s->issued = s->done = sequence;
	if (!s->count)
		s->probe[0] = p;
	s->probe[STEP_PROBES - 1] = p;
	s->count++;
}

void step_rec_seal(struct step_rec *r)
{
	uint64_t h =
		step_hash(&r->micro_batches, sizeof(r->micro_batches), r->flags & STEP_F_INFER);

	for (uint32_t i = 0; i < r->slots; i++) {
		const struct step_slot *s = &r->slot[i];
		uint64_t is[] = { s->comm, s->op, s->members, s->count };

		h = step_hash(is, sizeof(is), h);
	}
	for (uint32_t i = 0; i < STEP_CLASSES; i++)
		h = step_hash(&r->class[i].count, sizeof(r->class[i].count), h);
	r->regime = (uint32_t)h;
}

uint32_t step_rec_role(const struct step_rec *r)
{
	uint64_t h = 0; /* a sum: the order of slots says nothing */

	for (uint32_t i = 0; i < r->slots; i++) {
		const struct step_slot *s = &r->slot[i];
		uint32_t size = s->kib ? 31u - (uint32_t)__builtin_clz(s->kib) : 0;
		uint32_t is[] = { s->op, s->members, s->count, size };

		h += step_hash(is, sizeof(is), 1);
	}
	for (uint32_t i = 0; i < STEP_CLASSES; i++) {
		uint32_t is[] = { i, r->class[i].count };

		h += step_hash(is, sizeof(is), 2);
	}
	return (uint32_t)(h ^ h >> 32);
}

/* --- the wire --- */

static uint32_t check_of(struct step_rec *r)
{
	uint32_t was = r->check, is;

	r->check = 0;
	is = (uint32_t)XXH3_64bits(r, r->size);
	r->check = was;
	return is;
}

int step_rec_encode(void *buf, size_t cap, const struct step_rec *r)
{
	struct step_rec to;

	if (r->slots > STEP_SLOTS)
		return -EINVAL;
	if (step_rec_size(r->slots) > cap)
		return -ENOSPC;
	memcpy(&to, r, step_rec_size(r->slots));
	to.size = (uint16_t)step_rec_size(r->slots);
	to.check = check_of(&to);
	memcpy(buf, &to, to.size);
	return to.size;
}

static bool is_time(float v)
{
	return isfinite(v) && v >= 0;
}

static bool slot_holds(const struct step_slot *s)
{
	return s->op < STEP_OPS && is_time(s->sum) && is_time(s->min) && is_time(s->max) &&
	       is_time(s->exposed) && is_time(s->probe[0].start) && is_time(s->probe[0].dur) &&
	       is_time(s->probe[1].start) && is_time(s->probe[1].dur);
}

/* Nothing that would make a sum of a thousand ranks meaningless. */
static bool holds(struct step_rec *r)
{
	bool ok = r->world > 0 && r->rank < r->world && is_time(r->sum_len2) &&
		  is_time(r->context) && is_time(r->runq_ns) && is_time(r->iowait_ns);

	for (size_t i = 0; i < STEP_TIMES && ok; i++)
		ok = is_time(*step_time(r, i));
	for (size_t i = 0; i < STEP_CLASSES && ok; i++)
		ok = is_time(r->class[i].sum);
	for (size_t i = 0; i < r->slots && ok; i++)
		ok = slot_holds(&r->slot[i]);
	return ok;
}

int step_rec_decode(struct step_rec *out, const void *buf, size_t len)
{
	struct step_rec r = { 0 };

	if (len < offsetof(struct step_rec, slot))
		return -ENODATA;
	memcpy(&r, buf, offsetof(struct step_rec, slot));
	if (r.magic != STEP_MAGIC)
		return -EBADMSG;
	if (r.version != STEP_VERSION)
		return -EPROTO;
	if (r.slots > STEP_SLOTS || r.size != step_rec_size(r.slots))
		return -EBADMSG;
	if (len < r.size)
		return -ENODATA;
	memcpy(&r, buf, r.size);
	if (check_of(&r) != r.check || !holds(&r))
		return -EBADMSG;
	*out = r;
	return r.size;
}
