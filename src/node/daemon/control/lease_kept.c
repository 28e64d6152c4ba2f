/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_kept.c - leases survive a restart of aond: a file in its run directory (runfile.h),
 * rewritten with every change and read once.
 *
 *	HW<tab>OF<tab>START<tab>UID<tab>PID<tab>GUEST<tab>HOLDER<tab>START<tab>UNTIL_NS<tab>TOOL
 *
 * START: of the process before it, as proc_start(); 0 for none. UNTIL_NS: CLOCK_MONOTONIC.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/proc.h"
#include "collect/leased.h"
#include "daemon/control/lease_priv.h"
#include "daemon/core/runfile.h"

#define LEASES_NAME "leases"
#define GRACE_MS \
	5000u /* within it processes rejoin a new aond, which then tells them what is free */

/* --- writing --- */

static uint64_t start_of(pid_t pid)
{
	uint64_t start = 0;

	return pid && !proc_start(pid, &start) ? start : 0;
}

static void put_all(FILE *f, const void *arg)
{
	const struct leases *ls = arg;

	for (const struct lease *l = ls->first; l; l = l->next)
		fprintf(f, "%s\t%d\t%llu\t%u\t%d\t%d\t%d\t%llu\t%llu\t%s\n",
			lease_table[l->ask.hw].word, (int)l->ask.of,
			(unsigned long long)l->of_start, l->ask.uid, (int)l->ask.pid, l->ask.guest,
			(int)l->ask.holder, (unsigned long long)l->holder_start,
			(unsigned long long)l->until_ns, l->ask.tool);
}

/* For collectors, which are other users': what measures by the GPUs' counters waits for whom, until when. */
static void put_counters(FILE *f, const void *arg)
{
	const struct leases *ls = arg;

	fchmod(fileno(f), 0644);
	for (const struct lease *l = ls->first; l; l = l->next)
		if (lease_table[l->ask.hw].node) {
			fprintf(f, "%s %llu\n", lease_table[l->ask.hw].word,
				(unsigned long long)l->until_ns);
			return;
		}
}

void lease_known(struct lease *l)
{
	l->of_start = start_of(l->ask.of);
	l->holder_start = start_of(l->ask.holder);
}

void leases_keep(const struct leases *ls)
{
	if (ls->run_dir < 0)
		return;
	runfile_write(ls->run_dir, LEASES_NAME, put_all, ls);
	runfile_write(ls->run_dir, LEASED_NAME, put_counters, ls);
}

/* --- reading --- */

static bool pid_of(char **rest, pid_t *pid)
{
	uint64_t n;

	if (!runfile_number(strsep(rest, "\t"), &n) || n > INT32_MAX)
		return false;
	*pid = (pid_t)n;
	return true;
}

static bool parse(char *line, struct lease *l)
{
	char *hw = strsep(&line, "\t");
	uint64_t uid, guest;

	*l = (struct lease){ .ask.hw = lease_hw(hw) };
	if (l->ask.hw >= LEASE_HW || !pid_of(&line, &l->ask.of) ||
	    !runfile_number(strsep(&line, "\t"), &l->of_start) ||
	    !runfile_number(strsep(&line, "\t"), &uid) || uid >= UINT32_MAX ||
	    !pid_of(&line, &l->ask.pid) || !runfile_number(strsep(&line, "\t"), &guest) ||
	    guest > 1 || !pid_of(&line, &l->ask.holder) ||
	    !runfile_number(strsep(&line, "\t"), &l->holder_start) ||
	    !runfile_number(strsep(&line, "\t"), &l->until_ns) || !line)
		return false;
	l->ask.uid = (uid_t)uid;
	l->ask.guest = guest;
	snprintf(l->ask.tool, sizeof(l->ask.tool), "%s", line);
	return lease_table[l->ask.hw].node == !l->ask.of;
}

/* It is the same process still. */
static bool is(pid_t pid, uint64_t start)
{
	return start && start_of(pid) == start;
}

void leases_parse(struct leases *ls, char *text, uint64_t now_ns)
{
	struct lease l;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		uint64_t most = now_ns + LEASE_MS_MAX * 1000000ull;

		if (!parse(line, &l) || (l.ask.of && !is(l.ask.of, l.of_start)))
			continue;
		/* The lease is over; it stays long enough for its processes to be notified. */
		if (l.until_ns <= now_ns || (l.ask.holder && !is(l.ask.holder, l.holder_start))) {
			l.ask.holder = 0;
			l.until_ns = now_ns + GRACE_MS * 1000000ull;
		}
		l.until_ns = l.until_ns < most ? l.until_ns : most;
		l.ask.ms = (uint32_t)((l.until_ns - now_ns) / 1000000);
		l.ask.ms = l.ask.ms ? l.ask.ms : 1;
		lease_again(ls, &l.ask);
	}
}

void leases_read(struct leases *ls, int run_dir)
{
	char *text = runfile_read(run_dir, LEASES_NAME);

	if (text)
		leases_parse(ls, text, clock_mono_ns());
	free(text);
	ls->run_dir = run_dir;
	leases_keep(ls);
}
