/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - see sampler.h. */
#include "sample/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "stacks/rights.h"

#define BATCH     4096u
#define MESSAGE   1024u /* samples of a message */
#define BATCH_NS  400000000ull
#define HOLD_NS   3000000000ull /* at most, samples wait for the lines of stacks */
#define SOON_NS   100000000ull  /* then it is looked whether these are known */
#define LATE_NS   200000000ull
#define STATUS_NS 1000000000ull
#define TOGETHER \
	300000ull /* ns: those that are due so soon are looked at now: one waking for all */
/* Threads that share their moments. To wake up, and to fetch what other programs have driven out of the
 * caches meanwhile, costs more than three looks do; all at once would keep a CPU for long. */
#define GROUP      16u
#define SLOW_NS    20000000ull /* a look usually takes a thousandth */
#define SLOWEST    0.02        /* of the rates that were asked for */
#define CODE_BYTES (24u << 20)
#define REST_NS    60000000000ull /* a user whose threads cost too much even so is left alone for */

struct target {
	struct thread thread;
	uint32_t centihertz;
	uint64_t period_ns, turn; /* the number of its next period, from the start of the clock */
	uint64_t due_ns;          /* UINT64_MAX: never again */
	int err;                  /* of the last look */
	bool kept;                /* it is in the new list, too */
};

/* Whose processes they are. */
struct user {
	uid_t uid;
	uint64_t took_ns; /* for looks at its threads, since the last status */
	double scale;     /* of its rates */
	uint64_t rest_ns; /* nothing before */
};

struct sampler {
	struct sampler_opts o;
	struct look_guard *guard; /* borrowed; owned if o.guard is NULL */
	struct natives natives;
	struct intern intern;
	struct target *target; /* owned; `of` of a thread is one of those: */
	size_t targets;
	struct process **process; /* owned */
	size_t processes;
	struct user *user; /* owned */
	size_t users;

	struct swire_sample batch[BATCH];
	size_t n;
	uint64_t flush_ns, status_ns;
	uint64_t held_ns;           /* since when the batch waits for lines; 0: it does not */
	uint64_t cpu_ns, cpu_at_ns; /* at the last status */
	double use;                 /* of a CPU, lately */
	uint32_t suspect;           /* a process whose last look took long; 0: none */
	char reason[256];
};

int sampler_new(struct sampler **out, const struct sampler_opts *o)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->guard = o->guard ? o->guard : guard_new(false);
	if (!s->guard || natives_init(&s->natives)) {
		if (!o->guard)
			guard_free(s->guard);
		free(s);
		return -ENOMEM;
	}
	s->intern = (struct intern){ .send = o->send, .arg = o->arg, .natives = &s->natives };
	s->intern.n = s->intern.sent = s->guard->stacks;
	*out = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->targets; i++)
		thread_close(&s->target[i].thread);
	for (size_t i = 0; i < s->processes; i++)
		process_free(s->process[i]);
	intern_fini(&s->intern);
	natives_fini(&s->natives);
	if (!s->o.guard)
		guard_free(s->guard);
	free(s->target);
	free(s->process);
	free(s->user);
	free(s);
}

/* --- when --- */

/* NULL: no memory. */
static struct user *user_of(struct sampler *s, uid_t uid)
{
	for (size_t i = 0; i < s->users; i++)
		if (s->user[i].uid == uid)
			return &s->user[i];
	if (vec_more(&s->user, s->users, sizeof(*s->user)))
		return NULL;
	s->user[s->users] = (struct user){ .uid = uid, .scale = 1 };
	return &s->user[s->users++];
}

static double scale_of(struct sampler *s, const struct target *t)
{
	const struct user *u = t->thread.of ? user_of(s, process_uid(t->thread.of)) : NULL;

	return u ? u->scale : 1;
}

/*
 * The next moment: anywhere in the period behind the last one, for threads of one rate and group the same.
 * Programs that go on in step with a clock are not always met at the same place.
 */
static void plan(struct sampler *s, struct target *t, uint64_t now_ns)
{
	double rate = (t->centihertz ? t->centihertz : 1) * scale_of(s, t);
	uint64_t period = (uint64_t)(1e11 / rate), group = (uint64_t)(t - s->target) / GROUP, is,
		 hash;

	is = now_ns / period; /* the turn that it is now */
	if (period != t->period_ns) {
		t->turn = is + 1;
	} else if (++t->turn < is) { /* it came too late for whole periods */
		s->guard->missed += is - t->turn;
		t->turn = is;
	}
	t->period_ns = period;
	hash = hash_mix(hash_mix(s->o.seed, period ^ group << 48), t->turn);
	t->due_ns = t->turn * period + (uint64_t)((double)(hash >> 11) * 0x1p-53 * (double)period);
}

/* --- what --- */

static struct process *process_of(struct sampler *s, pid_t pid)
{
	for (size_t i = 0; i < s->processes; i++)
		if (process_pid(s->process[i]) == pid && !process_gone(s->process[i]))
			return s->process[i];
	return NULL;
}

/* It is known already, or made. NULL: it is gone, or there is no memory. */
static struct process *get_process(struct sampler *s, pid_t pid)
{
	struct process *p = process_of(s, pid);

	if (p || vec_more(&s->process, s->processes, sizeof(*s->process)) ||
	    process_new(&p, s->natives.n, pid))
		return p;
	s->process[s->processes++] = p;
	return p;
}

static void drop_processes(struct sampler *s)
{
	for (size_t i = 0; i < s->processes;) {
		bool used = false;

		for (size_t k = 0; k < s->targets && !used; k++)
			used = s->target[k].thread.of == s->process[i];
		if (used) {
			i++;
			continue;
		}
		process_free(s->process[i]);
		s->process[i] = s->process[--s->processes];
	}
}

static struct target *target_of(struct target *t, size_t n, pid_t pid, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].thread.tid == tid && t[i].thread.of && process_pid(t[i].thread.of) == pid)
			return &t[i];
	return NULL;
}

static void take_target(struct sampler *s, const struct swire_target *want, struct target *to)
{
	struct target *old = target_of(s->target, s->targets, (pid_t)want->pid, (pid_t)want->tid);
	struct process *p;

	if (old && !old->kept && !process_gone(old->thread.of)) {
		*to = *old;
		old->kept = true;
	} else {
		p = get_process(s, (pid_t)want->pid);
		*to = (struct target){ .centihertz = 0 };
		if (p)
			thread_open(&to->thread, p, (pid_t)want->tid);
		else
			to->err = -ESRCH;
	}
	to->kept = false;
	if (!to->thread.of || !want->centihertz) {
		to->due_ns = UINT64_MAX;
	} else if (to->centihertz != want->centihertz) {
		to->centihertz = want->centihertz;
		to->period_ns = to->due_ns = 0; /* it is planned when it stands in its place */
	}
}

int sampler_targets(struct sampler *s, const struct swire_target *t, size_t n, uint64_t now_ns)
{
	struct target *now = calloc(n ? n : 1, sizeof(*now));

	if (!now)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		take_target(s, &t[i], &now[i]);
	for (size_t i = 0; i < s->targets; i++)
		if (!s->target[i].kept)
			thread_close(&s->target[i].thread);
	free(s->target);
	s->target = now;
	s->targets = n;
	for (size_t i = 0; i < n; i++)
		if (!now[i].due_ns)
			plan(s, &now[i], now_ns);
	drop_processes(s);
	return 0;
}

size_t sampler_threads(struct sampler *s, pid_t pid, uint64_t now_ns, pid_t *out, size_t cap)
{
	struct process *p = process_of(s, pid);

	return p ? process_threads(p, now_ns, out, cap) : 0;
}

bool sampler_full(const struct sampler *s)
{
	return intern_full(&s->intern);
}

size_t sampler_alive(const struct sampler *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->targets; i++)
		n += s->target[i].due_ns != UINT64_MAX;
	return n;
}

/* --- its own cost --- */

/*
 * With that of the children that demangle, and of the workers before this one. What reading debug
 * information has taken at once is counted over the time that it may take it in: else a program's first
 * second would cost all of them their samples.
 */
static uint64_t cost_ns(const struct sampler *s)
{
	uint64_t own = s->guard->cpu_ns + clock_cpu_ns(), later = natives_owes(&s->natives);
	struct rusage r;

	if (getrusage(RUSAGE_CHILDREN, &r) < 0)
		return own;
	return own - later +
	       1000ull * ((uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec));
}

/* --- messages --- */

static void send_message(struct sampler *s, struct swire_sample *first, size_t n)
{
	static char msg[SWIRE_BYTES];
	int bytes;

	for (size_t i = 0; i < n; i++)
		first[i].blame = intern_blame(&s->intern, first[i].stack);
	bytes = swire_put_samples(msg, first, n);
	if (bytes < 0 || s->o.send(s->o.arg, msg, (size_t)bytes))
		s->guard->missed += n;
}

/* Stacks go first: while one of them waits for lines, samples wait, too. */
static void send_batch(struct sampler *s, uint64_t now_ns, bool now)
{
	bool known;

	natives_poll(&s->natives, now_ns);
	now |= s->n == BATCH || (s->held_ns && now_ns - s->held_ns > HOLD_NS);
	known = intern_flush(&s->intern, now);
	s->guard->stacks = s->intern.sent;
	if (!known && !now) {
		s->held_ns = s->held_ns ? s->held_ns : now_ns;
		s->flush_ns = now_ns + SOON_NS;
		return;
	}
	for (size_t i = 0; i < s->n && known; i += MESSAGE)
		send_message(s, s->batch + i, s->n - i < MESSAGE ? s->n - i : MESSAGE);
	if (!known) /* nobody takes them */
		s->guard->missed += s->n;
	s->n = 0;
	s->held_ns = 0;
	s->flush_ns = now_ns + BATCH_NS;
}

static void send_status(struct sampler *s, uint64_t now_ns)
{
	static char msg[SWIRE_BYTES];
	struct swire_status st = { .cpu_ns = cost_ns(s),
				   .samples = s->guard->samples,
				   .missed = s->guard->missed,
				   .reason = s->reason,
				   .reason_len = strlen(s->reason) };
	int n = swire_put_status(msg, &st);

	if (n > 0)
		s->o.send(s->o.arg, msg, (size_t)n);
	s->status_ns = now_ns + STATUS_NS;
}

/* --- its budget --- */

static double bounded(double scale)
{
	return scale < SLOWEST ? SLOWEST : scale > 1 ? 1 : scale;
}

/*
 * Above the limit, users with more than an equal share of the cost are sampled less: a program that is
 * expensive to sample, by mistake or not, must not cost others their samples. use: share of a CPU since
 * the last status.
 */
static void share_out(struct sampler *s, uint64_t now_ns, double use)
{
	uint64_t all = 0, users = 0;

	for (size_t i = 0; i < s->users; i++) {
		all += s->user[i].took_ns;
		users += s->user[i].took_ns > 0;
	}
	for (size_t i = s->users; i-- > 0;) {
		struct user *u = &s->user[i];
		double part = all ? (double)u->took_ns / (double)all * use : 0;
		double fair = s->o.cpu_share / (double)(users ? users : 1);

		if (!u->took_ns && u->scale == 1 && now_ns > u->rest_ns) { /* it may be gone */
			*u = s->user[--s->users];
			continue;
		}
		u->took_ns = 0;
		if (s->use < 0.7 * s->o.cpu_share) {
			u->scale = bounded(1.25 * u->scale);
		} else if (use > s->o.cpu_share && part > fair) {
			if (u->scale <= SLOWEST)
				u->rest_ns = now_ns + REST_NS;
			u->scale = bounded(u->scale * 0.9 * fair / part);
		}
	}
}

void sampler_limit(struct sampler *s, double cpu_share)
{
	s->o.cpu_share = cpu_share;
	for (size_t i = 0; i < s->users && !cpu_share; i++)
		s->user[i] = (struct user){ .uid = s->user[i].uid, .scale = 1 };
}

static void govern(struct sampler *s, uint64_t now_ns)
{
	uint64_t cpu = cost_ns(s);
	double use = 0;

	if (s->cpu_at_ns && now_ns > s->cpu_at_ns) {
		use = (double)(cpu - s->cpu_ns) / (double)(now_ns - s->cpu_at_ns);
		s->use += 0.3 * (use - s->use);
	}
	s->cpu_ns = cpu;
	s->cpu_at_ns = now_ns;
	if (s->o.cpu_share > 0)
		share_out(s, now_ns, use);
}

static void say_reason(struct sampler *s)
{
	s->reason[0] = '\0';
	for (size_t i = 0; i < s->targets; i++) {
		const struct target *t = &s->target[i];
		char why[200];

		if (t->err != -EPERM && t->err != -EACCES && t->err != -ENOEXEC &&
		    t->err != -ETIMEDOUT)
			continue;
		why_not(process_pid(t->thread.of), t->thread.tid, t->err, why, sizeof(why));
		snprintf(s->reason, sizeof(s->reason), "pid %d: %s", (int)process_pid(t->thread.of),
			 why);
		return;
	}
}

/* What is remembered of the code of all processes is bounded: those with most forget it. */
static void bound_memory(struct sampler *s)
{
	size_t sum = 0;

	for (size_t i = 0; i < s->processes; i++)
		sum += python_bytes(process_python(s->process[i]));
	for (size_t i = 0; sum > CODE_BYTES && i < s->processes; i++)
		if (python_bytes(process_python(s->process[i])) > CODE_BYTES / s->processes)
			python_forget(process_python(s->process[i]));
}

/* --- a sample --- */

static void add_sample(struct sampler *s, struct thread *t, uint32_t centihertz, struct look *look,
		       uint8_t flags, uint64_t now_ns)
{
	struct thread_last *last = &t->last;

	if (!look->same) {
		*last = (struct thread_last){ .state = (uint8_t)look->now.state,
					      .flags = look->py.flags,
					      .detail = look->detail };
		if (intern_stack(&s->intern, t->of, look, now_ns, &last->id)) {
			s->guard->missed++;
			return;
		}
	}
	if (s->n == BATCH)
		send_batch(s, now_ns, true);
	s->batch[s->n++] = (struct swire_sample){ .t_ns = now_ns,
						  .pid = (uint32_t)process_pid(t->of),
						  .tid = (uint32_t)t->tid,
						  .stack = last->id,
						  .centihertz = centihertz,
						  .state = last->state,
						  .flags = last->flags | flags,
						  .detail = last->detail };
	s->guard->samples++;
}

static void sample(struct sampler *s, struct target *t, uint64_t now_ns)
{
	static struct look look; /* large; a sampler belongs to one thread */
	uint32_t rate = (uint32_t)(t->centihertz * scale_of(s, t) + 0.5);
	struct thread *holder;

	rate = rate ? rate : 1;
	t->err = thread_look(&t->thread, now_ns, &look);
	if (t->err) {
		s->guard->missed++;
		if (t->err == -ESRCH)
			t->due_ns = UINT64_MAX;
		return;
	}
	add_sample(s, &t->thread, rate, &look, 0, now_ns);
	holder = look.holder ? process_other(t->thread.of, look.holder) : NULL;
	if (holder && !thread_look(holder, now_ns, &look))
		add_sample(s, holder, rate, &look, SAMPLE_HOLDER, now_ns);
}

/* How often this process has waited so far. */
static long waits(void)
{
	struct rusage r;

	return getrusage(RUSAGE_SELF, &r) < 0 ? 0 : r.ru_nvcsw;
}

/*
 * Memory that is slow keeps the looks at all others waiting. A look that took long may also have had
 * no CPU: of the next one of that process it is counted whether it waited by itself.
 */
static bool is_slow(struct sampler *s, uint32_t pid, uint64_t took_ns, long waited)
{
	bool again = s->suspect == pid;

	if (again)
		s->suspect = 0;
	if (took_ns < SLOW_NS)
		return false;
	s->suspect = pid;
	return again && waited > 0;
}

static void pay_and_sample(struct sampler *s, struct target *t)
{
	struct user *u = user_of(s, process_uid(t->thread.of));
	uint32_t pid = (uint32_t)process_pid(t->thread.of);
	uint64_t now = clock_mono_ns(), took;
	bool watched = s->suspect == pid;
	long before;

	if (u && now < u->rest_ns) {
		s->guard->missed++;
		return;
	}
	if (guard_rests(s->guard, pid, now)) {
		t->err = -ETIMEDOUT;
		s->guard->missed++;
		return;
	}
	before = watched ? waits() : 0;
	guard_begin(s->guard, pid, now);
	sample(s, t, now);
	guard_end(s->guard);
	s->guard->stacks = s->intern.sent;
	took = clock_mono_ns() - now;
	if (is_slow(s, pid, took, watched ? waits() - before : 0) || t->err == -ETIMEDOUT)
		guard_slow(s->guard, pid, now + took, false);
	if (u)
		u->took_ns += took;
}

uint64_t sampler_run(struct sampler *s, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX, send;

	for (size_t i = 0; i < s->targets; i++) {
		struct target *t = &s->target[i];

		if (t->due_ns > now_ns + TOGETHER)
			continue;
		plan(s, t, now_ns);
		pay_and_sample(s, t);
	}
	if (now_ns >= s->flush_ns)
		send_batch(s, now_ns, false);
	if (now_ns >= s->status_ns) {
		govern(s, now_ns);
		bound_memory(s);
		say_reason(s);
		send_status(s, now_ns);
	}
	for (size_t i = 0; i < s->targets; i++)
		if (s->target[i].due_ns < next)
			next = s->target[i].due_ns;
	/* What is to be sent goes with the next look, unless that is far: to wake up costs most. */
	send = s->n && s->flush_ns < s->status_ns ? s->flush_ns : s->status_ns;
	return next > send + LATE_NS ? send : next;
}

void sampler_flush(struct sampler *s, uint64_t now_ns)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	uint64_t until = now_ns + NATIVES_WAIT_NS;

	/* Nothing else is to be done: lines are waited for. */
	for (send_batch(s, now_ns, false); s->held_ns && now_ns < until; now_ns = clock_mono_ns()) {
		nanosleep(&moment, NULL);
		send_batch(s, now_ns, false);
	}
	send_batch(s, now_ns, true);
	send_status(s, now_ns);
}
