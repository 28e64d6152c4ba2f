/* SPDX-License-Identifier: Apache-2.0 */
/* limits_file.c - see limits_file.h. */
#include "daemon/budget/limits_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/runfile.h"
#include "daemon/session/session_list.h"

/* --- reading --- */

/* KEY<tab>VALUE, as the settings would take it. */
static bool value_of(char *rest, enum allow_key *key, int64_t *value)
{
	char *word = strsep(&rest, "\t");
	struct param_why why;
	struct param p;

	*key = allow_find(word);
	if (*key == ALLOWS || !rest)
		return false;
	param_defaults(&p);
	if (param_set(&p, word, rest, &why) < 0)
		return false;
	*value = allow_node(&p, *key);
	return true;
}

static void parse_job(struct allow_jobs *jobs, char *rest)
{
	char *name = strsep(&rest, "\t"), *who = strsep(&rest, "\t");
	bool admin = who && !strcmp(who, "admin");
	struct allow_job *j;
	enum allow_key key;
	uint64_t uid = 0;
	int64_t value;

	if (!who || !rest || (!admin && (!runfile_number(who, &uid) || uid >= UINT32_MAX)) ||
	    !value_of(rest, &key, &value))
		return;
	j = allow_job(jobs, name, admin, (uid_t)uid, true);
	if (j)
		allow_set(&j->allow, key, admin, &value);
}

static struct kept_one *one_of(struct kept *k, pid_t pid, uint64_t start)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->one[i].pid == pid && k->one[i].start == start)
			return &k->one[i];
	if (k->n == KEPT_PIDS)
		return NULL;
	if (!k->one)
		k->one = calloc(KEPT_PIDS, sizeof(*k->one));
	if (!k->one)
		return NULL;
	k->one[k->n] = (struct kept_one){ .pid = pid, .start = start };
	return &k->one[k->n++];
}

static void parse_pid(struct kept *k, char *rest)
{
	char *pid = strsep(&rest, "\t"), *start = strsep(&rest, "\t"), *who = strsep(&rest, "\t");
	uint64_t p, since;
	enum allow_key key;
	struct kept_one *o;
	int64_t value;

	if (!rest || !runfile_number(pid, &p) || !p || p > INT32_MAX ||
	    !runfile_number(start, &since) ||
	    (strcmp(who, "admin") != 0 && strcmp(who, "own") != 0) || !value_of(rest, &key, &value))
		return;
	o = one_of(k, (pid_t)p, since);
	if (o)
		allow_set(&o->allow, key, !strcmp(who, "admin"), &value);
}

void kept_parse(struct kept *k, struct allow_jobs *jobs, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *what = strsep(&line, "\t");

		if (line && !strcmp(what, "job"))
			parse_job(jobs, line);
		else if (line && !strcmp(what, "pid"))
			parse_pid(k, line);
	}
}

void kept_claim(struct kept *k, pid_t pid, uint64_t start, struct allow *out)
{
	for (size_t i = 0; i < k->n; i++) {
		if (k->one[i].pid != pid || k->one[i].start != start)
			continue;
		*out = k->one[i].allow;
		k->one[i].pid = 0;
	}
}

void kept_fini(struct kept *k)
{
	free(k->one);
	*k = (struct kept){ 0 };
}

void kept_read(struct roster *r, int run_dir)
{
	char *text = runfile_read(run_dir, KEPT_NAME);

	if (text)
		kept_parse(&r->kept, &r->jobs, text);
	free(text);
}

/* --- writing --- */

static void put(FILE *f, const char *whom, const char *who, const struct allow *a, bool admin)
{
	char text[PARAM_PATH_BYTES];
	struct param p;

	param_defaults(&p);
#define ALLOW(key, used, given)                                        \
	if ((admin ? a->admin_set : a->own_set)[ALLOW_##key]) {        \
		p.key = (admin ? a->admin : a->own)[ALLOW_##key];      \
		param_get(&p, #key, text);                             \
		fprintf(f, "%s\t%s\t%s\t%s\n", whom, who, #key, text); \
	}
#include "daemon/budget/allow.tbl.h"
}

static void put_pid(FILE *f, pid_t pid, uint64_t start, const struct allow *a)
{
	char whom[64];

	snprintf(whom, sizeof(whom), "pid\t%d\t%llu", (int)pid, (unsigned long long)start);
	put(f, whom, "admin", a, true);
	put(f, whom, "own", a, false);
}

static void put_all(FILE *f, const void *arg)
{
	const struct roster *r = arg;
	char whom[ALLOW_JOB_LEN + 8], who[16];

	for (size_t i = 0; i < ALLOW_JOBS; i++) {
		const struct allow_job *j = &r->jobs.row[i];

		if (!*j->job || strpbrk(j->job, "\t\n"))
			continue;
		snprintf(whom, sizeof(whom), "job\t%s", j->job);
		snprintf(who, sizeof(who), "%u", j->uid);
		put(f, whom, j->any ? "admin" : who, &j->allow, j->any);
	}
	for (const struct sess *s = r->first; s; s = s->next)
		if (s->stream)
			put_pid(f, s->peer.pid, s->peer.start, &s->budget.allow);
	for (size_t i = 0; i < r->kept.n; i++)
		if (r->kept.one[i].pid)
			put_pid(f, r->kept.one[i].pid, r->kept.one[i].start, &r->kept.one[i].allow);
}

void kept_write(const struct roster *r, int run_dir)
{
	runfile_write(run_dir, KEPT_NAME, put_all, r);
}
