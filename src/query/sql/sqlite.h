/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite.h - SQLite as this folder calls it: linked (aon sql), or through the function table that a
 * host passes to a loadable extension (aon_sqlite.so). The host's library may be another copy than
 * the one that reads the store, so no call may mix the two.
 */
#pragma once

#ifdef AON_SQL_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif
