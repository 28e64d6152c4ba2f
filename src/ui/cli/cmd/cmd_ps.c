/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aon ps - who is being recorded, at which tier, how fast, and what was lost; and who uses a GPU
 * without being recorded.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/core/locate.h"
#include "cli/node/users.h"
#include "read/procs.h"
#include "cli/report/rate.h"
#include "cli/report/report.h"

#define COLS 11u /* the last two: of a node where somebody uses a GPU */

/* What a process does on GPUs; "-": nothing, or it is not known. */
static void gpu_cells(struct table *t, const struct user *x)
{
	double share = x ? user_share(x) : NAN;
	char n[FMT_LEN];
	uint64_t bytes;

	table_add(t, "%s%s", isnan(share) ? "-" : fmt_percent(n, share), isnan(share) ? "" : " %");
	table_add(t, "%s", x && user_memory(x, &bytes) ? fmt_bytes(n, bytes) : "-");
}

static void ps_row(struct table *t, const struct out *out, const struct procs *ps,
		   const struct process *p, double per_s)
{
	char user[64], n[FMT_LEN];

	table_add_text(t, out, p->comm);
	table_add(t, "%u", p->pid);
	table_add_text(t, out, procs_user(p->uid, user, sizeof(user)));
	table_add_text(t, out, *p->run ? p->run : "-");
	table_add(t, "%s", procs_live(ps, p) ? procs_detail(p->tier) : "exited");
	table_add(t, "%s", procs_live(ps, p) ? fmt_count(n, (uint64_t)(per_s + 0.5)) : "-");
	table_add(t, "%s", fmt_count(n, p->account.emitted));
	table_add(t, "%s", fmt_count(n, account_lost(&p->account)));
	table_add_text(t, out, p->note);
}

/* Why the node's aond does not sample threads, if it does not; "": it does, or it is not asked. */
static void sampling_why(const char *path, struct admin_status *s)
{
	if (admin_status(locate_run_dir(), s) < 0 || strcmp(s->store, path) != 0)
		*s->sampling = '\0';
}

static int ps_text(struct store *st, const struct procs *ps, const char *path,
		   const struct users *u, const struct out *out)
{
	static const struct col col[COLS] = { COL_TEXT("COMMAND", 0), COL_NUM("PID", 0),
					      COL_TEXT("USER", 3),    COL_TEXT("RUN", 4),
					      COL_TEXT("DETAIL", 0),  COL_NUM("EVENTS/S", 0),
					      COL_NUM("RECORDS", 2),  COL_NUM("LOST", 0),
					      COL_NAME("NOTE", 1),    COL_NUM("GPU", 6),
					      COL_NUM("MEMORY", 5) };
	uint64_t now = procs_now(ps);
	struct admin_status s;
	struct table t;
	double per_s;
	int err = 0;

	table_init(&t, col, COLS - (u->n ? 0 : 2));
	for (size_t i = 0; i < ps->n && !err; i++) {
		err = rate_of(st, &ps->p[i], now, &per_s);
		ps_row(&t, out, ps, &ps->p[i], per_s);
		if (u->n)
			gpu_cells(&t, users_of(u, ps->p[i].pid, ps->p[i].pid_start));
	}
	if (!err)
		table_print(&t, out, 0);
	table_fini(&t);
	sampling_why(path, &s);
	if (*s.sampling && !err)
		fprintf(stderr, "Sampling: %s\n", s.sampling);
	return err;
}

static int ps_json(struct store *st, const struct procs *ps, const char *path,
		   const struct users *u)
{
	uint64_t now = procs_now(ps);
	struct admin_status s;
	struct json j;
	struct node_ident node;
	double per_s;
	int err = 0;

	json_begin(&j, stdout, "aon.ps/1");
	json_str(&j, "store", st ? path : NULL);
	if (st && !store_node_get(st, &node))
		node_json(&j, "node", &node);
	else
		json_null(&j, "node");
	sampling_why(st ? path : "", &s);
	json_str(&j, "sampling", *s.sampling ? s.sampling : NULL);
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < ps->n && !err; i++) {
		const struct process *p = &ps->p[i];

		err = rate_of(st, p, now, &per_s);
		json_open(&j, NULL, '{');
		json_members(&j, J_U64("process", p->id), J_U64("pid", p->pid),
			     J_U64("uid", p->uid), J_STR("comm", p->comm),
			     J_STR("run", *p->run ? p->run : NULL),
			     J_STR("job", *p->job ? p->job : NULL),
			     J_U64_IF("rank", p->origin.rank, p->origin.rank - 1),
			     J_U64_IF("world", p->origin.world, p->origin.world),
			     J_U64_IF("local_rank", p->local_rank, p->local_rank - 1));
		ident_json(&j, "identity", &p->ident);
		json_members(&j, J_STR("detail", procs_detail(p->tier)),
			     J_STR("tier", procs_tier(p->tier)),
			     J_BOOL("connected", procs_live(ps, p)),
			     J_REAL("events_per_s", procs_live(ps, p) ? per_s : 0.0 / 0.0),
			     J_STR("library", *p->library ? p->library : NULL),
			     J_STR("note", *p->note ? p->note : NULL));
		account_json(&j, "accounting", &p->account);
		user_gpus_json(&j, u, users_of(u, p->pid, p->pid_start));
		json_close(&j);
	}
	json_close(&j);
	users_json(&j, u);
	json_end(&j);
	return err;
}

/* Who uses this node's GPUs, unless the question is about another store. */
static void load_users(struct users *u, const struct opts *o, const struct procs *ps)
{
	const char *root = o->val[OPT_ROOT] ? o->val[OPT_ROOT] : "";
	struct users_want w = { .root = root, .ps = ps, .shares = true };

	memset(u, 0, sizeof(*u));
	if (!o->val[OPT_STORE] || *root)
		users_load(u, &w); /* without /proc there are none */
}

static int ps_print(struct store *st, const struct procs *ps, const char *path,
		    const struct users *u, const struct opts *o)
{
	struct out out;
	int err = 0;

	out_init(&out, stdout, o);
	if (o->val[OPT_JSON])
		return ps_json(st, ps, path, u);
	if (ps->n)
		err = ps_text(st, ps, path, u, &out);
	else if (st)
		fprintf(stderr, "Nobody is connected; %s knows %zu that left (aon ps --all).\n",
			path, ps->in_store);
	if (!err && u->unrecorded && ps->n)
		fputc('\n', stdout);
	if (!err)
		users_text(u, &out);
	return err;
}

/* No store can be read: there may be processes on GPUs nevertheless. */
static int ps_without(const struct opts *o, int rc)
{
	struct procs none = { 0 };
	struct users u;

	load_users(&u, o, NULL);
	if (u.unrecorded && ps_print(NULL, &none, NULL, &u, o) == 0)
		rc = CLI_OK;
	users_fini(&u);
	return rc;
}

int cmd_ps(const struct opts *o)
{
	struct procs_want want = { .connected = !o->val[OPT_GONE] };
	char path[PATH_MAX];
	struct users u = { 0 };
	struct store *st;
	struct procs ps;
	int rc, err;

	if (o->argc)
		return cli_misuse("takes no operand, not '%s'", o->argv[0]);
	if (fleet_listed(o))
		return fleet_list_cmd(o);
	rc = fleet_not_asked(o);
	if (rc != CLI_OK)
		return rc;
	rc = locate_open(o->val[OPT_STORE], &st, path);
	if (rc != CLI_OK)
		return o->val[OPT_STORE] ? rc : ps_without(o, rc);
	err = procs_load(&ps, st, &want);
	if (!err) {
		load_users(&u, o, &ps);
		err = ps_print(st, &ps, path, &u, o);
	}
	if (err < 0)
		rc = locate_broke(path, err);
	users_fini(&u);
	procs_fini(&ps);
	store_close(st);
	return rc;
}
