/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.c - runs aon-stacks beside the loop; see stacks.h. */
#include "daemon/alarm/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/num.h"
#include "daemon/core/count.h"
#include "daemon/session/session_list.h"
#include "detect/detect.h"
#include "stacks/find.h"

/* --- output --- */

static struct sess *leader_by_id(struct roster *r, uint64_t id)
{
	struct sess *s = r->first;

	while (s && (s->id != id || !s->stream))
		s = s->next;
	return s;
}

static void journal(struct sess *s, struct journal_entry *e)
{
	if (*s->stream->proc.job)
		entry_s(e, FIELD_JOB, s->stream->proc.job);
	entry_u(e, FIELD_UID, s->peer.uid);
	if (!entry_has(e, FIELD_RANKS))
		entry_list(e, FIELD_RANKS, NULL, 0);
	if (!entry_has(e, FIELD_FRAMES))
		entry_list(e, FIELD_FRAMES, NULL, 0);
	sess_journal(s, e);
	count_add(COUNT_alarms, 1);
}

static void tell_error(struct sess *s, const char *why)
{
	struct journal_entry e = { .kind = ENTRY_HANG_STACKS };

	entry_s(&e, FIELD_ERROR, why);
	journal(s, &e);
}

/* "0,1,2" as a list, bounded. */
static size_t pack(char *numbers, uint8_t *buf, size_t cap)
{
	char *word;
	size_t n = 0;

	while ((word = strsep(&numbers, ",")))
		n = entry_pack(buf, cap, n, num_front(word, NULL));
	return n;
}

/* A row of aon-stacks --rows: what it is of, their numbers, frames not shown, why not, frames. */
static void tell(struct sess *s, char *line)
{
	struct journal_entry e = { .kind = ENTRY_HANG_STACKS };
	char *at = line, *word = strsep(&at, "\t"), *numbers = strsep(&at, "\t");
	char *more = strsep(&at, "\t"), *why = strsep(&at, "\t"), *frame;
	char frames[STACKS_FRAMES], clean[256];
	uint8_t list[STACKS_RANKS * 5];
	size_t n = 0;

	if (!why) { /* whatever it is, it did not come from ours */
		tell_error(s, fmt_clean(clean, sizeof(clean), line, true));
		return;
	}
	entry_list(&e, strcmp(word, "rank") ? FIELD_PIDS : FIELD_RANKS, list,
		   pack(numbers, list, sizeof(list)));
	if (*why)
		entry_s(&e, FIELD_WHY, fmt_clean(clean, sizeof(clean), why, true));
	while ((frame = strsep(&at, "\t")) && n + 256 < sizeof(frames)) {
		fmt_clean(frames + n, 256, frame, true);
		n += strlen(frames + n) + 1;
	}
	entry_list(&e, FIELD_FRAMES, frames, n);
	if (num_front(more, NULL))
		entry_u(&e, FIELD_FRAMES_MORE, num_front(more, NULL));
	journal(s, &e);
}

static void tell_all(struct roster *r)
{
	struct journal_entry rest = { .kind = ENTRY_HANG_STACKS };
	struct stacks *st = &r->stacks;
	struct sess *s = leader_by_id(r, st->leader);
	char *at = st->text, *line;
	size_t told = 0, more = 0;

	st->text[st->n] = '\0';
	while (s && (line = strsep(&at, "\n")))
		if (*line && told++ < STACKS_LINES)
			tell(s, line);
		else
			more += *line != '\0';
	if (s && !told)
		tell_error(s, "aon-stacks ended without a word");
	if (more) {
		entry_u(&rest, FIELD_GROUPS_MORE, more);
		journal(s, &rest);
	}
	st->n = 0;
}

/* --- the process --- */

void stacks_init(struct stacks *st, struct loop *l)
{
	st->loop = l;
	st->out.fd = -1;
	st->pid = 0;
}

static void hang_up(struct stacks *st)
{
	if (st->out.fd < 0)
		return;
	loop_del(st->loop, &st->out);
	close(st->out.fd);
	st->out.fd = -1;
}

void stacks_fini(struct stacks *st)
{
	hang_up(st);
	if (st->pid) {
		kill(st->pid, SIGKILL);
		waitpid(st->pid, NULL, 0);
		st->pid = 0;
	}
}

static void on_out(struct watch *w, uint32_t events)
{
	struct stacks *st = container_of(w, struct stacks, out);
	ssize_t n = read(w->fd, st->text + st->n, sizeof(st->text) - 1 - st->n);

	(void)events;
	if (n > 0)
		st->n += (size_t)n;
	else if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* What it says beyond our room is not wanted: its next write ends it. */
	if (n <= 0 || st->n == sizeof(st->text) - 1) {
		hang_up(st);
		tell_all(container_of(st, struct roster, stacks));
	}
}

static int spawn(const char *path, char *argv[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	err = posix_spawn(pid, path, &fa, &attr, argv, (char *[]){ NULL });
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return -err;
}

/* "PID:RANK" of all that `leader` speaks for. */
static size_t list(const struct sess *leader, char word[][24], char *argv[])
{
	size_t n = 0;

	for (const struct sess *s = leader->roster->first; s && n < STACKS_RANKS; s = s->next) {
		const struct process *p;

		if (!s->stream || (s->budget.leader != leader && s != leader))
			continue;
		p = &s->stream->proc;
		if (p->origin.rank)
			snprintf(word[n], 24, "%d:%u", (int)s->peer.pid, p->origin.rank - 1);
		else
			snprintf(word[n], 24, "%d", (int)s->peer.pid);
		argv[n] = word[n];
		n++;
	}
	argv[n] = NULL;
	return n;
}

static int begin(struct roster *r, struct sess *leader, uint64_t now)
{
	static char word[STACKS_RANKS][24];
	char path[PATH_MAX], as[32],
		*argv[STACKS_RANKS + 5] = { "aon-stacks", "--rows", "--as", as };
	struct stacks *st = &r->stacks;
	int fd[2], err;

	err = stacks_find(path);
	if (err)
		return err;
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	fcntl(fd[1], F_SETFL, 0); /* its own end waits */
	snprintf(as, sizeof(as), "%u:%u", leader->peer.uid, leader->peer.gid);
	list(leader, word, argv + 4);
	err = spawn(path, argv, fd[1], &st->pid);
	close(fd[1]);
	st->out = (struct watch){ fd[0], on_out };
	err = err ? err : loop_add(st->loop, &st->out, EPOLLIN);
	if (err) {
		close(fd[0]);
		st->out.fd = -1;
		return err;
	}
	st->n = 0;
	st->leader = leader->id;
	st->until_ns = now + STACKS_LIFE_NS;
	return 0;
}

/* --- when --- */

void stacks_want(struct sess *s, uint64_t now)
{
	struct sess *leader = s->budget.leader ? s->budget.leader : s;

	if (!s->roster->param->hang_stacks || leader->alarm.stacks.at_ns ||
	    now < leader->alarm.stacks.next_ns)
		return;
	leader->alarm.stacks.at_ns = now + STACKS_AFTER_NS;
	leader->alarm.stacks.next_ns = now + STACKS_QUIET_NS;
}

static void reap(struct stacks *st, uint64_t now)
{
	if (st->pid && now > st->until_ns)
		kill(st->pid, SIGKILL);
	if (st->pid && waitpid(st->pid, NULL, WNOHANG) != 0)
		st->pid = 0;
}

void stacks_tick(struct roster *r, uint64_t now)
{
	char why[96];
	int err;

	reap(&r->stacks, now);
	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->alarm.stacks.at_ns || now < s->alarm.stacks.at_ns || r->stacks.pid ||
		    r->stacks.out.fd >= 0 || !s->stream)
			continue;
		s->alarm.stacks.at_ns = 0;
		err = begin(r, s, now);
		if (!err)
			continue;
		snprintf(why, sizeof(why), "aon-stacks %s%s",
			 err == -ENOENT ? "is not installed" : "does not start: ",
			 err == -ENOENT ? "" : strerror(-err));
		tell_error(s, why);
	}
}
