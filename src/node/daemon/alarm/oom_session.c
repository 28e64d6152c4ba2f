/* SPDX-License-Identifier: Apache-2.0 */
/* oom_session.c - oom.h: what is looked at while a process runs, and when it has ended. */
#include "daemon/alarm/alarm.h"
#include "daemon/alarm/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/core/count.h"
#include "daemon/session/session_list.h"
#include "pool/memory.h"

#define MOUNT     "/sys/fs/cgroup"
#define FEW       64u           /* sessions: more are looked at less often, */
#define SELDOM    10u           /* every so many seconds */
#define STUCK_NS  5000000000ull /* in the step of a failure: the program does not go on */
#define SITES_MAX 8u

static void read_group(struct sess *s)
{
	char path[40], text[8192];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)s->peer.pid);
	if (file_text(AT_FDCWD, path, text, sizeof(text)) > 0)
		memcg_find(&s->oom.group, text, MOUNT);
}

void oom_joined(struct sess *s)
{
	struct memcg_state now;

	read_group(s);
	if (!memcg_read(&s->oom.group, &now))
		return;
	s->oom.kills = now.oom_kills;
	s->oom.limit = now.limit;
}

/* Without a limit, all there is. */
static uint64_t limit_of(const struct sess *s)
{
	struct sysinfo node;

	if (s->oom.limit || sysinfo(&node) < 0)
		return s->oom.limit;
	return (uint64_t)node.totalram * node.mem_unit;
}

/* --- entries --- */

static void put_device(struct journal_entry *e, const struct aon_memory *m,
		       enum aon_memory_space space, char buf[32])
{
	if (space != AON_MEMORY_GPU)
		return;
	snprintf(buf, 32, "GPU %u", (unsigned)m->total[space].index);
	entry_s(e, FIELD_DEVICE, buf);
}

static int by_live(const void *a, const void *b)
{
	const struct aon_memory_site *x = *(const struct aon_memory_site *const *)a,
				     *y = *(const struct aon_memory_site *const *)b;

	return (x->live < y->live) - (x->live > y->live);
}

static void tell_site(struct sess *s, const struct aon_memory *m, const struct aon_memory_site *at)
{
	struct journal_entry e = { .kind = ENTRY_MEMORY_SITE };
	char device[32];

	alarm_who(&e, s);
	put_device(&e, m, (enum aon_memory_space)at->space, device);
	oom_put_site(&e, m, at);
	sess_journal(s, &e);
}

static void tell_steps(struct sess *s, const struct aon_memory *m, enum aon_memory_space space)
{
	uint8_t step[10 * AON_MEMORY_STEPS], kept[10 * AON_MEMORY_STEPS],
		peak[10 * AON_MEMORY_STEPS];
	const struct aon_memory_total *t = &m->total[space];
	struct journal_entry e = { .kind = ENTRY_MEMORY_STEPS };
	size_t a = 0, b = 0, c = 0;
	char device[32];

	for (uint64_t i = 0; i < t->rows; i++) {
		a = entry_pack(step, sizeof(step), a, t->step[i].step);
		b = entry_pack(kept, sizeof(kept), b, t->step[i].kept);
		c = entry_pack(peak, sizeof(peak), c, t->step[i].peak);
	}
	alarm_who(&e, s);
	put_device(&e, m, space, device);
	entry_u(&e, FIELD_HELD_BYTES, t->live);
	entry_u(&e, FIELD_PEAK_BYTES, t->top > t->peak ? t->top : t->peak);
	entry_list(&e, FIELD_STEP_LIST, step, a);
	entry_list(&e, FIELD_KEPT_LIST, kept, b);
	entry_list(&e, FIELD_PEAK_LIST, peak, c);
	sess_journal(s, &e);
}

/* The sentence, then what it is made of. */
static void tell(struct sess *s, const struct aon_memory *m, enum aon_memory_space space,
		 const struct oom_facts *f)
{
	const struct aon_memory_site *most[AON_MEMORY_SITES];
	struct journal_entry e = { 0 };
	char device[32];
	size_t n = 0;

	alarm_who(&e, s);
	put_device(&e, m, space, device);
	oom_entry(&e, m, space, f);
	sess_journal(s, &e);
	count_add(COUNT_alarms, 1);
	s->alarm.count++;
	for (uint32_t i = 0; i < AON_MEMORY_SITES; i++)
		if (m->site[i].key && m->site[i].space == space && m->site[i].live)
			most[n++] = &m->site[i];
	qsort(most, n, sizeof(most[0]), by_live);
	for (size_t i = 0; i < n && i < SITES_MAX; i++)
		tell_site(s, m, most[i]);
	if (m->total[space].rows)
		tell_steps(s, m, space);
}

static bool get_table(const struct sess *s, struct aon_memory *m)
{
	if (pool_memory(s->stream->pool, m) == 0)
		return true;
	memset(m, 0, sizeof(*m));
	return false;
}

/* --- allocations that were refused --- */

/* Whether the program went on is known when its next step has ended, or it has. */
static void look_at_fails(struct sess *s, const struct aon_memory *m, uint64_t now, bool over)
{
	for (enum aon_memory_space k = 0; k < AON_MEMORY_SPACES; k++) {
		const struct aon_memory_total *t = &m->total[k];
		bool went_on = m->step > t->fail_step + 1;
		struct oom_facts f = { .limit = k == AON_MEMORY_HOST ? limit_of(s) : t->limit,
				       .outside = k == AON_MEMORY_HOST ? s->oom.outside : 0,
				       .caught = went_on ||
						 (over && m->ended && m->step > t->fail_step) };

		if (t->fails <= s->oom.fails[k])
			continue;
		if (!s->oom.fail_ns[k])
			s->oom.fail_ns[k] = now;
		if (!over && !went_on && now - s->oom.fail_ns[k] < STUCK_NS)
			continue;
		s->oom.fails[k] = t->fails;
		s->oom.fail_ns[k] = 0;
		tell(s, m, k, &f);
	}
}

/* Pages of files and shared memory are not its own. */
static void look_at_rss(struct sess *s, const struct aon_memory *m)
{
	unsigned long long all, rss, shared;
	char path[40], text[128];
	uint64_t own, page = (uint64_t)sysconf(_SC_PAGESIZE);

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)s->peer.pid);
	if (file_text(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%llu %llu %llu", &all, &rss, &shared) != 3 || !rss || shared > rss)
		return;
	s->oom.rss = rss * page;
	if (!s->oom.rss_at)
		s->oom.rss_at = s->oom.rss;
	own = (rss - shared) * page;
	if (own > m->total[AON_MEMORY_HOST].live + s->oom.outside)
		s->oom.outside = own - m->total[AON_MEMORY_HOST].live;
}

void oom_tick(struct sess *s, uint64_t now_ns)
{
	struct aon_memory m;
	bool known;

	if (s->roster->count > FEW && (s->roster->ticks + s->id) % SELDOM)
		return;
	known = get_table(s, &m);
	look_at_rss(s, &m);
	if (known)
		look_at_fails(s, &m, now_ns, false);
}

/* --- the end --- */

/* The kill is this process's: no other process of the cgroup has died. */
static void claim(struct sess *s, uint64_t kills)
{
	for (struct sess *o = s->roster->first; o; o = o->next)
		if (o->stream && !strcmp(o->oom.group.dir, s->oom.group.dir))
			o->oom.kills = kills;
}

void oom_ended(struct sess *s, uint64_t now_ns)
{
	struct memcg_state now;
	struct aon_memory m;
	bool known = get_table(s, &m), killed;

	killed = memcg_read(&s->oom.group, &now) && now.oom_kills > s->oom.kills && !m.ended;
	if (killed) {
		struct oom_facts f = { .killed = true,
				       .rss = s->oom.rss,
				       .rss_at = s->oom.rss_at,
				       .outside = s->oom.outside };

		s->oom.limit = now.limit;
		f.limit = limit_of(s);
		if (!known)
			m.step = s->stream->step;
		claim(s, s->oom.kills + 1);
		tell(s, &m, AON_MEMORY_HOST, &f);
	} else if (known) {
		look_at_fails(s, &m, now_ns, true);
	}
}
