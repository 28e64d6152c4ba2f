/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_in.h - SQLite files of other tools: opened read-only and as immutable, and never trusted.
 */
#pragma once

#include <sqlite3.h>

#include "import/priv.h"

/* A real table: no view, no virtual table. */
bool sqlite_in_table(sqlite3 *db, const char *name);

/* The readers; size: of the file, 0 if it is not known. */
int nsys_import(const struct importing *im, sqlite3 *db, uint64_t size);
int rocpd_import(const struct importing *im, sqlite3 *db, uint64_t size);
