/* SPDX-License-Identifier: Apache-2.0 */
/* param.c - aond's table of settings, and checks that involve several of them. */
#include "daemon/core/param.h"

#define LIVE  true
#define START false

const struct param_row param_table[] = {
#define PARAM(key, type, def, min, max, unit, live, help) \
	{ #key,                                           \
	  PARAM_##type,                                   \
	  live,                                           \
	  def,                                            \
	  min,                                            \
	  max,                                            \
	  unit,                                           \
	  help,                                           \
	  offsetof(struct param, key),                    \
	  sizeof(((struct param *)0)->key) },
#include "daemon/core/param.tbl.h"
};
const size_t param_count = sizeof(param_table) / sizeof(param_table[0]);

int param_check(const struct param *p, struct param_why *why)
{
	if (p->chunk_bytes & (p->chunk_bytes - 1))
		return conf_say(why, "chunk_bytes: expected a power of two, not '%lld'",
				(long long)p->chunk_bytes);
	if (p->pool_small_kib > p->pool_kib)
		return conf_say(why, "pool_small_kib: expected at most pool_kib (%lld), not '%lld'",
				(long long)p->pool_kib, (long long)p->pool_small_kib);
	if (p->pool_kib + p->pool_kib / 4 > p->pools_mib * 1024)
		return conf_say(why,
				"pools_mib: expected room for one pool of pool_kib, not '%lld'",
				(long long)p->pools_mib);
	return 0;
}

static int check(const void *p, struct param_why *why)
{
	return param_check(p, why);
}

/* The names until 0.1; to go with the release after it. */
static const struct conf_alias aliases[] = {
	{ "slowdown_permille", "max_slowdown", 0.1 },
	{ "probe_permille", "max_probe_cost", 0.1 },
	{ "rung", "fidelity", 0 },
	{ "pulse", "heartbeat", 0 },
	{ 0 },
};

const struct conf param_conf = {
	.row = param_table,
	.alias = aliases,
	.n = sizeof(param_table) / sizeof(param_table[0]),
	.size = sizeof(struct param),
	.help = "aond --help",
	.check = check,
};
