/* SPDX-License-Identifier: Apache-2.0 */
/* hello.c - HELLO and WELCOME: a new pool, an old one taken over, or a reason why not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/core/count.h"
#include "daemon/session/session_list.h"
#include "daemon/session/identity.h"

#define SUCCESSOR_NS 3000000000ull /* for threads that still write to the pool before */

/* --- pools --- */

static uint32_t pool_kib(const struct roster *r, uint32_t wanted)
{
	const struct param *p = r->param;
	uint64_t half = (uint64_t)p->pools_mib << 19;
	uint32_t kib = (uint32_t)(r->pool_bytes > half ? p->pool_small_kib : p->pool_kib);

	if (!wanted)
		return kib;
	if (wanted < 64)
		return 64;
	return wanted < (uint32_t)p->pool_kib ? wanted : (uint32_t)p->pool_kib;
}

static int make_pool(struct roster *r, struct pool **out, uint32_t kib, const char *dir)
{
	const struct clock_map *c = &r->plant->clock;
	struct pool_opts o = {
		.pool_bytes = kib << 10,
		.chunk_bytes = (uint32_t)r->param->chunk_bytes,
		.heap_bytes = AON_HEAP_BYTES,
		.boot_id = { r->boot_id[0], r->boot_id[1] },
		.tsc_base = c->tsc0,
		.ns_base = c->ns0,
		.tsc_hz = c->hz,
		.dir = dir,
	};
	int err;

	if (r->plant->full || r->pool_bytes + ((uint64_t)kib << 10) + o.heap_bytes >
				      (uint64_t)r->param->pools_mib << 20)
		return -ENOSPC;
	err = pool_new(out, &o);
	if (!err)
		r->pool_bytes += pool_bytes(*out);
	count_set(COUNT_pool_bytes, r->pool_bytes);
	return err;
}

static void drop_pool(struct roster *r, struct pool *p)
{
	r->pool_bytes -= pool_bytes(p);
	count_set(COUNT_pool_bytes, r->pool_bytes);
	pool_free(p);
}

static bool spare_fits(const struct roster *r, uint32_t kib)
{
	const struct aon_seg_head *h = r->spare ? pool_head(r->spare) : NULL;

	return h && h->chunk_bytes == (uint32_t)r->param->chunk_bytes &&
	       (uint64_t)h->chunk_count * h->chunk_bytes == (uint64_t)kib << 10;
}

void roster_refill(struct roster *r)
{
	uint32_t kib = pool_kib(r, 0);

	if (r->spare && !spare_fits(r, kib)) { /* the settings have changed */
		drop_pool(r, r->spare);
		r->spare = NULL;
	}
	/* Not at any price: with the budget nearly used the next join makes its own, or fails. */
	if (!r->spare && r->pool_bytes < (uint64_t)r->param->pools_mib << 18)
		make_pool(r, &r->spare, kib, NULL);
	if (!r->spare_gate.map)
		gate_open(&r->spare_gate);
}

static int get_pool(struct sess *s, uint32_t wanted, struct pool **out)
{
	struct roster *r = s->roster;
	const char *dir = s->peer.uid == geteuid() ? r->param->pool_dir.s : "";
	uint32_t kib = pool_kib(r, wanted);
	int err;

	if (r->plant->full)
		return -ENOSPC;
	if (!*dir && spare_fits(r, kib)) {
		*out = r->spare;
		r->spare = NULL;
		roster_poll_on(r); /* the next one, once this process has had its turn */
	} else {
		err = make_pool(r, out, kib, *dir ? dir : NULL);
		if (err)
			return err;
	}
	pool_assign(*out, (uint32_t)s->peer.pid, s->peer.start);
	return 0;
}

/* --- answers --- */

static int welcome(struct sess *s, uint32_t flags)
{
	struct aon_msg_welcome m = {
		.head = { AON_MSG_MAGIC, AON_MSG_WELCOME, sizeof(m) },
		.version = AON_MSG_VERSION,
		.flags = flags,
		.features = AON_FEATURES,
		.session = s->id,
		.pool_bytes = pool_bytes(s->stream->pool),
	};
	const int fd[2] = { s->gate.fd, pool_fd(s->stream->pool) };

	return msg_send(s->channel.sock.fd, &m, sizeof(m), fd, flags & AON_WELCOME_KEEP ? 1 : 2);
}

static int refuse(struct sess *s, int err, enum count_id why)
{
	struct aon_msg_welcome m = {
		.head = { AON_MSG_MAGIC, AON_MSG_WELCOME, sizeof(m) },
		.version = AON_MSG_VERSION,
		.error = err,
	};

	count_add(why, 1);
	log_warn("pid %d uid %u: refused: %s", (int)s->peer.pid, s->peer.uid,
		 count_table[why].name);
	msg_send(s->channel.sock.fd, &m, sizeof(m), NULL, 0);
	return -EPIPE;
}

/* --- sessions --- */

static void make_row(const struct sess *s, const struct aon_msg_hello *m, struct process *p)
{
	uint64_t now = clock_mono_ns();
	pid_t parent = proc_parent(s->peer.pid);

	p->pid = (uint32_t)s->peer.pid;
	p->pid_start = s->peer.start;
	p->parent = parent > 0 ? (uint32_t)parent : 0;
	memcpy(p->boot_id, s->roster->boot_id, sizeof(p->boot_id));
	p->uid = s->peer.uid;
	p->gid = s->peer.gid;
	p->tier = (uint32_t)s->roster->param->tier;
	p->connected = 1;
	if (!p->first_ns)
		p->first_ns = now;
	p->last_ns = now;
	p->wall_offset_ns = (int64_t)(clock_wall_ns() - now);
	snprintf(p->run, sizeof(p->run), "%s", m->run);
	snprintf(p->library, sizeof(p->library), "%s", m->library);
	identity_words(p, m, &s->roster->plant->node);
	p->local_rank = m->local_rank;
	p->origin.rank = m->rank;
	p->origin.world = m->world;
}

static int open_gate(struct sess *s)
{
	struct roster *r = s->roster;
	int err = 0;

	if (r->spare_gate.map) {
		s->gate = r->spare_gate;
		r->spare_gate = (struct gate){ .fd = -1 };
	} else {
		err = gate_open(&s->gate);
	}
	if (!err)
		sess_tier(s);
	return err;
}

/* After the answer: what nobody waits for. */
static void settle(struct sess *s)
{
	struct process *p = &s->stream->proc;

	proc_comm(s->peer.pid, p->comm, sizeof(p->comm));
	proc_exe(s->peer.pid, p->exe, sizeof(p->exe));
	proc_seccomp(s->peer.pid, &s->channel.at_join);
	identity_kernel(p, s->roster->param, &s->roster->plant->gpus, &s->roster->plant->node);
	oom_joined(s);
	recorder_came(&s->roster->gones, s->stream);
	s->stream->changed = true;
	stream_report(s->stream);
	count_add(COUNT_sessions_opened, 1);
	log_debug("pid %d uid %u: joined, process %u", (int)s->peer.pid, s->peer.uid, p->id);
}

/* Pools of the same process that nobody writes to after this one: exec, or a second libaon. */
static void retire_others(struct sess *s)
{
	for (struct sess *o = s->roster->first; o; o = o->next)
		if (o != s && o->stream && o->channel.sock.fd < 0 && o->peer.pid == s->peer.pid &&
		    o->peer.start == s->peer.start && !o->leave_ns)
			o->leave_ns = clock_mono_ns() + SUCCESSOR_NS;
}

/* Of the job, so that all its ranks leave out the same steps; without one, of the process. */
static uint64_t seed_of(const struct sess *s)
{
	uint64_t seed = *s->stream->proc.job ? 0 : (uint64_t)s->peer.pid;

	for (const char *p = s->stream->proc.job; *p; p++)
		seed = aon_trial_mix(seed, (unsigned char)*p);
	return seed;
}

static int start(struct sess *s, const struct aon_msg_hello *m, struct pool *pool,
		 const struct recovery_row *left, uint32_t flags)
{
	struct roster *r = s->roster;
	struct process row = left ? left->row : (struct process){ 0 };
	int err;

	memcpy(row.pool_id, pool_head(pool)->pool_id, sizeof(row.pool_id));
	make_row(s, m, &row);
	err = stream_new(&s->stream, r->plant, pool, &row, left ? &left->row.account : NULL,
			 (uint32_t)r->param->rows_max);
	if (err) {
		drop_pool(r, pool);
		return refuse(s, err, err == -EPROTO ? COUNT_offers_refused : COUNT_refused_memory);
	}
	kept_claim(&r->kept, s->peer.pid, s->peer.start, &s->budget.allow);
	cost_init(&s->stream->cost, seed_of(s));
	s->budget.asked = (enum tier)row.tier;
	s->budget.trials = m->features & AON_FEATURE_TRIAL;
	err = open_gate(s);
	err = err ? err : welcome(s, flags);
	if (err) {
		sess_end(s, false);
		return 1;
	}
	settle(s);
	return 0;
}

/* The same pool again, while its session is still here: only the socket is new. */
static int rejoin(struct sess *s, struct sess *old)
{
	struct roster *r = s->roster;

	if (old->channel.sock.fd >= 0) {
		loop_del(r->loop, &old->channel.sock);
		close(old->channel.sock.fd);
	}
	loop_del(r->loop, &s->channel.sock);
	old->channel.sock.fd = s->channel.sock.fd;
	s->channel.sock.fd = -1;
	sess_unlink(s);
	old->leave_ns = 0;
	old->channel.deaf = false;
	if (loop_add(r->loop, &old->channel.sock, EPOLLIN) < 0 ||
	    welcome(old, AON_WELCOME_KEEP) < 0) {
		loop_del(r->loop, &old->channel.sock);
		close(old->channel.sock.fd);
		old->channel.sock.fd = -1;
		roster_poll_on(r);
	}
	return 1;
}

static struct sess *find_pool(const struct sess *s, const uint64_t pool_id[2])
{
	for (struct sess *o = s->roster->first; o; o = o->next)
		if (o->stream && o->peer.pid == s->peer.pid && o->peer.start == s->peer.start &&
		    !memcmp(o->stream->proc.pool_id, pool_id, sizeof(o->stream->proc.pool_id)))
			return o;
	return NULL;
}

/* A pool that an earlier aond made for this very process, and no other. */
static int adopt(struct sess *s, const struct aon_msg_hello *m, int fd)
{
	struct roster *r = s->roster;
	bool trust = *r->param->pool_dir.s && s->peer.uid == geteuid();
	const struct aon_seg_head *h;
	struct recovery_row *left;
	struct pool *pool;
	int err;

	err = pool_adopt(&pool, fd, trust);
	if (err)
		return refuse(s, err, COUNT_offers_refused);
	h = pool_head(pool);
	if (h->pid != (uint32_t)s->peer.pid || h->pid_start != s->peer.start ||
	    memcmp(h->boot_id, r->boot_id, sizeof(h->boot_id)) || find_pool(s, h->pool_id)) {
		pool_free(pool);
		return refuse(s, -EPROTO, COUNT_offers_refused);
	}
	if (r->plant->full || r->pool_bytes + pool_bytes(pool) > (uint64_t)r->param->pools_mib
									 << 20) {
		pool_free(pool);
		return refuse(s, -ENOSPC, COUNT_refused_memory);
	}
	r->pool_bytes += pool_bytes(pool);
	count_set(COUNT_pool_bytes, r->pool_bytes);
	left = recovery_take(r->left, h->pool_id);
	count_add(COUNT_sessions_adopted, 1);
	err = start(s, m, pool, left, AON_WELCOME_KEEP);
	free(left);
	return err ? err : sess_drain(s); /* what came while nobody was here */
}

int sess_hello(struct sess *s, const struct aon_msg_hello *m, struct msg_fds *fds)
{
	struct sess *old;
	struct pool *pool;
	int err;

	if (m->version != AON_MSG_VERSION)
		return refuse(s, -EPROTO, COUNT_refused_hello);
	if (m->flags & AON_HELLO_OFFER) {
		if (fds->n < 1)
			return refuse(s, -EPROTO, COUNT_offers_refused);
		old = find_pool(s, m->pool_id);
		return old ? rejoin(s, old) : adopt(s, m, fds->fd[0]);
	}
	err = get_pool(s, m->pool_kib, &pool);
	if (err)
		return refuse(s, err, COUNT_refused_memory);
	err = start(s, m, pool, NULL, 0);
	if (!err)
		retire_others(s);
	return err;
}
