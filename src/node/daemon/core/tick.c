/* SPDX-License-Identifier: Apache-2.0 */
/* tick.c - aond's work once a second. */
#include <malloc.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/proc.h"
#include "daemon/core/aond.h"
#include "daemon/core/count.h"
#include "daemon/core/notify.h"
#include "daemon/stream/texts.h"
#include "pool/emit.h"

#define CALIBRATE_NS 20000000ull
#define SWEEP_TICKS  10
#define WALL_STEP_NS 100000000ll

/* A moment on both clocks: the closest of a few tries. */
static void moment(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t a = aon_tsc(), t = clock_mono_ns(), b = aon_tsc();

		if (b - a < best) {
			best = b - a;
			*tsc = a + (b - a) / 2;
			*ns = t;
		}
	}
}

int aond_clock(struct clock_map *c)
{
	uint64_t tsc0 = 0, ns0 = 0, tsc1 = 0, ns1 = 0;

	moment(&tsc0, &ns0);
	usleep(CALIBRATE_NS / 1000);
	moment(&tsc1, &ns1);
	return clock_map_init(c, tsc0, ns0, tsc1, ns1);
}

static void tick_clock(struct aond *d)
{
	uint64_t tsc = 0, ns = 0;

	moment(&tsc, &ns);
	if (clock_map_update(&d->plant.clock, tsc, ns) < 0) {
		count_add(COUNT_clock_unsteady, 1);
		log_warn("the processor's counter does not run evenly: times are less exact");
		aond_clock(&d->plant.clock);
	}
}

/* NTP, or somebody, has set the wall clock: the times that we tell move with it. */
static void tick_wall(struct aond *d)
{
	int64_t offset = (int64_t)(clock_wall_ns() - clock_mono_ns()),
		step = offset - d->wall_offset_ns;
	struct journal_entry e = { .kind = ENTRY_CLOCK };
	char text[ENTRY_TEXT];

	if (step < WALL_STEP_NS && step > -WALL_STEP_NS)
		return;
	entry_i(&e, FIELD_MOVED_NS, step);
	log_info("%s", entry_text(&e, text));
	aond_journal(d, &e);
	roster_wall(&d->roster, offset);
	d->wall_offset_ns = offset;
}

/* Who tried to join while we were held up has given up: call again. */
void aond_stalled(struct aond *d)
{
	count_add(COUNT_stalls, 1);
	rundir_announce(&d->rundir);
}

/* Nothing came for a while: what a burst has touched goes back. */
static void give_back(struct aond *d)
{
	uint64_t records = count_get(COUNT_records);

	if (d->roster.ticks % SWEEP_TICKS || records == d->idle_records)
		return;
	if (d->idle_at == records) {
		plant_idle(&d->plant);
		malloc_trim(0);
		d->idle_records = records;
	}
	d->idle_at = records;
}

static unsigned gpus_seen(const struct roster *r)
{
	uint64_t any = 0;

	for (const struct sess *s = r->first; s; s = s->next)
		any |= s->stream ? s->stream->gpus : 0;
	return (unsigned)__builtin_popcountll(any);
}

uint32_t budget_percent(const struct aond *d)
{
	unsigned seen;

	if (d->param.cpu_percent >= 0)
		return (uint32_t)d->param.cpu_percent;
	seen = gpus_seen(&d->roster);
	return shed_percent(seen > d->gpus ? seen : d->gpus);
}

/* Of both budgets the one that leaves out more. */
static void shed(struct aond *d)
{
	d->plant.shed = d->shed.level > d->memory ? d->shed.level : d->memory;
	count_set(COUNT_shed_level, d->plant.shed);
}

/* A budget has moved: the journal and the log say to what. */
static void tell_shed(struct aond *d, struct journal_entry *e, enum shed_level level,
		      uint64_t limit)
{
	char text[ENTRY_TEXT];

	entry_u(e, FIELD_SHED, level);
	entry_u(e, FIELD_LIMIT, limit);
	log_warn("budget: %s", entry_text(e, text));
	aond_journal(d, e);
}

/* The budget of memory. Pages that a burst has touched are given back first. */
static void keep_memory(struct aond *d)
{
	struct journal_entry e = { .kind = ENTRY_BUDGET_MEMORY };
	uint64_t limit = (uint64_t)d->param.memory_mib << 20;
	enum shed_level was = d->memory;

	d->rss = proc_rss();
	d->memory = shed_memory(was, d->rss, limit);
	d->plant.full = d->memory == SHED_ALL;
	if (d->memory > SHED_NOTHING && d->roster.ticks % SWEEP_TICKS == 0) {
		plant_idle(&d->plant);
		malloc_trim(0);
	}
	if (d->memory == was)
		return;
	shed(d);
	count_add(COUNT_memory_stops, d->memory > was);
	entry_u(&e, FIELD_USED_MIB, d->rss >> 20);
	tell_shed(d, &e, d->memory, (uint64_t)d->param.memory_mib);
}

/* The budget of CPU: what both threads have used since the last second. */
static void keep_budget(struct aond *d, uint64_t now)
{
	enum shed_level was = d->shed.level, is;

	is = shed_look(&d->shed, now, clock_cpu_ns(), budget_percent(d));
	if (is == was)
		return;
	shed(d);
	count_add(COUNT_shed_moves, 1);
	tell_shed(d, &(struct journal_entry){ .kind = ENTRY_BUDGET_CPU }, is, budget_percent(d));
}

uint64_t budget_disk(const struct aond *d)
{
	return count_get(COUNT_store_written) - d->disk_from;
}

/* The budget of the disk: of all that was written since the day began. Once up it stays there
 * until tomorrow: what a setting frees in between is the exception. */
static void keep_disk(struct aond *d, uint64_t now)
{
	uint64_t day = now / (86400 * 1000000000ull), limit = (uint64_t)d->param.disk_mib_day << 20;
	enum shed_level was = d->plant.disk, is = SHED_NOTHING;

	if (day != d->disk_day)
		d->disk_from = count_get(COUNT_store_written);
	d->disk_day = day;
	if (limit && budget_disk(d) >= limit)
		is = SHED_ALL;
	else if (limit && budget_disk(d) >= limit - limit / 8)
		is = SHED_EVENTS;
	if (is == was)
		return;
	d->plant.disk = is;
	count_set(COUNT_disk_level, is);
	count_add(COUNT_disk_stops, is > was);
	tell_shed(d, &(struct journal_entry){ .kind = ENTRY_BUDGET_DISK }, is,
		  (uint64_t)d->param.disk_mib_day);
}

/* One commit at a time: what comes meanwhile goes into the next. */
static void tick_commit(struct aond *d, uint64_t now)
{
	uint64_t due = d->commit_ns + (uint64_t)d->param.commit_ms * 1000000u;

	/* Over the budget of the disk only what somebody asks for, and a word a minute. */
	if (writer_behind(d->writer) || now + TICK_NS / 2 < due ||
	    (d->plant.disk == SHED_ALL && d->roster.ticks % 60))
		return;
	roster_report(&d->roster);
	if (d->plant.dirty)
		aond_commit(d, false);
}

void aond_tick(struct aond *d)
{
	uint64_t now = clock_mono_ns();

	if (now > d->next_tick_ns + STALL_NS)
		aond_stalled(d);
	d->next_tick_ns = now + TICK_NS;
	tick_clock(d);
	tick_wall(d);
	keep_budget(d, now);
	keep_memory(d);
	keep_disk(d, now);
	broker_tick(&d->broker, (uint64_t)d->param.subscribe_events, d->shed.level >= SHED_EVENTS);
	roster_tick(&d->roster, now);
	telemetry_tick(&d->telemetry);
	sampler_tick(&d->sampler, now);
	texts_tick(d->plant.texts);
	captures_tick(&d->captures, now);
	leases_tick(&d->leases, now);
	if (d->roster.ticks % SWEEP_TICKS == 0)
		recovery_sweep(&d->left, &d->plant);
	count_max(COUNT_queue_bytes_max,
		  atomic_load_explicit(&d->queue.bytes, memory_order_relaxed));
	tick_commit(d, now);
	if (d->watchdog_ns)
		notify("WATCHDOG=1");
	if (writer_broken(d->writer)) {
		log_err("the store is damaged: ending, so that a new start puts it aside");
		d->failed = d->stop = true;
	}
	give_back(d);
}
