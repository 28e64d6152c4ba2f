/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backend.h"

#include <errno.h>
#include <string.h>

#include "t.h"

static int closed;

static void end(void *self)
{
	closed += self == &closed;
}

static int two_processes(void *self, store_process_fn *fn, void *arg)
{
	struct process p = { .id = 1 };
	int err;

	(void)self;
	err = fn(arg, &p);
	p.id = 2;
	return err ? err : fn(arg, &p);
}

static const char *name_of(void *self, uint32_t id)
{
	(void)self;
	return id == 7 ? "gemm" : NULL;
}

static const struct store_ops ops = {
	.close = end,
	.each_process = two_processes,
	.name_text = name_of,
};

static int opens(struct store **out, const char *name, struct store_why *why)
{
	if (!strcmp(name, "made-up://gone")) {
		snprintf(why->text, sizeof(why->text), "nobody answers");
		return -ECONNREFUSED;
	}
	return store_elsewhere(out, name, &ops, &closed);
}

static int sum_ids(void *arg, const struct process *p)
{
	*(uint32_t *)arg += p->id;
	return 0;
}

static int never_window(void *arg, const struct window *w)
{
	(void)arg, (void)w;
	return -EIO;
}

static int never_columns(void *arg, uint32_t process, const struct event_columns *c)
{
	(void)arg, (void)process, (void)c;
	return -EIO;
}

static void read_it(void)
{
	uint64_t blob = 9, events = 9, held = 0;
	struct store_filter all = { 0 };
	struct store_stat stat;
	struct store *st = NULL;
	struct geo geo;
	uint32_t sum = 0;

	T_OK(store_open_ro(&st, "made-up://here", NULL) == 0 && st, "a name of a backend opens");
	T_OK(store_each_process(st, sum_ids, &sum) == 0 && sum == 3, "its walk is the store's");
	T_OK(!strcmp(store_name_text(st, 7), "gemm"), "so are its names");
	T_OK(!strcmp(store_name_text(st, 8), "?"), "a name that it does not know is a question");
	T_OK(store_each_window(st, &all, never_window, NULL) == 0, "what it has none of is empty");
	T_OK(store_each_events(st, &all, 0, never_columns, NULL) == 0, "so are events");
	T_OK(store_extent(st, &blob, &events) == 0 && !blob && !events, "and their number is 0");
	T_OK(store_held(st, 1, &held) == 0 && held == UINT64_MAX, "nothing is held");
	T_OK(store_stat(st, &stat) == 0 && !stat.events, "sums are 0");
	T_OK(store_geo_get(st, 1, &geo) == -ENOENT, "there is no such geometry");
	store_close(st);
	T_OK(closed == 1, "it is closed once");
}

int main(void)
{
	struct store_why why = { "" };
	struct store *st = NULL;

	T_OK(!store_is_elsewhere("made-up://here"), "without a backend every name is a file");
	store_backend("made-up://", opens);
	T_OK(store_is_elsewhere("made-up://here") && !store_is_elsewhere("./made-up://here"),
	     "a backend has the names that begin with its prefix");
	read_it();
	T_OK(store_open_ro(&st, "made-up://gone", &why) == -ECONNREFUSED && !st &&
		     !strcmp(why.text, "nobody answers"),
	     "what a backend says of a failure is the store's word");
	return t_done();
}
