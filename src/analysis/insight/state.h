/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - the passes that build an insight: each adds the events of one stretch of time. This is
 * what they keep from one stretch to the next. Private to this folder.
 *
 * A new pass counts an event once: in the stretch where it starts (event_counts()), or, if it needs
 * what is inside the event, in the one where it ends (event_ended()). It keeps sums by name, and
 * nothing by index of an event. Earlier events that something may still refer to (stretch.c lists
 * them) are in the trace as well, flagged TRACE_SEEN.
 */
#pragma once

#include "insight/insight.h"
#include "base/map.h"
#include "insight/samples/samples.h"
#include "theory/op_work.h"

/* Starts of what is queued on a stream: a ring that grows. */
struct queue_starts {
	uint64_t *v; /* owned */
	size_t head, n, cap;
};

/* Where a stream is in an attention that is not fused: scores.c. */
struct state_scores {
	enum { SCORES_NONE, SCORES_MADE, SCORES_WEIGHED } at;
	uint32_t between;
	uint64_t between_ns, product_ns;
};

struct state_track {
	struct sum sum;               /* of a stream */
	struct insight_launch launch; /* of a stream; the sketch is owned until it is handed on */
	struct queue_starts queue;
	struct state_scores scores;
	uint32_t last_corr;            /* of the launch of its last event; 0: had none */
	uint64_t span_end[SPAN_KINDS]; /* of a thread: of its last span */
	uint64_t capture;              /* since when a graph is captured, + 1; 0: none is */
};

/* A frame that the host was in while a device waited for it: see frames.c. */
struct state_frame {
	uint32_t name, depth;
	uint64_t ns, sync_ns;    /* with all inside; sync: while it would have been ahead */
	uint64_t span_ns, count; /* of those that did */
};

struct expert_work {
	uint64_t end_ns, until_ns; /* until: all of the device's up to its end */
};

/* Of a stretch, by end. */
struct state_experts {
	struct expert_work *work; /* owned */
	size_t n, room;
	uint64_t before_ns, sum_ns; /* before the stretch, and with it */
};

struct state_device {
	struct state_experts experts;
	struct sum sum;
	struct account_sum account;
	struct idle_lead lead;
	struct insight_device d;
	struct map frame_of;       /* name to place + 1 */
	struct state_frame *frame; /* owned */
	size_t frames;
};

/* Of the device that is looked at: time of gaps by event. */
struct state_hold {
	uint64_t *host, *sync; /* owned */
	bool *track;           /* owned: of which tracks */
	size_t *next;          /* owned, by track: behind the begin of the last piece */
};

struct state_process {
	uint32_t track;             /* whose steps count */
	size_t step_first, steps;   /* into insight.step[] */
	size_t step_from;           /* steps before it are over */
	size_t left_first, lefts;   /* into insight_state.left[], in order */
	uint64_t idle_ns;           /* since when its devices may be idle */
	uint64_t first_ns, last_ns; /* of its host events so far; last is 0: there are none */
	bool gave_up;               /* calls whose work had not begun were too many to keep */
};

struct state_table {
	struct map row;        /* file and name: place + 1 */
	struct sketch *sketch; /* owned, by row */
	size_t rows;
};

struct state_ops {
	struct map row[HOST_ROLLS]; /* file and name: place + 1 */
	struct map known;           /* name and shapes: place + 1 of */
	struct op_work *work;       /* owned; flops UINT64_MAX: no formula */
	size_t works;
	uint8_t *has_work; /* owned, by event: it or an operator around it has */
};

struct state_work {
	struct map reason; /* op and module */
	struct map named;  /* that and the kernel's name */
	struct map row;    /* that and the file: place + 1 */
};

struct state_roofs {
	struct map launch; /* kernel's name and geometry */
	struct map place;  /* that and the device */
	struct map of;     /* operator's name and shapes */
	struct map row;    /* place and of: place + 1 */
	struct map op;     /* of and the file: place + 1 */
	struct map seen;   /* operators of this stretch that were counted, */
	struct map before; /* and of the one before */
};

struct state_traffic {
	struct map who;   /* group, ranks and operation of a collective */
	struct map size;  /* bytes */
	struct map class; /* both; or direction and kind of memory of copies */
	struct map row;   /* that and the device: place + 1 */
};

struct state_shares {
	struct wait_share *v; /* owned */
	size_t n;
	bool cut; /* there were more */
};

/* A sample whose gap may not be over. */
struct state_sample {
	uint64_t ns, dur_ns, b;
	uint32_t track, stack;
	uint8_t part, gap; /* as of struct sample_row */
	bool done;
};

struct state_samples {
	struct state_sample *v; /* owned, by track and time */
	size_t n, cap;
	struct parts *parts;              /* owned */
	uint8_t *range_part, *stack_part; /* owned, by name and by stack: the part + 1; 0: ask */
	size_t range_room, stack_room;
	struct map tid; /* process and thread id: track + 1 */
	size_t tracks;  /* that are in it */
	struct lookup row;
};

/* A collective that was issued. */
struct state_open {
	uint64_t number, ns;
	uint32_t member, name; /* member: of stopped.member[] */
};

enum { SHARES_GPU, SHARES_HOST, SHARES };

struct insight_state {
	struct state_open *open; /* owned */
	size_t opens;
	struct map set_up;         /* thread and name of calls that took IDLE_SET_UP_NS */
	struct map member_of;      /* file and group: place + 1 in stopped.member[] */
	struct state_track *track; /* owned, by track */
	struct state_device *device;
	struct state_process *process;
	struct unions *step;       /* owned, by step */
	struct account_span *base; /* owned, by step */
	struct insight_span *left; /* owned: steps of which nothing was recorded */
	size_t lefts;
	struct state_table table[ROLLS];
	struct state_ops ops;
	struct state_work work;
	struct state_roofs roofs;
	struct state_traffic traffic;
	struct state_shares share[SHARES];
	struct state_samples samples;
	struct state_hold hold;
	struct event *carry; /* owned: of earlier stretches, for the next */
	size_t carries, carry_cap;
	size_t tracks, devices;
};

/* Whether an event is counted in this stretch, which it starts in. */
static inline bool event_counts(const struct event *e)
{
	return !(e->flags & TRACE_SEEN);
}

/* Whether it is counted in this stretch, which it ends in. */
static inline bool event_ended(const struct insight *in, const struct event *e)
{
	uint64_t end = event_end(e);

	return end <= in->hi_ns && (e->start_ns >= in->lo_ns || end > in->lo_ns);
}

/* --- the passes, in this order: what begins, adds a stretch, ends --- */
int insight_link(struct insight *in);        /* link.c */
int insight_classes(struct insight *in);     /* op.c */
int insight_hosts_begin(struct insight *in); /* host.c */
int insight_hosts(struct insight *in);
int insight_samples_take(struct insight *in);  /* samples.c: before gaps are looked at */
int insight_devices_begin(struct insight *in); /* device.c */
int insight_devices(struct insight *in);
int insight_devices_end(struct insight *in);
int insight_steps_begin(struct insight *in); /* step.c: finds the steps, which are all there */
int insight_steps(struct insight *in);
int insight_steps_end(struct insight *in);
int insight_samples(struct insight *in);
int insight_samples_end(struct insight *in);
int insight_ops(struct insight *in); /* op.c */
int insight_ops_end(struct insight *in);
/* The work of an operator by its shapes, until the next call; NULL: no formula, or no memory. */
const struct op_work *insight_op_work(struct insight *in, const struct event *e);
int insight_tables(struct insight *in); /* table.c */
int insight_tables_end(struct insight *in);
int insight_work(struct insight *in); /* work.c */
int insight_work_end(struct insight *in);
int insight_roofs(struct insight *in); /* roof.c */
int insight_roofs_end(struct insight *in);
int insight_traffic(struct insight *in);                  /* traffic.c */
uint32_t traffic_place(struct insight *in, size_t event); /* of a collective, + 1; 0: none */
int insight_traffic_end(struct insight *in);
int insight_waits(struct insight *in); /* collective.c */
int insight_waits_end(struct insight *in);
int insight_memory_begin(struct insight *in); /* memory.c: looks at the readings that are there */
int insight_memory(struct insight *in);
int insight_memory_end(struct insight *in);
int insight_compiles(struct insight *in); /* compile.c */
int insight_stopped(struct insight *in);  /* stopped.c */
int insight_stopped_end(struct insight *in);
int insight_accounts_begin(struct insight *in); /* live/account_host.c */
int insight_accounts(struct insight *in);
int insight_accounts_end(struct insight *in);
int insight_gaps_end(struct insight *in); /* live/account_gap.c */

/* experts.c: finds what devices do for experts in this stretch; how much of that work was done by a time. */
int experts_find(struct insight *in);
uint64_t experts_until(const struct insight *in, uint32_t device, uint64_t ns);

/* scores.c: a piece of work of a stream, in order. */
void scores_add(struct insight *in, struct insight_device *d, struct state_scores *s,
		uint32_t event);

/* stretch.c: keeps the events that the next stretch may refer to. */
int insight_keep(struct insight *in);

/* samples.c: the samples of a piece of a gap, of the thread `track` that launched what ended it;
 * UINT32_MAX: not known, so all of the process. */
void samples_gap(struct insight *in, uint32_t process, uint32_t track, uint64_t from, uint64_t to,
		 enum idle_cause cause);
/* The part of a step that a range is, or HOST_PARTS; of a stack; the stack of the GIL's holder as of a
 * sample, or 0: while the samples of the stretch wait. */
enum host_part insight_range_part(struct insight *in, uint32_t event);
enum host_part insight_stack_part(struct insight *in, uint32_t stack);
uint32_t insight_gil_holder(struct insight *in, const struct event *e);
void samples_state_free(struct state_samples *x);

/* idle_gap.c: the causes of one gap of `d`. */
struct idle {
	struct insight *in;
	struct state_device *d;
};

void idle_gap(void *idle, const struct gap *g);
void idle_tail(struct account_sum *x); /* what follows its last work */

/* frames.c: time of a gap during which the thread was not known to do anything else. */
int frames_begin(struct insight *in);
void frames_hold(struct insight *in, uint32_t track, uint64_t from, uint64_t to, bool sync);
int frames_sum(struct insight *in, struct state_device *d);
void frames_end(const struct trace *t, const struct state_device *d, struct insight_device *to);
void frames_free(struct state_hold *h);
