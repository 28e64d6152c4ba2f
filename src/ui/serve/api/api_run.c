/* SPDX-License-Identifier: Apache-2.0 */
/* api_run.c - the runs that are served, their processes, and where their records went. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "fleet/fleet.h"
#include "read/gather.h"
#include "read/json.h"
#include "read/procs.h"
#include "serve/analysis.h"
#include "serve/http/blob.h"

int api_openapi(struct ask *q, struct answer *a)
{
	(void)q;
	a->type = "application/json";
	return blob_answer(a, &blob_openapi);
}

static void time_json(struct json *j, const char *key, uint64_t ns, int64_t offset)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ns + (uint64_t)offset);
	json_str(j, key, text);
}

void run_json(struct json *j, const char *key, const struct run *r, const struct serve *s)
{
	const struct process *p = &r->process[0];
	char user[64];

	json_open(j, key, '{');
	json_members(j, J_STR("id", r->id), J_STR("name", run_name(r)),
		     J_STR("cmd", *p->exe && !r->imported ? p->exe : NULL),
		     J_STR("host", r->live && *s->host ? s->host : NULL),
		     J_STR("job", *p->job ? p->job : NULL),
		     J_STR("user", r->imported ? NULL : procs_user(p->uid, user, sizeof(user))),
		     J_STR("state", r->live ? "live" : "ended"));
	time_json(j, "t0", r->t0, r->wall_offset_ns);
	json_members(j, J_U64("t1_rel", r->t1 - r->t0), J_U64("processes", r->processes),
		     J_U64("gpus", r->devices), J_U64("ranks", r->ranks), J_U64("steps", r->steps),
		     J_U64("events", r->events), J_U64("lost", r->lost),
		     J_STR("file", r->src->label));
	json_close(j);
}

static int runs_json(struct serve *s, const struct viewer *who, FILE *f)
{
	uint64_t lost = 0;
	struct runs rs;
	struct json j;
	int err = runs_load(&rs, s, who);

	if (err < 0)
		return err;
	for (size_t i = 0; i < rs.n; i++)
		lost += rs.run[i].lost;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_u64(&j, "v", 1);
	time_json(&j, "asof", clock_wall_ns(), 0);
	json_members(&j, J_U64("lost", lost), J_BOOL("partial", false));
	json_open(&j, "runs", '[');
	for (size_t i = 0; i < rs.n; i++)
		run_json(&j, NULL, &rs.run[i], s);
	json_close(&j);
	json_str(&j, "fleet", s->fleet ? fleet_shown(s->fleet) : NULL);
	json_end(&j);
	runs_fini(&rs);
	return 0;
}

int api_runs(struct ask *q, struct answer *a)
{
	FILE *f = open_memstream(&a->body, &a->len);
	int err;

	if (!f)
		return -ENOMEM;
	err = runs_json(q->s, q->who, f);
	a->type = "application/json";
	return fclose(f) == 0 ? err : -ENOMEM;
}

int api_processes(struct ask *q, struct json *j)
{
	json_open(j, "processes", '[');
	for (size_t i = 0; i < q->run.processes; i++) {
		json_open(j, NULL, '{');
		process_json(j, &q->run.process[i], q->run.t0);
		account_json(j, "accounting", &q->run.process[i].account);
		json_close(j);
	}
	json_close(j);
	return 0;
}

static void origin_json(struct json *j, const struct run *r)
{
	struct origin sum = { .file = 0 };

	for (size_t i = 0; i < r->processes; i++) {
		sum.rows += r->process[i].origin.rows;
		sum.imported += r->process[i].origin.imported;
		sum.left += r->process[i].origin.left;
		sum.lost += r->process[i].origin.lost;
	}
	json_object(j, "accounting", J_U64("rows", sum.rows), J_U64("imported", sum.imported),
		    J_U64("left", sum.left), J_U64("lost", sum.lost));
}

int api_accounting(struct ask *q, struct json *j)
{
	if (q->run.imported)
		origin_json(j, &q->run);
	else
		account_json(j, "accounting", &q->run.account);
	json_open(j, "processes", '[');
	for (size_t i = 0; i < q->run.processes; i++) {
		json_open(j, NULL, '{');
		json_members(j, J_U64("process", q->run.process[i].id),
			     J_U64("pid", q->run.process[i].pid));
		account_json(j, "accounting", &q->run.process[i].account);
		json_close(j);
	}
	json_close(j);
	return 0;
}

int api_health(struct ask *q, struct json *j)
{
	json_str(j, "state", q->run.live ? "live" : "ended");
	json_open(j, "processes", '[');
	for (size_t i = 0; i < q->run.processes; i++) {
		const struct process *p = &q->run.process[i];

		json_object(j, NULL, J_U64("process", p->id), J_U64("pid", p->pid),
			    J_STR("tier", procs_tier(p->tier)), J_BOOL("connected", p->connected),
			    J_U64("silent_ns", q->run.t1 > p->last_ns ? q->run.t1 - p->last_ns : 0),
			    J_STR("note", *p->note ? p->note : NULL),
			    J_U64("lost", account_lost(&p->account)));
	}
	json_close(j);
	return 0;
}

/* --- captures, from the journal of the store --- */

/* an order may arrive this long after the last event of a process */
#define AFTER_NS 60000000000ull

struct captures {
	struct json *j;
	const struct run *run;
};

/* The kernel reuses pids, so the process must have existed at that time. */
static bool was_there(const struct process *p, uint64_t at_ns)
{
	return at_ns >= p->first_ns && at_ns <= p->last_ns + AFTER_NS;
}

static void put_captures(const struct captures *c, const struct journal_entry *e, uint64_t pid)
{
	char text[ENTRY_TEXT];

	for (size_t i = 0; pid && i < c->run->processes; i++) {
		const struct process *p = &c->run->process[i];
		uint64_t at_ns = e->wall_ns - (uint64_t)p->wall_offset_ns;

		if (p->pid != pid || p->origin.file || !was_there(p, at_ns))
			continue;
		json_object(c->j, NULL, J_U64("at_ns", at_ns > c->run->t0 ? at_ns - c->run->t0 : 0),
			    J_U64("process", p->id), J_U64("pid", p->pid),
			    J_STR("text", entry_text(e, text)));
	}
}

static int on_entry(void *arg, const struct journal_entry *e)
{
	size_t at = 0;
	uint64_t pid;

	while (e->kind == ENTRY_CAPTURE && entry_next(e, FIELD_PIDS, &at, &pid))
		put_captures(arg, e, pid);
	if (e->kind == ENTRY_PROFILER)
		put_captures(arg, e, entry_number(e, FIELD_PID));
	return 0;
}

int api_captures(struct ask *q, struct json *j)
{
	struct captures c = { j, &q->run };
	int err;

	json_open(j, "captures", '[');
	err = store_each_entry(q->run.src->st, on_entry, &c);
	json_close(j);
	return err;
}
