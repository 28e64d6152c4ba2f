/* SPDX-License-Identifier: Apache-2.0 */
/* aond.c - start, the loop with its second, reload, and the end. */
#include "daemon/aond.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/log.h"
#include "daemon/count.h"
#include "daemon/notify.h"
#include "daemon/opening.h"
#include "pool/emit.h"

#define CALIBRATE_NS 20000000ull
#define SWEEP_TICKS  10
#define WALL_STEP_NS 100000000ll

/* --- settings --- */

int aond_settings(const struct aond_args *args, struct param *out, struct param_why *why)
{
	struct param p;
	int err;

	param_defaults(&p);
	err = param_load(&p, args->config ? args->config : PARAM_FILE, why);
	if (err == -ENOENT && !args->config)
		err = 0;
	for (unsigned i = 0; i < args->sets && !err; i++) {
		const struct aond_set *set = &args->set[i];
		size_t len = strcspn(set->key, "=");
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)len, set->key);
		err = param_set(&p, key, set->value ? set->value : set->key + len + 1, why);
	}
	if (!err)
		err = param_check(&p, why);
	if (!err)
		*out = p;
	return err;
}

static void say_kept(void *arg, const char *key)
{
	(void)arg;
	log_warn("reload: %s changes at the next start only", key);
}

static void apply(struct aond *d)
{
	log_level((enum log_level)d->param.log_level);
	atomic_store_explicit(&d->queue.max_bytes, (uint64_t)d->param.queue_mib << 20,
			      memory_order_relaxed);
}

int aond_reload(struct aond *d, struct param_why *why)
{
	struct param next;
	int err;

	notify_reloading();
	err = aond_settings(d->args, &next, why);
	if (err) {
		count_add(COUNT_reloads_failed, 1);
		log_err("reload: %s; the old settings are kept", why->text);
	} else {
		count_add(COUNT_reloads, 1);
		log_info("reload: %d settings changed",
			 param_reload(&d->param, &next, say_kept, NULL));
		apply(d);
	}
	notify("READY=1");
	return err;
}

/* --- commits --- */

void aond_journal(struct aond *d, const char *what, const char *text)
{
	store_journal(d->plant.store, now_wall(), what, text);
	d->plant.dirty = true;
}

uint64_t aond_commit(struct aond *d, bool wake)
{
	uint64_t seq;

	roster_report(&d->roster);
	d->commit_ns = now_mono();
	seq = writer_commit(d->writer, d->commit_ns, wake);
	d->plant.dirty = !seq;
	return seq;
}

/* One commit at a time: what comes meanwhile goes into the next. */
static void tick_commit(struct aond *d, uint64_t now)
{
	uint64_t due = d->commit_ns + (uint64_t)d->param.commit_ms * 1000000u;

	if (writer_behind(d->writer) || now + TICK_NS / 2 < due)
		return;
	roster_report(&d->roster);
	if (d->plant.dirty)
		aond_commit(d, false);
}

/* The writer has done a commit that somebody waits for. */
static void on_done(struct watch *w, uint32_t events)
{
	struct aond *d = container_of(w, struct aond, done);
	uint64_t n, done;
	int err;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) < 0)
		return;
	done = writer_done(d->writer, &err);
	admin_flushed(&d->admin, done, err);
}

/* --- the second --- */

/* A moment on both clocks: the closest of a few tries. */
static void moment(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t a = aon_tsc(), t = now_mono(), b = aon_tsc();

		if (b - a < best) {
			best = b - a;
			*tsc = a + (b - a) / 2;
			*ns = t;
		}
	}
}

static int start_clock(struct clock_map *c)
{
	uint64_t tsc0 = 0, ns0 = 0, tsc1 = 0, ns1 = 0;

	moment(&tsc0, &ns0);
	usleep(CALIBRATE_NS / 1000);
	moment(&tsc1, &ns1);
	return clock_init(c, tsc0, ns0, tsc1, ns1);
}

static void tick_clock(struct aond *d)
{
	uint64_t tsc = 0, ns = 0;

	moment(&tsc, &ns);
	if (clock_update(&d->plant.clock, tsc, ns) < 0) {
		count_add(COUNT_clock_unsteady, 1);
		log_warn("the processor's counter does not run evenly: times are less exact");
		start_clock(&d->plant.clock);
	}
}

/* NTP, or somebody, has set the wall clock: the times that we tell move with it. */
static void tick_wall(struct aond *d)
{
	int64_t offset = (int64_t)(now_wall() - now_mono()), step = offset - d->wall_offset_ns;
	char text[80];

	if (step < WALL_STEP_NS && step > -WALL_STEP_NS)
		return;
	snprintf(text, sizeof(text), "wall clock moved by %+.3f s", (double)step / 1e9);
	log_info("%s", text);
	aond_journal(d, "clock", text);
	roster_wall(&d->roster, offset);
	d->wall_offset_ns = offset;
}

/* Who tried to join while we were held up has given up: call again. */
static void stalled(struct aond *d)
{
	count_add(COUNT_stalls, 1);
	rundir_knock(&d->rundir);
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

/* The budget of CPU: what both threads have used since the last second. */
static void keep_budget(struct aond *d, uint64_t now)
{
	static const char *const what[] = { "all is recorded again", "events are only rolled up",
					    "records are only counted" };
	enum shed_level was = d->shed.level, is;
	struct timespec ts;
	char text[96];

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	is = shed_look(&d->shed, now, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec,
		       (uint32_t)d->param.cpu_percent);
	if (is == was)
		return;
	d->plant.shed = is;
	count_add(COUNT_shed_moves, 1);
	count_set(COUNT_shed_level, is);
	snprintf(text, sizeof(text), "%s (cpu_percent %d)", what[is], (int)d->param.cpu_percent);
	log_warn("budget: %s", text);
	aond_journal(d, "budget", text);
}

static void on_timer(struct watch *w, uint32_t events)
{
	struct aond *d = container_of(w, struct aond, timer);
	uint64_t n, now = now_mono();

	(void)events;
	if (read(w->fd, &n, sizeof(n)) < 0)
		return;
	if (now > d->next_tick_ns + STALL_NS)
		stalled(d);
	d->next_tick_ns = now + TICK_NS;
	tick_clock(d);
	tick_wall(d);
	keep_budget(d, now);
	roster_tick(&d->roster, now);
	if (d->roster.ticks % SWEEP_TICKS == 0)
		left_sweep(&d->left, &d->plant);
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

static void on_signal(struct watch *w, uint32_t events)
{
	struct aond *d = container_of(w, struct aond, signal);
	struct signalfd_siginfo si;
	struct param_why why;

	(void)events;
	if (read(w->fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP)
		aond_reload(d, &why);
	else
		d->stop = true;
}

static void on_parent(struct watch *w, uint32_t events)
{
	(void)events;
	container_of(w, struct aond, parent)->stop = true;
}

/* --- start and end --- */

static void prepare_process(void)
{
	struct rlimit rl;

	mallopt(M_ARENA_MAX, 1); /* two threads: a second arena would only be memory */
	/* Batches come and go by the hundred a second: no page faults for each. give_back() trims. */
	mallopt(M_MMAP_THRESHOLD, 16 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	if (!getrlimit(RLIMIT_NOFILE, &rl)) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	signal(SIGPIPE, SIG_IGN);
}

static int watch_all(struct aond *d)
{
	struct itimerspec its = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signal = (struct watch){ signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), on_signal };
	d->timer = (struct watch){ timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
				   on_timer };
	d->done = (struct watch){ eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), on_done };
	d->parent = (struct watch){ d->args->parent_fd, on_parent };
	if (d->signal.fd < 0 || d->timer.fd < 0 || d->done.fd < 0)
		return -errno;
	err = loop_add(&d->loop, &d->signal, EPOLLIN);
	if (!err)
		err = loop_add(&d->loop, &d->timer, EPOLLIN);
	if (!err)
		err = loop_add(&d->loop, &d->done, EPOLLIN);
	if (!err && d->parent.fd >= 0)
		err = loop_add(&d->loop, &d->parent, EPOLLIN);
	timerfd_settime(d->timer.fd, 0, &its, NULL);
	d->next_tick_ns = now_mono() + TICK_NS;
	return err;
}

/* From the service manager, or our own. */
static int listen_on(struct aond *d, const char *name, const char *file, mode_t mode, bool *given)
{
	int fd = notify_listen_fd(name, file);

	*given = fd >= 0;
	return fd >= 0 ? fd : rundir_listen(&d->rundir, file, mode);
}

static int open_sockets(struct aond *d)
{
	int fd, err;

	fd = listen_on(d, "admin", AON_ADMIN_NAME, 0660, &d->given[0]);
	if (fd < 0)
		return fd;
	err = admin_init(&d->admin, d, fd);
	if (err) {
		close(fd);
		return err;
	}
	fd = listen_on(d, "aond", AON_SOCKET_NAME, 0666, &d->given[1]);
	if (fd < 0)
		goto fini_admin;
	err = roster_init(&d->roster, &d->loop, &d->plant, &d->param, &d->left, fd);
	if (!err)
		return 0;
	close(fd);
	fd = err;
fini_admin:
	admin_fini(&d->admin);
	return fd;
}

static void close_sockets(struct aond *d)
{
	if (!d->given[0])
		rundir_unlink(&d->rundir, AON_ADMIN_NAME);
	if (!d->given[1])
		rundir_unlink(&d->rundir, AON_SOCKET_NAME);
	admin_fini(&d->admin);
}

static void raise_priority(const struct param *p)
{
	if (setpriority(PRIO_PROCESS, 0, (int)p->nice) < 0)
		log_debug("nice %d: %s", (int)p->nice, strerror(errno));
}

static void run_loop(struct aond *d)
{
	int err = 0;

	while (!d->stop) {
		uint64_t woke, took;

		err = loop_wait(&d->loop, d->roster.more ? 0 : -1);
		if (err)
			break;
		woke = now_mono();
		loop_work(&d->loop);
		if (d->roster.more)
			roster_more(&d->roster);
		took = now_mono() - woke;
		count_max(COUNT_turn_us_max, took / 1000);
		if (took > STALL_NS)
			stalled(d);
	}
	if (err) {
		log_err("epoll: %s", strerror(-err));
		d->failed = true;
	}
}

/* Processes can join. */
static void say_ready(struct aond *d)
{
	rundir_knock(&d->rundir);
	roster_refill(&d->roster);
	prctl(PR_SET_DUMPABLE, 0);
	aond_journal(d, "start", "aond " AON_VERSION);
	log_info("aond " AON_VERSION " runs: run_dir %s, store %s", d->param.run_dir.s,
		 d->param.store.s);
	if (d->args->ready_fd >= 0) {
		(void)!write(d->args->ready_fd, "ready\n", 6);
		close(d->args->ready_fd);
	}
	d->watchdog_ns = notify_watchdog_ns();
	notify("READY=1");
}

/* With the run directory locked and the store open: all the rest. Owns st. */
static int serve(struct aond *d, struct store *st, const uint64_t boot_id[2],
		 struct rundir_why *why)
{
	int err;

	queue_init(&d->queue, (uint64_t)d->param.queue_mib << 20);
	err = left_load(&d->left, st, boot_id);
	if (!err)
		err = plant_init(&d->plant, &d->queue, st, (uint32_t)d->param.names_max);
	if (err)
		goto close_store;
	err = start_clock(&d->plant.clock);
	if (!err)
		err = watch_all(d);
	if (!err)
		err = writer_new(&d->writer, &d->queue, st, d->done.fd, (int)d->param.nice / 2);
	if (err)
		goto fini_plant;
	raise_priority(&d->param);
	if (*d->param.pool_dir.s)
		left_pools(&d->left, &d->plant, d->param.pool_dir.s, (uint32_t)d->param.rows_max);
	left_sweep(&d->left, &d->plant);
	err = open_sockets(d);
	if (err)
		goto free_writer;
	say_ready(d);
	run_loop(d);
	notify("STOPPING=1");
	close_sockets(d);
	roster_fini(&d->roster);
	aond_journal(d, "stop", "aond " AON_VERSION);
free_writer:
	writer_free(d->writer); /* commits, closes the store */
	st = NULL;
fini_plant:
	plant_fini(&d->plant);
close_store:
	left_free(&d->left);
	store_close(st);
	queue_fini(&d->queue);
	if (err)
		snprintf(why->text, sizeof(why->text), "%.80s: %s", d->param.run_dir.s,
			 strerror(-err));
	return err;
}

static int fail(const char *text)
{
	log_err("%s", text);
	return 1;
}

int aond_run(const struct aond_args *args, const struct param *param)
{
	static struct aond d; /* large */
	struct rundir_why why;
	struct store_why store_why;
	uint64_t boot_id[2];
	struct store *st;
	int err;

	d = (struct aond){ .args = args, .param = *param, .start_ns = now_mono() };
	d.wall_offset_ns = (int64_t)(now_wall() - d.start_ns);
	prepare_process();
	log_level((enum log_level)param->log_level);
	if (proc_boot_id(boot_id) < 0)
		return fail("/proc: not mounted");
	if (rundir_open(&d.rundir, param->run_dir.s, &why) < 0)
		return fail(why.text);
	err = opening(&st, param, &store_why);
	if (err) {
		rundir_close(&d.rundir);
		return fail(store_why.text);
	}
	err = rundir_door(&d.rundir, &why);
	if (err)
		store_close(st);
	if (!err && (err = loop_init(&d.loop)) == 0) {
		err = serve(&d, st, boot_id, &why);
		loop_fini(&d.loop);
	}
	rundir_close(&d.rundir);
	if (err)
		return fail(why.text);
	log_info("aond ends");
	return d.failed ? 1 : 0;
}
