/* SPDX-License-Identifier: Apache-2.0 */
/* aond.c - start, the loop, reload, and the end. */
#include "daemon/core/aond.h"

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
#include <unistd.h>

#include "abi/msg.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/control/audit.h"
#include "daemon/capture/persistent_triggers.h"
#include "daemon/core/count.h"
#include "daemon/session/identity.h"
#include "daemon/stream/roofline_live.h"
#include "daemon/core/notify.h"
#include "daemon/stream/store_open.h"
#include "theory/devices.h"
#include "theory/gpu.h"

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
	err = err ? err : param_check(&p, why);
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

static void refuse(void *arg, const char *key)
{
	struct param_why *why = arg;

	snprintf(why->text, sizeof(why->text), "%.60s changes at the next start only", key);
}

int aond_set(struct aond *d, const char *key, const char *value, struct param_why *why)
{
	struct param next = d->param;
	int err = param_set(&next, key, value, why);

	err = err ? err : param_check(&next, why);
	if (err)
		return err;
	*why->text = '\0';
	param_reload(&d->param, &next, refuse, why);
	if (*why->text)
		return -EINVAL;
	apply(d);
	return 0;
}

/* --- commits --- */

void aond_journal(struct aond *d, struct journal_entry *e)
{
	e->wall_ns = clock_wall_ns();
	store_entry(d->plant.store, e);
	d->plant.dirty = true;
}

static void journal_life(struct aond *d, enum entry_kind kind)
{
	struct journal_entry e = { .kind = kind };

	entry_s(&e, FIELD_VERSION, AON_VERSION);
	aond_journal(d, &e);
}

uint64_t aond_commit(struct aond *d, bool wake)
{
	uint64_t seq;

	roster_report(&d->roster);
	d->commit_ns = clock_mono_ns();
	seq = writer_commit(d->writer, d->commit_ns, wake);
	d->plant.dirty = !seq;
	return seq;
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
	captures_flushed(&d->captures, done, err);
}

/* --- what speaks --- */

static void on_timer(struct watch *w, uint32_t events)
{
	struct aond *d = container_of(w, struct aond, timer);
	uint64_t n;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
		aond_tick(d);
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
	err = err ? err : loop_add(&d->loop, &d->timer, EPOLLIN);
	err = err ? err : loop_add(&d->loop, &d->done, EPOLLIN);
	if (!err && d->parent.fd >= 0)
		err = loop_add(&d->loop, &d->parent, EPOLLIN);
	timerfd_settime(d->timer.fd, 0, &its, NULL);
	d->next_tick_ns = clock_mono_ns() + TICK_NS;
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
	d->roster.admin = &d->admin;
	if (err) {
		close(fd);
		fd = err;
		goto fini_admin;
	}
	kept_read(&d->roster, d->rundir.dir);
	leases_read(&d->leases, d->rundir.dir);
	standing_read(&d->captures);
	fd = listen_on(d, "telemetry", AON_TELEMETRY_NAME, 0660, &d->given[2]);
	err = fd < 0 ? fd : telemetry_init(&d->telemetry, d, fd);
	if (err)
		goto fini_roster;
	fd = listen_on(d, "sample", AON_SAMPLE_NAME, 0600, &d->given[3]);
	err = fd < 0 ? fd : sampler_init(&d->sampler, d, fd);
	if (!err)
		return 0;
	telemetry_fini(&d->telemetry);
fini_roster:
	if (fd >= 0)
		close(fd);
	fd = err;
	roster_fini(&d->roster);
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
	if (!d->given[2])
		rundir_unlink(&d->rundir, AON_TELEMETRY_NAME);
	if (!d->given[3])
		rundir_unlink(&d->rundir, AON_SAMPLE_NAME);
	sampler_fini(&d->sampler);
	telemetry_fini(&d->telemetry);
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
		woke = clock_mono_ns();
		loop_work(&d->loop);
		if (d->roster.more)
			roster_more(&d->roster);
		took = clock_mono_ns() - woke;
		count_max(COUNT_turn_us_max, took / 1000);
		if (took > STALL_NS)
			aond_stalled(d);
	}
	if (err) {
		log_err("epoll: %s", strerror(-err));
		d->failed = true;
	}
}

/* Processes can join. */
static void say_ready(struct aond *d)
{
	rundir_announce(&d->rundir);
	roster_refill(&d->roster);
	prctl(PR_SET_DUMPABLE, 0);
	journal_life(d, ENTRY_START);
	log_info("aond " AON_VERSION " runs: run_dir %s, store %s", d->param.run_dir.s,
		 d->param.store.s);
	if (d->args->ready_fd >= 0) {
		(void)!write(d->args->ready_fd, "ready\n", 6);
		close(d->args->ready_fd);
	}
	d->watchdog_ns = notify_watchdog_ns();
	notify("READY=1");
}

/* Before threads are there. */
static void read_devices(const char *path)
{
	struct devices_why why;
	char *text;
	size_t len;
	int n = *path ? file_read(&text, &len, path, DEVICES_BYTES) : -ENOENT;

	if (n < 0) {
		if (n != -ENOENT)
			log_warn("%s: %s; not used", path, strerror(-n));
		return;
	}
	n = devices_add(text, len, &why);
	free(text);
	if (n >= 0)
		log_info("%d devices of %s", n, path);
	else if (why.line)
		log_warn("%s:%zu: %s; not used", path, why.line, why.text);
	else
		log_warn("%s: %s; not used", path, why.text);
}

/* Where the node's GPUs are known, windows say what limits their kernels. */
static void judge_kernels(struct aond *d)
{
	const struct gpu *g;

	read_devices(d->param.devices.s);
	g = *d->param.gpus_dir.s ? judge_node(d->param.gpus_dir.s, &d->gpus) : NULL;
	if (!d->gpus && *d->param.gpus_amd_dir.s)
		g = judge_node_amd(d->param.gpus_amd_dir.s, &d->gpus);
	if (g && judge_new(&d->plant.judge, g) < 0)
		log_warn("no memory: kernels are not judged");
	else if (g)
		log_info("GPUs are known: %s", g->key);
}

/* With the run directory locked and the store open: all the rest. Owns st. */
static int serve(struct aond *d, struct store *st, const uint64_t boot_id[2],
		 struct rundir_why *why)
{
	int err;

	queue_init(&d->queue, (uint64_t)d->param.queue_mib << 20);
	alarm_restore(st);
	err = recovery_load(&d->left, st, boot_id);
	err = err ? err : plant_init(&d->plant, &d->queue, st, (uint32_t)d->param.names_max);
	if (err)
		goto close_store;
	audit_init(&d->queue, d->param.store.s, (uint32_t)d->param.audit_kib);
	judge_kernels(d);
	identity_node(&d->plant.node, &d->plant.gpus, &d->param, boot_id);
	store_node(st, &d->plant.node);
	d->plant.dirty = true;
	err = aond_clock(&d->plant.clock);
	err = err ? err : watch_all(d);
	err = err ? err : writer_new(&d->writer, &d->queue, st, d->done.fd, (int)d->param.nice / 2);
	if (err)
		goto fini_plant;
	raise_priority(&d->param);
	if (*d->param.pool_dir.s)
		recovery_pools(&d->left, &d->plant, d->param.pool_dir.s,
			       (uint32_t)d->param.rows_max);
	recovery_sweep(&d->left, &d->plant);
	broker_init(&d->broker, &d->loop, st);
	d->broker.budget = (uint64_t)d->param.subscribe_events;
	d->broker.roster = &d->roster;
	leases_init(&d->leases, &d->loop, &d->roster);
	d->plant.broker = &d->broker;
	err = captures_init(&d->captures, d);
	err = err ? err : open_sockets(d);
	if (err)
		goto free_writer;
	if (d->param.kineto && kineto_init(&d->kineto, d->param.run_dir.s, d->param.kineto_dir.s,
					   (int)d->param.nice) < 0)
		log_warn("kineto: no memory: no traces on demand");
	say_ready(d);
	run_loop(d);
	notify("STOPPING=1");
	close_sockets(d);
	captures_fini(&d->captures);
	kineto_fini(&d->kineto);
	leases_fini(&d->leases);
	roster_fini(&d->roster);
	broker_fini(&d->broker); /* with the last events in their rings */
	journal_life(d, ENTRY_STOP);
free_writer:
	writer_free(d->writer); /* commits, closes the store */
	st = NULL;
fini_plant:
	audit_fini();
	plant_fini(&d->plant);
close_store:
	recovery_free(&d->left);
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

	d = (struct aond){ .args = args, .param = *param, .start_ns = clock_mono_ns() };
	d.wall_offset_ns = (int64_t)(clock_wall_ns() - d.start_ns);
	prepare_process();
	log_level((enum log_level)param->log_level);
	if (proc_boot_id(boot_id) < 0)
		return fail("/proc: not mounted");
	if (loop_init(&d.loop) < 0)
		return fail("epoll: no descriptors");
	err = rundir_open(&d.rundir, param->run_dir.s, &why);
	if (err)
		goto fini_loop;
	err = rundir_rendezvous(&d.rundir, &why);
	if (err)
		goto close_rundir;
	err = daemon_store_open(&st, param, &store_why);
	if (err)
		snprintf(why.text, sizeof(why.text), "%s", store_why.text);
	else
		err = serve(&d, st, boot_id, &why);
close_rundir:
	rundir_close(&d.rundir);
fini_loop:
	loop_fini(&d.loop);
	if (err)
		return fail(why.text);
	log_info("aond ends");
	return d.failed ? 1 : 0;
}
