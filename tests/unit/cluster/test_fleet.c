/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/answer_json.h"
#include "fleet/ask.h"
#include "fleet/priv.h"
#include "fleet/rows.h"
#include "t.h"

/* --- answers --- */

struct got {
	uint64_t rows, sum;
	char text[64];
	int stop;
};

static int on_row(void *arg, const struct rowin_field *f)
{
	struct got *g = arg;

	g->rows++;
	g->sum += f[0].u;
	snprintf(g->text, sizeof(g->text), "%s", f[1].text);
	return g->stop;
}

static const uint8_t two[] = {
	1, 0, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c', 2, 0, 0, 0, 0, 0, 0, 0, 0
};

static void rows_in_pieces(void)
{
	for (size_t piece = 1; piece <= sizeof(two); piece++) {
		struct got g = { .rows = 0 };
		struct rowin r;
		int err = 0;

		rowin_init(&r, "qs", 10, on_row, &g);
		for (size_t at = 0; at < sizeof(two) && !err; at += piece)
			err = rowin_feed(&r, two + at,
					 sizeof(two) - at < piece ? sizeof(two) - at : piece);
		if (err || rowin_end(&r) || g.rows != 2 || g.sum != 3 || *g.text) {
			T_OK(false, "rows come whole from pieces of %zu bytes", piece);
			rowin_fini(&r);
			return;
		}
		rowin_fini(&r);
	}
	T_OK(true, "rows come whole, whatever the pieces are");
}

static void answers_that_are_none(void)
{
	static const uint8_t huge[] = { 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f };
	static const uint8_t endless[] = { 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct got g = { .rows = 0 };
	struct rowin r;

	rowin_init(&r, "qs", 10, on_row, &g);
	T_OK(rowin_feed(&r, two, 15) == 0 && rowin_end(&r) == -EBADMSG,
	     "an answer that ends within a row is told");
	rowin_fini(&r);
	rowin_init(&r, "qs", 10, on_row, &g);
	T_OK(rowin_feed(&r, huge, sizeof(huge)) == -EFBIG, "a row that is too long is refused");
	rowin_fini(&r);
	rowin_init(&r, "qs", 10, on_row, &g);
	T_OK(rowin_feed(&r, endless, sizeof(endless)) == -EFBIG, "so is a length without an end");
	rowin_fini(&r);
	rowin_init(&r, "qs", 1, on_row, &g);
	T_OK(rowin_feed(&r, two, sizeof(two)) == -EFBIG, "more rows than asked for are refused");
	rowin_fini(&r);
	g.stop = -EPIPE;
	rowin_init(&r, "qs", 10, on_row, &g);
	T_OK(rowin_feed(&r, two, sizeof(two)) == -EPIPE, "what the reader says ends it");
	rowin_fini(&r);
}

/* --- questions --- */

static void texts(void)
{
	struct sql q;

	sql_init(&q);
	sql_add(&q, "job = ");
	sql_text(&q, "a'); DROP TABLE x --\\\n\xff");
	T_OK(!strcmp(sql_done(&q),
		     "job = 'a\\x27\\x29\\x3B\\x20DROP\\x20TABLE\\x20x\\x20--\\x5C\\x0A\\xFF'"),
	     "nothing of a name is left that could mean anything in a question");
	sql_fini(&q);
}

static void addresses(void)
{
	static const struct {
		const char *name, *url;
		int err;
		const char *job, *fleet;
		int32_t rank;
	} cases[] = {
		/* clang-format off */
		{ "a server and a database", "clickhouse://h:8123/aon", 0, "", "", -1 },
		{ "a job, with what a URL escapes", "clickhouse://h:8123/aon?job=a%2Fb%20c&rank=7", 0, "a/b c", "", 7 },
		{ "one of several clusters, among others' settings", "clickhouse://h:8123/aon?tls=yes&fleet=west&quorum=2", 0, "", "west", -1 },
		{ "a rank that is none", "clickhouse://h:8123/aon?rank=-1", -EINVAL, "", "", 0 },
		{ "half an escape", "clickhouse://h:8123/aon?job=a%2", -EINVAL, "", "", 0 },
		{ "a byte 0", "clickhouse://h:8123/aon?job=a%00b", -EINVAL, "", "", 0 },
		{ "a setting of nobody", "clickhouse://h:8123/aon?colour=red", -EINVAL, "", "", 0 },
		{ "a password", "clickhouse://me:secret@h:8123/aon", -EINVAL, "", "", 0 },
		{ "a relay", "https://h:8123", -EINVAL, "", "", 0 },
		{ "nothing", "", -EINVAL, "", "", 0 },
		/* clang-format on */
	};

	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct store_why why = { "" };
		struct fleet *f = NULL;
		int err = fleet_address(&f, cases[i].url, NULL, &why);
		bool good = err == cases[i].err && (err ? *why.text != 0 : true);

		if (!err)
			good = good && !strcmp(f->pick.job, cases[i].job) &&
			       !strcmp(f->cluster, cases[i].fleet) && f->pick.rank == cases[i].rank;
		T_OK(good, "an address: %s", cases[i].name);
		fleet_close(f);
	}
}

/* --- what is said of a job --- */

static struct fleet_report report_of(double exposed, double lost, double idle, double over)
{
	static struct fleet_rank rank[2];
	struct fleet_report r = { .ranks = 2, .rank = rank };

	rank[0] = (struct fleet_rank){ .rank = 0 };
	rank[1] = (struct fleet_rank){ .rank = 1, .over = over };
	snprintf(rank[1].host, sizeof(rank[1].host), "n1\x1b[31m");
	r.job.sum = (struct fleet_sum){ .steps = 100,
					.step_ns = 100e6,
					.exposed_ns = exposed * 100e6,
					.lost_ns = lost * 100e6,
					.idle_ns = idle * 100e6 };
	return r;
}

static void verdicts(void)
{
	static const struct {
		double exposed, lost, idle, over;
		const char *want;
	} cases[] = {
		{ 0.20, 0.10, 0.02, 0.08, "The others wait for rank 1 on n1\\x1b[31m" },
		{ 0.20, 0.15, 0.02, 0.00, "Ranks wait for each other" },
		{ 0.20, 0.02, 0.02, 0.00, "Communication that nothing hides is 180 us" },
		{ 0.05, 0.01, 0.30, 0.00, "GPUs are idle in 300 us" },
		{ 0.02, 0.00, 0.02, 0.00, "GPUs are at work in 96 %" },
	};
	char text[256];

	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct fleet_report r =
			report_of(cases[i].exposed, cases[i].lost, cases[i].idle, cases[i].over);

		T_OK(!strncmp(fleet_verdict(text, sizeof(text), &r), cases[i].want,
			      strlen(cases[i].want)),
		     "a job's verdict: %s", text);
	}
}

static bool only_ann(void *arg, const char *user)
{
	(void)arg;
	return !strcmp(user, "ann");
}

static void withheld(void)
{
	struct fleet_job jobs[2] = {
		{ .job = "secret-of-bob", .user = "bob", .slow_rank = 3, .finding = "bob's" },
		{ .job = "of-ann", .user = "ann", .slow_rank = -1 }
	};
	struct fleet_node node = { .host = "n0", .job = "secret-of-bob" };
	struct fleet_overview o = { .job = jobs, .jobs = 2, .node = &node, .nodes = 1 };
	struct fleet_viewer v = { only_ann, NULL };
	char *text = NULL;
	size_t len;
	struct json j;
	FILE *f = open_memstream(&text, &len);

	json_init(&j, f);
	json_open(&j, NULL, '{');
	fleet_overview_json(&j, &o, &v);
	json_end(&j);
	fclose(f);
	T_OK(strstr(text, "of-ann") && !strstr(text, "bob") && strstr(text, "\"withheld\":true"),
	     "another user's job has no name, neither in the list nor at a node: %s", text);
	free(text);
}

/* --- rows of any question --- */

struct seen_rows {
	char text[256];
};

static int on_names(void *arg, const char *const *names, int cols)
{
	struct seen_rows *x = arg;

	for (int i = 0; i < cols; i++)
		snprintf(x->text + strlen(x->text), sizeof(x->text) - strlen(x->text), "%s|",
			 names[i]);
	return 0;
}

static int on_values(void *arg, const struct fleet_value *v, int cols)
{
	struct seen_rows *x = arg;

	for (int i = 0; i < cols; i++) {
		char one[64] = "null";

		if (v[i].type == FLEET_INT)
			snprintf(one, sizeof(one), "i%lld", (long long)v[i].i);
		else if (v[i].type == FLEET_REAL)
			snprintf(one, sizeof(one), "r%g", v[i].real);
		else if (v[i].type == FLEET_TEXT)
			snprintf(one, sizeof(one), "t%s/%zu", v[i].text, v[i].len);
		snprintf(x->text + strlen(x->text), sizeof(x->text) - strlen(x->text), "%s|", one);
	}
	return 0;
}

static void rows_with_names(void)
{
	static const struct {
		const char *what, *answer, *want; /* NULL: no answer */
	} cases[] = {
		{ "values by their types", "a\tb\tc\nUInt8\tFloat32\tString\n7\t1.5\tx\n",
		  "a|b|c|i7|r1.5|tx/1|" },
		{ "escapes are undone", "a\nString\nx\\ty\\\\\n", "a|tx\ty\\/4|" },
		{ "a number that is too large stays a text", "a\nUInt64\n18446744073709551615\n",
		  "a|t18446744073709551615/20|" },
		{ "nothing is nothing", "a\nNullable(Int8)\n\\N\n-3\n", "a|null|i-3|" },
		{ "no row at all", "a\nInt8\n", "a|" },
		{ "a row that is too short", "a\tb\nInt8\tInt8\n1\n", NULL },
		{ "a row that breaks off", "a\nInt8\n1", NULL },
		{ "an escape that is none", "a\nString\n\\q\n", NULL },
		{ "an empty answer", "", NULL },
	};

	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct seen_rows x = { "" };
		struct fleet_sink sink = { on_names, on_values, &x };
		char text[128];
		int err;

		snprintf(text, sizeof(text), "%s", cases[i].answer);
		err = fleet_tsv(text, strlen(text), &sink);
		T_OK(cases[i].want ? !err && !strcmp(x.text, cases[i].want) : err == -EBADMSG, "%s",
		     cases[i].what);
	}
}

int main(void)
{
	rows_in_pieces();
	rows_with_names();
	answers_that_are_none();
	texts();
	addresses();
	verdicts();
	withheld();
	return t_done();
}
