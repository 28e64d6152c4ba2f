/* SPDX-License-Identifier: Apache-2.0 */
/* A query gives the same rows whether its conditions and order are served here or by SQLite. */
#include "storekit.h"

#include "sql/sql.h"

#define BLOBS  4u
#define EVENTS 700u

struct text {
	char *s; /* owned */
	size_t len, cap, rows;
	size_t stop_after; /* rows; 0: never */
};

static int on_begin(void *arg, const char *const *names, int cols)
{
	(void)arg, (void)names, (void)cols;
	return 0;
}

static int on_row(void *arg, const struct sql_value *v, int cols)
{
	struct text *t = arg;

	if (t->len + 4096 > t->cap) {
		t->cap = t->cap * 2 + 65536;
		t->s = realloc(t->s, t->cap);
	}
	for (int i = 0; i < cols; i++)
		t->len += (size_t)(v[i].type == SQL_INT
					   ? sprintf(t->s + t->len, "%lld|", (long long)v[i].i)
				   : v[i].type == SQL_REAL
					   ? sprintf(t->s + t->len, "%.9g|", v[i].real)
				   : v[i].type == SQL_TEXT
					   ? sprintf(t->s + t->len, "%.200s|", v[i].text)
					   : sprintf(t->s + t->len, "-|"));
	t->s[t->len++] = '\n';
	t->s[t->len] = 0;
	return ++t->rows == t->stop_after ? 77 : 0;
}

static int on_end(void *arg)
{
	(void)arg;
	return 0;
}

static int run(struct sql *s, const char *query, struct text *t, struct sql_why *why)
{
	struct sql_sink sink = { on_begin, on_row, on_end, t };

	t->len = t->rows = 0;
	if (t->s)
		*t->s = 0;
	return sql_run(s, query, &sink, why);
}

/* `@` stands before what is taken, or with "+" left to SQLite. */
static char *variant(const char *query, const char *mark)
{
	char *out = malloc(strlen(query) * 2 + 1), *p = out;

	for (; *query; query++)
		if (*query == '@')
			p = stpcpy(p, mark);
		else
			*p++ = *query;
	*p = 0;
	return out;
}

/* All have an order, or one row. */
static const char *const queries[] = {
	"select count(*), sum(dur), min(ts), max(ts) from kernel",
	"select count(*), sum(dur) from range",
	"select name, count(*), sum(dur) from kernel group by @name order by +name",
	"select name, count(*), sum(dur), min(lane), max(correlation) from event group by @name "
	"order by +name",
	"select device, name, count(*), sum(dur), max(id) from event group by @device, @name order "
	"by +device, +name",
	"select name, device, count(*) from event group by @name, @device order by @name, @device",
	"select name, device, count(*) from event group by 1, 2 order by @name desc, @device desc",
	"select kind, stream, count(*), sum(depth) from event group by @kind, @stream order by "
	"+kind, +stream",
	"select pid, tid, process, count(*) from event group by @pid, @tid, @process order by "
	"+pid, +tid, +process",
	"select distinct name from kernel order by @name",
	"select distinct @device, @name from event order by 1, 2",
	"select distinct @name from event where dur % 2 = 1 order by 1",
	"select name_id, ts from kernel order by @name_id, +ts limit 50",
	"select name, id from event order by @name desc, +id limit 50",
	"select class, count(*), sum(dur) from kernel group by @class order by +class",
	"select class, device, count(*), max(ts) from kernel group by @class, @device order by "
	"@class desc, @device",
	"select distinct class from kernel order by @class",
	"select count(*), sum(dur) from kernel where @class = 'gemm'",
	"select count(*), sum(dur) from kernel where @class in ('gemm', 'no such')",
	"select name, class, count(*) from kernel where @class like 'G%' group by @name order by 1",
	"select count(*), sum(dur) from event where @device = 1",
	"select count(*), sum(dur) from event where @device is null",
	"select count(*), sum(dur) from event where @device is not null and @stream > 7",
	"select count(*), sum(dur) from event where @device in (0, 5, 7)",
	"select count(*), sum(dur) from event where @name = 'kernel 3'",
	"select count(*), sum(dur) from event where @name in ('kernel 3', 'kernel 4', 'no such')",
	"select count(*), sum(dur) from event where @name like 'KERNEL%4'",
	"select count(*), sum(dur) from event where @name glob 'kernel [2-4]'",
	"select count(*), sum(dur) from event where @name = 'Kernel 3' collate nocase",
	"select count(*), sum(dur) from event where @name = 3",
	"select count(*), sum(dur) from event where @name is null",
	"select count(*), sum(dur) from event where @kind = 'range'",
	"select count(*), sum(dur) from event where @kind in ('range', 'kernel')",
	"select count(*), sum(dur) from event where @ts >= 10000000 and @ts < 20000000",
	"select count(*), sum(dur) from event where @ts between 9999999.5 and 20000000.5",
	"select count(*), sum(dur) from event where @ts < 'abc'",
	"select count(*), sum(dur) from event where @ts < -5",
	"select count(*), sum(dur) from event where @ts > 9e99",
	"select count(*), sum(dur) from event where @ts = null",
	"select count(*), sum(dur) from event where @end_ts <= 20000000 and @dur > 2000",
	"select count(*), sum(dur) from event where @dur = 1000.0 or @dur = 1000.5",
	"select count(*), sum(dur) from event where @dur = 1000.5",
	"select count(*), sum(dur) from kernel where @correlation = 3000",
	"select count(*), sum(dur) from kernel where @correlation in (3000, 3003, 3006)",
	"select count(*), sum(dur) from range where @depth >= 1 and @ts > 5000000",
	"select count(*), sum(dur) from event where @pid = 200 and @name = 'kernel 3' and @ts > "
	"30000000",
	"select count(*), sum(k.dur) from kernel a join kernel k on @k.correlation = a.correlation"
	" and @k.process = a.process where a.ts < 1500000",
	"select r.id, count(*), sum(k.dur) from range r join kernel k on @k.ts >= r.ts and @k.ts < "
	"r.ts + 100000"
	" and @k.process = r.process where r.ts < 2000000 group by r.id order by r.id",
	"select k.name, count(*) from name n join kernel k on @k.name = n.text group by 1 order by "
	"1",
};

static void test_same(struct store *st, uint64_t memory_bytes, const char *how)
{
	struct sql_opts o = { .memory_bytes = memory_bytes };
	struct text a = { 0 }, b = { 0 };
	struct sql_why why;
	struct sql *s;
	int bad = 0;

	if (sql_open(&s, st, &o, &why) < 0)
		abort();
	for (size_t i = 0; i < T_LEN(queries); i++) {
		char *taken = variant(queries[i], ""), *left = variant(queries[i], "+");
		int err = run(s, taken, &a, &why), other = run(s, left, &b, &why);

		if (err || other || !a.rows || strcmp(a.s, b.s)) {
			printf("# %s: %d %d %s: %zu and %zu rows\n# %.300s# %.300s", taken, err,
			       other, err || other ? why.text : "", a.rows, b.rows, a.s ? a.s : "",
			       b.s ? b.s : "");
			bad++;
		}
		free(taken);
		free(left);
	}
	T_OK(bad == 0, "%zu queries give what SQLite alone gives, %s", T_LEN(queries), how);
	sql_close(s);
	free(a.s);
	free(b.s);
}

static const struct {
	const char *query;
	int want, at;
	const char *text;
} refused[] = {
	{ "select nam from kernel", -EINVAL, 7, "no such column" },
	{ "selec", -EINVAL, 0, "syntax error" },
	{ "", -EINVAL, -1, "no query" },
	{ "select 1; select 2", -EINVAL, 9, "one query" },
	{ "create table t(a)", -EINVAL, -1, "only reads" },
	{ "create temp view v as select 1", -EINVAL, -1, "only reads" },
	{ "attach ':memory:' as x", -EINVAL, -1, "only reads" },
	{ "insert into kernel(ts) values(1)", -EINVAL, -1, "only reads" },
	{ "delete from temp.sqlite_master", -EINVAL, -1, "" },
	{ "drop table kernel", -EINVAL, -1, "only reads" },
	{ "vacuum into 'x.db'", -EINVAL, -1, "only reads" },
	{ "pragma writable_schema=1", -EINVAL, -1, "pragmas" },
	{ "pragma temp_store_directory='/'", -EINVAL, -1, "pragmas" },
	{ "select load_extension('x')", -EINVAL, -1, "not allowed" },
	{ "begin", -EINVAL, -1, "only reads" },
};

static void test_refused(struct sql *s)
{
	struct text t = { 0 };
	struct sql_why why;

	for (size_t i = 0; i < T_LEN(refused); i++) {
		int err = run(s, refused[i].query, &t, &why);

		T_OK(err == refused[i].want && strstr(why.text, refused[i].text) &&
			     (refused[i].at < 0 || why.at == refused[i].at),
		     "refused: %s (%s, at %d)", refused[i].query, why.text, why.at);
	}
	free(t.s);
}

static void test_bounds(struct store *st)
{
	struct sql_opts o = { .timeout_ns = 50000000 };
	struct text t = { 0 };
	struct sql_why why;
	struct sql *s;

	if (sql_open(&s, st, &o, &why) < 0)
		abort();
	T_OK(run(s,
		 "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) "
		 "from c",
		 &t, &why) == -ETIME,
	     "a query that never ends is ended");
	T_OK(run(s,
		 "select count(*) from event a, event b, event c where a.dur + b.dur + c.dur < 0",
		 &t, &why) == -ETIME,
	     "so is a join of everything with everything");
	T_OK(run(s, "select count(*) from kernel", &t, &why) == 0,
	     "and the next one has its own time");
	t.stop_after = 5;
	T_OK(run(s, "select * from event", &t, &why) == 77 && t.rows == 5, "who reads may stop");
	sql_close(s);
	t.stop_after = 0;
	o = (struct sql_opts){ .memory_bytes = 600 };
	if (sql_open(&s, st, &o, &why) < 0)
		abort();
	T_OK(run(s, "select count(*) from finding", &t, &why) == -EINVAL &&
		     strstr(why.text, "memory allowed"),
	     "findings of more events than fit are refused");
	sql_close(s);
	o = (struct sql_opts){ .timeout_ns = 1 };
	if (sql_open(&s, st, &o, &why) < 0)
		abort();
	T_OK(run(s, "select count(*) from finding", &t, &why) == -ETIME,
	     "and have no more time than a query has");
	sql_close(s);
	free(t.s);
}

/* What comes while a connection is open is seen by its next query, with its names. */
static void test_grows(struct store *st, struct sql *s, struct process *p)
{
	struct text t = { 0 };
	struct sql_why why;
	uint32_t id = 0;

	if (run(s, "select count(*) from event", &t, &why) < 0)
		printf("# %s\n", why.text);
	T_OK(t.s && atoi(t.s) == 2 * BLOBS * EVENTS, "all events are there");
	store_name(st, "late", 4, &id);
	kit_commit(st, p, 1000000, 10, 1);
	run(s, "select count(*), (select count(*) from name where text = 'late') from event", &t,
	    &why);
	T_OK(t.s && !strcmp(t.s, "5610|1|\n"), "and those that come, with their names");
	free(t.s);
}

/* Events of kit_event() on tracks of the process's own. */
static void fill(struct store *st, struct process *p, uint32_t pid, uint64_t from)
{
	struct blob_packer *z;
	struct blob_enc *e;
	uint32_t track[4] = { 0 };
	struct blob b;

	*p = kit_process(st, pid);
	if (blob_enc_new(&e) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (uint32_t i = 1; i <= 3; i++) {
		struct track l = { .process = p->id,
				   .device = i == 3 ? TRACK_HOST : p->id + i - 2,
				   .stream = 6 + i };

		store_track(st, &l, &track[i]);
	}
	for (uint32_t i = 0; i < BLOBS * EVENTS; i++) {
		struct event ev = kit_event(from + i);

		ev.track = track[ev.track];
		blob_add(e, &ev, 1);
		if (i % EVENTS != EVENTS - 1)
			continue;
		if (blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0 || store_blob(st, p->id, &b) < 0)
			abort();
		blob_fini(&b);
	}
	store_commit(st, 1);
	blob_enc_free(e);
	blob_packer_free(z);
}

int main(void)
{
	struct sql_opts o = { 0 };
	struct process a, b;
	struct sql_why why;
	struct store *st;
	struct sql *s;
	uint32_t id;
	char name[32];

	kit_begin();
	st = kit_open(kit_path("sql"), 0, 0);
	for (uint32_t i = 2; i < 7; i++) { /* kit_event() also names 7 and 8, which nobody knows */
		snprintf(name, sizeof(name), i > 4 ? "gemm_kernel %u" : "kernel %u", i);
		id = i;
		store_name(st, name, strlen(name), &id);
	}
	fill(st, &a, 100, 0);
	fill(st, &b, 200, 5000);
	test_same(st, 0, "with memory enough");
	test_same(st, 20000, "some keys at a time");
	test_same(st, 600, "no key at once");
	if (sql_open(&s, st, &o, &why) < 0)
		abort();
	test_refused(s);
	test_bounds(st);
	test_grows(st, s, &a);
	sql_close(s);
	store_close(st);
	return kit_end();
}
