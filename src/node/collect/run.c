/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - a collector's process.
 *
 * While aond does not listen, nothing is measured: the process tries to connect, ever more rarely.
 * A missed interval is skipped, not made up for.
 */
#include "collect/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dial.h"
#include "base/log.h"
#include "collect/emit.h"

#define SEND_MS    5000          /* that aond may take */
#define DIAL_MAX_S 15u           /* between two tries to reach aond */
#define REOPEN_NS  5000000000ull /* until a collector that failed is opened again */
#define NS_A_S     1000000000ull

struct state {
	const struct collector_run *run;
	struct emit *emit;
	void *self; /* the collector's; NULL: closed */
	int fd;     /* of aond; -1 */
	unsigned tries;
	uint64_t errors;
	double took_s;
	uint32_t up, cpu, took, failed; /* series of the frame's own */
};

static volatile sig_atomic_t
	ending; /* SIGTERM came: what the collector holds elsewhere is given back */

static void on_term(int sig)
{
	(void)sig;
	ending = 1;
}

static void sleep_until(uint64_t t_ns)
{
	struct timespec ts = { (time_t)(t_ns / NS_A_S), (long)(t_ns % NS_A_S) };

	while (!ending && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Tells the supervisor before a call that may hang, and after it returned. */
static void begin(const struct collector_run *r)
{
	if (r->since_ns)
		atomic_store_explicit(r->since_ns, clock_mono_ns(), memory_order_relaxed);
}

static void end(const struct collector_run *r)
{
	if (r->since_ns)
		atomic_store_explicit(r->since_ns, 0, memory_order_relaxed);
}

/* --- aond --- */

static void hang_up(struct state *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static bool reach(struct state *s)
{
	char dir[108];
	const char *slash = s->run->socket ? strrchr(s->run->socket, '/') : NULL;
	unsigned wait_s = s->tries < 4 ? 1u << s->tries : DIAL_MAX_S;

	if (!s->run->socket || s->fd >= 0)
		return true;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - s->run->socket) : 0,
		 s->run->socket);
	s->fd = dial(dir, slash ? slash + 1 : s->run->socket, SEND_MS);
	if (s->fd >= 0) {
		s->tries = 0;
		emit_to(s->emit, s->fd, s->run->is->name, s->run->env.interval_ms);
		return true;
	}
	if (s->tries++ == 0)
		log_warn("%s: no aond at %s: %s; trying again", s->run->is->name, s->run->socket,
			 strerror(-s->fd));
	sleep_until(clock_mono_ns() + wait_s * NS_A_S);
	return false;
}

/* --- polls --- */

static void own_series(struct state *s)
{
	const char *name = s->run->is->name;

	s->up = emit_series(s->emit, "aon_collector_up", name, "");
	s->cpu = emit_series(s->emit, "aon_collector_cpu_seconds_total", name, "");
	s->took = emit_series(s->emit, "aon_collector_poll_seconds", name, "");
	s->failed = emit_series(s->emit, "aon_collector_errors_total", name, "");
}

static void set_own(struct state *s)
{
	emit_group(s->emit, 0);
	emit_set(s->emit, s->up, s->self ? 1 : 0);
	emit_set(s->emit, s->cpu, (double)(clock_cpu_ns() / 10000000u) / 100);
	emit_set(s->emit, s->took, s->took_s);
	emit_set(s->emit, s->failed, (double)s->errors);
}

static int measure(struct state *s)
{
	const struct collector_run *r = s->run;
	uint64_t t0 = clock_mono_ns();
	int err = 0;

	begin(r);
	if (!s->self)
		err = r->is->ops->open(&s->self, &r->env, s->emit);
	err = err ? err : r->is->ops->poll(s->self, s->emit);
	if (err && s->self) {
		r->is->ops->close(s->self);
		s->self = NULL;
	}
	end(r);
	s->took_s = (double)(clock_mono_ns() - t0) / 1e9;
	s->errors += err != 0 && err != -ENODEV;
	return err;
}

/* One poll; its result is always reported. *err: the result. */
static int turn(struct state *s, int *err)
{
	emit_begin(s->emit, clock_mono_ns());
	*err = measure(s);
	if (*err) { /* half of a poll is none */
		emit_clear(s->emit, clock_mono_ns());
		emit_begin(s->emit, clock_mono_ns());
	}
	set_own(s);
	return emit_end(s->emit);
}

/* A table of series that is full of ended ones: the collector begins anew, as if it had been started. */
static int renew(struct state *s)
{
	struct emit *e;
	int err = emit_new(&e);

	if (err)
		return err;
	if (s->self)
		s->run->is->ops->close(s->self);
	s->self = NULL;
	hang_up(s);
	emit_free(s->emit);
	s->emit = e;
	if (!s->run->socket)
		emit_print(e, stdout);
	own_series(s);
	return 0;
}

int run_collector(const struct collector_run *r)
{
	uint64_t step = (uint64_t)r->env.interval_ms * 1000000u, next = clock_mono_ns();
	struct state s = { .run = r, .fd = -1 };
	int err = 0;

	prctl(PR_SET_TIMERSLACK, 50000000ul); /* its moment does not matter to 50 ms */
	if (emit_new(&s.emit) < 0)
		return 1;
	if (!r->socket)
		emit_print(s.emit, stdout);
	own_series(&s);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_term }, NULL);
	for (uint32_t n = 0; !ending && (!r->polls || n < r->polls); n++) {
		uint64_t now;

		if (!reach(&s)) {
			n -= 1;
			continue;
		}
		if (turn(&s, &err) < 0)
			hang_up(&s);
		if (emit_is_worn(s.emit) && renew(&s) < 0)
			break;
		if (err == -ENODEV)
			break;
		if (err)
			log_warn("%s: %s; trying again", r->is->name, strerror(-err));
		now = clock_mono_ns();
		next = err ? now + REOPEN_NS : next + step;
		if (next < now)
			next += (now - next + step - 1) / step * step;
		if (!r->polls || n + 1 < r->polls)
			sleep_until(next);
	}
	if (s.self)
		r->is->ops->close(s.self);
	hang_up(&s);
	emit_free(s.emit);
	return err == -ENODEV ? RUN_NOTHING : err ? 1 : 0;
}
