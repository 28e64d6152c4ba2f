/* SPDX-License-Identifier: Apache-2.0 */
/* The accounting identity: through any way that records may go, and over a daemon's death. */
#include <errno.h>
#include <string.h>

#include "daemon/stream/tally.h"
#include "t.h"

static uint64_t rng = 88172645463325252ull;

static uint64_t draw(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

/* One daemon's life of random moves; the account must add up after each. */
static bool live(struct tally *t, struct account *a)
{
	bool ok = true;

	for (int i = 0; i < 200; i++) {
		uint64_t staged = tally_staged(t), n;
		uint64_t lost[AON_LOSS_APP_MAX] = { t->lost[0] + draw(3), t->lost[1] + draw(2) };

		switch (draw(5)) {
		case 0: /* drained: some invalid, some open a range */
			n = draw(1000);
			t->taken += n;
			t->lost[AON_LOSS_INVALID] += n ? draw(n) / 100 : 0;
			break;
		case 1:
			n = draw(staged + t->open + 1);
			t->open = n;
			break;
		case 2: /* handed over, or refused by the queue */
			n = draw(staged + 1);
			t->handed += n;
			break;
		case 3:
			n = draw(staged + 1);
			t->lost[AON_LOSS_QUEUE_FULL] += n;
			break;
		default:
			t->pending = draw(500);
			tally_app_lost(t, lost);
		}
		tally_account(t, a);
		ok &= account_adds_up(a) && a->in_flight < 1ull << 40;
	}
	return ok;
}

static void test_identity(void)
{
	struct account a = { 0 }, row;
	struct tally t;
	bool ok = true;

	T_OK(tally_adopt(&t, NULL, 0) == 0, "a new pool begins with nothing");
	for (int daemon = 0; daemon < 50 && ok; daemon++) {
		ok &= live(&t, &a);
		row = a; /* what was committed last */
		row.overwritten = row.stored / 3;
		row.stored -= row.overwritten;
		live(&t, &a); /* not committed: the daemon dies */
		ok &= tally_adopt(&t, &row, t.taken) == 0;
		ok &= tally_staged(&t) == 0 && t.handed == row.stored + row.overwritten;
		tally_account(&t, &a);
		ok &= account_adds_up(&a) && a.in_flight == 0;
	}
	T_OK(ok, "accounts add up through 50 daemons that died");
	T_OK(t.lost[AON_LOSS_CRASH] > 0, "and say what died with them");
}

static void test_adopt(void)
{
	struct account row = { .emitted = 150, .stored = 60, .overwritten = 30, .in_flight = 40 };
	struct tally t;

	row.lost[AON_LOSS_POOL_FULL] = 7;
	row.lost[AON_LOSS_QUEUE_FULL] = 10;
	T_OK(!tally_adopt(&t, &row, 100) && t.lost[AON_LOSS_CRASH] == 0,
	     "nothing is lost when all that was taken is known");
	T_OK(!tally_adopt(&t, &row, 130) && t.lost[AON_LOSS_CRASH] == 30,
	     "what was taken and is not known is lost, to the record");
	T_OK(tally_adopt(&t, &row, 99) == -EPROTO, "a pool that gave less than is known lies");
	T_OK(tally_adopt(&t, NULL, TALLY_MAX + 1) == -EPROTO, "and so does one that gave too much");
	T_OK(!tally_adopt(&t, NULL, 12) && t.lost[AON_LOSS_CRASH] == 12,
	     "without a row all that was taken is lost");
}

static void test_app_lost(void)
{
	uint64_t lost[AON_LOSS_APP_MAX] = { 5, 6 };
	struct tally t;

	tally_adopt(&t, NULL, 0);
	tally_app_lost(&t, lost);
	lost[0] = 2;
	lost[1] = TALLY_MAX + 1;
	tally_app_lost(&t, lost);
	T_OK(t.lost[0] == 5 && t.lost[1] == 6,
	     "an app's own counts neither fall nor rise beyond reason");
}

int main(void)
{
	test_identity();
	test_adopt();
	test_app_lost();
	return t_done();
}
