/* SPDX-License-Identifier: Apache-2.0 */
/* Detectors on a node of a simulated job: bench/detect.py in short. */
#include <string.h>

#include "../bench/lib/detect_sim.h"
#include "t.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#else
#define SLOW 0
#endif

static const struct {
	const char *word;
	enum alarm_kind by; /* of those that tell it, one */
} some[] = {
	{ "power_cap", ALARM_STEP_SLOWER },
	{ "slow_gpu", ALARM_STRAGGLER },
	{ "python_gc", ALARM_THROUGHPUT },
	{ "slow_preprocessing", ALARM_STEP_SLOWER },
	{ "proxy_starved", ALARM_THROUGHPUT },
	{ "nic_degraded", ALARM_STEP_SLOWER },
	{ "crash", ALARM_HANG },
	{ "host_hang", ALARM_HANG },
	{ "checkpoint_stall", ALARM_THROUGHPUT },
};

static const struct sim_case *find(const struct sim_case *c, const char *word)
{
	while (c->word && strcmp(c->word, word))
		c++;
	return c;
}

int main(void)
{
	static struct sim_got g;

	for (size_t i = SLOW ? 2 : 0; i < T_LEN(some); i++) {
		T_OK(!sim_watch(find(sim_faults, some[i].word), 2, false, &g) &&
			     g.after.n[some[i].by] && !g.before.all,
		     "%s: told by %s, and not before", some[i].word,
		     entry_kinds[alarm_table[some[i].by].entry].word);
	}
	T_OK(!sim_watch(find(sim_faults, "silent_corruption"), 2, false, &g) && !g.before.all,
	     "what takes its time as ever is not heard");
	for (const struct sim_case *c = sim_days; c->word; c++) {
		struct sim_case hour = *c;

		hour.steps /= SLOW ? 240 : 24;
		T_OK(!sim_watch(&hour, 3, false, &g) && !g.before.all,
		     "a healthy hour, %s: %u alarms", c->word, g.before.all);
	}
	T_OK(!sim_watch(&(struct sim_case){ sim_unseen.word, sim_unseen.set, sim_unseen.fault, 2000,
					    1, 0, 0, true, SAVES_UNSEEN },
			3, false, &g) &&
		     g.before.all == 1 && g.before.n[ALARM_HANG] == 1,
	     "%s are taken for a hang once", sim_unseen.word);
	return t_done();
}
