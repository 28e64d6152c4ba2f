/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite.h - SQLite as this folder calls it: linked with (aon sql), or through the table of
 * functions that a host hands to a loadable extension (aon_sqlite.so). The host's library may
 * be another copy than the one that the store is read with, so no call may mix them up.
 */
#pragma once

#ifdef AON_SQL_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif
