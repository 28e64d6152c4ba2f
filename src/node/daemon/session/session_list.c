/* SPDX-License-Identifier: Apache-2.0 */
/* session_list.c - all sessions: admission, and the work for each of them once a second. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/core/count.h"
#include "daemon/session/session_list.h"

#define WINDOW_LATE_NS 2000000000ull /* for records that arrive after their window's end */
#define SYNC_TURNS     64

/* --- letting in --- */

static unsigned of_uid(const struct roster *r, uid_t uid)
{
	unsigned n = 0;

	for (const struct sess *s = r->first; s; s = s->next)
		n += s->peer.uid == uid;
	return n;
}

static int add_sess(struct roster *r, int sock, const struct peer *peer, int pidfd)
{
	struct sess *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	*s = (struct sess){ .roster = r,
			    .channel = { .sock = { sock, sess_sock }, .pid = { pidfd, sess_pid } },
			    .peer = *peer,
			    .id = ++r->ids,
			    .since_ns = clock_mono_ns(),
			    .gate.fd = -1 };
	err = loop_add(r->loop, &s->channel.sock, EPOLLIN);
	err = err ? err : loop_add(r->loop, &s->channel.pid, EPOLLIN);
	if (err) {
		loop_del(r->loop, &s->channel.sock);
		free(s);
		return err;
	}
	s->next = r->first;
	s->prev = &r->first;
	if (s->next)
		s->next->prev = &s->next;
	r->first = s;
	r->count++;
	return 0;
}

/* Owns sock. */
static void let_in(struct roster *r, int sock)
{
	enum count_id why = COUNT_refused_unknown;
	struct peer peer;
	int pidfd = -1;

	if (peer_get(&peer, &pidfd, sock) < 0)
		goto refuse;
	why = COUNT_refused_full;
	if (r->count >= (unsigned)r->param->sessions_max)
		goto refuse;
	why = COUNT_refused_uid;
	if (of_uid(r, peer.uid) >= (unsigned)r->param->sessions_per_uid)
		goto refuse;
	why = COUNT_refused_memory;
	if (add_sess(r, sock, &peer, pidfd) < 0)
		goto refuse;
	return;

refuse:
	count_add(why, 1);
	log_warn("a process was refused: %s", count_table[why].name);
	if (pidfd >= 0)
		close(pidfd);
	close(sock);
}

/* No descriptor is left: give up the reserve, turn the peer away, take the reserve again. */
static void turn_away(struct roster *r)
{
	int sock;

	count_add(COUNT_refused_full, 1);
	log_warn("no descriptors left (%u sessions)", r->count);
	close(r->reserve);
	sock = accept4(r->listen.fd, NULL, NULL, SOCK_CLOEXEC);
	if (sock >= 0)
		close(sock);
	r->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void roster_accept(struct watch *w, uint32_t events)
{
	struct roster *r = container_of(w, struct roster, listen);

	(void)events;
	for (int i = 0; i < LOOP_BATCH; i++) {
		int sock = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (sock >= 0) {
			let_in(r, sock);
		} else if (errno == EMFILE || errno == ENFILE) {
			turn_away(r);
		} else if (errno != ECONNABORTED && errno != EINTR) {
			return; /* EAGAIN, or memory: epoll says it again */
		}
	}
}

/* --- those that cannot ring --- */

static void poll_timer(struct roster *r, uint64_t ns)
{
	struct itimerspec its = { .it_interval.tv_nsec = (long)ns, .it_value.tv_nsec = (long)ns };

	timerfd_settime(r->poll.fd, 0, &its, NULL);
	r->polling = ns != 0;
}

void roster_poll_on(struct roster *r)
{
	if (!r->polling)
		poll_timer(r, POLL_NS);
}

static void poll_all(struct watch *w, uint32_t events)
{
	struct roster *r = container_of(w, struct roster, poll);
	bool active = false;
	uint64_t n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) < 0)
		return;
	roster_refill(r);
	for (struct sess *s = r->first, *next; s; s = next) {
		next = s->next;
		if (!s->stream || !sess_cannot_ring(s) || s->channel.idle++ > POLLS_IDLE)
			continue;
		active = true;
		sess_drain(s);
	}
	if (!active)
		poll_timer(r, 0);
}

/* --- every second --- */

/* A filter of system calls that came after the process joined may kill it for our send(). */
static void look_at_filters(struct sess *s)
{
	struct proc_seccomp now;

	if (s->channel.quiet || proc_seccomp(s->peer.pid, &now) < 0)
		return;
	if (now.mode == 1 || now.filters > s->channel.at_join.filters ||
	    (now.mode == 2 && s->channel.at_join.mode != 2)) {
		s->channel.quiet = true;
		gate_quiet(&s->gate);
		if (now.mode == 1) /* strict: there even reading the TSC is a SIGSEGV */
			gate_lock(&s->gate);
		log_debug("pid %d: has system call filters, is left in peace", (int)s->peer.pid);
	}
}

static void hear_again(struct sess *s)
{
	s->channel.doorbells = 0;
	if (s->channel.deaf && s->channel.sock.fd >= 0)
		loop_mod(s->roster->loop, &s->channel.sock, EPOLLIN);
	s->channel.deaf = false;
}

static void tick_one(struct sess *s, uint64_t now)
{
	struct roster *r = s->roster;

	if (!s->stream) {
		if (now - s->since_ns > HELLO_NS) {
			count_add(COUNT_refused_late, 1);
			sess_unlink(s);
		}
		return;
	}
	if (s->leave_ns && now > s->leave_ns) {
		sess_end(s, true);
		return;
	}
	hear_again(s);
	gate_beat(&s->gate);
	sess_tier(s);
	if (r->count <= SECCOMP_ALL || r->ticks % 10 == 0)
		look_at_filters(s);
	sess_drain(s); /* may end it */
}

void roster_tick(struct roster *r, uint64_t now)
{
	r->ticks++;
	roster_refill(r);
	for (struct sess *s = r->first, *next; s; s = next) {
		next = s->next;
		tick_one(s, now);
	}
	slot_tick(r);
	budget_tick(r, now);
	alarm_tick(r, now);
	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream)
			continue;
		stream_windows(s->stream, now - WINDOW_LATE_NS);
		stream_steps(s->stream, now - RECORDER_LATE_NS);
		stream_ripe_samples(s->stream, now);
		stream_flush(s->stream);
	}
}

void roster_more(struct roster *r)
{
	r->more = false;
	for (struct sess *s = r->first, *next; s; s = next) {
		next = s->next;
		if (s->channel.more)
			sess_drain(s);
	}
}

void roster_sync(struct roster *r)
{
	for (struct sess *s = r->first, *next; s; s = next) {
		next = s->next;
		if (peer_gone(s->channel.pid.fd))
			sess_end(s, true);
		else if (s->stream)
			sess_drain(s);
	}
	for (int i = 0; r->more && i < SYNC_TURNS; i++)
		roster_more(r);
	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream)
			continue;
		stream_windows(s->stream, UINT64_MAX);
		stream_ripe_samples(s->stream, UINT64_MAX);
		stream_flush(s->stream);
	}
}

void roster_report(struct roster *r)
{
	for (struct sess *s = r->first; s; s = s->next)
		if (s->stream)
			stream_report(s->stream);
}

void roster_wall(struct roster *r, int64_t offset_ns)
{
	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream)
			continue;
		s->stream->proc.wall_offset_ns = offset_ns;
		s->stream->changed = true;
	}
}

unsigned roster_tier(struct roster *r, pid_t pid, enum tier tier)
{
	unsigned n = 0;

	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream || s->peer.pid != pid)
			continue;
		s->budget.asked = tier;
		sess_tier(s);
		n++;
	}
	return n;
}

typedef void order_fn(struct gate *g, uint32_t number, uint32_t ms);

static unsigned order(struct roster *r, pid_t pid, uid_t uid, order_fn *fn, uint32_t number,
		      uint32_t ms)
{
	unsigned n = 0;

	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream || s->peer.pid != pid || (uid && s->peer.uid != uid))
			continue;
		fn(&s->gate, number, ms);
		n++;
	}
	return n;
}

unsigned roster_capture(struct roster *r, pid_t pid, uid_t uid, uint32_t number, uint32_t ms)
{
	return order(r, pid, uid, gate_capture, number, ms);
}

unsigned roster_room(struct roster *r, pid_t pid, uid_t uid, uint32_t number, uint32_t ms)
{
	return order(r, pid, uid, gate_room, number, ms);
}

/* --- life --- */

int roster_init(struct roster *r, struct loop *l, struct plant *pl, const struct param *p,
		struct recovery *left, int listen_fd)
{
	int err;

	*r = (struct roster){ .loop = l,
			      .plant = pl,
			      .param = p,
			      .left = left,
			      .listen = { listen_fd, roster_accept },
			      .spare_gate.fd = -1,
			      .emit_ns = cost_calibrate() };
	memcpy(r->boot_id, left->boot_id, sizeof(r->boot_id));
	stacks_init(&r->stacks, l);
	r->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r->poll = (struct watch){ timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
				  poll_all };
	if (r->poll.fd < 0)
		return -errno;
	err = loop_add(l, &r->poll, EPOLLIN);
	err = err ? err : loop_add(l, &r->listen, EPOLLIN);
	err = err ? err : slot_init(r);
	if (err)
		close(r->poll.fd);
	return err;
}

void roster_fini(struct roster *r)
{
	for (struct sess *s = r->first, *next; s; s = next) {
		next = s->next;
		if (s->stream && !peer_gone(s->channel.pid.fd)) {
			while (stream_drain(s->stream, false) == 1)
				;
			sess_end(s, false);
		} else {
			sess_end(s, true);
		}
	}
	kept_fini(&r->kept);
	stacks_fini(&r->stacks);
	pool_free(r->spare);
	gate_close(&r->spare_gate);
	slot_fini(r);
	loop_del(r->loop, &r->poll);
	loop_del(r->loop, &r->listen);
	close(r->poll.fd);
	close(r->listen.fd);
	close(r->reserve);
}
