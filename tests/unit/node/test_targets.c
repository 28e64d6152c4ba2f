/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads aond asks aon-sample for: users with many processes leave room for others. */
#include <stdlib.h>
#include <unistd.h>

#include "daemon/core/aond.h"
#include "t.h"

#define MANY  1500u
#define FEW   10u
#define USERS 2u

static struct aond d;
static struct sess all[MANY + FEW];

/* Sessions of the user with many come first. */
static void make(void)
{
	d.param.sample = 1;
	d.param.sample_hz = 49;
	d.sampler.aond = &d;
	d.sampler.conn.fd = -1;
	for (size_t i = 0; i < T_LEN(all); i++) {
		struct sess *x = &all[i];

		x->peer = (struct peer){ .pid = getpid(), .uid = i < MANY ? 1000 : 2000 };
		x->id = i + 1;
		x->roster = &d.roster;
		x->next = i + 1 < T_LEN(all) ? x + 1 : NULL;
		x->stream = calloc(1, sizeof(*x->stream));
		if (!x->stream)
			t_skip_all("no memory");
		x->stream->proc.tier = TIER_FLIGHT;
	}
	d.roster.first = all;
}

static size_t asked_of(uint64_t first, uint64_t last)
{
	size_t n = 0;

	for (size_t i = 0; i < d.sampler.targets; i++)
		n += d.sampler.thread[i].sess >= first && d.sampler.thread[i].sess <= last;
	return n;
}

int main(void)
{
	make();
	sampler_aim(&d.sampler, 1);
	T_OK(asked_of(MANY + 1, MANY + FEW) == FEW, "the few processes of a user are sampled: %zu",
	     asked_of(MANY + 1, MANY + FEW));
	T_OK(asked_of(1, MANY) == SWIRE_TARGETS / USERS, "as many as all have, of the many: %zu",
	     asked_of(1, MANY));
	all[MANY - 1].next = NULL;
	sampler_aim(&d.sampler, 2);
	T_OK(d.sampler.targets == SWIRE_TARGETS, "who is alone has the whole list");
	map_fini(&d.sampler.users);
	for (size_t i = 0; i < T_LEN(all); i++)
		free(all[i].stream);
	return t_done();
}
