/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_probe.c - values for triggers; see trigger_probe.h. */
#include "daemon/capture/trigger_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/capture/capture.h"
#include "daemon/session/session_list.h"
#include "detect/cover.h"
#include "store/store.h"

#define SECOND_NS  1000000000ull
#define ACTIVITY_S 2u /* after its end, all activities of a second are here */
#define OF_GPU     (1u << QUANTITY_BUSY | 1u << QUANTITY_COMM | 1u << QUANTITY_EXPOSED)

/* Kernels of NCCL and RCCL, by the last names that were asked for. */
struct arm_names {
	struct {
		uint32_t name;
		bool comm;
	} slot[256];
};

struct arm *arm_of(const struct stream *s, uint64_t capture)
{
	struct arm *a = s->arms;

	while (a && a->capture != capture)
		a = a->next;
	return a;
}

static void arm_free(struct arm *a)
{
	free(a->meter);
	free(a->cover);
	free(a->names);
	free(a);
}

void arm_again(struct arm *a, struct sess *s, uint64_t now)
{
	struct account acc;

	stream_account(s->stream, &acc);
	a->since_ns = now;
	a->steps = s->stream->cost.steps;
	a->taken = s->stream->tally.taken;
	a->lost = account_losses(&acc);
	a->alarms = s->alarm.count;
	a->fired = false;
	a->waits = true;
	trigger_pause(a->meter);
}

int arm_add(struct sess *s, struct captures *cs, uint64_t capture, const struct trigger *when,
	    uint64_t now)
{
	struct arm *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	*a = (struct arm){ .captures = cs,
			   .when = when,
			   .capture = capture,
			   .meter = malloc(trigger_meter_bytes(when)) };
	if (when->uses & OF_GPU) {
		a->cover = calloc(1, sizeof(*a->cover));
		a->names = calloc(1, sizeof(*a->names));
	}
	if (!a->meter || (when->uses & OF_GPU && (!a->cover || !a->names))) {
		arm_free(a);
		return -ENOMEM;
	}
	trigger_meter_init(a->meter, when);
	arm_again(a, s, now);
	a->next = s->stream->arms;
	s->stream->arms = a;
	return 0;
}

void arm_drop(struct stream *s, uint64_t capture)
{
	for (struct arm **at = &s->arms; *at; at = &(*at)->next) {
		struct arm *a = *at;

		if (a->capture != capture)
			continue;
		*at = a->next;
		arm_free(a);
		return;
	}
}

void arms_free(struct stream *s)
{
	while (s->arms)
		arm_drop(s, s->arms->capture);
}

/* --- values --- */

static void look(struct arm *a)
{
	if (!a->waits || a->fired || !trigger_look(a->when, a->meter))
		return;
	a->fired = true;
	captures_fired(a->captures);
}

static bool is_comm(struct arm *a, struct store *st, uint32_t name)
{
	uint32_t i = name % 256;
	char text[64];

	if (a->names->slot[i].name == name)
		return a->names->slot[i].comm;
	if (store_name_try(st, name, text, sizeof(text)) < 0)
		return false; /* a commit is under way */
	a->names->slot[i].name = name;
	a->names->slot[i].comm = !strncasecmp(text, "nccl", 4) || !strncasecmp(text, "rccl", 4) ||
				 strstr(text, "msccl");
	return a->names->slot[i].comm;
}

static void cover_event(struct arm *a, struct stream *s, const struct event *e)
{
	bool comm = e->kind == EVENT_COLLECTIVE;
	bool gpu = e->kind == EVENT_KERNEL || e->kind == EVENT_COPY || e->kind == EVENT_MEMSET;

	if (!comm && !gpu)
		return;
	comm |= e->kind == EVENT_KERNEL && is_comm(a, s->plant->store, e->name);
	a->gpu |= gpu;
	a->comm |= comm;
	cover_add(a->cover, comm ? COVER_COMM : COVER_WORK, e->start_ns, e->dur_ns);
	if (gpu)
		cover_add(a->cover, COVER_GPU, e->start_ns, e->dur_ns);
}

static void arm_event(struct arm *a, struct stream *s, const struct event *e)
{
	if (a->cover)
		cover_event(a, s, e);
	if (e->kind == EVENT_STEP && s->cost.track == e->track + 1 &&
	    !(e->flags & (EVENT_OPEN | EVENT_UNSAMPLED))) {
		trigger_put(a->meter, QUANTITY_STEP_MS, (double)e->dur_ns / 1e6);
		look(a);
	} else if (e->kind == EVENT_COUNTER && s->watcher && e->name == s->watcher->names.memory) {
		trigger_put(a->meter, QUANTITY_MEMORY, (double)e->a / 1e6);
	}
}

void arms_events(struct stream *s, const struct event *ev, size_t n)
{
	for (struct arm *a = s->arms; a; a = a->next)
		for (size_t i = 0; i < n && a->waits && !a->fired; i++)
			arm_event(a, s, &ev[i]);
}

/* Of a process that was never seen to use a GPU it is not known how busy that is. */
static void put_cover(struct arm *a, uint64_t second)
{
	struct cover_share c = cover_of(a->cover, second);

	if (second <= a->since_ns / SECOND_NS)
		return; /* not seen whole */
	if (a->gpu)
		trigger_put(a->meter, QUANTITY_BUSY, c.gpu);
	if (a->gpu || a->comm) {
		trigger_put(a->meter, QUANTITY_COMM, c.comm);
		trigger_put(a->meter, QUANTITY_EXPOSED, c.exposed);
	}
}

void arm_second(struct arm *a, struct sess *s, uint64_t now)
{
	struct stream *st = s->stream;
	uint64_t steps = st->cost.steps, taken = st->tally.taken, lost;
	struct account acc;

	stream_account(st, &acc);
	lost = account_losses(&acc);
	if (a->waits && !a->fired) {
		if (steps)
			trigger_put(a->meter, QUANTITY_STEPS_S, (double)(steps - a->steps));
		trigger_put(a->meter, QUANTITY_EVENTS_S, (double)(taken - a->taken));
		trigger_put(a->meter, QUANTITY_LOST_S, (double)(lost - a->lost));
		trigger_put(a->meter, QUANTITY_ALARMS, (double)(s->alarm.count - a->alarms));
		trigger_put(a->meter, QUANTITY_QUIET,
			    now > st->proc.last_ns ? (double)(now - st->proc.last_ns) / 1e9 : 0);
		trigger_put(a->meter, QUANTITY_COST, 100 * st->cost.accounted);
		if (a->cover)
			put_cover(a, now / SECOND_NS - ACTIVITY_S - 1);
		look(a);
	}
	a->steps = steps;
	a->taken = taken;
	a->lost = lost;
	a->alarms = s->alarm.count;
}
