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
#define HANG_NS     5e9
#define HANG_STEPS  5
#define GROWTH      0.05 /* of what there was, over all blocks */

const struct alarm_row alarm_table[ALARMS] = {
#define ALARM(ID, word, quiet_s, means) { word, means, quiet_s },
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

void detect_step(struct detect *d, uint64_t dur_ns, uint64_t now_ns, alarm_fn *fn, void *arg)
{
	enum level_move m = level_add(&d->step, (double)dur_ns, STEP_GATE);

	d->steps++;
	d->step_ns += ((double)dur_ns - d->step_ns) / (d->steps < 16 ? (double)d->steps : 16);
	if (m != LEVEL_SAME)
		raise_alarm(d,
			    &(struct alarm){ .kind = m == LEVEL_UP ? ALARM_STEP_SLOWER
								   : ALARM_STEP_FASTER,
					     .was = d->step.was,
					     .is = d->step.is },
			    now_ns, fn, arg);
}

/* --- windows --- */

static bool is_gpu(uint32_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COPY || kind == EVENT_MEMSET;
}

static struct detect_kernel *kernel_of(struct detect *d, uint32_t name)
{
	for (uint32_t i = 0; i < DETECT_KERNELS; i++) {
		struct detect_kernel *k = &d->kernel[(name + i) % DETECT_KERNELS];

		if (!k->name)
			k->name = name;
		if (k->name == name)
			return k;
	}
	return NULL;
}

static void add_kernel(struct detect *d, const struct rollup *r, uint64_t now_ns, alarm_fn *fn,
		       void *arg)
{
	struct detect_kernel *k = r->count < KERNEL_FEW ? NULL : kernel_of(d, r->name);

	if (k &&
	    level_add(&k->level, (double)r->total_ns / (double)r->count, KERNEL_GATE) == LEVEL_UP)
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

		/* Streams that run at once are no more than all of it. */
		share = share > 1 ? 1 : share < IDLE_LEAST ? IDLE_LEAST : share;
		if (level_add(&d->busy, share, IDLE_GATE) == LEVEL_DOWN)
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

void detect_window(struct detect *d, const struct window *w, uint32_t memory, uint64_t now_ns,
		   alarm_fn *fn, void *arg)
{
	uint64_t busy = 0;
	bool gpu = false;

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];

		if (is_gpu(r->kind)) {
			busy += r->total_ns;
			gpu = true;
		}
		if (r->kind == EVENT_KERNEL)
			add_kernel(d, r, now_ns, fn, arg);
		if (r->kind == EVENT_COUNTER && memory && r->name == memory)
			add_memory(d, r->min_ns, r->count, now_ns, fn, arg);
	}
	if (gpu || d->busy_from)
		add_busy(d, w->start_ns, busy, now_ns, fn, arg);
}

/* --- every second --- */

static bool moved(const struct signs *a, const struct signs *b)
{
	return a->step != b->step || a->launches != b->launches || a->collective != b->collective ||
	       a->records != b->records;
}

void detect_look(struct detect *d, const struct signs *s, uint64_t now_ns, alarm_fn *fn, void *arg)
{
	double patience = HANG_STEPS * d->step_ns > HANG_NS ? HANG_STEPS * d->step_ns : HANG_NS;

	if (moved(s, &d->signs) || !d->moved_ns) {
		if (d->hung)
			raise_alarm(
				d,
				&(struct alarm){ .kind = ALARM_HANG_OVER, .since_ns = d->moved_ns },
				now_ns, fn, arg);
		d->hung = false;
		d->signs = *s;
		d->moved_ns = now_ns;
		return;
	}
	if (d->hung || d->steps < STEPS_MIN || (double)(now_ns - d->moved_ns) < patience)
		return;
	d->hung = true;
	raise_alarm(d, &(struct alarm){ .kind = ALARM_HANG, .since_ns = d->moved_ns }, now_ns, fn,
		    arg);
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
