/* SPDX-License-Identifier: Apache-2.0 */
/* test_oom.c - what is said of a process that ran out of memory, and the cgroup that it ran in. */
#include "daemon/alarm/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pool/memory.h"
#include "t.h"

#define MIB (1ull << 20)

static struct aon_memory m;

static struct aon_memory_site *site(uint32_t i, enum aon_memory_part part, const char *name)
{
	struct aon_memory_site *s = &m.site[i];

	*s = (struct aon_memory_site){ .key = 100 + i, .part = (uint16_t)part };
	snprintf(s->name, sizeof(s->name), "%s", name);
	return s;
}

static void begin(uint64_t step, uint64_t live, uint64_t batch)
{
	memset(&m, 0, sizeof(m));
	m.version = AON_MEMORY_VERSION;
	m.bytes = sizeof(m);
	m.step = step;
	m.batch = batch;
	m.total[AON_MEMORY_HOST] = (struct aon_memory_total){ .live = live, .every = 1 };
}

static const char *said(const struct oom_facts *f)
{
	static char text[ENTRY_TEXT];
	struct journal_entry e = { 0 };

	entry_u(&e, FIELD_PID, 7);
	oom_entry(&e, &m, AON_MEMORY_HOST, f);
	return entry_text(&e, text);
}

static void test_growth(void)
{
	struct oom_facts f = { .killed = true, .limit = 1000 * MIB };
	struct aon_memory_site *s;

	begin(41, 900 * MIB, 32);
	site(20, AON_MEMORY_START, "")->live = 100 * MIB;
	s = site(21, AON_MEMORY_FORWARD, "layers.*.attn");
	s->live = 500 * MIB;
	s->since_step = 3;
	s->since = 10 * MIB;
	s->most = 380 * MIB;
	snprintf(s->place, sizeof(s->place), "model.py:88");
	s->placed = 11;
	s = site(22, AON_MEMORY_FORWARD, "layers.*.mlp");
	s->live = 300 * MIB;
	s->since_step = 3;
	s->most = 37 * 5 * MIB;
	T_OK(!strcmp(said(&f), "pid 7: ran out of memory in step 41, and the kernel killed it: 944 "
			       "MB of 1.05 GB "
			       "was held by tensors, 524 MB of it by activations of layers.*.attn "
			       "(model.py:88), "
			       "+15.7 MB each step since step 3"),
	     "what grew, since when, where: %s", said(&f));
}

static void test_fits(void)
{
	struct oom_facts f = { .killed = true, .limit = 1000 * MIB };
	struct aon_memory_total *t = &m.total[AON_MEMORY_HOST];
	struct aon_memory_site *s;

	begin(3, 900 * MIB, 64);
	s = site(21, AON_MEMORY_FORWARD, "fc");
	s->live = 800 * MIB;
	t->rows = 2;
	t->step[0] = (struct aon_memory_step){
		.step = 1, .kept = 110 * MIB, .low = 100 * MIB, .peak = 400 * MIB, .batch = 16
	};
	t->step[1] = (struct aon_memory_step){
		.step = 2, .kept = 110 * MIB, .low = 100 * MIB, .peak = 420 * MIB, .batch = 16
	};
	/* 20 MiB a sample, 800 MiB without what is kept and what is no tensor, a twentieth left free. */
	T_OK(oom_fits(&m, AON_MEMORY_HOST, &f) == 38, "activations scale with the batch: %llu",
	     (unsigned long long)oom_fits(&m, AON_MEMORY_HOST, &f));
	T_OK(strstr(said(&f), "; batch 38 would fit (64 did not)"), "said: %s", said(&f));
	t->rows = 0;
	T_OK(oom_fits(&m, AON_MEMORY_HOST, &f) == 0 &&
		     strstr(said(&f), "which batch would fit is not known (64 did not)"),
	     "no step has ended: not known");
	m.batch = 0;
	T_OK(!strstr(said(&f), "batch"), "no batch is known: nothing is said of it");
}

static void test_elsewhere(void)
{
	struct oom_facts f = {
		.killed = true, .limit = 1000 * MIB, .rss = 900 * MIB, .rss_at = 100 * MIB
	};

	memset(&m, 0, sizeof(m)); /* a process without a table */
	m.step = 5;
	T_OK(!strcmp(said(&f),
		     "pid 7: ran out of memory in step 5, and the kernel killed it: 0 B of "
		     "1.05 GB was held by tensors; the rest is not in tensors; the process held "
		     "944 MB, 105 MB at its start"),
	     "memory that is not torch's: %s", said(&f));
	f = (struct oom_facts){ .caught = true, .limit = 1000 * MIB };
	begin(9, 0, 0);
	m.total[0].fails = 1;
	m.total[0].fail_step = 7;
	m.total[0].fail_bytes = 3 * MIB;
	m.total[0].fail_live = 500 * MIB;
	T_OK(!strcmp(said(&f),
		     "pid 7: ran out of memory in step 7, 3.15 MB more could not be allocated: "
		     "524 MB of 1.05 GB was held by tensors; the program went on"),
	     "an exception that was caught: %s", said(&f));
}

static void test_check(void)
{
	struct aon_memory bad;

	memset(&bad, 0xff, sizeof(bad));
	T_OK(memory_check(&bad) < 0, "another version is refused");
	bad.version = AON_MEMORY_VERSION;
	bad.bytes = sizeof(bad);
	T_OK(memory_check(&bad) == 0 && bad.total[0].rows <= AON_MEMORY_STEPS && !bad.site[5].key,
	     "what cannot be is cut, or left out");
	bad.site[5] = (struct aon_memory_site){ .key = 9, .part = 2, .placed = 9999 };
	memset(bad.site[5].name, 'x', AON_MEMORY_NAME);
	memset(bad.site[5].place, 'y', AON_MEMORY_PLACE);
	memory_check(&bad);
	T_OK(strlen(bad.site[5].name) < AON_MEMORY_NAME && !*bad.site[5].place, "texts end");
	m = bad;
	said(&(struct oom_facts){ .killed = true, .limit = 1 });
}

/* --- the cgroup --- */

static void put(const char *dir, const char *name, const char *text)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static void test_cgroup(void)
{
	char root[] = "/tmp/aon-memcg-XXXXXX", dir[300];
	struct memcg_state s;
	struct memcg g;

	if (!mkdtemp(root))
		exit(1);
	snprintf(dir, sizeof(dir), "%s/pod", root);
	mkdir(dir, 0700);
	put(dir, "memory.max", "1000\n");
	snprintf(dir, sizeof(dir), "%s/pod/c", root);
	mkdir(dir, 0700);
	put(dir, "memory.max", "max\n");
	put(dir, "memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 0\n");
	put(dir, "memory.current", "900\n");
	T_OK(memcg_find(&g, "1:cpu:/x\n0::/pod/c\n", root) && memcg_read(&g, &s) &&
		     s.limit == 1000 && s.oom_kills == 1 && s.used == 900,
	     "version 2, the limit is that of the pod: %llu", (unsigned long long)s.limit);
	snprintf(dir, sizeof(dir), "%s/memory", root);
	mkdir(dir, 0700);
	put(dir, "memory.limit_in_bytes", "9223372036854771712\n");
	put(dir, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	T_OK(memcg_find(&g, "4:memory,cpu:/\n0::/\n", root) && memcg_read(&g, &s) && !s.limit &&
		     s.oom_kills == 3,
	     "version 1, its root, no limit");
	T_OK(!memcg_find(&g, "rubbish\n:::\n0:\n5:cpu:/y\n0::/../../etc\n", root),
	     "rubbish is no cgroup");
	snprintf(dir, sizeof(dir), "rm -r %s", root);
	T_OK(system(dir) == 0 && !memcg_read(&g, &s), "files that are gone tell nothing");
}

int main(void)
{
	test_growth();
	test_fits();
	test_elsewhere();
	test_check();
	test_cgroup();
	return t_done();
}
