/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.c - turns detections into journal entries and captures, bounded in every way. */
#include "daemon/alarm/alarm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/audit.h"
#include "daemon/core/count.h"
#include "daemon/alarm/checkpoint_guard.h"
#include "daemon/session/session_list.h"
#include "store/store.h"

/* --- what streams tell --- */

/* The first of base/memory.tbl.h. */
static const char *const memory_names[] = {
#define MEMORY(ID, name) name,
#include "base/memory.tbl.h"
};

/* NCCL's kernels, and RCCL's, begin so. Asked of the store once, and not while it commits. */
static bool is_comm(void *arg, uint32_t name)
{
	struct watcher *w = arg;
	uint32_t at = name % WATCHER_COMM;
	char text[16];

	if (w->comm[at].name != name) {
		int got = store_name_try(w->store, name, text, sizeof(text));

		if (got < 0)
			return false;
		w->comm[at].name = name;
		w->comm[at].yes = !strncmp(text, "nccl", 4);
	}
	return w->comm[at].yes;
}

int watcher_new(struct watcher **out, struct store *st)
{
	struct watcher *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->store = st;
	w->names = (struct detect_names){ .is_comm = is_comm, .arg = w };
	store_name(st, memory_names[0], strlen(memory_names[0]), &w->names.memory);
	*out = w;
	return 0;
}

static void keep(void *arg, const struct alarm *a)
{
	struct watcher *w = arg;

	if (w->n < ALARMS)
		w->raised[w->n++] = *a;
}

void watcher_step(struct watcher *w, const struct event *e, bool counts)
{
	if (counts)
		detect_step(&w->detect, e->a, e->dur_ns, e->start_ns + e->dur_ns, keep, w);
	else
		detect_step_on(&w->detect, e->a, e->start_ns + e->dur_ns, keep, w);
}

void watcher_window(struct watcher *w, const struct window *win)
{
	detect_window(&w->detect, win, &w->names, win->start_ns + WINDOW_NS, keep, w);
}

/* --- entries of the journal --- */

void alarm_who(struct journal_entry *e, const struct sess *s)
{
	const struct process *p = &s->stream->proc;

	entry_u(e, FIELD_PROCESS, p->id);
	entry_u(e, FIELD_PID, p->pid);
	entry_u(e, FIELD_UID, s->peer.uid);
	if (p->origin.rank)
		entry_u(e, FIELD_RANK, p->origin.rank - 1);
	if (*p->job)
		entry_s(e, FIELD_JOB, p->job);
}

/* The last collective that a rank began says who is waited for: sequences of a job rise together. */
static void where_it_hangs(struct journal_entry *e, const struct sess *s)
{
	uint64_t mine, most, behind = 0, n = 0;
	struct aon_heartbeat p;
	uint32_t first = 0;

	pool_heartbeat(s->stream->pool, &p);
	mine = most = p.collective;
	entry_u(e, FIELD_STEP, p.step);
	for (const struct sess *o = s->roster->first; o && *s->stream->proc.job; o = o->next) {
		struct aon_heartbeat other;

		if (!o->stream || o->peer.uid != s->peer.uid ||
		    strcmp(o->stream->proc.job, s->stream->proc.job))
			continue;
		pool_heartbeat(o->stream->pool, &other);
		most = other.collective > most ? other.collective : most;
		if (other.collective < mine && !behind++)
			first = o->stream->proc.origin.rank;
		n++;
	}
	if (mine < most) {
		entry_u(e, FIELD_REACHED, most);
	} else if (behind) {
		entry_u(e, FIELD_WAITS_IN, mine);
		entry_u(e, FIELD_MISSING, behind);
		entry_u(e, FIELD_RANKS_HERE, n);
		entry_u(e, FIELD_MISSING_RANK, first ? first - 1 : 0);
		entry_u(e, FIELD_OTHERS, behind > 1);
	} else if (mine) {
		entry_u(e, FIELD_COLLECTIVE, mine);
	}
}

/* What it launched last, by the word in its pool; nothing if it never did, or made that up. */
static void last_launch(struct journal_entry *e, const struct sess *s, char *buf, size_t cap)
{
	char name[AON_NAME_MAX + 1];
	struct aon_heartbeat p;
	int n;

	pool_heartbeat(s->stream->pool, &p);
	if (!(uint32_t)p.launch || (uint32_t)p.launch > UINT32_MAX / AON_HEAP_ALIGN)
		return;
	n = pool_heap(s->stream->pool, (uint32_t)p.launch * AON_HEAP_ALIGN, AON_HEAP_NAME, name,
		      AON_NAME_MAX);
	if (n <= 0)
		return;
	snprintf(buf, cap, "%.*s", n, name);
	entry_s(e, FIELD_KERNEL, buf);
}

#define KERNEL_TEXT 81u

static void fill(struct journal_entry *e, const struct sess *s, const struct alarm *a, uint64_t now,
		 char kernel[KERNEL_TEXT])
{
	switch (a->kind) {
	case ALARM_HANG:
		where_it_hangs(e, s);
		last_launch(e, s, kernel, 61);
		entry_u(e, FIELD_QUIET_NS, now - a->since_ns);
		entry_u(e, FIELD_CHECKPOINT, a->saving);
		break;
	case ALARM_HANG_OVER:
		entry_u(e, FIELD_QUIET_NS, now - a->since_ns);
		break;
	case ALARM_KERNEL: /* the loop must not wait for a disk: the number stands in for the name */
		if (store_name_try(s->roster->plant->store, a->name, kernel, KERNEL_TEXT) < 0)
			snprintf(kernel, KERNEL_TEXT, "kernel %u", a->name);
		entry_s(e, FIELD_KERNEL, kernel);
		/* fall through */
	case ALARM_STEP_SLOWER:
	case ALARM_STEP_FASTER:
	case ALARM_THROUGHPUT:
		entry_u(e, FIELD_WAS_NS, (uint64_t)a->was);
		entry_u(e, FIELD_IS_NS, (uint64_t)a->is);
		break;
	case ALARM_GPU_IDLE:
		entry_f(e, FIELD_WAS_SHARE, a->was);
		entry_f(e, FIELD_IS_SHARE, a->is);
		break;
	case ALARM_MEMORY:
		entry_u(e, FIELD_WAS_BYTES, (uint64_t)a->was);
		entry_u(e, FIELD_IS_BYTES, (uint64_t)a->is);
		break;
	case ALARM_STRAGGLER:
		entry_f(e, FIELD_IS_SHARE, a->is);
		break;
	case ALARM_HANG_STACKS: /* stacks.c */
	case ALARM_XID:         /* alarm_fault() */
	case ALARM_ECC:
	case ALARMS:
		break;
	}
}

/* --- captures --- */

static bool worth_a_capture(enum alarm_kind k)
{
	return k == ALARM_STEP_SLOWER || k == ALARM_KERNEL || k == ALARM_STRAGGLER ||
	       k == ALARM_THROUGHPUT || k == ALARM_GPU_IDLE || k == ALARM_XID || k == ALARM_ECC;
}

/* Of the ranks of its job here, too: what was slow there, and who waited for whom. */
static void keep_past(struct sess *s, uint64_t from, uint64_t to)
{
	unsigned n = 0;

	for (struct sess *o = s->roster->first; o && n < ALARM_RANKS_KEPT; o = o->next) {
		if (!o->stream || o->peer.uid != s->peer.uid ||
		    (o != s &&
		     (!*s->stream->proc.job || strcmp(o->stream->proc.job, s->stream->proc.job))))
			continue;
		store_keep(s->roster->plant->store, o->stream->proc.id, from, to);
		n++;
	}
}

static int restore_one(void *arg, const struct journal_entry *e)
{
	if (e->kind == ENTRY_RAISED)
		store_keep(arg, (uint32_t)entry_number(e, FIELD_PROCESS),
			   entry_number(e, FIELD_FROM_NS), entry_number(e, FIELD_TO_NS));
	return 0;
}

void alarm_restore(struct store *st)
{
	store_each_entry(st, restore_one, st);
}

static void raise_tier(struct sess *s, enum alarm_kind why, uint64_t now)
{
	struct roster *r = s->roster;
	uint64_t day = now / (ALARM_DAY_S * 1000000000ull);
	uint32_t secs = (uint32_t)r->param->escalate_s;
	uint64_t past = (uint64_t)r->param->escalate_before_s * 1000000000u;
	uint64_t from = now > past ? now - past : 0, to = now + secs * 1000000000ull;
	struct journal_entry e = { .kind = ENTRY_RAISED };
	char text[ENTRY_TEXT];

	if (day != r->raised.day) {
		r->raised.day = day;
		r->raised.captures = 0;
	}
	if (!secs || s->budget.asked == TIER_FULL || !worth_a_capture(why) ||
	    now < r->raised.next_ns)
		return;
	if (r->raised.captures >= ALARM_CAPTURES ||
	    !quota_take(&r->raised.of_user, s->peer.uid, now, QUOTA_DAY, ALARM_CAPTURES_UID)) {
		count_add(COUNT_captures_refused, 1);
		return;
	}
	r->raised.captures++;
	r->raised.next_ns = now + ALARM_CAPTURE_S * 1000000000ull;
	s->alarm.was_asked = s->budget.asked;
	s->budget.asked = TIER_FULL;
	s->alarm.full_until_ns = to;
	keep_past(s, from, to);
	alarm_who(&e, s);
	entry_u(&e, FIELD_SECONDS, secs);
	entry_s(&e, FIELD_WHY, entry_kinds[alarm_table[why].entry].word);
	entry_u(&e, FIELD_FROM_NS, from);
	entry_u(&e, FIELD_TO_NS, to);
	sess_journal(s, &e);
	audit_say(AUDIT_SELF, "capture", 0, "%s", entry_text(&e, text));
	count_add(COUNT_captures_raised, 1);
}

static void end_capture(struct sess *s, uint64_t now)
{
	if (!s->alarm.full_until_ns || now < s->alarm.full_until_ns)
		return;
	s->alarm.full_until_ns = 0;
	if (s->budget.asked == TIER_FULL)
		s->budget.asked = s->alarm.was_asked;
}

/* --- every second --- */

/* Ranks of a job run in step: what slows one slows all. The first rank's alarm stands for all. */
static bool is_told(struct sess *s, enum alarm_kind k, uint64_t now)
{
	struct sess *leader = s->budget.leader ? s->budget.leader : s;
	bool own = k == ALARM_HANG || k == ALARM_HANG_OVER || k == ALARM_MEMORY ||
		   k == ALARM_STRAGGLER || !*s->stream->proc.job;
	bool told = !own && leader->alarm.told_ns[k] &&
		    now < leader->alarm.told_ns[k] + ALARM_SAME_S * 1000000000ull;

	if (!told)
		leader->alarm.told_ns[k] = now;
	return told;
}

static void tell(struct sess *s, const struct alarm *a, uint64_t now)
{
	struct journal_entry e = { .kind = alarm_table[a->kind].entry };
	char kernel[KERNEL_TEXT];

	if (is_told(s, a->kind, now)) {
		count_add(COUNT_alarms_same, 1);
		return;
	}
	alarm_who(&e, s);
	fill(&e, s, a, now, kernel);
	sess_journal(s, &e);
	count_add(COUNT_alarms, 1);
	s->alarm.count++;
	raise_tier(s, a->kind, now);
	if (a->kind == ALARM_HANG) {
		stacks_want(s, now);
		recorder_hang(s->stream, now);
		recorder_tell_gone(&s->roster->gones, s->stream);
	}
}

void alarm_ended(struct sess *s, uint64_t now_ns)
{
	struct roster *r = s->roster;

	recorder_ended(&r->gones, s->stream, now_ns);
	for (struct sess *o = r->first; o; o = o->next)
		if (o != s && o->stream && o->stream->watcher && o->stream->watcher->detect.hung)
			recorder_tell_gone(&r->gones, o->stream);
}

static void look(struct sess *s, uint64_t now)
{
	struct watcher *w = s->stream->watcher;
	struct aon_heartbeat p;
	struct signs signs;

	end_capture(s, now);
	if (!w)
		return;
	pool_heartbeat(s->stream->pool, &p);
	signs = (struct signs){ .step = p.step,
				.launches = p.launches,
				.collective = p.collective,
				.records = s->stream->tally.taken };
	if (detect_still(&w->detect))
		checkpoint_guard_look(s, &signs);
	detect_look(&w->detect, &signs, now, keep, w);
	for (size_t i = 0; i < w->n; i++)
		tell(s, &w->raised[i], now);
	w->n = 0;
}

/* Whom a fault is about: the process that it names, if it is here. */
static struct sess *named_by(struct roster *r, const struct device_fault *f)
{
	for (struct sess *s = r->first; s && f->pid; s = s->next)
		if (s->stream && s->peer.pid == (pid_t)f->pid)
			return s;
	return NULL;
}

/* Else what it does to the programs that use GPUs is looked at in one of them. */
static struct sess *any_of_gpus(struct roster *r)
{
	for (struct sess *s = r->first; s; s = s->next)
		if (s->stream && s->stream->gpus)
			return s;
	return NULL;
}

void alarm_fault(struct roster *r, const char *what, const char *line, uint64_t now)
{
	struct journal_entry e = { 0 };
	char cut[161];
	struct sess *s;
	struct device_fault f;

	if (!fault_read(what, line, &f) || !faults_new(&r->faults, &f, now))
		return;
	e.kind = alarm_table[f.kind].entry;
	s = named_by(r, &f);
	if (s)
		alarm_who(&e, s);
	if (f.code)
		entry_u(&e, FIELD_XID, f.code);
	snprintf(cut, sizeof(cut), "%s", line);
	entry_s(&e, FIELD_DEVICE, f.device);
	entry_s(&e, FIELD_LINE, cut);
	roster_journal(r, geteuid(), now, &e);
	count_add(COUNT_alarms, 1);
	if (s)
		s->alarm.count++;
	else
		s = any_of_gpus(r);
	if (s)
		raise_tier(s, f.kind, now);
}

/* Of one job: the ranks that `leader` leads. */
static void compare_ranks(struct sess *leader, uint64_t now)
{
	enum { RANKS = 256 };
	struct sess *of[RANKS];
	uint64_t comm[RANKS];
	uint64_t id[RANKS];
	size_t n = 0, late;
	double share;

	for (struct sess *s = leader->roster->first; s && n < RANKS; s = s->next) {
		if (s->budget.leader != leader || !s->stream || !s->stream->watcher)
			continue;
		of[n] = s;
		id[n] = s->id;
		comm[n++] = s->stream->watcher->detect.comm_ns;
		s->stream->watcher->detect.comm_ns = 0;
	}
	late = late_add(&leader->alarm.late, id, comm, n, LATE_S * 1000000000ull, &share);
	if (late != SIZE_MAX)
		tell(of[late], &(struct alarm){ .kind = ALARM_STRAGGLER, .is = share }, now);
}

void alarm_tick(struct roster *r, uint64_t now)
{
	for (struct sess *s = r->first; s; s = s->next)
		if (s->stream) {
			look(s, now);
			oom_tick(s, now);
		}
	stacks_tick(r, now);
	if (r->ticks % LATE_S)
		return;
	for (struct sess *s = r->first; s; s = s->next)
		if (s->stream && s->budget.leader == s && *s->stream->proc.job)
			compare_ranks(s, now);
}
