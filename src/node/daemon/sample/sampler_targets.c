/* SPDX-License-Identifier: Apache-2.0 */
/* sampler_targets.c - whom to sample, how often, and what that may cost; see sampler.h. */
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/proc.h"
#include "daemon/core/aond.h"
#include "daemon/core/count.h"
#include "daemon/sample/sampler.h"
#include "model/sample_most.h"

#define SLOW_HZ    10u
#define CALM_S     10u         /* well below its budget, before rates double again */
#define LOOK_TICKS 10u         /* between two looks at what /proc says of a process */
#define LOOK_NS    20000000ull /* of a second, for threads' numbers in containers */
#define WAITS      0.02        /* of its time: a process that waits so much for others, waits */
#define SHED_OF    8u          /* sampling is shed at one eighth before aond's own limit */

/* --- the budget --- */

double sampler_percent(const struct sampler *s)
{
	return s->percent;
}

static void move(struct sampler *s, uint32_t level)
{
	s->moves += level != s->level;
	s->level = level;
	s->calm_s = 0;
}

void sampler_budget(struct sampler *s, uint64_t now)
{
	struct aond *d = s->aond;
	uint32_t percent = budget_percent(d);
	double limit = (double)d->param.sample_cpu_percent / 10,
	       used = (double)(s->cpu_ns - s->cpu_before_ns) / 1e7;
	enum shed_level was = s->shed.level;

	s->cpu_before_ns = s->cpu_ns;
	s->percent = s->conn.fd < 0 ? 0 : (3 * s->percent + used) / 4;
	/* What aond and the sampler use together: before aond has to give up anything else. */
	shed_look(&s->shed, now, clock_cpu_ns() + count_get(COUNT_sampler_cpu_ms) * 1000000,
		  percent - percent / SHED_OF);
	s->moves += s->shed.level != was;
	if (!limit || (s->percent <= limit / 2 && s->level && ++s->calm_s >= CALM_S))
		move(s, limit ? s->level - 1 : 0);
	else if (limit && s->percent > limit && used > limit && s->level < SAMPLER_OFF)
		move(s, s->level + 1);
	count_set(COUNT_sampler_shed, s->shed.level ? SAMPLER_OFF : s->level);
}

/* --- threads --- */

static void add(struct sampler *s, const struct sess *x, uint32_t tid, uint32_t own, uint32_t hz)
{
	uint64_t *mine = map_find(&s->users, (uint64_t)x->peer.uid + 1);
	uint32_t centihertz = hz * 100 >> s->level;

	if (s->targets == SWIRE_TARGETS || !mine || *mine > SWIRE_TARGETS / s->users.used)
		return;
	++*mine;
	s->thread[s->targets] = (struct sampled_thread){ (uint32_t)x->peer.pid, tid, own, x->id };
	s->target[s->targets++] =
		(struct swire_target){ (uint32_t)x->peer.pid, tid, centihertz, 0 };
}

/* A process that another recorded one has started, and that launches nothing: its worker. 0: none. */
static uint32_t worker_of(const struct sess *x, size_t launching)
{
	pid_t parent = launching ? 0 : proc_parent(x->peer.pid);

	if (parent <= 0)
		return 0;
	for (const struct sess *p = x->roster->first; p; p = p->next)
		if (p->stream && p->peer.pid == parent) {
			p->stream->launchers.workers = true;
			return (uint32_t)parent;
		}
	return 0;
}

/* Does a process with workers wait, so that what they do matters? It does if it was seen to wait for
 * another process (a pipe, a socket, a lock that processes share) or for its batch; or if nothing is
 * known of what it does. */
static bool may_wait_for_workers(const struct stream *s, uint64_t now)
{
	struct sample_most m = { .n = 0 };
	uint64_t waits;

	if (s->launchers.waits > WAITS)
		return true;
	stream_now(s, now, &m);
	waits = m.state_ns[SAMPLE_WAIT] + m.state_ns[SAMPLE_LOCK];
	return !m.ns || (double)waits > WAITS * (double)m.ns;
}

/* In a container all threads of the process are read for that, and it may name threads that are not
 * there: so for a moment only, and not at once again. */
static void look_up(struct sampler *s, struct launcher *t, const struct sess *x)
{
	pid_t was = (pid_t)t->host_tid, tid;
	uint64_t now = clock_mono_ns();

	if ((was > 0 && proc_own_tid(x->peer.pid, was) == (pid_t)t->tid) || s->looked > LOOK_NS)
		return;
	tid = proc_tid_of(x->peer.pid, (pid_t)t->tid);
	t->host_tid = tid > 0 ? (uint32_t)tid : LAUNCHER_NOWHERE;
	s->looked += clock_mono_ns() - now;
}

static void add_process(struct sampler *s, struct sess *x, uint64_t now)
{
	struct launchers *l = &x->stream->launchers;
	struct launcher *pick[LAUNCHERS_PICK];
	size_t n = launchers_pick(l, pick), launching = 0, added = s->targets;
	bool look = x->roster->ticks % LOOK_TICKS == x->id % LOOK_TICKS;
	uint32_t hz = (uint32_t)s->aond->param.sample_hz;

	for (size_t i = 0; i < n; i++)
		launching += pick[i]->launches > 0.01;
	if (look || !l->own_pid) {
		pid_t own = proc_own_tid(x->peer.pid, x->peer.pid);

		l->own_pid = own > 0 ? (uint32_t)own : 0;
		l->parent = worker_of(x, launching);
	}
	if (l->parent && !map_find(&s->waiting, l->parent))
		return;
	if (!launchers_wait(l, now) || l->parent)
		hz = hz < SLOW_HZ ? hz : SLOW_HZ;
	for (size_t i = 0; i < n; i++) {
		if (look || !pick[i]->host_tid)
			look_up(s, pick[i], x);
		if (pick[i]->host_tid && pick[i]->host_tid != LAUNCHER_NOWHERE)
			add(s, x, pick[i]->host_tid, pick[i]->tid, hz);
	}
	if (s->targets == added && l->own_pid)
		add(s, x, (uint32_t)x->peer.pid, l->own_pid, hz);
}

/* Is it to be sampled? */
static bool wanted(const struct sess *x)
{
	return x->stream && x->stream->proc.tier >= TIER_FLIGHT && !x->stream->sums_only;
}

/* Each user has an equal part of the list: one with many processes leaves room for others. */
static void count_users(struct sampler *s, uint64_t now)
{
	map_fini(&s->users);
	map_fini(&s->waiting);
	for (const struct sess *x = s->aond->roster.first; x; x = x->next) {
		if (wanted(x))
			map_put(&s->users, (uint64_t)x->peer.uid + 1, 1);
		if (x->stream && x->stream->launchers.workers &&
		    may_wait_for_workers(x->stream, now))
			map_put(&s->waiting, (uint64_t)x->peer.pid, 1);
	}
}

static bool off(const struct sampler *s)
{
	const struct aond *d = s->aond;

	return !d->param.sample || s->shed.level || s->level == SAMPLER_OFF || d->plant.shed ||
	       d->plant.disk;
}

/* Its share of a CPU, when it is new to it. Where it does not read, the next second tries again. */
static void tell_budget(struct sampler *s)
{
	_Alignas(8) uint8_t msg[64];
	int64_t permille = (int64_t)s->aond->param.sample_cpu_percent; /* in tenths of a percent */
	int len;

	permille = permille < 1000 ? permille : 1000;
	if (s->conn.fd < 0 || s->budget == permille)
		return;
	len = swire_put_budget(msg, (uint32_t)permille);
	if (len > 0 && send(s->conn.fd, msg, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len)
		s->budget = permille;
}

void sampler_aim(struct sampler *s, uint64_t now)
{
	static struct swire_target was[SWIRE_TARGETS];
	static _Alignas(8) uint8_t msg[SWIRE_BYTES];
	size_t n = s->targets;
	int len;

	memcpy(was, s->target, n * sizeof(was[0]));
	tell_budget(s);
	s->targets = s->last = s->holders = 0;
	s->looked = 0;
	count_users(s, now);
	for (struct sess *x = s->aond->roster.first; x && !off(s); x = x->next)
		if (wanted(x))
			add_process(s, x, now);
	count_set(COUNT_sample_targets, s->conn.fd >= 0 ? s->targets : 0);
	if (s->told && n == s->targets && !memcmp(was, s->target, n * sizeof(was[0])))
		return;
	s->told = false;
	if (s->conn.fd < 0)
		return;
	len = swire_put_targets(msg, s->target, s->targets);
	/* Where it does not read, the next second tries again. */
	s->told = len > 0 && send(s->conn.fd, msg, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len;
}

/* --- who a sample is of --- */

static const struct sampled_thread *find_holder(struct sampler *s, const struct sampled_thread *of,
						uint32_t tid)
{
	struct sampled_thread *x;
	pid_t own;

	for (size_t i = 0; i < s->holders; i++)
		if (s->holder[i].pid == of->pid && s->holder[i].tid == tid)
			return s->holder[i].own_tid ? &s->holder[i] : NULL;
	if (s->holders == SAMPLER_HOLDERS)
		return NULL;
	own = proc_own_tid((pid_t)of->pid, (pid_t)tid);
	x = &s->holder[s->holders++];
	*x = (struct sampled_thread){ of->pid, tid, own > 0 ? (uint32_t)own : 0, of->sess };
	return x->own_tid ? x : NULL;
}

const struct sampled_thread *sampler_thread(struct sampler *s, uint32_t pid, uint32_t tid,
					    bool held)
{
	const struct sampled_thread *of = NULL;

	/* Samples come in the order of the list, more or less. */
	for (size_t i = 0; i < s->targets; i++) {
		const struct sampled_thread *t = &s->thread[(s->last + i) % s->targets];

		if (t->pid == pid && t->tid == tid) {
			s->last = (size_t)(t - s->thread);
			return t;
		}
		if (t->pid == pid)
			of = t;
	}
	return of && held ? find_holder(s, of, tid) : NULL;
}
