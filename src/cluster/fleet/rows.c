/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - see rows.h. */
#include "fleet/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "fleet/ask.h"
#include "fleet/priv.h"

/* --- the format --- */

/* The byte that backslash `c` stands for; -1: invalid. */
static int escaped(char c)
{
	static const char from[] = "bfrnt0'\\", to[] = "\b\f\r\n\t\0'\\";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? (unsigned char)to[at - from] : -1;
}

/* Decodes, in place, a field up to the tab or line end; *next points behind that. */
static int field(char *at, char *end, char **next, char *stop, struct fleet_value *v)
{
	char *out = at;

	*v = (struct fleet_value){ .type = FLEET_TEXT, .text = at };
	if (end - at >= 2 && at[0] == '\\' && at[1] == 'N') {
		v->type = FLEET_NULL;
		at += 2;
	}
	for (; at < end && *at != '\t' && *at != '\n'; at++) {
		int c = (unsigned char)*at;

		if (v->type == FLEET_NULL)
			return -EBADMSG;
		if (c == '\\') {
			c = at + 1 < end ? escaped(at[1]) : -1;
			at++;
		}
		if (c < 0)
			return -EBADMSG;
		*out++ = (char)c;
	}
	if (at == end)
		return -EBADMSG; /* every line must end with a line feed */
	*stop = *at;
	*next = at + 1;
	if (v->type == FLEET_TEXT) {
		v->len = (size_t)(out - v->text);
		*out = '\0';
	}
	return 0;
}

/* Parses the fields of a line; returns their number, or -errno. */
static int line(char **at, char *end, struct fleet_value v[FLEET_COLUMNS])
{
	char stop = '\t';
	int n = 0, err;

	for (; stop == '\t'; n++) {
		if (n == FLEET_COLUMNS)
			return -EBADMSG;
		err = field(*at, end, at, &stop, &v[n]);
		if (err)
			return err;
	}
	return n;
}

static enum fleet_type type_of(const char *word)
{
	if (!strncmp(word, "Nullable(", 9))
		word += 9;
	return !strncmp(word, "Int", 3) || !strncmp(word, "UInt", 4) ? FLEET_INT
	       : !strncmp(word, "Float", 5)                          ? FLEET_REAL
								     : FLEET_TEXT;
}

static void understand(struct fleet_value *v, enum fleet_type type)
{
	const char *end = "";

	if (v->type == FLEET_NULL || type == FLEET_TEXT || !v->len)
		return;
	if (type == FLEET_REAL)
		v->real = num_front_real(v->text, &end);
	else if (num_i64(v->text, INT64_MIN, INT64_MAX, &v->i) < 0)
		return;
	if (!*end)
		v->type = type;
}

int fleet_tsv(char *text, size_t len, const struct fleet_sink *sink)
{
	struct fleet_value *v = calloc(FLEET_COLUMNS, sizeof(*v));
	const char *name[FLEET_COLUMNS];
	enum fleet_type type[FLEET_COLUMNS];
	char *at = text, *end = text + len;
	int err = v ? 0 : -ENOMEM, cols = v ? line(&at, end, v) : 0, n;

	if (!err && cols < 0)
		err = cols;
	for (int i = 0; i < cols && !err; i++)
		name[i] = v[i].type == FLEET_NULL ? "" : v[i].text;
	n = err ? 0 : line(&at, end, v);
	if (!err && n != cols)
		err = n < 0 ? n : -EBADMSG;
	for (int i = 0; i < cols && !err; i++)
		type[i] = v[i].type == FLEET_NULL ? FLEET_TEXT : type_of(v[i].text);
	err = err ? err : sink->begin(sink->arg, name, cols);
	while (!err && at < end) {
		n = line(&at, end, v);
		if (n != cols)
			err = n < 0 ? n : -EBADMSG;
		for (int i = 0; i < cols && !err; i++)
			understand(&v[i], type[i]);
		err = err ? err : sink->row(sink->arg, v, cols);
	}
	free(v);
	return err;
}

/* --- asking --- */

static int read_answer(struct fleet *f, const struct http_answer *a, void *arg,
		       struct store_why *why)
{
	char *copy = malloc(a->len + 1);
	int err = -ENOMEM;

	if (copy) {
		memcpy(copy, a->data, a->len);
		copy[a->len] = '\0';
		err = fleet_tsv(copy, a->len, arg);
	}
	free(copy);
	return err == -EBADMSG ? fleet_because(why, err, "%s: the answer breaks off", f->shown)
			       : err;
}

static int ask(struct fleet *f, struct sql *q, uint32_t seconds, const struct fleet_sink *sink,
	       struct store_why *why)
{
	struct fleet_sink copy = *sink;
	const char *text;
	int err = -ENOMEM;

	sql_add(q, " FORMAT TabSeparatedWithNamesAndTypes");
	text = sql_done(q);
	if (text)
		err = fleet_ask_with(f, text, seconds, read_answer, &copy, why);
	sql_fini(q);
	return err;
}

int fleet_select(struct fleet *f, const char *query, uint64_t most, uint32_t seconds,
		 const struct fleet_sink *sink, struct store_why *why)
{
	struct sql q;

	sql_init(&q);
	sql_add(&q, "SELECT * FROM (\n%s\n) LIMIT %" PRIu64, query, most);
	return ask(f, &q, seconds, sink, why);
}

int fleet_tables(struct fleet *f, const struct fleet_sink *sink, struct store_why *why)
{
	struct sql q;

	sql_init(&q);
	sql_add(&q, "SELECT table, arrayStringConcat(groupArray(name), ' ') AS columns FROM"
		    " system.columns WHERE database = currentDatabase() AND NOT"
		    " match(table, '_view$|_local$|^aon_schema$|^\\\\.') GROUP BY table ORDER BY "
		    "table");
	return ask(f, &q, FLEET_ASK_S, sink, why);
}

/* --- lists --- */

#define WHEN(ns) "toString(toDateTime(intDiv(" ns ", 1000000000), 'UTC'))"

/* Inner columns get names that the table does not have: ClickHouse confuses equal names. */
static void list_processes(struct sql *q, const struct fleet *f, const struct fleet_list_ask *a)
{
	sql_add(q,
		"SELECT jb AS job, rk AS rank, hs AS host, pd AS pid, us AS user, cm AS command,"
		" multiIf(lv = 0, 'gone', e < %" PRIu64 ", 'silent', 'live') AS state, " WHEN(
			"e") " AS seen, gp AS gpus, rc AS records, ls AS lost, nt AS note FROM"
			     " (SELECT proc, any(job) AS jb, any(rank) AS rk, any(host) AS hs, "
			     "any(pid) AS pd,"
			     " any(user) AS us, argMax(comm, end_ns) AS cm, argMax(live, end_ns) "
			     "AS lv,"
			     " max(end_ns) AS e, any(gpu_uuid) AS gp, argMax(emitted, end_ns) AS "
			     "rc,"
			     " argMax(lost, end_ns) AS ls, argMax(note, end_ns) AS nt FROM process "
			     "WHERE ",
		a->span.to_ns - (uint64_t)FLEET_SILENT_NS);
	ask_where(q, f, a->job);
	sql_add(q, " AND end_ns >= %" PRIu64 " AND begin_ns < %" PRIu64 " GROUP BY proc)",
		a->span.from_ns, a->span.to_ns);
	if (!a->gone)
		sql_add(q, " WHERE lv != 0");
	sql_add(q, " ORDER BY job, rank, host, pid LIMIT %u", FLEET_LIST);
}

static void list_alarms(struct sql *q, const struct fleet *f, const struct fleet_list_ask *a)
{
	sql_add(q, "SELECT " WHEN("t_ns") " AS since, if(until_ns = 0, '', " WHEN(
			   "until_ns") ") AS until, job, rank, host, kind, source, text FROM "
				       "finding WHERE ");
	ask_where(q, f, a->job);
	sql_add(q,
		" AND t_ns < %" PRIu64 " AND (t_ns >= %" PRIu64 " OR until_ns >= %" PRIu64
		") ORDER BY t_ns, job, rank LIMIT %u",
		a->span.to_ns, a->span.from_ns, a->span.from_ns, FLEET_LIST);
}

static void list_overhead(struct sql *q, const struct fleet *f, const struct fleet_list_ask *a)
{
	sql_add(q, "SELECT jb AS job, rk AS rank, hs AS host, pd AS pid, cm AS command, if(n = 0, "
		   "NULL, round(100 * s, 3)) AS"
		   " slowdown_pct, if(n = 0, NULL, round(100 * l, 3)) AS lo_pct,"
		   " if(n = 0, NULL, round(100 * h, 3)) AS hi_pct, round(100 * c, 3) AS"
		   " accounted_pct, n AS pairs, arrayElement([");
	for (size_t i = 0; i < a->levels; i++) {
		sql_add(q, "%s", i ? "," : "");
		sql_text(q, a->fidelity[i]);
	}
	sql_add(q, "], r + 1) AS records FROM (SELECT proc, any(job) AS jb,"
		   " any(rank) AS rk, argMax(slowdown, t_ns) AS s, argMax(lo, t_ns) AS l,"
		   " argMax(hi, t_ns) AS h, argMax(accounted, t_ns) AS c, argMax(pairs, t_ns) AS n,"
		   " argMax(rung, t_ns) AS r FROM overhead WHERE ");
	ask_where(q, f, a->job);
	sql_add(q,
		" AND t_ns >= %" PRIu64 " AND t_ns < %" PRIu64
		" GROUP BY proc) ANY LEFT JOIN (SELECT proc, any(host) AS hs,"
		" any(pid) AS pd, any(comm) AS cm FROM process WHERE ",
		a->span.from_ns, a->span.to_ns);
	ask_where(q, f, a->job);
	sql_add(q, " GROUP BY proc) USING (proc) ORDER BY job, rank, proc LIMIT %u", FLEET_LIST);
}

static void list_telemetry(struct sql *q, const struct fleet *f, const struct fleet_list_ask *a)
{
	sql_add(q, "SELECT metric, host, device, labels, argMax(value, t_ns) AS last,"
		   " min(value) AS least, avg(value) AS mean, max(value) AS most,"
		   " any(unit) AS in_unit, " WHEN("max(t_ns)") " AS at FROM telemetry WHERE ");
	ask_where(q, f, NULL);
	sql_add(q, " AND day >= toDate(%" PRIu64 ") AND t_ns >= %" PRIu64 " AND t_ns < %" PRIu64,
		a->span.from_ns / UINT64_C(86400000000000), a->span.from_ns, a->span.to_ns);
	if (a->job) {
		sql_add(q, " AND host GLOBAL IN (SELECT host FROM process WHERE ");
		ask_where(q, f, a->job);
		sql_add(q, ")");
	}
	if (a->metric) {
		sql_add(q, " AND positionCaseInsensitive(metric, ");
		sql_text(q, a->metric);
		sql_add(q, ") > 0");
	}
	if (a->device) {
		sql_add(q, " AND positionCaseInsensitive(concat(device, ' ', labels), ");
		sql_text(q, a->device);
		sql_add(q, ") > 0");
	}
	sql_add(q,
		" GROUP BY metric, host, device, labels ORDER BY metric, host, device, labels"
		" LIMIT %u",
		FLEET_LIST);
}

int fleet_list(struct fleet *f, enum fleet_list what, const struct fleet_list_ask *a,
	       const struct fleet_sink *sink, struct store_why *why)
{
	static void (*const list[])(struct sql *, const struct fleet *,
				    const struct fleet_list_ask *) = {
		[FLEET_PROCESSES] = list_processes,
		[FLEET_ALARMS] = list_alarms,
		[FLEET_OVERHEAD] = list_overhead,
		[FLEET_TELEMETRY] = list_telemetry,
	};
	struct sql q;

	sql_init(&q);
	list[what](&q, f, a);
	return ask(f, &q, FLEET_ASK_S, sink, why);
}
