/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_ask.c - requests about traces on demand (admin.h), a line each:
 *
 *	kineto list              PID UID JOB RANK STEP STEP_NS of each process that the asker may
 *	                         trace; "-": not known; the run of
 *	                         aon run is a job where there is no other
 *	kineto trace PID KEY=VALUE...   an order; "ok"
 *	       dir=PATH          where the process writes trace_*.json; it ends the line
 *	       steps=N [start=STEP] [round=N]   N steps from STEP on, or if that is past from the next
 *	                         multiple of `round` on
 *	       ms=N [at=MS]      N milliseconds from that time of the wall clock on, or from now on
 *	kineto state             PID waits|given|gone of each order of this asker
 *
 * An asker's orders are forgotten when it closes its socket.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "daemon/core/aond.h"
#include "daemon/control/audit.h"

/* --- list --- */

static const struct stream *stream_of(const struct aond *d, pid_t pid)
{
	for (const struct sess *s = d->roster.first; s; s = s->next)
		if (s->peer.pid == pid && s->stream)
			return s->stream;
	return NULL;
}

static void put_row(FILE *f, const struct kineto_row *r, const struct stream *s)
{
	char job[48] = "-", rank[16] = "-";

	if (s && *s->proc.job)
		snprintf(job, sizeof(job), "%s", s->proc.job);
	else if (r->job > 0)
		snprintf(job, sizeof(job), "%" PRId64, r->job);
	else if (s && *s->proc.run)
		snprintf(job, sizeof(job), "%s", s->proc.run);
	if (s && s->proc.origin.rank)
		snprintf(rank, sizeof(rank), "%u", s->proc.origin.rank - 1);
	fprintf(f, "%d %u %s %s ", (int)r->pid, r->uid, job, rank);
	if (s && s->step_ns)
		fprintf(f, "%" PRIu64 " %" PRIu64 "\n", s->step, s->step_ns);
	else
		fprintf(f, "- -\n");
}

static void do_list(FILE *f, struct aond *d, uid_t uid)
{
	struct kineto_row *row = calloc(KINETO_PROCS, sizeof(*row));
	size_t n = row ? kineto_list(&d->kineto, uid, clock_mono_ns(), row, KINETO_PROCS) : 0;

	for (size_t i = 0; i < n; i++)
		if (kill(row[i].pid, 0) == 0 || errno != ESRCH)
			put_row(f, &row[i], stream_of(d, row[i].pid));
	free(row);
}

/* --- trace --- */

static bool pid_of(const char *text, pid_t *out)
{
	uint64_t v;

	if (num_u64(text, 1, INT32_MAX, &v) < 0)
		return false;
	*out = (pid_t)v;
	return true;
}

static void journal(struct aond *d, pid_t pid, uid_t uid, const struct kineto_what *o)
{
	struct journal_entry e = { .kind = ENTRY_PROFILER };
	char text[ENTRY_TEXT];

	entry_s(&e, FIELD_PROFILER, "Kineto");
	entry_u(&e, o->steps ? FIELD_STEPS : FIELD_MS, o->steps ? o->steps : o->ms);
	entry_u(&e, FIELD_PID, (uint64_t)pid);
	entry_u(&e, FIELD_UID, uid);
	log_info("capture: %s", entry_text(&e, text));
	aond_journal(d, &e);
}

static void do_trace(FILE *f, const struct admin_client *c, char *arg)
{
	char *pid_text = strsep(&arg, " "), config[KINETO_CONFIG];
	struct aond *d = c->admin->aond;
	struct kineto_what o;
	pid_t pid;
	int err;

	if (!arg || !pid_of(pid_text, &pid) || kineto_parse(&o, arg) < 0) {
		fprintf(f, "error: expected kineto trace PID dir=PATH and steps=N or ms=N\n");
		return;
	}
	kineto_config(config, &o);
	err = kineto_order(&d->kineto, pid, c->uid, c->id, config);
	audit_say(c->uid, c->pid, "capture", err, "pid %d, Kineto, %" PRIu64 " %s", (int)pid,
		  o.steps ? o.steps : o.ms, o.steps ? "steps" : "ms");
	switch (err) {
	case 0:
		journal(d, pid, c->uid, &o);
		fprintf(f, "ok\n");
		break;
	case -ESRCH:
		fprintf(f, "error: pid %d does not ask for orders, or is gone\n", (int)pid);
		break;
	case -EPERM:
		fprintf(f, "error: pid %d belongs to another user\n", (int)pid);
		break;
	case -EBUSY:
		fprintf(f, "error: pid %d is being captured already\n", (int)pid);
		break;
	default:
		fprintf(f, "error: pid %d: %s\n", (int)pid, strerror(-err));
	}
}

/* --- state --- */

static void do_state(FILE *f, struct aond *d, uint64_t asker)
{
	struct kineto_order *o = calloc(KINETO_PROCS, sizeof(*o));
	size_t n = o ? kineto_orders(&d->kineto, asker, o, KINETO_PROCS) : 0;

	for (size_t i = 0; i < n; i++)
		fprintf(f, "%d %s\n", (int)o[i].pid,
			o[i].gone                    ? "gone"
			: o[i].state == KINETO_GIVEN ? "given"
						     : "waits");
	free(o);
}

void kineto_ask(FILE *f, struct admin_client *c, char *request)
{
	char *word = strsep(&request, " ");

	if (!strcmp(word, "list"))
		do_list(f, c->admin->aond, c->uid);
	else if (!strcmp(word, "state"))
		do_state(f, c->admin->aond, c->id);
	else if (!strcmp(word, "trace") && request)
		do_trace(f, c, request);
	else
		fprintf(f, "error: expected kineto list, trace or state\n");
}
