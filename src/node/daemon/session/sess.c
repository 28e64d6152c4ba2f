/* SPDX-License-Identifier: Apache-2.0 */
/* sess.c - the session of one process: its messages, its drain, its end. */
#include "daemon/session/session_list.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <aon/aon.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/log.h"
#include "daemon/alarm/alarm.h"
#include "daemon/control/broker.h"
#include "daemon/core/count.h"
#include "store/store.h"

#define MESSAGES_MAX 64 /* of one process before others have their turn */

/* --- the end --- */

static void close_sock(struct sess *s)
{
	if (s->channel.sock.fd < 0)
		return;
	loop_del(s->roster->loop, &s->channel.sock);
	close(s->channel.sock.fd);
	s->channel.sock.fd = -1;
}

void sess_unlink(struct sess *s)
{
	struct roster *r = s->roster;

	close_sock(s);
	if (s->channel.pid.fd >= 0) {
		loop_del(r->loop, &s->channel.pid);
		close(s->channel.pid.fd);
	}
	gate_close(&s->gate);
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	assert(r->count > 0);
	r->count--;
	free(s);
}

void sess_end(struct sess *s, bool dead)
{
	struct roster *r = s->roster;
	struct stream *st = s->stream;
	uint64_t id[2];

	r->led_ids = 0; /* who followed it needs another leader */

	if (!st) {
		sess_unlink(s);
		return;
	}
	while (dead && stream_drain(st, true) == 1)
		;
	if (dead) {
		alarm_ended(s, clock_mono_ns());
		oom_ended(s, clock_mono_ns());
	}
	stream_finish(st, clock_mono_ns());
	budget_note(s);
	st->proc.connected = 0;
	st->proc.last_ns = clock_mono_ns();
	stream_report(st);
	if (r->plant->broker)
		broker_gone(r->plant->broker, &st->proc);
	r->pool_bytes -= pool_bytes(st->pool);
	count_set(COUNT_pool_bytes, r->pool_bytes);
	count_add(COUNT_sessions_ended, 1);
	log_debug("pid %d: ended", (int)s->peer.pid);
	memcpy(id, st->proc.pool_id, sizeof(id));
	stream_free(st);
	if (dead && *r->param->pool_dir.s && s->peer.uid == geteuid())
		recovery_pool_unlink(r->param->pool_dir.s, id);
	sess_unlink(s);
}

/* --- hearing it --- */

bool sess_cannot_ring(const struct sess *s)
{
	return s->channel.quiet || s->channel.sock.fd < 0;
}

void roster_journal(struct roster *r, uid_t uid, uint64_t now_ns, struct journal_entry *e)
{
	char text[ENTRY_TEXT];

	if (!quota_take(&r->journal, uid, now_ns, QUOTA_DAY, JOURNAL_LINES)) {
		count_add(COUNT_journal_full, 1);
		return;
	}
	log_warn("%s: %s", entry_what(e), entry_line(e, text));
	e->wall_ns = clock_wall_ns();
	store_entry(r->plant->store, e);
	r->plant->dirty = true;
}

void sess_journal(struct sess *s, struct journal_entry *e)
{
	roster_journal(s->roster, s->peer.uid, clock_mono_ns(), e);
}

void sess_tier(struct sess *s)
{
	const struct fidelity_row *fidelity = &fidelity_table[s->stream->cost.govern.fidelity];
	enum tier tier = s->budget.captures ? TIER_FULL : s->budget.asked;

	if (tier != TIER_FULL && fidelity->tier < tier)
		tier = fidelity->tier;
	if (tier == TIER_FLIGHT && s->roster->plant->broker &&
	    broker_detail(s->roster->plant->broker, &s->stream->proc))
		tier = TIER_FULL; /* a consumer needs it; the budget has taken nothing away */
	s->stream->changed |= s->stream->proc.tier != tier;
	s->stream->proc.tier = tier;
	s->gate.unsampled &= tier != TIER_FULL;
	gate_ops(&s->gate, tier, fidelity->ops ? (uint32_t)s->roster->param->ops_every : 0);
	s->gate.drop = fidelity->counters ? 0 : AON_WANT_COUNTER | AON_WANT_FLOW;
	gate_tier(&s->gate, tier);
}

int sess_drain(struct sess *s)
{
	int got = stream_drain(s->stream, false);

	if (got < 0) {
		count_add(COUNT_sessions_lied, 1);
		log_warn("pid %d uid %u: its pool breaks the rules: ended", (int)s->peer.pid,
			 s->peer.uid);
		gate_shut(&s->gate);
		sess_end(s, false);
		return 1;
	}
	s->channel.more = got == 1;
	s->roster->more |= s->channel.more;
	if (!s->stream->fresh)
		return 0;
	s->channel.idle = 0;
	s->stream->proc.last_ns = clock_mono_ns();
	if (sess_cannot_ring(s))
		roster_poll_on(s->roster);
	return 0;
}

/* "nvtx on; cuda off: no driver": the last word of each source, the new one in front. */
static void take_note(struct sess *s, const struct aon_msg_note *m)
{
	struct process *p = &s->stream->proc;
	char old[sizeof(p->note)], *save = NULL;
	size_t len = strlen(m->source);
	int used;

	s->stream->changed = true;
	if (!strcmp(m->source, "framework")) {
		fmt_clean(p->ident.framework, sizeof(p->ident.framework), m->reason, true);
		return;
	}
	memcpy(old, p->note, sizeof(old));
	used = snprintf(p->note, sizeof(p->note), "%s %s%s%.120s", m->source, m->state,
			*m->reason ? ": " : "", m->reason);
	for (char *one = strtok_r(old, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
		one += *one == ' ';
		if ((strncmp(one, m->source, len) || one[len] != ' ') &&
		    used + strlen(one) + 3 < sizeof(p->note))
			used += snprintf(p->note + used, sizeof(p->note) - (size_t)used, "; %s",
					 one);
	}
}

/* It is no process to record, but somebody who asks. Returns 1: its session is gone. */
static int make_guest(struct sess *s)
{
	int sock = fcntl(s->channel.sock.fd, F_DUPFD_CLOEXEC, 0);

	if (sock >= 0 && (!s->roster->admin ||
			  admin_guest(s->roster->admin, sock, s->peer.uid, s->peer.pid) < 0))
		close(sock);
	sess_unlink(s);
	return 1;
}

static int take_message(struct sess *s, const union msg *m, struct msg_fds *fds, bool *rang)
{
	switch (m->head.type) {
	case AON_MSG_HELLO:
		return s->stream ? -EPROTO : sess_hello(s, &m->hello, fds);
	case AON_MSG_DOORBELL:
		count_add(COUNT_bells, 1);
		s->channel.doorbells++;
		*rang = true;
		return s->stream ? 0 : -EPROTO;
	case AON_MSG_NOTE:
		if (!s->stream)
			return -EPROTO;
		take_note(s, &m->note);
		return 0;
	case AON_MSG_ASK:
		return s->stream ? -EPROTO : make_guest(s);
	default:
		count_add(COUNT_messages_unknown, 1);
		return 0;
	}
}

/* Rings without cause: its socket is not looked at until the next second. */
static void go_deaf(struct sess *s)
{
	s->channel.deaf = true;
	count_add(COUNT_bells_ignored, 1);
	loop_mod(s->roster->loop, &s->channel.sock, 0);
}

/* The socket is of no more use; the process may well be. */
static void lose_sock(struct sess *s, int err)
{
	if (err == -EPROTO) {
		count_add(COUNT_messages_bad, 1);
		log_warn("pid %d uid %u: its message breaks the rules: closed", (int)s->peer.pid,
			 s->peer.uid);
	}
	if (!s->stream) {
		sess_unlink(s);
		return;
	}
	close_sock(s);
	roster_poll_on(s->roster);
}

void sess_sock(struct watch *w, uint32_t events)
{
	struct sess *s = container_of(w, struct sess, channel.sock);
	struct msg_fds fds;
	bool rang = false;
	union msg m;
	int err = 0;

	if (s->channel.deaf && events & (EPOLLHUP | EPOLLERR)) {
		lose_sock(s, -EPIPE);
		return;
	}
	for (int i = 0; i < MESSAGES_MAX && !err; i++) {
		err = msg_recv(s->channel.sock.fd, &m, &fds);
		if (err)
			break;
		err = take_message(s, &m, &fds, &rang);
		msg_fds_close(&fds);
		if (err == 1) /* it is gone, or another session has its socket now */
			return;
	}
	if (err && err != -EAGAIN) {
		lose_sock(s, err);
		return;
	}
	if (s->channel.doorbells > DOORBELLS_MAX)
		go_deaf(s);
	if (rang)
		sess_drain(s);
}

void sess_pid(struct watch *w, uint32_t events)
{
	(void)events;
	sess_end(container_of(w, struct sess, channel.pid), true);
}
