/* SPDX-License-Identifier: Apache-2.0 */
/* Records of steps and what the node is: given back as they were, kept within the cap, and added to
 * stores of the version that had none. */
#include "storekit.h"

#include <sqlite3.h>

#define S 1000000000ull

struct seen {
	uint64_t n, steps, slots;
	uint32_t last;
	bool order;
};

static int see(void *arg, uint32_t process, const struct step_rec *r)
{
	struct seen *s = arg;

	s->order = (!s->n || r->step > s->last) && process == 1 && r->world == 4;
	s->last = r->step;
	s->slots += r->slots;
	s->n++;
	return s->order ? 0 : -EINVAL;
}

static void test_round_trip(void)
{
	const char *path = kit_path("steps");
	struct node_ident node = { .host = "gpu-7", .rack = "r1", .cluster = "c" }, got;
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 1);
	struct seen a = { 0 }, b = { 0 };
	struct store_filter all = { 0 };
	uint64_t after = 0, last = 0;
	struct store_stat stat;

	snprintf(p.ident.pod, sizeof(p.ident.pod), "train-0");
	snprintf(p.ident.gpu_uuid, sizeof(p.ident.gpu_uuid), "GPU-1234");
	T_OK(store_process(st, &p) == 0 && store_node(st, &node) == 0 &&
		     kit_steps(st, p.id, 10, 8) == 0 && kit_steps(st, p.id, 18, 3) == 0 &&
		     store_commit(st, S) == 0,
	     "records of steps are stored");
	store_close(st);
	T_OK(store_check(path, NULL, NULL, NULL) == 0, "and checked");
	T_OK(store_open_ro(&st, path, NULL) == 0 && store_each_step(st, &all, see, &a) == 0 &&
		     a.n == 11 && a.slots == 10,
	     "all of them come back in order: %llu", (unsigned long long)a.n);
	T_OK(store_last_step(st, &last) == 0 && store_new_steps(st, &after, see, &b) == 0 &&
		     b.n == 11 && after == last && store_new_steps(st, &after, see, &b) == 0 &&
		     b.n == 11,
	     "those after a number come once");
	T_OK(store_stat(st, &stat) == 0 && stat.steps == 11 && stat.version == 4,
	     "they are counted");
	T_OK(store_node_get(st, &got) == 0 && !strcmp(got.host, "gpu-7") && !strcmp(got.rack, "r1"),
	     "what the node is comes back");
	store_close(st);
}

static int see_process(void *arg, const struct process *p)
{
	*(struct process *)arg = *p;
	return 0;
}

static void test_identity(void)
{
	struct store *st;
	struct process p = { 0 };

	if (store_open_ro(&st, kit_path("steps"), NULL) < 0)
		abort();
	store_each_process(st, see_process, &p);
	T_OK(!strcmp(p.ident.pod, "train-0") && !strcmp(p.ident.gpu_uuid, "GPU-1234") &&
		     !*p.ident.user,
	     "a process's identity comes back");
	store_close(st);
}

/* A file as version 1 left it: without the tables that are new. */
static void make_old(const char *path)
{
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 1);
	sqlite3 *db;

	if (kit_commit(st, &p, 0, 100, S) < 0)
		abort();
	store_close(st);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "PRAGMA journal_mode=DELETE;DROP TABLE step;DROP TABLE node;DROP TABLE "
			 "series;DROP TABLE tele;DROP TABLE stack;"
			 "PRAGMA user_version=1;PRAGMA journal_mode=WAL",
			 NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(db);
}

static void test_old(void)
{
	const char *path = kit_path("old");
	struct store_filter all = { 0 };
	struct store_salvage n = { 0 };
	struct seen a = { 0 };
	struct node_ident node;
	struct store_stat stat;
	struct store *st;

	make_old(path);
	T_OK(store_check(path, NULL, NULL, NULL) == 0, "a store of version 1 is sound");
	T_OK(store_open_ro(&st, path, NULL) == 0 && store_each_step(st, &all, see, &a) == 0 &&
		     a.n == 0 && store_node_get(st, &node) == -ENOENT &&
		     store_stat(st, &stat) == 0 && stat.version == 1 && stat.events == 100,
	     "it is read, and has no steps");
	store_close(st);
	T_OK(store_salvage(path, kit_path("old-saved"), &n, NULL) == 0 && n.events == 100,
	     "it is salvaged");
	st = kit_open(path, 0, 0);
	T_OK(kit_steps(st, 1, 1, 2) == 0 && store_commit(st, S) == 0,
	     "a writer gives it what it lacks");
	store_close(st);
	T_OK(store_open_ro(&st, path, NULL) == 0 && store_each_step(st, &all, see, &a) == 0 &&
		     a.n == 2 && store_stat(st, &stat) == 0 && stat.version == 4 &&
		     stat.events == 100,
	     "and nothing else has changed");
	store_close(st);
}

static void test_cap(void)
{
	const char *path = kit_path("capped");
	struct store *st = kit_open(path, 1u << 20, 0);
	struct process p = kit_process(st, 1);
	struct seen a = { 0 };
	struct store_filter all = { 0 };
	int err = 0;

	for (uint64_t i = 1; i <= 12000 && !err; i++) {
		err = kit_steps(st, p.id, i * 8, 8);
		if (!err && i % 50 == 0)
			err = store_commit(st, i * S);
	}
	T_OK(err == 0 && store_bytes(st) <= 1u << 20,
	     "records of steps keep to the cap: %llu bytes", (unsigned long long)store_bytes(st));
	store_close(st);
	if (store_open_ro(&st, path, NULL) < 0)
		abort();
	T_OK(store_each_step(st, &all, see, &a) == 0 && a.n > 100 && a.n < 96000 &&
		     a.last == 12000 * 8 + 7,
	     "the oldest went: %llu are left", (unsigned long long)a.n);
	store_close(st);
}

static void test_refused(void)
{
	struct store *st = kit_open(kit_path("refused"), 0, 0);
	uint8_t bytes[16] = "no record here";
	struct store_steps b = { .process = 1, .count = 1, .bytes = bytes, .len = sizeof(bytes) };

	T_OK(store_steps(st, &b) == -EINVAL, "what is no record is not stored");
	b.len = b.count = 0;
	T_OK(store_steps(st, &b) == -EINVAL, "nor is nothing");
	store_rollback(st);
	store_close(st);
}

int main(void)
{
	kit_begin();
	test_round_trip();
	test_identity();
	test_old();
	test_cap();
	test_refused();
	return kit_end();
}
