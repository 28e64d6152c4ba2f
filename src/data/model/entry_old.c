/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_old.c - entries of stores before version 3, which hold sentences only.
 *
 * This is the only place that parses a sentence, and only as far as programs need it: which process
 * an alarm is about, where ranks stand, what a capture keeps and of which process. The line itself
 * stays as it was written.
 */
#include "model/entry.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define RANKS   4096u /* of a range, at most */
#define PID_KEY "pid "
#define JOB_KEY "job "

/* --- alarms --- */

/*
 * "rank 3, job j, pid 77: ...": whose it is. A job may be called anything, also ", pid 5: ": where two such are in a
 * line nobody can tell which one was meant, and nobody is.
 */
static void read_who(struct journal_entry *e, char buf[ENTRY_OLD], const char *text)
{
	const char *at = text, *pid = NULL;
	unsigned rank, number, v;
	int n = 0, len, count = 0;
	bool ranked = sscanf(at, "rank %u, %n", &rank, &n) == 1 && n;

	at += ranked ? n : 0;
	for (const char *p = at; (p = strstr(p, PID_KEY)); p++) {
		len = 0;
		if ((p == at || !strncmp(p - 2, ", ", 2)) &&
		    sscanf(p, PID_KEY "%u:%n", &v, &len) == 1 && len) {
			pid = pid ? pid : p;
			number = count++ ? number : v;
		}
	}
	if (count != 1 || (pid != at && strncmp(at, JOB_KEY, strlen(JOB_KEY)) != 0))
		return;
	entry_u(e, FIELD_PID, number);
	if (ranked)
		entry_u(e, FIELD_RANK, rank);
	if (pid == at)
		return;
	at += strlen(JOB_KEY);
	snprintf(buf, ENTRY_OLD, "%.*s", (int)(pid - 2 - at), at);
	entry_s(e, FIELD_JOB, buf);
}

/* "ranks 0-2,4 of job j: f <- g"; whatever else a line is, both lists are there. */
static void read_stacks(struct journal_entry *e, char buf[ENTRY_OLD], const char *text)
{
	static const char between[] = " <- ";
	const char *at = text + strcspn(text, " "), *end = strstr(text, ": ");
	const char *job = strstr(text, " of job ");
	bool ranks = !strncmp(text, "rank", 4);
	size_t n = 0, from;

	while (ranks && (*at == ' ' || *at == ',') && at[1] >= '0' && at[1] <= '9') {
		const char *next;
		uint64_t first = num_front(at + 1, &next), last = first;

		if (*next == '-')
			last = num_front(next + 1, &next);
		for (; first <= last && last - first < RANKS; first++)
			n = entry_pack((uint8_t *)buf, ENTRY_OLD / 2, n, first);
		at = next;
	}
	entry_list(e, FIELD_RANKS, buf, n);
	if (ranks && job && end && job < end && (size_t)(end - job) < 128) {
		entry_s(e, FIELD_JOB, buf + n);
		n += (size_t)snprintf(buf + n, ENTRY_OLD - n, "%.*s", (int)(end - job - 8),
				      job + 8) +
		     1;
	}
	from = n;
	for (at = end ? end + 2 : NULL; at && n < ENTRY_OLD - 1; at = end ? end + 4 : NULL) {
		end = strstr(at, between);
		n += (size_t)snprintf(buf + n, ENTRY_OLD - n, "%.*s",
				      (int)(end ? end - at : (long)strlen(at)), at) +
		     1;
		n = n < ENTRY_OLD ? n : ENTRY_OLD;
	}
	entry_list(e, FIELD_FRAMES, buf + from, n - from);
}

static bool read_alarm(struct journal_entry *e, char buf[ENTRY_OLD], const char *text)
{
	size_t word = strcspn(text, ":");
	enum entry_kind k = entry_alarm(text, word);

	if (k == ENTRY_KINDS || strncmp(text + word, ": ", 2) != 0)
		return false;
	e->kind = k;
	text += word + 2;
	if (k == ENTRY_HANG_STACKS)
		read_stacks(e, buf, text);
	else
		read_who(e, buf, text);
	return true;
}

/* --- captures --- */

static bool read_raised(struct journal_entry *e, char buf[ENTRY_OLD], const char *text)
{
	unsigned pid, secs, process;
	unsigned long long from, to;

	if (sscanf(text,
		   "pid %u: tier full for %u s, because of %23[a-z_]; kept: process %u from %llu "
		   "to "
		   "%llu",
		   &pid, &secs, buf, &process, &from, &to) != 6)
		return false;
	e->kind = ENTRY_RAISED;
	entry_u(e, FIELD_PID, pid);
	entry_u(e, FIELD_SECONDS, secs);
	entry_s(e, FIELD_WHY, buf);
	entry_u(e, FIELD_PROCESS, process);
	entry_u(e, FIELD_FROM_NS, from);
	entry_u(e, FIELD_TO_NS, to);
	return true;
}

/* "... of pid 41, 42: why" */
static bool read_asked(struct journal_entry *e, char buf[ENTRY_OLD], const char *text)
{
	static const char of[] = "of pid ";
	const char *at = strstr(text, of);
	size_t n = 0;
	const char *end;

	if (!at)
		return false;
	e->kind = strncmp(text, "number ", 7) ? ENTRY_PROFILER : ENTRY_CAPTURE;
	for (at += sizeof(of) - 1; *at; at = !strncmp(end, ", ", 2) ? end + 2 : "") {
		uint64_t pid = num_front(at, &end);

		if (end == at || (e->kind == ENTRY_PROFILER && n))
			break;
		n = entry_pack((uint8_t *)buf, ENTRY_OLD, n, pid);
		entry_u(e, FIELD_PID, pid);
	}
	if (e->kind == ENTRY_CAPTURE) {
		entry_unset(e, FIELD_PID);
		entry_list(e, FIELD_PIDS, buf, n);
	}
	return true;
}

void entry_from_line(struct journal_entry *e, char buf[ENTRY_OLD], const char *what,
		     const char *text)
{
	bool capture = !strcmp(what, "capture");

	e->have = 0;
	e->text = text;
	if ((!strcmp(what, "alarm") && read_alarm(e, buf, text)) ||
	    (capture && (read_raised(e, buf, text) || read_asked(e, buf, text))))
		return;
	e->kind = ENTRY_LINE;
	e->have = 0;
	entry_s(e, FIELD_WHAT, what);
	entry_s(e, FIELD_LINE, text);
}
