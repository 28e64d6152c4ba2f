/* SPDX-License-Identifier: Apache-2.0 */
/* detect.c - the detectors of one process; see detect.h. */
#include "detect/detect.h"

#include "model/event.h"

#define STEP_GATE   1.1
#define KERNEL_GATE 1.2
#define IDLE_GATE   2.0
#define IDLE_LEAST  0.01 /* share: less is as good as none */
#define KERNEL_FEW  8u   /* calls in a window that say nothing of a kernel's mean */
#define STEPS_MIN   8u   /* before a process may hang */
#define PIECES_SAME 64u  /* so long a slower throughput is that of slower steps */
#define HANG_NS     5e9
#define HANG_STEPS  5
#define HANG_AGAIN  1.5             /* of the longest stall that was none */
#define STALL_MAX   600000000000ull /* ns; longer ones are not learnt from */
#define GROWTH      0.05            /* of what there was, over all blocks */
#define SAVE_NS     600e9           /* a checkpoint may take, as long as none was seen to end; */
#define SAVE_AGAIN  3.0             /* then of the longest, */
#define SAVE_LEAST  60e9            /* and no less */
#define SAVE_BYTES  (4ull << 20)    /* written while nothing moves: that is one */
#define SAVE_MORE   (1ull << 20)    /* it grows still, */
#define SAVE_REST   30000000000ull  /* ns; or did so long ago: disks are waited for */

const struct alarm_row alarm_table[ALARMS] = {
#define ALARM(ID, quiet_s) { ENTRY_##ID, quiet_s },
#include "detect/detect.tbl.h"
};

static void raise_alarm(struct detect *d, const struct alarm *a, uint64_t now_ns, alarm_fn *fn,
			void *arg)
{
	uint64_t quiet = (uint64_t)alarm_table[a->kind].quiet_s * 1000000000u;

	/* Steps say themselves when they were: one that lies about it only silences itself. */
	if (d->told_ns[a->kind] && now_ns < d->told_ns[a->kind] + quiet)
		return;
	d->told_ns[a->kind] = now_ns;
	fn(arg, a);
}

/* --- steps --- */

/* What a step takes with all that is between steps, and slow ones among fast ones: the mean of a piece.
 * Not told again when steps themselves have just been. */
void detect_step_on(struct detect *d, uint64_t number, uint64_t now_ns, alarm_fn *fn, void *arg)
{
	uint64_t n = number - d->piece_step, span = now_ns - d->piece_ns;
	enum level_move m = LEVEL_SAME;

	if (d->piece_ns && number > d->piece_step && now_ns > d->piece_ns) {
		if (n < DETECT_PIECE)
			return;
		m = level_add(&d->pace, (double)span / (double)n, STEP_GATE, LEVEL_PIECES);
	}
	d->piece_ns = now_ns;
	d->piece_step = number;
	if (m == LEVEL_UP && (!d->told_ns[ALARM_STEP_SLOWER] ||
			      now_ns > d->told_ns[ALARM_STEP_SLOWER] + PIECES_SAME * span))
		raise_alarm(d,
			    &(struct alarm){ .kind = ALARM_THROUGHPUT,
					     .was = d->pace.was,
					     .is = d->pace.is },
			    now_ns, fn, arg);
}

void detect_step(struct detect *d, uint64_t number, uint64_t dur_ns, uint64_t now_ns, alarm_fn *fn,
		 void *arg)
{
	enum level_move m = level_add(&d->step, (double)dur_ns, STEP_GATE, LEVEL_VALUES);

	d->steps++;
	d->step_ns += ((double)dur_ns - d->step_ns) / (d->steps < 16 ? (double)d->steps : 16);
	if (m != LEVEL_SAME)
		raise_alarm(d,
			    &(struct alarm){ .kind = m == LEVEL_UP ? ALARM_STEP_SLOWER
								   : ALARM_STEP_FASTER,
					     .was = d->step.was,
					     .is = d->step.is },
			    now_ns, fn, arg);
	detect_step_on(d, number, now_ns, fn, arg);
}

/* --- windows --- */

static bool is_gpu(uint32_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COPY || kind == EVENT_MEMSET;
}

static struct detect_kernel *kernel_of(struct detect *d, uint32_t name, uint32_t geo)
{
	for (uint32_t i = 0; i < DETECT_KERNELS; i++) {
		struct detect_kernel *k = &d->kernel[(name + geo + i) % DETECT_KERNELS];

		if (!k->name) {
			k->name = name;
			k->geo = geo;
		}
		if (k->name == name && k->geo == geo)
			return k;
	}
	return NULL;
}

static void add_kernel(struct detect *d, const struct rollup *r, uint64_t now_ns, alarm_fn *fn,
		       void *arg)
{
	struct detect_kernel *k = r->count < KERNEL_FEW ? NULL : kernel_of(d, r->name, r->geo);

	if (k && level_add(&k->level, (double)r->total_ns / (double)r->count, KERNEL_GATE,
			   LEVEL_VALUES) == LEVEL_UP)
		raise_alarm(d,
			    &(struct alarm){ .kind = ALARM_KERNEL,
					     .name = r->name,
					     .was = k->level.was,
					     .is = k->level.is },
			    now_ns, fn, arg);
}

static void add_busy(struct detect *d, uint64_t start_ns, uint64_t busy_ns, uint64_t now_ns,
		     alarm_fn *fn, void *arg)
{
	uint64_t span = DETECT_IDLE_S * WINDOW_NS;

	if (!d->busy_from)
		d->busy_from = start_ns;
	if (start_ns >= d->busy_from + span) {
		double share = (double)d->busy_ns / (double)span;

		/* Streams that overlap cannot exceed the whole. */
		share = share > 1 ? 1 : share < IDLE_LEAST ? IDLE_LEAST : share;
		if (level_add(&d->busy, share, IDLE_GATE, LEVEL_PIECES) == LEVEL_DOWN)
			raise_alarm(d,
				    &(struct alarm){ .kind = ALARM_GPU_IDLE,
						     .was = d->busy.was,
						     .is = d->busy.is },
				    now_ns, fn, arg);
		d->busy_from = start_ns;
		d->busy_ns = 0;
	}
	d->busy_ns += busy_ns;
}

/* A leak: what is left after the leanest step of a block is more than in the block before, time
 * after time. Caches grow, too, but come to an end. */
static void add_memory(struct detect *d, uint64_t low, uint64_t count, uint64_t now_ns,
		       alarm_fn *fn, void *arg)
{
	if (!d->low || low < d->low)
		d->low = low;
	d->in_block += (uint32_t)(count < DETECT_BLOCK ? count : DETECT_BLOCK);
	if (d->in_block < DETECT_BLOCK)
		return;
	d->grows = d->last_low && d->low > d->last_low ? d->grows + 1 : 0;
	if (!d->grows)
		d->first_low = d->low;
	d->last_low = d->low;
	d->low = 0;
	d->in_block = 0;
	if (d->grows < DETECT_GROWS ||
	    (double)(d->last_low - d->first_low) < GROWTH * (double)d->first_low)
		return;
	d->grows = 0;
	raise_alarm(d,
		    &(struct alarm){ .kind = ALARM_MEMORY,
				     .was = (double)d->first_low,
				     .is = (double)d->last_low },
		    now_ns, fn, arg);
}

/* Communication kernels wait for other ranks: their duration tells nothing of this GPU. */
void detect_window(struct detect *d, const struct window *w, const struct detect_names *names,
		   uint64_t now_ns, alarm_fn *fn, void *arg)
{
	uint64_t busy = 0, seen = 0, comm = 0;
	bool gpu = false;

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];
		bool kernel = r->kind == EVENT_KERNEL;

		if (r->kind == EVENT_COLLECTIVE) {
			seen += r->total_ns;
		} else if (kernel && names->is_comm && names->is_comm(names->arg, r->name)) {
			comm += r->total_ns;
		} else if (is_gpu(r->kind)) {
			busy += r->total_ns;
			gpu = true;
			if (kernel)
				add_kernel(d, r, now_ns, fn, arg);
		} else if (r->kind == EVENT_COUNTER && names->memory && r->name == names->memory) {
			add_memory(d, r->min_ns, r->count, now_ns, fn, arg);
		}
	}
	d->comm_ns += seen ? seen : comm; /* the same collective may be seen from both sides */
	if (gpu || d->busy_from)
		add_busy(d, w->start_ns, busy, now_ns, fn, arg);
}

/* --- every second --- */

static bool moved(const struct signs *a, const struct signs *b)
{
	return a->step != b->step || a->launches != b->launches || a->collective != b->collective ||
	       a->records != b->records;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Nothing moves: does it write a checkpoint, or wait for one? By a range that says so, or by what it
 * has written since; what a log takes is too little. */
static bool look_save(struct detect_save *v, const struct signs *s, uint64_t now_ns)
{
	if (!v->grew_ns) {
		v->first = v->last = s->written;
		v->grew_ns = now_ns;
	}
	if (s->written >= v->last + SAVE_MORE) {
		v->last = s->written;
		v->grew_ns = now_ns;
	}
	v->now = s->saves || (v->last >= v->first + SAVE_BYTES && now_ns < v->grew_ns + SAVE_REST);
	if (v->now || s->peer_saves)
		v->seen_ns = now_ns;
	return v->seen_ns == now_ns;
}

/* It moves again. What a stall took by itself says how long the next may take, of its sort. */
static void look_moved(struct detect *d, const struct signs *s, uint64_t now_ns, alarm_fn *fn,
		       void *arg)
{
	uint64_t took = d->moved_ns ? now_ns - d->moved_ns : 0;
	uint64_t *longest = d->save.seen_ns ? &d->save.longest_ns : &d->stall_ns;

	if (d->hung)
		raise_alarm(d, &(struct alarm){ .kind = ALARM_HANG_OVER, .since_ns = d->moved_ns },
			    now_ns, fn, arg);
	if ((d->hung || d->save.seen_ns) && took > *longest)
		*longest = took < STALL_MAX ? took : STALL_MAX;
	d->save = (struct detect_save){ .longest_ns = d->save.longest_ns };
	d->hung = d->still = false;
	d->signs = *s;
	d->moved_ns = now_ns;
}

/* How long it may make no progress, since *from. */
static double patience_of(const struct detect *d, bool saving, uint64_t *from)
{
	double longest = (double)d->save.longest_ns, p = larger(HANG_STEPS * d->step_ns, HANG_NS);

	*from = d->moved_ns;
	p = larger(p, HANG_AGAIN * (double)d->stall_ns);
	if (saving)
		return larger(p, longest > 0 ? larger(SAVE_AGAIN * longest, SAVE_LEAST) : SAVE_NS);
	/* Who waited for one that is written now has not gone on yet. */
	if (d->save.seen_ns)
		*from = d->save.seen_ns;
	return p;
}

void detect_look(struct detect *d, const struct signs *s, uint64_t now_ns, alarm_fn *fn, void *arg)
{
	bool saving;
	uint64_t from;
	double patience;

	if (moved(s, &d->signs) || !d->moved_ns) {
		look_moved(d, s, now_ns, fn, arg);
		return;
	}
	/* Data requested because of the stall arrives by the next look. */
	saving = d->still && look_save(&d->save, s, now_ns);
	d->still = true;
	patience = patience_of(d, saving, &from);
	if (d->hung || d->steps < STEPS_MIN || (double)(now_ns - from) < patience)
		return;
	d->hung = true;
	raise_alarm(
		d, &(struct alarm){ .kind = ALARM_HANG, .since_ns = d->moved_ns, .saving = saving },
		now_ns, fn, arg);
}

/* --- ranks --- */

size_t late_of(const uint64_t *comm_ns, size_t n, uint64_t span_ns)
{
	size_t least = 0;
	uint64_t second = UINT64_MAX;

	if (n < 2)
		return SIZE_MAX;
	for (size_t i = 1; i < n; i++)
		if (comm_ns[i] < comm_ns[least])
			least = i;
	for (size_t i = 0; i < n; i++)
		if (i != least && comm_ns[i] < second)
			second = comm_ns[i];
	return (double)(second - comm_ns[least]) > LATE_SHARE * (double)span_ns ? least : SIZE_MAX;
}

size_t late_add(struct late *l, const uint64_t *id, const uint64_t *comm_ns, size_t n,
		uint64_t span_ns, double *share)
{
	size_t who = late_of(comm_ns, n, span_ns);
	uint64_t most = 0;

	if (who != SIZE_MAX && id[who] == l->id)
		l->times++;
	else
		l->times = who != SIZE_MAX;
	l->id = who == SIZE_MAX ? 0 : id[who];
	l->silent -= l->silent > 0;
	if (l->times < LATE_TIMES)
		return SIZE_MAX;
	/* The same one again, soon after: that is no news, as long as it goes on. */
	if (l->told == l->id && l->silent) {
		l->silent = LATE_SILENT;
		return SIZE_MAX;
	}
	l->told = l->id;
	l->silent = LATE_SILENT;
	for (size_t i = 0; i < n; i++)
		most = comm_ns[i] > most ? comm_ns[i] : most;
	*share = (double)(most - comm_ns[who]) / (double)span_ns;
	return who;
}
