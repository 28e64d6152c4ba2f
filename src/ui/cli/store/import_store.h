/* SPDX-License-Identifier: Apache-2.0 */
/* import_store.h - imports traces of other tools into a new store: completely, or not at all. */
#pragma once

#include <limits.h>

#include "cli/core/cli.h"

#define IMPORT_STORE_PATH (PATH_MAX - 32) /* bytes of a store's name, at most */

struct trace;
struct into_store;

/*
 * Imports the files into the store `to`, which must not exist yet; the trace, empty before, has the
 * result of each. CLI_OK also if files were damaged, see inputs_exit(); CLI_FAIL after an error
 * message, and then there is no store.
 */
int import_store(const struct opts *o, struct trace *t, char *const path[], int paths,
		 const char *to);

/*
 * The same for any trace: `fill` adds to it, and it streams into the store. A result of `fill`
 * other than CLI_OK, after its error message, is returned. import_stopped(): the user asked it to
 * end.
 */
typedef int import_fill_fn(void *arg, struct trace *t, struct into_store *into);
int import_store_by(struct trace *t, const char *to, import_fill_fn *fill, void *arg);
bool import_stopped(void);

/* A store that is not to be left behind. */
void import_remove(const char *to);
