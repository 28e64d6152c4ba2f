/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_ask.c - requests about captures (admin.h), a line each, of words between tabs:
 *
 *	capture begin KEY=VALUE...  of the asker's processes, or of all if it is root's;
 *	                            "id N", "processes N", "store PATH"
 *	        steps=N | ms=N      so many steps, or so long; neither: the past alone
 *	        before=MS timeout=MS pids=P,P ranks=R,R job=J
 *	capture state               of this asker's: "capture ID STATE BEGIN_NS ERROR", then for each
 *	                            process "process PID ID RANK END FIRST LAST STEP END_NS EMITTED LOST"
 *	capture list                "ID UID STATE PROCESSES WHAT" of those that the asker may cancel
 *	capture cancel ID           "ok"
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/aond.h"

#define STEPS_MAX 100000u
#define MS_MAX    600000u
#define WAIT_MAX  86400000u

static const char *const state_word[] = { "free", "runs", "settles", "stores", "done" };
static const char *const end_word[] = { "runs", "through", "left", "late" };

/* --- what is asked for --- */

static int number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || v > max)
		return -EINVAL;
	*out = v;
	return 0;
}

static int list(const char *text, char out[CAPTURE_LIST])
{
	size_t len = strlen(text);

	if (!len || len >= CAPTURE_LIST || strspn(text, "0123456789,") != len)
		return -EINVAL;
	memcpy(out, text, len + 1);
	return 0;
}

static int key_value(struct capture_want *w, char *word)
{
	const struct {
		const char *key;
		uint64_t max, *to;
	} keys[] = { { "steps", STEPS_MAX, &w->steps },
		     { "ms", MS_MAX, &w->ms },
		     { "before", MS_MAX, &w->before_ms },
		     { "timeout", WAIT_MAX, &w->timeout_ms } };
	char *value = word, *key = strsep(&value, "=");

	if (!value)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i].key))
			return number(value, keys[i].max, keys[i].to);
	if (!strcmp(key, "pids"))
		return list(value, w->pids);
	if (!strcmp(key, "ranks"))
		return list(value, w->ranks);
	if (!strcmp(key, "job") && *value && strlen(value) < sizeof(w->job)) {
		strcpy(w->job, value);
		return 0;
	}
	return -EINVAL;
}

int capture_parse(struct capture_want *out, char *text, const char **why)
{
	struct capture_want w = { .timeout_ms = 60000 };
	char *word;

	*why = "expected capture begin steps=N or ms=N, before=MS timeout=MS pids=P,P ranks=R,R "
	       "job=J";
	while ((word = strsep(&text, " ")))
		if (key_value(&w, word) < 0)
			return -EINVAL;
	if ((w.steps && w.ms) || (!w.steps && !w.ms && !w.before_ms))
		return -EINVAL;
	*out = w;
	return 0;
}

/* --- requests --- */

static void do_begin(FILE *f, struct captures *cs, uint64_t asker, uid_t uid, char *arg)
{
	struct capture_want w;
	struct capture *c;
	const char *why;

	if (capture_parse(&w, arg, &why) < 0 || capture_begin(cs, &c, asker, uid, &w, &why) < 0)
		fprintf(f, "error: %s\n", why);
	else
		fprintf(f, "id\t%" PRIu64 "\nprocesses\t%zu\nstore\t%s\n", c->id, c->n,
			cs->aond->param.store.s);
}

static void put_proc(FILE *f, const struct capture_proc *p)
{
	uint64_t lost = account_lost(&p->is) - account_lost(&p->was);
	char rank[16] = "-";

	if (p->rank)
		snprintf(rank, sizeof(rank), "%u", p->rank - 1);
	fprintf(f,
		"process\t%u\t%u\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		"\t%" PRIu64 "\t%" PRIu64 "\n",
		p->pid, p->id, rank, end_word[p->end], p->first, p->last, p->step, p->end_ns,
		p->is.emitted - p->was.emitted, lost);
}

static void do_state(FILE *f, struct captures *cs, uint64_t asker)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		const struct capture *c = &cs->c[i];

		if (c->state == CAPTURE_FREE || c->asker != asker)
			continue;
		fprintf(f, "capture\t%" PRIu64 "\t%s\t%" PRIu64 "\t%s\n", c->id,
			state_word[c->state], c->begin_ns, c->err ? strerror(-c->err) : "-");
		for (size_t k = 0; k < c->n; k++)
			put_proc(f, &c->proc[k]);
	}
}

static void do_list(FILE *f, const struct captures *cs, uid_t uid)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		const struct capture *c = &cs->c[i];

		if (c->state == CAPTURE_FREE || (uid && c->uid != uid))
			continue;
		fprintf(f, "%" PRIu64 "\t%u\t%s\t%zu\t", c->id, c->uid, state_word[c->state], c->n);
		if (c->want.steps)
			fprintf(f, "%" PRIu64 " steps", c->want.steps);
		else
			fprintf(f, "%" PRIu64 " ms", c->want.ms);
		fprintf(f, ", %" PRIu64 " ms before\n", c->want.before_ms);
	}
}

static void do_cancel(FILE *f, struct captures *cs, uid_t uid, const char *arg)
{
	uint64_t id;

	for (size_t i = 0; !number(arg, UINT64_MAX, &id) && i < CAPTURES; i++) {
		struct capture *c = &cs->c[i];

		if (c->state == CAPTURE_FREE || c->id != id || (uid && c->uid != uid))
			continue;
		capture_end(cs, c);
		fprintf(f, "ok\n");
		return;
	}
	fprintf(f, "error: no capture %.20s of yours\n", arg);
}

char *capture_ask(struct captures *cs, uint64_t asker, uid_t uid, char *request, size_t *len)
{
	char *word = strsep(&request, " "), *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f)
		return NULL;
	if (!strcmp(word, "begin") && request)
		do_begin(f, cs, asker, uid, request);
	else if (!strcmp(word, "state"))
		do_state(f, cs, asker);
	else if (!strcmp(word, "list"))
		do_list(f, cs, uid);
	else if (!strcmp(word, "cancel") && request)
		do_cancel(f, cs, uid, request);
	else
		fprintf(f, "error: expected capture begin, state, list or cancel\n");
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
