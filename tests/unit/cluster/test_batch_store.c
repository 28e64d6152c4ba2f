/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay holds: numbers of sources, gaps, inserts that never change, refusals, a full disk, a crash. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay/batch_store.h"
#include "t.h"

#define S 1000000000ull

static char dir[] = "/tmp/aon-hold-XXXXXX";
static const struct freeze_rules rules = {
	.rows = 100, .rows_max = 250, .bytes = 1u << 20, .bytes_max = 1u << 20, .age_ns = 5 * S
};

static struct batch_store *open_it(uint64_t max)
{
	struct batch_store *h = NULL;
	char why[256] = "";

	if (batch_store_open(&h, dir, max, why) < 0)
		printf("# %s\n", why);
	return h;
}

static struct arrival a_batch(uint64_t src, uint64_t seq, uint64_t first, const char *text)
{
	return (struct arrival){ .src = src,
				 .seq = seq,
				 .first = first,
				 .table = "step",
				 .schema = 1,
				 .day = 20000,
				 .rows = 60,
				 .bytes = strlen(text),
				 .node = "n1",
				 .wire = text,
				 .len = strlen(text) };
}

static int bring(struct batch_store *h, struct arrival *a, uint64_t now)
{
	struct arrival *one[] = { a };

	return batch_store_commit(h, one, 1, now);
}

/* The batches 1, 2 are here. What becomes of the next? */
static const struct {
	const char *name, *node;
	uint64_t src, seq, first;
	int result;
	bool repeated;
	uint64_t last;
} cases[] = {
	/* clang-format off */
	{ "the next is taken",                            "n1", 7, 3, 1, 0,       false, 3 },
	{ "one that was here is not taken twice",         "n1", 7, 2, 2, 0,       true,  2 },
	{ "one whose forerunner is on its way waits",     "n1", 7, 4, 3, -ESTALE, false, 2 },
	{ "one whose forerunners were dropped is taken",  "n1", 7, 9, 9, 0,       false, 9 },
	{ "a source has its own numbers",                 "n1", 8, 1, 1, 0,       false, 1 },
	{ "nobody speaks for another node's source",      "n2", 7, 3, 3, -EPERM,  false, 2 },
	/* clang-format on */
};

static void test_numbers(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct batch_store *h = open_it(1u << 30);
		struct arrival a = a_batch(7, 1, 1, "one"), b = a_batch(7, 2, 2, "two");
		struct arrival c = a_batch(cases[i].src, cases[i].seq, cases[i].first, "next");
		struct arrival *both[] = { &a, &b };
		char cmd[96];

		c.node = cases[i].node;
		batch_store_commit(h, both, 2, 1);
		T_OK(bring(h, &c, 2) == 0 && c.result == cases[i].result &&
			     c.repeated == cases[i].repeated && c.last == cases[i].last,
		     "%s", cases[i].name);
		batch_store_close(h);
		snprintf(cmd, sizeof(cmd), "rm -f %s/hold.db*", dir);
		if (system(cmd) != 0)
			printf("# rm failed\n");
	}
}

struct text {
	char s[256];
};

static int add(void *arg, const void *wire, size_t len)
{
	struct text *t = arg;

	strncat(t->s, wire, len);
	return 0;
}

static void test_inserts(struct batch_store *h)
{
	struct insert in = { 0 }, again = { 0 };
	struct text t = { "" }, u = { "" };
	struct batch_store_stat st;
	bool aside = true;

	for (uint64_t i = 1; i <= 6; i++) {
		struct arrival a = a_batch(1, i, 1, i == 1 ? "A" : i == 2 ? "B" : "C");

		a.day = i == 6 ? 20001 : 20000;
		bring(h, &a, i * S);
	}
	T_OK(batch_store_freeze(h, 0, &rules, 6 * S, false) == 1, "what is large or old is frozen");
	T_OK(batch_store_next(h, 0, "", &in) == 0 && in.rows == 240 && in.batches == 4,
	     "up to the greatest insert");
	T_OK(batch_store_next(h, 1, ",node,", &again) == -ENOENT &&
		     batch_store_next(h, 0, ",step,", &again) == -ENOENT,
	     "another shard, and a table that waits, have none");
	batch_store_read(h, in.id, add, &t);
	struct arrival late = a_batch(1, 7, 7, "late");

	bring(h, &late, 7 * S);
	batch_store_read(h, in.id, add, &u);
	T_OK(!strcmp(t.s, "ABCC") && !strcmp(t.s, u.s), "an insert keeps its bytes");
	T_OK(batch_store_refused(h, in.id, "no", &aside) == 0 && !aside &&
		     batch_store_next(h, 0, "", &again) == 0 && again.id > in.id,
	     "one that is refused is sent batch by batch, under new numbers");
	batch_store_done(h, again.id);
	while (batch_store_next(h, 0, "", &in) == 0)
		if (in.batches == 1 && in.rows == 60)
			batch_store_refused(h, in.id, "bad row", &aside);
		else
			break;
	T_OK(batch_store_stat(h, &st) == 0 && aside && st.aside == 3 && st.inserts == 0,
	     "what is refused alone is set aside, not sent again");
	T_OK(batch_store_freeze(h, 0, &rules, 8 * S, true) == 2 &&
		     batch_store_next(h, 0, "", &in) == 0 && in.batches == 2 &&
		     batch_store_done(h, in.id) == 0 && batch_store_next(h, 0, "", &in) == 0 &&
		     in.batches == 1 && batch_store_done(h, in.id) == 0 &&
		     batch_store_stat(h, &st) == 0 && !st.open_batches && !st.inserts,
	     "each day has its insert, and what was sent is gone");
}

static void test_full(struct batch_store *h)
{
	static char large[300000];
	struct arrival a = a_batch(3, 1, 1, "x");
	int err = 0;

	a.wire = large;
	a.len = sizeof(large);
	for (a.seq = 1; a.seq < 20 && !err; a.seq++)
		err = bring(h, &a, 1);
	T_OK(err == -ENOSPC && a.seq > 2, "a full hold takes nothing more");
	a.seq--;
	for (struct insert in; batch_store_freeze(h, 0, &rules, 9 * S, true) > 0;)
		while (batch_store_next(h, 0, "", &in) == 0)
			batch_store_done(h, in.id);
	T_OK(bring(h, &a, 1) == 0 && a.last == a.seq, "and goes on when there is room");
}

/* In a process of its own: it ends within the commit. */
static int die(const char *where, uint64_t src)
{
	struct arrival a = a_batch(src, 1, 1, "x");
	struct batch_store *h;

	strcpy(dir, where);
	h = open_it(1u << 30);
	return h ? bring(h, &a, 1) : 1;
}

static void test_crash(const char *self)
{
	struct arrival a;
	struct batch_store *h;
	int status;
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (pid == 0) {
			setenv("AON_FAULT", i ? "hold.committed" : "hold.commit", 1);
			execl(self, self, dir, i ? "51" : "50", NULL);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		h = open_it(1u << 30);
		a = a_batch(50 + (uint64_t)i, 1, 1, "x");
		T_OK(WIFSIGNALED(status) && h && bring(h, &a, 1) == 0 && a.repeated == (i == 1),
		     "killed %s a commit: %s", i ? "after" : "before",
		     i ? "it is here once" : "it was not here");
		batch_store_close(h);
	}
}

int main(int argc, char *argv[])
{
	struct batch_store *h, *other = NULL;
	char cmd[96], why[256] = "";

	if (argc == 3 && strlen(argv[1]) < sizeof(dir))
		return die(argv[1], strtoull(argv[2], NULL, 10));
	if (!mkdtemp(dir))
		return 1;
	test_numbers();
	h = open_it(2u << 20);
	T_OK(batch_store_open(&other, dir, 1, why) == -EBUSY && strstr(why, "another relay"),
	     "two relays do not share a folder");
	test_inserts(h);
	test_full(h);
	batch_store_close(h);
	test_crash(argv[0]);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd) == 0 ? t_done() : 1;
}
