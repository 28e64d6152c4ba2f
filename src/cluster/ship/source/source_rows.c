/* SPDX-License-Identifier: Apache-2.0 */
/* source_rows.c - rows of a store as rows of the cluster's tables. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "base/proc.h"
#include "base/vec.h"
#include "model/step_rec.h"
#include "read/procs.h"
#include "ship/source/source_priv.h"

#define SECOND      1000000000ull
#define GRACE_NS    (2 * SECOND) /* aond commits once a second */
#define AHEAD_NS    (60 * SECOND)
#define AGAIN_NS    (300 * SECOND) /* a live process is sent this often */
#define COST_NS     (60 * SECOND)
#define BEAT_NS     (30 * SECOND)
#define WEEK_NS     (7 * 86400 * SECOND)
#define ROWS_A_LOOK 50000u

/* --- names --- */

static int more_names(struct ship_source *s, uint32_t id)
{
	size_t n = s->names;
	int err = vec_room0(&s->name_hash, &n, (size_t)id + 1, sizeof(*s->name_hash));

	return err ? err : vec_room0(&s->name_said, &s->names, n, 1);
}

uint64_t source_name(struct ship_source *s, uint32_t id)
{
	uint8_t week = (uint8_t)(s->packs.now_ns / WEEK_NS % 255 + 1);
	const char *text;

	if (!id)
		return 0;
	if (more_names(s, id)) {
		s->packs.err = -ENOMEM;
		return 0;
	}
	if (s->name_hash[id] && s->name_said[id] == week)
		return s->name_hash[id];
	text = store_name_text(s->st, id);
	s->name_hash[id] = ship_hash_text(text);
	s->name_said[id] = week;
	packs_add(&s->packs, SHIP_NAME, ship_hash_text(s->o.host),
		  &(struct ship_name){ .hash = s->name_hash[id],
				       .text = ship_text(text),
				       .t_ns = s->packs.now_ns });
	return s->name_hash[id];
}

/* --- processes --- */

struct known *source_known(struct ship_source *s, uint32_t id)
{
	size_t lo = 0, hi = s->knowns;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->known[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->knowns && s->known[lo].id == id ? &s->known[lo] : NULL;
}

static struct known *know(struct ship_source *s, uint32_t id)
{
	struct known *k = source_known(s, id);
	size_t at;

	if (k)
		return k;
	if (vec_more(&s->known, s->knowns, sizeof(*k)) < 0)
		return NULL;
	for (at = s->knowns; at && s->known[at - 1].id > id; at--)
		s->known[at] = s->known[at - 1];
	s->known[at] = (struct known){ .id = id };
	s->knowns++;
	return &s->known[at];
}

static uint64_t proc_hash(const struct ship_source *s, const struct process *p)
{
	struct {
		uint64_t boot[2], start, pid;
		char host[SOURCE_NAME];
	} key = { { p->boot_id[0], p->boot_id[1] }, p->pid_start, p->pid, "" };

	snprintf(key.host, sizeof(key.host), "%s", s->o.host);
	return ship_hash(&key, sizeof(key));
}

static uint64_t lost_of(const struct account *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		n += a->lost[i];
	return n;
}

static uint64_t wall(const struct process *p, uint64_t t_ns)
{
	int64_t t = (int64_t)t_ns + p->wall_offset_ns;

	return t > 0 ? (uint64_t)t : 0;
}

/* Ticks since boot, of which there are a hundred a second everywhere. */
static uint64_t started(const struct process *p)
{
	return wall(p, p->pid_start * (SECOND / 100));
}

static uint32_t leaf_of(const struct ship_source *s)
{
	return *s->node.leaf ? (uint32_t)step_hash(s->node.leaf, strlen(s->node.leaf), 0) : 0;
}

static void process_row(struct ship_source *s, const struct process *p, const struct known *k,
			const char *user, struct ship_process *r)
{
	const struct ident *id = &p->ident;

	*r = (struct ship_process){
		.proc = k->proc,
		.host = ship_text(s->o.host),
		.rack = ship_text(s->o.rack),
		.leaf = leaf_of(s),
		.boot = ship_text(s->boot_text),
		.job = ship_text(k->job),
		.user = ship_text(*id->user ? id->user : user),
		.rank = k->rank,
		.world = p->origin.world,
		.local_rank = (int32_t)p->local_rank - 1,
		.pid = p->pid,
		.start_ns = started(p),
		.comm = ship_text(p->comm),
		.exe = ship_text(p->exe),
		.run = ship_text(p->run),
		.pod = ship_text(id->pod),
		.namespace = ship_text(id->namespace),
		.container = ship_text(id->container),
		.gpu_uuid = ship_text(id->gpu_uuid),
		.gpu_model = ship_text(s->node.gpu_model),
		.mig = ship_text(id->mig),
		.nic = ship_text(id->nic),
		.driver = ship_text(s->node.driver),
		.framework = ship_text(id->framework),
		.begin_ns = wall(p, p->first_ns),
		.end_ns = wall(p, p->last_ns),
		.live = p->connected != 0,
		.emitted = p->account.emitted,
		.stored = p->account.stored,
		.lost = lost_of(&p->account),
		.overwritten = p->account.overwritten,
		.note = ship_text(p->note),
	};
}

static void put_process(struct ship_source *s, const struct process *p, struct known *k)
{
	struct process same = *p;
	struct ship_process r;
	char user[64];
	uint64_t sum;

	/* Fields that always change are sent with the others, or at times. */
	same.last_ns = 0;
	memset(&same.account, 0, sizeof(same.account));
	memset(&same.overhead, 0, sizeof(same.overhead));
	sum = ship_hash(&same, sizeof(same));
	if (sum == k->sum && (!p->connected || s->packs.now_ns < k->put_ns + AGAIN_NS))
		return;
	k->sum = sum;
	k->put_ns = s->packs.now_ns;
	process_row(s, p, k, procs_user(p->uid, user, sizeof(user)), &r);
	packs_add(&s->packs, SHIP_PROCESS, k->route, &r);
}

static void put_cost(struct ship_source *s, const struct process *p, struct known *k)
{
	const struct overhead *o = &p->overhead;
	uint64_t sum = ship_hash(o, sizeof(*o));

	if (sum == k->cost_sum || s->packs.now_ns < k->cost_put_ns + COST_NS ||
	    (!o->pairs && !o->accounted && !o->steps))
		return;
	k->cost_sum = sum;
	k->cost_put_ns = s->packs.now_ns;
	packs_add(&s->packs, SHIP_OVERHEAD, k->route,
		  &(struct ship_overhead){ .job = ship_text(k->job),
					   .rank = k->rank,
					   .proc = k->proc,
					   .t_ns = s->packs.now_ns,
					   .pairs = o->pairs,
					   .slowdown = (float)o->mid / 1e6f,
					   .lo = (float)o->lo / 1e6f,
					   .hi = (float)o->hi / 1e6f,
					   .accounted = (float)o->accounted / 1e6f,
					   .rung = (uint8_t)o->fidelity });
}

static int on_process(void *arg, const struct process *p)
{
	struct ship_source *s = arg;
	struct known *k = know(s, p->id);

	if (!k)
		return -ENOMEM;
	k->rank = (int32_t)p->origin.rank - 1;
	k->pid = p->pid;
	k->wall_offset_ns = p->wall_offset_ns;
	memcpy(k->job, p->job, sizeof(k->job));
	k->route = ship_hash_text(*p->job ? p->job : s->o.host);
	k->proc = proc_hash(s, p);
	s->stored += p->account.stored;
	s->lost += lost_of(&p->account);
	s->live += p->connected != 0;
	put_process(s, p, k);
	put_cost(s, p, k);
	return s->packs.err;
}

int source_processes(struct ship_source *s)
{
	s->stored = s->lost = s->live = 0;
	return store_each_process(s->st, on_process, s);
}

/* --- windows --- */

struct walk {
	struct ship_source *s;
	bool all;
};

static int is_lost(struct ship_source *s, const struct window *w)
{
	if (s->unknown != w->process) {
		s->unknown = w->process;
		s->unknown_looks = 0;
	}
	if (++s->unknown_looks < 3)
		return 1;
	spool_lost(s->packs.spool, SHIP_WINDOW, SPOOL_DAMAGE, w->rows);
	return 0;
}

/* Ten seconds that are not over yet are left for later, with all behind them. */
static int on_window(void *arg, const struct window *w)
{
	struct walk *x = arg;
	struct ship_source *s = x->s;
	struct known *k = source_known(s, w->process);
	uint64_t t, end;

	if (!k) /* it came after we looked at processes: the next time; or the store has lost it */
		return is_lost(s, w);
	t = w->start_ns + (uint64_t)k->wall_offset_ns;
	end = t - t % FOLD_NS + FOLD_NS;
	if (!x->all && s->packs.now_ns < end + GRACE_NS && t < s->packs.now_ns + AHEAD_NS)
		return 1;
	if (s->fold.rows > ROWS_A_LOOK)
		return 1;
	for (uint32_t i = 0; i < w->rows && (!s->fold.left || !s->fold.unseen); i++) {
		const struct rollup *u = &w->row[i];

		if (u->kind != EVENT_STEP || !u->name)
			continue;
		if (!strcmp(store_name_text(s->st, u->name), STEPS_UNSAMPLED))
			s->fold.left = u->name;
		else if (!strcmp(store_name_text(s->st, u->name), STEPS_UNSEEN))
			s->fold.unseen = u->name;
	}
	return t < s->at.not_before_ns ? 0 : fold_add(&s->fold, w, t);
}

static void put_window(struct ship_source *s, const struct fold_row *r)
{
	struct known *k = source_known(s, r->process);
	uint8_t hist[FOLD_HIST_MAX];
	size_t len = fold_hist(hist, &r->sketch);
	struct ship_window row = {
		.job = ship_text(k->job),
		.rank = k->rank,
		.proc = k->proc,
		.host = ship_text(s->o.host),
		.t_ns = r->t_ns,
		.dur_ns = FOLD_NS,
		.kind = (uint8_t)r->kind,
		.name = source_name(s, r->name),
		.count = r->count,
		.total_ns = r->total_ns,
		.min_ns = r->min_ns,
		.max_ns = r->max_ns,
		.bytes = r->bytes,
		.variance = r->variance,
		.bound = (uint8_t)r->bound,
		.floor_ns = r->floor_ns,
		.hist = { (const char *)hist, len },
	};

	source_count(k, r);
	packs_add(&s->packs, SHIP_WINDOW, k->route, &row);
}

/* As the table has them: what is alike lies together, here on the wire. */
static int by_name(const void *a, const void *b)
{
	const struct fold_row *x = a, *y = b;

	return cmp_num(x->t_ns, y->t_ns) ?: cmp_num(x->name, y->name) ?:
	       cmp_num(x->kind, y->kind) ?: cmp_num(x->process, y->process);
}

int source_windows(struct ship_source *s, bool all)
{
	struct walk x = { .s = s, .all = all };
	uint64_t after = s->at.window;
	int err = store_new_windows(s->st, &after, 0, on_window, &x);

	if (err == 1) { /* that one comes again */
		after--;
		err = 0;
	}
	fold_end(&s->fold);
	if (s->fold.rows > 1)
		qsort(s->fold.row, s->fold.rows, sizeof(*s->fold.row), by_name);
	for (uint32_t i = 0; i < s->fold.rows && !err; i++) {
		put_window(s, &s->fold.row[i]);
		err = s->packs.err;
	}
	if (s->fold.dropped)
		spool_lost(s->packs.spool, SHIP_WINDOW, SPOOL_LIMIT, s->fold.dropped);
	fold_clear(&s->fold);
	if (!err && after > s->at.window)
		s->at.window = after;
	return err;
}

/* --- steps --- */

static void put_slots(struct ship_source *s, const struct known *k, const struct step_rec *r)
{
	for (uint32_t i = 0; i < r->slots; i++) {
		const struct step_slot *x = &r->slot[i];

		packs_add(&s->packs, SHIP_COLLECTIVE, k->route,
			  &(struct ship_collective){ .job = ship_text(k->job),
						     .rank = k->rank,
						     .proc = k->proc,
						     .step = r->step,
						     .t_ns = r->begin_ns,
						     .comm = x->comm,
						     .op = x->op,
						     .peers = x->members,
						     .n = x->count,
						     .bytes = (uint64_t)x->kib << 10,
						     .sum_ns = x->sum,
						     .min_ns = x->min,
						     .max_ns = x->max,
						     .exposed_ns = x->exposed });
	}
}

static int on_step(void *arg, uint32_t process, const struct step_rec *r)
{
	struct ship_source *s = arg;
	const struct known *k = source_known(s, process);
	uint8_t rec[STEP_MAX];
	int len = step_rec_encode(rec, sizeof(rec), r);
	struct ship_step row;

	if (!k || len < 0 || r->begin_ns < s->at.not_before_ns)
		return 0;
	row = (struct ship_step){
		.job = ship_text(k->job),
		.rank = k->rank >= 0 ? k->rank : (int32_t)r->rank,
		.proc = k->proc,
		.host = ship_text(s->o.host),
		.leaf = r->leaf,
		.step = r->step,
		.t_ns = r->begin_ns,
		.flags = r->flags,
#define TIME(name, what, who) .name##_ns = r->t.name,
#include "model/step_rec.tbl.h"
		.tokens = r->tokens,
		.rec = { (const char *)rec, (size_t)len },
	};
	for (size_t i = 0; i < STEP_LOSSES; i++)
		row.lost += r->lost[i];
	packs_add(&s->packs, SHIP_STEP, k->route, &row);
	put_slots(s, k, r);
	return s->packs.err;
}

int source_steps(struct ship_source *s)
{
	return store_new_steps(s->st, &s->at.step, on_step, s);
}

/* --- the node itself --- */

void source_beat(struct ship_source *s, struct spool *spool, const struct source_node *node)
{
	struct spool_stat *st;
	struct proc_usage own;

	if (s->packs.now_ns < s->beat_ns + BEAT_NS || !(st = malloc(sizeof(*st))))
		return;
	s->beat_ns = s->packs.now_ns;
	spool_stat(spool, st);
	if (proc_usage(getpid(), &own))
		own = (struct proc_usage){ 0 };
	packs_add(&s->packs, SHIP_NODE, ship_hash_text(s->o.host),
		  &(struct ship_node){ .host = ship_text(s->o.host),
				       .rack = ship_text(s->o.rack),
				       .leaf = leaf_of(s),
				       .boot = ship_text(s->boot_text),
				       .t_ns = s->packs.now_ns,
				       .version = ship_text(AON_VERSION),
				       .processes = (uint32_t)s->live,
				       .aond_cpu_ns = node->aond_cpu_ns,
				       .ship_cpu_ns = (uint64_t)(own.cpu_s * 1e9),
				       .rss_bytes = node->rss_bytes,
				       .stored = s->stored,
				       .lost = s->lost,
				       .spool_bytes = st->bytes,
				       .spool_batches = st->batches,
				       .clock_off_us = node->clock_off_us,
				       .clock_err_us = node->clock_err_us });
	free(st);
}
