/* SPDX-License-Identifier: Apache-2.0 */
/* lease_ask.c - requests about leases, and the table as clients see it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/json.h"
#include "daemon/control/admin.h"
#include "daemon/control/lease_priv.h"
#include "daemon/session/session_list.h"

/* One who has something: a lease, our own probe, or a tool that came by itself. */
struct having {
	const char *hw, *by, *tool;
	pid_t of, pid;
	uid_t uid;
	int64_t left_ms; /* -1: as long as it likes */
};

typedef void having_fn(void *arg, const struct having *h);

/* What a probe's note says behind its source: "on: ..." or "waiting: externally profiled: nsys". */
static const char *note_of(const struct process *p, const char *source)
{
	size_t len = strlen(source);
	const char *at = p->note;

	while (at && *at) {
		if (!strncmp(at, source, len) && at[len] == ' ')
			return at + len + 1;
		at = strstr(at, "; ");
		at = at ? at + 2 : NULL;
	}
	return "";
}

/* A process whose probe waits because of a lease: until "aon yield" or "aon lease". */
static void of_process(const struct process *p, having_fn *fn, void *arg)
{
	static const char other[] = "externally profiled: ";

	for (int i = 0; i < LEASE_HW; i++) {
		const struct lease_row *row = &lease_table[i];
		const char *note = *row->source ? note_of(p, row->source) : "", *who;
		struct having h = {
			row->word, "aon", "", (pid_t)p->pid, (pid_t)p->pid, p->uid, -1
		};
		char tool[64];

		if (!strncmp(note, "on", 2)) {
			fn(arg, &h);
		} else if ((who = strstr(note, other)) &&
			   strncmp(who += sizeof(other) - 1, "aon ", 4)) {
			snprintf(tool, sizeof(tool), "%.*s", (int)strcspn(who, ";"), who);
			h.by = "other";
			h.tool = tool;
			fn(arg, &h);
		}
	}
}

/* Those that `uid` may know of: of the node all, of processes his own; root and the admin all. */
static void each(const struct leases *ls, uid_t uid, bool all, having_fn *fn, void *arg)
{
	uint64_t now = clock_mono_ns();

	for (const struct lease *l = ls->first; l; l = l->next) {
		const struct having h = { lease_table[l->ask.hw].word,
					  "lease",
					  l->ask.tool,
					  l->ask.of,
					  l->ask.holder ? l->ask.holder : l->ask.pid,
					  l->ask.uid,
					  l->until_ns > now
						  ? (int64_t)((l->until_ns - now) / 1000000)
						  : 0 };

		if (all || lease_table[l->ask.hw].node || l->ask.uid == uid)
			fn(arg, &h);
	}
	for (const struct sess *s = ls->roster->first; s; s = s->next)
		if (s->stream && (all || s->peer.uid == uid))
			of_process(&s->stream->proc, fn, arg);
}

/* --- requests --- */

static void put_line(void *arg, const struct having *h)
{
	char clean[128];

	fprintf(arg, "%s\t%d\t%s\t%u\t%d\t%" PRId64 "\t%s\n", h->hw, (int)h->of, h->by, h->uid,
		(int)h->pid, h->left_ms, fmt_clean(clean, sizeof(clean), h->tool, false));
}

static void say(FILE *f, int err, const struct lease *l)
{
	switch (err) {
	case 0:
		fprintf(f, "ok\n");
		break;
	case -EPERM:
		fprintf(f, "error: not for this user\n");
		break;
	case -EBUSY:
		fprintf(f, "error: uid %u has it\n", l ? l->ask.uid : 0);
		break;
	case -ESRCH:
		fprintf(f, "error: no session of such a process of yours\n");
		break;
	case -ENOENT:
		fprintf(f, "error: it is not leased\n");
		break;
	case -ENOSPC:
		fprintf(f, "error: you have too many\n");
		break;
	default:
		fprintf(f,
			"error: expected lease list, take HW OF MS HOLDER TOOL or release HW OF\n");
	}
}

enum lease_hw lease_hw(const char *word)
{
	int i = 0;

	while (i < LEASE_HW && strcmp(word, lease_table[i].word))
		i++;
	return (enum lease_hw)i;
}

/* Whoever is in the way: any lease of the node stands for both that share a lock. */
static const struct lease *in_the_way(const struct leases *ls, const struct lease_ask *a)
{
	const struct lease *l = lease_find(ls, a->hw, a->of);

	for (int i = 0; !l && i < LEASE_HW; i++)
		l = !a->of ? lease_find(ls, (enum lease_hw)i, 0) : NULL;
	return l;
}

static int parse(struct lease_ask *a, const char *words, bool take)
{
	char hw[16];
	int of, holder = 0, end = 0;

	if (take) {
		if (sscanf(words, "%15s %d %" SCNu32 " %d %31[^\n]", hw, &of, &a->ms, &holder,
			   a->tool) < 4 ||
		    holder < 0)
			return -EINVAL;
	} else if (sscanf(words, "%15s %d%n", hw, &of, &end) != 2 || words[end]) {
		return -EINVAL;
	}
	a->hw = lease_hw(hw);
	a->of = of;
	a->holder = holder;
	return a->hw < LEASE_HW ? 0 : -EINVAL;
}

void lease_request(FILE *f, struct leases *ls, const struct admin_client *c, char *words)
{
	struct lease_ask ask = { .uid = c->uid, .pid = c->pid, .guest = c->guest };
	char *verb = strsep(&words, " ");
	bool take = !strcmp(verb, "take");
	uint32_t number;
	int err;

	if (!strcmp(verb, "list")) {
		each(ls, c->uid, !c->guest, put_line, f);
	} else {
		err = words && (take || !strcmp(verb, "release")) ? parse(&ask, words, take)
								  : -EINVAL;
		if (!err)
			err = take ? lease_take(ls, &ask, &number) : lease_release(ls, &ask);
		say(f, err, in_the_way(ls, &ask));
	}
}

static void put_json(void *arg, const struct having *h)
{
	struct json *j = arg;

	json_open(j, NULL, '{');
	json_members(j, J_STR("hw", h->hw), J_U64("of", (uint64_t)h->of), J_STR("by", h->by),
		     J_U64("uid", h->uid), J_U64("pid", (uint64_t)h->pid));
	if (h->left_ms < 0)
		json_null(j, "left_ms");
	else
		json_i64(j, "left_ms", h->left_ms);
	json_str(j, "tool", *h->tool ? h->tool : NULL);
	json_close(j);
}

void leases_json(const struct leases *ls, struct json *j)
{
	json_open(j, "leases", '[');
	each(ls, 0, true, put_json, j);
	json_close(j);
}
