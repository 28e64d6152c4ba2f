/* SPDX-License-Identifier: Apache-2.0 */
/* tally.c - the sums of the accounting identity. */
#include "daemon/stream/tally.h"

#include <errno.h>
#include <string.h>

_Static_assert((unsigned)AON_LOSS_MAX == ACCOUNT_LOSSES, "one number for each reason");

static uint64_t sum(const uint64_t *v, unsigned from, unsigned to)
{
	uint64_t s = 0;

	for (unsigned i = from; i < to; i++)
		s += v[i];
	return s;
}

uint64_t tally_staged(const struct tally *t)
{
	return t->taken - sum(t->lost, AON_LOSS_APP_MAX, AON_LOSS_MAX) - t->open - t->handed;
}

void tally_app_lost(struct tally *t, const uint64_t lost[AON_LOSS_APP_MAX])
{
	for (unsigned i = 0; i < AON_LOSS_APP_MAX; i++)
		if (lost[i] > t->lost[i] && lost[i] <= TALLY_MAX)
			t->lost[i] = lost[i];
}

int tally_adopt(struct tally *t, const struct account *row, uint64_t taken)
{
	uint64_t known = 0;

	memset(t, 0, sizeof(*t));
	if (row) {
		memcpy(t->lost, row->lost, sizeof(t->lost));
		t->handed = row->stored + row->overwritten;
		t->samples = row->samples;
		known = t->handed + sum(t->lost, AON_LOSS_APP_MAX, AON_LOSS_MAX);
	}
	if (t->samples > TALLY_MAX || taken > TALLY_MAX)
		return -EPROTO;
	taken += t->samples; /* no pool counts them */
	if (taken < known)
		return -EPROTO;
	t->taken = taken;
	t->lost[AON_LOSS_CRASH] += taken - known;
	return 0;
}

void tally_account(const struct tally *t, struct account *out)
{
	out->emitted = t->taken + sum(t->lost, 0, AON_LOSS_APP_MAX) + t->pending;
	out->stored = t->handed;
	out->overwritten = 0;
	out->samples = t->samples;
	out->in_flight = t->open + tally_staged(t) + t->pending;
	memcpy(out->lost, t->lost, sizeof(out->lost));
}

uint64_t account_losses(const struct account *a)
{
	return sum(a->lost, 0, ACCOUNT_LOSSES);
}

bool account_adds_up(const struct account *a)
{
	return a->emitted == a->stored + a->overwritten + a->in_flight + account_losses(a);
}
