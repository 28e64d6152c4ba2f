/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_in.c - opens an SQLite file, and chooses its reader by its tables; see sqlite_in.h. */
#include "import/sqlite_in.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_MAX (16 << 20)

bool sqlite_in_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *s;
	bool found;

	if (sqlite3_prepare_v2(db,
			       "SELECT 1 FROM sqlite_schema WHERE name=?1 AND sql LIKE 'CREATE "
			       "TABLE%'",
			       -1, &s, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	found = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_finalize(s);
	return found;
}

static int open_path(sqlite3 **db, const char *path)
{
	char uri[PATH_MAX + 64];
	size_t len = (size_t)snprintf(uri, sizeof(uri), "file:");

	for (; *path && len < PATH_MAX; path++)
		len += (size_t)snprintf(uri + len, sizeof(uri) - len,
					strchr("?#%", *path) ? "%%%02X" : "%c",
					(unsigned char)*path);
	if (*path)
		return -ENAMETOOLONG;
	snprintf(uri + len, sizeof(uri) - len, "?immutable=1");
	return sqlite3_open_v2(uri, db,
			       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			       NULL) == SQLITE_OK
		       ? 0
		       : -EIO;
}

static int open_bytes(sqlite3 **db, char *bytes, size_t len)
{
	if (sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return -EIO;
	/* A head that says it has a log would make SQLite look for one. */
	if (len > 20)
		bytes[18] = bytes[19] = 1;
	return sqlite3_deserialize(*db, "main", (unsigned char *)bytes, (sqlite3_int64)len,
				   (sqlite3_int64)len, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK
		       ? 0
		       : -EIO;
}

enum made { MADE_OTHER, MADE_NSYS, MADE_ROCPD };

/* Who made the file, by the names of its tables. */
static int made_by(const struct importing *im, sqlite3 *db, enum made *by)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db,
			       "SELECT coalesce(max(name LIKE 'CUPTI_ACTIVITY_KIND_%' OR name IN "
			       "('NVTX_EVENTS','META_DATA_EXPORT')),0), coalesce(max(name LIKE "
			       "'rocpd_kernel_dispatch%' OR name LIKE 'rocpd_metadata%'),0) "
			       "FROM sqlite_schema WHERE type='table'",
			       -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW) {
		sqlite3_finalize(s);
		return import_say(im->why, -EMEDIUMTYPE, "%s: cannot be read: %s", im->path,
				  sqlite3_errmsg(db));
	}
	*by = sqlite3_column_int(s, 0)   ? MADE_NSYS
	      : sqlite3_column_int(s, 1) ? MADE_ROCPD
					 : MADE_OTHER;
	sqlite3_finalize(s);
	if (*by != MADE_OTHER)
		return 0;
	return import_say(im->why, -EMEDIUMTYPE,
			  "%s: an SQLite file, but no export of Nsight Systems (made by: nsys "
			  "export --type sqlite) and no rocpd file of rocprofv3",
			  im->path);
}

static int read_all(const struct importing *im, sqlite3 *db, uint64_t size)
{
	enum made by = MADE_OTHER;
	int err;

	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, STRING_MAX);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_exec(db, "PRAGMA cell_size_check=1;PRAGMA temp_store=2", NULL, NULL, NULL);
	err = made_by(im, db, &by);
	if (err && sqlite3_errcode(db) == SQLITE_CORRUPT) {
		/* SQLite refuses a file that is shorter than its head says, except for repairs. */
		sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
		sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
		err = made_by(im, db, &by);
		import_broke(im, size, "cut short at byte %llu", (unsigned long long)size);
	}
	if (err)
		return err;
	importing_file(im)->tick_ns = 1;
	return by == MADE_NSYS ? nsys_import(im, db, size) : rocpd_import(im, db, size);
}

int sqlite_import(const struct importing *im, struct source *src, bool file)
{
	sqlite3 *db = NULL;
	char *bytes = NULL;
	size_t len = 0;
	int err = 0;

	if (!file)
		err = source_all(src, &bytes, &len);
	if (!err)
		err = file ? open_path(&db, im->path) : open_bytes(&db, bytes, len);
	if (err)
		err = import_say(im->why, err, "%s: cannot be opened: %s", im->path,
				 db ? sqlite3_errmsg(db) : strerror(-err));
	else
		err = read_all(im, db, source_size(src));
	sqlite3_close(db);
	free(bytes);
	return err;
}
