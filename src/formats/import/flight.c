/* SPDX-License-Identifier: Apache-2.0 */
/* flight.c - reads torch's Flight Recorder with SQLite's JSON; see flight.h. */
#include "import/flight.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <string.h>

#define STATUS "HTTP/1."

static const char query[] =
	"WITH c AS (SELECT coalesce(json_extract(value, '$.process_group[0]'), '') AS g,"
	"  coalesce(json_extract(value, '$.collective_seq_id'), 0) AS n,"
	"  coalesce(json_extract(value, '$.retired'), 1) AS ended,"
	"  coalesce(json_extract(value, '$.profiling_name'), '') AS what,"
	"  coalesce(json_extract(value, '$.time_created_ns'), 0) AS ns"
	"  FROM json_each(?1, '$.entries')"
	"  WHERE type = 'object' AND coalesce(json_extract(value, '$.is_p2p'), 0) = 0),"
	" o AS (SELECT g, min(n) AS n, what, ns FROM c WHERE NOT ended GROUP BY g)"
	" SELECT c.g, max(c.n), coalesce(o.n, 0), coalesce(o.what, ''), coalesce(o.ns, 0)"
	" FROM c LEFT JOIN o ON o.g = c.g GROUP BY c.g ORDER BY c.g";

int flight_body(const char *answer, size_t n, const char **body, size_t *len)
{
	const char *end = memmem(answer, n, "\r\n\r\n", 4);

	if (n < strlen(STATUS) + 5 || memcmp(answer, STATUS, strlen(STATUS)) || !end)
		return -EBADMSG;
	if (memcmp(answer + strlen(STATUS) + 1, " 200", 4))
		return -ENOENT;
	*body = end + 4;
	*len = n - (size_t)(*body - answer);
	return 0;
}

static uint64_t number(sqlite3_stmt *s, int col)
{
	int64_t v = sqlite3_column_int64(s, col);

	return v > 0 ? (uint64_t)v : 0;
}

static const char *text(sqlite3_stmt *s, int col)
{
	const char *t = (const char *)sqlite3_column_text(s, col);

	return t ? t : "";
}

static int each(sqlite3_stmt *s, flight_fn *fn, void *arg)
{
	int n = 0, rc, err;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct flight_group g = { .name = text(s, 0),
					  .last = number(s, 1),
					  .open = number(s, 2),
					  .what = text(s, 3),
					  .since_ns = number(s, 4) };

		err = fn(arg, &g);
		if (err < 0)
			return err;
		n++;
	}
	return rc == SQLITE_DONE ? n : -EBADMSG;
}

int flight_each(const char *json, size_t len, flight_fn *fn, void *arg)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	int rc = -ENOMEM;

	if (len > INT_MAX)
		return -EBADMSG;
	if (sqlite3_open_v2(":memory:", &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, query, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, json, (int)len, SQLITE_STATIC) == SQLITE_OK)
		rc = each(s, fn, arg);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return rc;
}
