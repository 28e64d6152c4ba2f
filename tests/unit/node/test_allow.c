/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of jobs and processes: who may say what, and what holds; lines of users in the journal. */
#include "daemon/budget/allow.h"

#include <string.h>

#include "daemon/core/count.h"
#include "daemon/session/session_list.h"
#include "govern/govern.h"
#include "storekit.h"

#define KEY ALLOW_max_slowdown

static struct param param;
static struct allow_jobs jobs;

static int64_t holds(const struct allow *own, const char *job, uid_t uid)
{
	return allow_limit(&param, &jobs, own, job, uid, KEY);
}

static void put(struct allow *a, bool admin, int64_t v)
{
	allow_set(a, KEY, admin, &v);
}

static void test_order(void)
{
	struct allow own = { 0 };

	T_OK(holds(&own, "j", 5) == 10, "nothing was said: the node's");
	put(&allow_job(&jobs, "j", true, 0, true)->allow, true, 30);
	T_OK(holds(&own, "j", 5) == 30 && holds(&own, "k", 5) == 10, "the admin loosens a job");
	put(&own, true, 0);
	T_OK(holds(&own, "j", 5) == 0, "and of one process there is no limit at all");
	put(&own, false, 40);
	T_OK(holds(&own, "j", 5) == 40, "then anything that a user says is less");
	put(&allow_job(&jobs, "j", false, 5, true)->allow, false, 7);
	T_OK(holds(&own, "j", 5) == 7, "the tightest of what users say");
	T_OK(holds(&own, "j", 6) == 40, "which is no other user's");
	put(&allow_job(&jobs, "j", false, 5, true)->allow, false, 700);
	T_OK(holds(&own, "j", 5) == 40, "more is not less, whoever says it");
	allow_set(&own, KEY, true, NULL);
	allow_set(&own, KEY, false, NULL);
	T_OK(allow_empty(&own) && holds(&own, "j", 6) == 30, "taken back");
	T_OK(allow_tighter(ALLOW_fidelity, 4, 2) && !allow_tighter(ALLOW_fidelity, 0, 2) &&
		     !allow_tighter(KEY, 0, 5) && allow_tighter(KEY, 5, 0) &&
		     !allow_tighter(KEY, 5, 5),
	     "of rungs a lower one is tighter; 0 is no limit");
	T_OK(allow_limit(&param, &jobs, &own, "", 5, ALLOW_disk_mib_day) == 0,
	     "the disk of the node is no one process's limit");
}

static void test_room(void)
{
	char name[16];
	uint32_t n = 0;

	memset(&jobs, 0, sizeof(jobs));
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		n += allow_job(&jobs, name, false, 5, true) != NULL;
	}
	T_OK(n == ALLOW_JOBS_UID, "one user has limits for %u jobs", n);
	T_OK(allow_job(&jobs, "other", false, 6, true), "which leaves room for another");
	for (uid_t u = 7; u < 100; u++)
		n += allow_job(&jobs, "j", false, u, true) != NULL;
	T_OK(n == ALLOW_JOBS - 1, "all of them together for %u", n + 1);
	T_OK(!allow_job(&jobs, "", true, 0, true) && !allow_job(&jobs, "none", true, 0, false),
	     "no job, no row");
}

static void test_rungs(void)
{
	struct param_why why;
	bool same = true;

	for (int i = 0; i < FIDELITY_LEVELS; i++) {
		struct param p = param;

		same = same && !param_set(&p, "fidelity", fidelity_table[i].word, &why) &&
		       p.fidelity == i;
	}
	T_OK(same, "the setting has the words of the ladder, in its order");
}

/* --- the journal --- */

static int count_line(void *arg, const struct journal_entry *e)
{
	*(unsigned *)arg += e->kind == ENTRY_TIER;
	return 0;
}

static void test_journal(void)
{
	static struct plant plant;
	static struct roster r;
	struct journal_entry e = { .kind = ENTRY_TIER };
	unsigned lines = 0;

	kit_begin();
	plant.store = kit_open(kit_path("journal.db"), 64 << 20, 0);
	r.plant = &plant;
	for (unsigned i = 0; i < 2 * JOURNAL_LINES; i++)
		roster_journal(&r, 1000, 1, &e);
	roster_journal(&r, 1001, 1, &e);
	store_commit(plant.store, 1);
	store_each_entry(plant.store, count_line, &lines);
	T_OK(lines == JOURNAL_LINES + 1, "a user gets %u lines a day, another is not in its way",
	     JOURNAL_LINES);
	T_OK(count_get(COUNT_journal_full) == JOURNAL_LINES, "the rest is counted");
	roster_journal(&r, 1000, 86400 * 1000000000ull, &e);
	store_commit(plant.store, 1);
	lines = 0;
	store_each_entry(plant.store, count_line, &lines);
	T_OK(lines == JOURNAL_LINES + 2 && plant.dirty, "the next day there is room again");
	store_close(plant.store);
	kit_clean();
}

static void test_kept(void)
{
	char text[] = "job\ttrain\tadmin\tslowdown_permille\t5\n"
		      "job\ttrain\t1000\trung\thalf\n"
		      "pid\t41\t777\tadmin\tdisk_mib_day\t9\n"
		      "pid\t41\t777\town\trung\ttenth\n"
		      "pid\t41\t777\town\trung\tno such rung\n"
		      "pid\t0\t777\town\trung\thalf\npid\t41\nnonsense\njob\tx\ty\tz";
	struct allow_jobs found = { 0 };
	struct allow a = { 0 }, none = { 0 };
	struct kept k = { 0 };

	kept_parse(&k, &found, text);
	T_OK(allow_limit(&param, &found, &none, "train", 7, ALLOW_max_slowdown) == 5 &&
		     allow_limit(&param, &found, &none, "train", 1000, ALLOW_fidelity) ==
			     FIDELITY_HALF &&
		     allow_limit(&param, &found, &none, "train", 7, ALLOW_fidelity) == FIDELITY_ALL,
	     "limits of jobs are as the aond before knew them");
	kept_claim(&k, 41, 778, &a);
	T_OK(allow_empty(&a), "another process of that number has none of them");
	kept_claim(&k, 41, 777, &a);
	T_OK(a.admin_set[ALLOW_disk_mib_day] && a.admin[ALLOW_disk_mib_day] == 9 &&
		     a.own_set[ALLOW_fidelity] && a.own[ALLOW_fidelity] == FIDELITY_TENTH &&
		     k.n == 1,
	     "a process finds its own, and nothing that is no limit");
	a = none;
	kept_claim(&k, 41, 777, &a);
	T_OK(allow_empty(&a), "once");
	kept_fini(&k);
}

int main(void)
{
	param_defaults(&param);
	test_kept();
	test_order();
	test_room();
	test_rungs();
	test_journal();
	return t_done();
}
