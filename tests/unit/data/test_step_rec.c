/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/step_rec.h"
#include "t.h"

static struct step_rec some(uint32_t slots)
{
	struct step_rec r;

	step_rec_init(&r);
	r.job = 7;
	r.rank = 3;
	r.world = 16;
	r.step = 42;
	r.tokens = 8192;
	r.sum_len2 = 1.5e7f;
	r.t.step = 2.5e8f;
	r.class[STEP_CLASS_GEMM] = (struct step_kernels){ 96, 1.25e8f };
	for (uint32_t i = 0; i < slots; i++) {
		struct step_slot *s = step_rec_slot(&r, 100 + i, STEP_OP_ALL_REDUCE);

		s->members = 16;
		step_slot_add(s, 10 + i, 4096, 1e6, 2e6);
	}
	step_rec_seal(&r);
	return r;
}

static void there_and_back(void)
{
	uint8_t buf[STEP_MAX];

	for (uint32_t slots = 0; slots <= STEP_SLOTS; slots++) {
		struct step_rec r = some(slots), back;
		int n = step_rec_encode(buf, sizeof(buf), &r);

		T_OK(n == (int)step_rec_size(slots) && n <= 1024,
		     "a record of %u slots is %d bytes, a thousand at most", slots, n);
		memset(&back, 0xff, sizeof(back));
		T_OK(step_rec_decode(&back, buf, sizeof(buf)) == n && back.step == 42 &&
			     back.slots == slots && back.regime == r.regime &&
			     !memcmp(back.slot, r.slot, sizeof(r.slot)),
		     "and is read as it was written, what is not there as nothing");
	}
}

static void broken(void)
{
	struct step_rec r = some(2), out = { .step = 99 };
	uint8_t buf[STEP_MAX], bad[STEP_MAX];
	int n = step_rec_encode(buf, sizeof(buf), &r), wrong = 0, cut = 0;

	for (int i = 0; i < n; i++) {
		memcpy(bad, buf, sizeof(bad));
		bad[i] ^= 1;
		wrong += step_rec_decode(&out, bad, (size_t)n) < 0;
		cut += step_rec_decode(&out, buf, (size_t)i) == -ENODATA;
	}
	T_OK(wrong == n, "a record with one bit turned is refused, wherever it is");
	T_OK(cut == n, "one that is cut short is told from a broken one, wherever it ends");
	T_OK(out.step == 99, "and nothing of either is handed out");
	memcpy(bad, buf, sizeof(bad));
	bad[offsetof(struct step_rec, version)]++;
	T_OK(step_rec_decode(&out, bad, (size_t)n) == -EPROTO, "another version is said to be one");
	T_OK(step_rec_encode(bad, (size_t)n - 1, &r) == -ENOSPC, "no byte is written too far");
	r.slots = STEP_SLOTS + 1;
	T_OK(step_rec_encode(bad, sizeof(bad), &r) == -EINVAL, "nor is a slot made up");
}

static void senseless(void)
{
	uint8_t buf[STEP_MAX];
	struct step_rec r, out;
	int n, taken = 0;

	for (int i = 0; i < 5; i++) {
		r = some(1);
		if (i == 0)
			r.t.compute = -1;
		else if (i == 1)
			r.t.step = NAN;
		else if (i == 2)
			r.rank = r.world;
		else if (i == 3)
			r.slot[0].op = STEP_OPS;
		else
			r.slot[0].sum = INFINITY;
		n = step_rec_encode(buf, sizeof(buf), &r);
		taken += step_rec_decode(&out, buf, (size_t)n) != -EBADMSG;
	}
	T_OK(taken == 0, "times below nothing, ranks beyond the world and the like are refused");
}

static void slots(void)
{
	struct step_rec r = some(0);
	struct step_slot *s;

	for (uint32_t i = 0; i < 3; i++)
		step_slot_add(step_rec_slot(&r, 5, STEP_OP_RECV), 20 + i, 1000, 1e6 * i,
			      1e3 * (3 - i));
	s = step_rec_slot(&r, 5, STEP_OP_RECV);
	T_OK(r.slots == 1 && s->count == 3 && s->sum == 6e3f && s->min == 1e3f && s->max == 3e3f &&
		     s->kib == 3 && s->issued == 22 && s->done == 22,
	     "exchanges of a communicator and kind share a slot");
	T_OK(s->probe[0].start == 0 && s->probe[0].dur == 3e3f && s->probe[1].start == 2e6f &&
		     s->probe[1].dur == 1e3f,
	     "its probes are the step's first exchange and its last");
	for (uint32_t i = 0; i < 30; i++)
		step_slot_add(step_rec_slot(&r, 50 + i, STEP_OP_ALL_REDUCE), i, 1, 0, 1);
	s = &r.slot[STEP_SLOTS - 1];
	T_OK(r.slots == STEP_SLOTS && s->flags & STEP_SLOT_MERGED && !s->comm &&
		     s->count == 30 - (STEP_SLOTS - 2),
	     "what has no slot of its own is counted in the last");
}

static void regime(void)
{
	struct step_rec a = some(2), b = some(2), c = some(2), d = some(3);

	b.t.compute = 5;
	b.tokens = 1;
	step_rec_seal(&b);
	c.slot[1].count++;
	step_rec_seal(&c);
	T_OK(a.regime == b.regime, "a slower step is of the same regime");
	T_OK(a.regime != c.regime && a.regime != d.regime,
	     "one with other exchanges is of another");
}

int main(void)
{
	there_and_back();
	broken();
	senseless();
	slots();
	regime();
	return t_done();
}
