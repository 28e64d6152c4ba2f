/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_raised.c - captures that alarms started, read from the store: aond protects the events
 * before and during them from being overwritten, and its journal lists them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/vec.h"
#include "cli/capture/capture.h"
#include "cli/capture/capture_node.h"
#include "cli/store/export_to.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

struct raised {
	uint32_t pid, process; /* process: of the store */
	unsigned long long from_ns, to_ns;
	uint64_t wall_ns;
	uint32_t secs; /* in tier full */
	char why[24];
};

struct found {
	struct raised *r; /* owned */
	size_t n;
	int err;
};

static int on_entry(void *arg, const struct journal_entry *e)
{
	struct found *f = arg;
	struct raised r = { .wall_ns = e->wall_ns,
			    .pid = (uint32_t)entry_number(e, FIELD_PID),
			    .process = (uint32_t)entry_number(e, FIELD_PROCESS),
			    .from_ns = entry_number(e, FIELD_FROM_NS),
			    .to_ns = entry_number(e, FIELD_TO_NS),
			    .secs = (uint32_t)entry_number(e, FIELD_SECONDS) };

	if (e->kind != ENTRY_RAISED || r.secs > 600 || r.to_ns < r.from_ns ||
	    r.to_ns - r.from_ns < r.secs * 1000000000ull)
		return 0;
	snprintf(r.why, sizeof(r.why), "%s", entry_word(e, FIELD_WHY));
	if (vec_more(&f->r, f->n, sizeof(*f->r)) < 0)
		return -1;
	f->r[f->n++] = r;
	return 0;
}

static int list(const struct opts *o, const struct found *f)
{
	static const struct col col[] = { COL_NUM("N", 0),      COL_TEXT("WHEN", 0),
					  COL_NUM("PID", 0),    COL_TEXT("ALARM", 0),
					  COL_NUM("BEFORE", 0), COL_NUM("FULL", 0) };
	char a[FMT_LEN], b[FMT_LEN], when[FMT_LEN];
	struct table table;
	struct out out;
	struct json j;

	if (o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.raised/1");
		json_open(&j, "captures", '[');
	}
	out_init(&out, stdout, o);
	table_init(&table, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < f->n; i++) {
		const struct raised *r = &f->r[i];
		uint64_t full = r->secs * 1000000000ull, before = r->to_ns - r->from_ns - full;

		if (o->val[OPT_JSON]) {
			json_object(&j, NULL, J_U64("number", i + 1), J_U64("wall_ns", r->wall_ns),
				    J_U64("pid", r->pid), J_STR("alarm", r->why),
				    J_U64("from_ns", r->from_ns), J_U64("to_ns", r->to_ns));
			continue;
		}
		table_add(&table, "%zu", i + 1);
		table_add(&table, "%s", fmt_wall(when, r->wall_ns));
		table_add(&table, "%u", r->pid);
		table_add(&table, "%s", r->why);
		table_add(&table, "%s", fmt_time(a, before));
		table_add(&table, "%s", fmt_time(b, full));
	}
	if (o->val[OPT_JSON])
		json_end(&j);
	else if (f->n)
		table_print(&table, &out, 0);
	table_fini(&table);
	return f->n || o->val[OPT_JSON] ? CLI_OK : cli_say(CLI_OK, "no alarm has raised a capture");
}

static int fetch(const struct opts *o, const char *path, const struct raised *r)
{
	const char *to = o->val[OPT_OUTPUT_TRACE];
	uint64_t full = r->secs * 1000000000ull;
	struct node_proc p = { .pid = r->pid, .id = r->process, .rank = -1, .end = "through" };
	struct cli_capture x = { .o = o };
	int rc;

	node_capture_init(&x.c, &(struct node_want){ .ms = r->secs * 1000u,
						     .before_ms = (r->to_ns - r->from_ns - full) /
								  1000000u });
	x.c.kept = true;
	x.c.begin_ns = r->to_ns - full;
	snprintf(x.to, sizeof(x.to), "%s", to ? to : "aon-capture.pftrace");
	snprintf(x.c.store, sizeof(x.c.store), "%s", path);
	rc = export_check(o, x.to);
	if (rc == CLI_OK && strcmp(x.to, "-") && access(x.to, F_OK) == 0)
		rc = cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", x.to);
	if (rc != CLI_OK)
		return rc;
	x.c.proc = calloc(1, sizeof(p));
	if (!x.c.proc)
		return cli_say(CLI_FAIL, "out of memory");
	*x.c.proc = p;
	x.c.n = x.c.cap = 1;
	rc = capture_write(&x);
	node_capture_fini(&x.c);
	return rc;
}

int capture_raised(const struct opts *o)
{
	bool all = !strcmp(o->val[OPT_RAISED], "list");
	struct found f = { 0 };
	char path[PATH_MAX];
	struct store *st;
	double n = 0;
	int rc = all ? CLI_OK : opt_number(o, OPT_RAISED, 1, 1e9, &n), err;

	if (rc == CLI_OK && (o->val[OPT_PIDS] || o->val[OPT_JOB] || o->val[OPT_RANK]))
		rc = cli_misuse("--raised says whose it is");
	if (rc == CLI_OK && !o->val[OPT_STORE])
		admin_ask(locate_run_dir(), "flush", 10000, NULL, NULL);
	if (rc == CLI_OK)
		rc = locate_open(o->val[OPT_STORE], &st, path);
	if (rc != CLI_OK)
		return rc;
	err = store_each_entry(st, on_entry, &f);
	store_close(st);
	if (err)
		rc = cli_say(CLI_FAIL, "%s: %s", path, err < -1 ? strerror(-err) : "out of memory");
	else if (all)
		rc = list(o, &f);
	else if (n > (double)f.n)
		rc = cli_say(CLI_FAIL,
			     "%s: there are %zu captures that alarms raised. See: aon capture "
			     "--raised list",
			     path, f.n);
	else
		rc = fetch(o, path, &f.r[(size_t)n - 1]);
	free(f.r);
	return rc;
}
