/* SPDX-License-Identifier: Apache-2.0 */
/* report_rank.c - compares the ranks of a job, and names the one that the others wait for. */

#include "cli/report/report.h"

#define SLOW_SHARE 0.10 /* of a step, that the others must wait longer, to name a rank */

/* In a collective all wait for the last to come: it waits least itself. */
static const struct rank *slow_by_rollups(const struct ranks *rs, uint64_t *waits_ns)
{
	const struct rank *least = NULL, *most = NULL;

	for (size_t i = 0; i < rs->n; i++) {
		const struct rank *r = &rs->r[i];

		if (!r->steps || !r->comm_ns)
			return NULL;
		if (!least || r->comm_ns < least->comm_ns)
			least = r;
		if (!most || r->comm_ns > most->comm_ns)
			most = r;
	}
	*waits_ns = least ? most->comm_ns - least->comm_ns : 0;
	return least;
}

/* The rank that the others wait for, and how long the one that waits longest does; NULL: none. */
static const struct rank *ranks_slow(const struct ranks *rs, uint64_t *waits_ns)
{
	const struct rank *slow = rs->matched ? &rs->r[rs->late] : slow_by_rollups(rs, waits_ns);

	if (rs->matched) {
		*waits_ns = 0;
		for (size_t i = 0; i < rs->n; i++)
			if (rs->r[i].late_ns > *waits_ns)
				*waits_ns = rs->r[i].late_ns;
	}
	if (rs->n < 2 || !slow || slow->steps < REPORT_STEPS_MIN ||
	    (double)*waits_ns < SLOW_SHARE * (double)slow->p50_ns)
		return NULL;
	return slow;
}

/* Once a node, and only where there are several. */
static void say_clocks(const struct ranks *rs, const struct out *out)
{
	char a[FMT_LEN], b[FMT_LEN], node[64];

	for (size_t i = 1; i < rs->n && rs->stores > 1; i++) {
		const struct rank *r = &rs->r[i];
		int64_t off = r->clock.off_ns;
		size_t k = 0;

		while (k < i && rs->r[k].store != r->store)
			k++;
		if (k < i || !r->clock.pairs)
			continue;
		out_line(out, OUT_PLAIN,
			 "  Clock of %s (rank %u): %s %s of the first node's, +- %s.",
			 fmt_clean(node, sizeof(node), *r->p.node ? r->p.node : "its node",
				   out->ascii),
			 r->p.origin.rank - 1,
			 out_time(out, a, sizeof(a), (uint64_t)(off < 0 ? -off : off)),
			 off < 0 ? "behind" : "ahead",
			 out_time(out, b, sizeof(b), (uint64_t)r->clock.err_ns));
	}
}

static void verdict(const struct ranks *rs, const struct out *out)
{
	char a[FMT_LEN], b[FMT_LEN], n[FMT_LEN], m[FMT_LEN];
	uint64_t waits_ns;
	const struct rank *slow = ranks_slow(rs, &waits_ns);

	if (slow)
		out_line(out, OUT_BOLD, "  The others wait for rank %u: up to %s of a step of %s.",
			 slow->p.origin.rank - 1, out_time(out, a, sizeof(a), waits_ns),
			 out_time(out, b, sizeof(b), slow->p50_ns));
	if (slow && rs->matched)
		out_line(out, OUT_PLAIN,
			 "  It came last to %s of %s collectives that all took part in.",
			 fmt_count(n, slow->last), fmt_count(m, rs->matched));
	if (rs->n > 1 && rs->common)
		out_line(out, OUT_PLAIN, "  %s steps are on each of the %zu ranks%s%s%s.",
			 fmt_count(n, rs->common), rs->n, rs->one_clock ? ", their ends " : "",
			 rs->one_clock ? out_time(out, a, sizeof(a), rs->spread_ns) : "",
			 rs->one_clock ? " apart (p50)" : "");
	say_clocks(rs, out);
	fputc('\n', out->f);
}

static void print(const struct ranks *rs, const struct out *out)
{
	static const struct col col[] = {
		{ "  Rank", COL_LEFT, 0 }, { "process", COL_LEFT | COL_FLEX, 3 },
		{ "node", COL_LEFT, 2 },   { "pid", 0, 4 },
		{ "steps", 0, 0 },         { "step p50", 0, 0 },
		{ "mean", 0, 0 },          { "in collectives", 0, 0 },
		{ "waiting", 0, 0 },       { "for data", 0, 1 },
	};
	const struct fmt_unit *u;
	uint64_t most = 0;
	struct table t;
	char c[FMT_LEN];

	for (size_t i = 0; i < rs->n; i++)
		most = rs->r[i].mean_ns > most ? rs->r[i].mean_ns : most;
	u = fmt_time_unit(most ? most : 1);
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 5; i < 10; i++)
		t.unit[i] = out_unit(out, u->name);
	for (size_t i = 0; i < rs->n; i++) {
		const struct rank *r = &rs->r[i];
		const uint64_t ns[] = { r->p50_ns, r->mean_ns, r->comm_ns,
					rs->matched ? r->wait_ns : UINT64_MAX, r->data_ns };

		table_add(&t, "  %u", r->p.origin.rank - 1);
		table_add_text(&t, out, r->p.comm);
		table_add_text(&t, out, *r->p.node ? r->p.node : "-");
		table_add(&t, "%u", r->p.pid);
		table_add(&t, "%s", fmt_count(c, r->steps));
		for (size_t k = 0; k < 5; k++)
			table_add_time(&t, r->steps ? ns[k] : UINT64_MAX, u, 2);
	}
	table_print(&t, out, 2);
	table_fini(&t);
}

void report_ranks(const struct ranks *rs, const struct out *out)
{
	verdict(rs, out);
	print(rs, out);
}

void report_ranks_json(struct json *j, const struct ranks *rs)
{
	uint64_t waits_ns;
	const struct rank *slow = ranks_slow(rs, &waits_ns);

	json_open(j, "ranks", '[');
	for (size_t i = 0; i < rs->n; i++) {
		const struct rank *r = &rs->r[i];

		json_open(j, NULL, '{');
		json_members(j, J_U64("rank", r->p.origin.rank - 1), J_U64("process", r->p.id),
			     J_U64("pid", r->p.pid), J_STR("job", *r->p.job ? r->p.job : NULL),
			     J_STR("node", *r->p.node ? r->p.node : NULL), J_U64("steps", r->steps),
			     J_U64("step_p50_ns", r->p50_ns), J_U64("step_mean_ns", r->mean_ns),
			     J_U64("collectives_ns", r->comm_ns));
		if (rs->matched)
			json_u64(j, "waiting_ns", r->wait_ns);
		else
			json_null(j, "waiting_ns");
		json_members(j, J_U64("came_last", r->last), J_U64("data_ns", r->data_ns),
			     J_BOOL("slow", r == slow));
		if (rs->stores > 1 && r->clock.known) {
			json_members(j, J_I64("clock_offset_ns", r->clock.off_ns),
				     J_U64("clock_error_ns", (uint64_t)r->clock.err_ns));
		} else {
			json_null(j, "clock_offset_ns");
			json_null(j, "clock_error_ns");
		}
		json_close(j);
	}
	json_close(j);
	json_members(j, J_U64("steps_on_all_ranks", rs->common),
		     J_U64("collectives_matched", rs->matched));
}
