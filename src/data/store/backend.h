/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - a store that is not a file: the operations behind store_each_*() for readers.
 *
 * Readers open a store by its name (store_open_ro()) and walk it; they need not know whether it is
 * a file of this machine or a database that many nodes write. A backend takes the names that begin
 * with its prefix. An operation that is NULL returns nothing: walks end at once, numbers are 0. Any thread may call any operation; results and errors are as store.h says.
 */
#pragma once

#include "store/store.h"

/*
 * A backend delivers events one by one: the store turns them into columns, and filters each once
 * more.
 */
typedef int store_rows_fn(void *arg, uint32_t process, const struct event *ev, size_t n);

struct store_ops {
	void (*close)(void *self);
	int (*each_process)(void *self, store_process_fn *fn, void *arg);
	int (*each_track)(void *self, uint32_t process, store_track_fn *fn, void *arg);
	int (*each_name)(void *self, store_name_fn *fn, void *arg);
	int (*each_events)(void *self, const struct store_filter *f, store_rows_fn *fn, void *arg);
	int (*each_window)(void *self, const struct store_filter *f, store_window_fn *fn,
			   void *arg);
	int (*each_entry)(void *self, store_entry_fn *fn, void *arg);
	int (*each_step)(void *self, const struct store_filter *f, store_rec_fn *fn, void *arg);
	const char *(*name_text)(void *self, uint32_t id); /* NULL: not known */
	int (*stat)(void *self, struct store_stat *out);
};

/* A store on top of `ops`; owns `self` from here on, and gives it to close(). */
int store_elsewhere(struct store **out, const char *name, const struct store_ops *ops, void *self);

/*
 * Registers the function that store_open_ro() calls for names that begin with `prefix`, a literal.
 * Call it before starting threads.
 */
typedef int store_open_fn(struct store **out, const char *name, struct store_why *why);
void store_backend(const char *prefix, store_open_fn *open);
/* Whether the name is one of a backend: no file is looked for then. */
bool store_is_elsewhere(const char *name);
