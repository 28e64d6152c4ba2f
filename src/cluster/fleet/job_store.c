/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_store.c - presents a job of a cluster as a store: readers of a node's file see the job's
 * ranks in the same way.
 *
 * Times are UTC, with no offset to add. A window covers the ten seconds that a node sent; tracks
 * differ only by device and host, since windows keep no more. Steps are events; other events exist
 * only within a capture (?capture=C, job_events.c), and then the store holds only these. Windows
 * are read one at a time as they come, and at most ROWS of them: for a larger job ask for one rank
 * or a shorter time, or use aon report --job, which sums in ClickHouse.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "fleet/job_priv.h"
#include "model/step_rec.h"
#include "ship/source/fold.h"

#define PROCESSES 100000u
#define NAMES     100000u

/* --- who is in it --- */

static uint32_t uid_of(const char *user)
{
	uint32_t n;
	char buf[4096];
	struct passwd pw, *found = NULL;

	if (!num_u32(user, 0, UINT32_MAX - 1, &n))
		return n;
	if (*user && !getpwnam_r(user, &pw, buf, sizeof(buf), &found) && found)
		return pw.pw_uid;
	return UINT32_MAX;
}

static void boot_of(uint64_t id[2], const char *hex)
{
	char half[17];

	for (int i = 0; i < 2 && strlen(hex) == 32; i++) {
		snprintf(half, sizeof(half), "%.16s", hex + 16 * i);
		num_hex(half, &id[i]);
	}
}

struct loading {
	struct job_store *s;
	size_t procs;
};

static int on_process(void *arg, const struct rowin_field *f)
{
	struct loading *x = arg;
	struct job_store *s = x->s;
	struct process *p = ask_grow(&s->process, &s->processes, sizeof(*p));
	uint64_t *proc = p ? ask_grow(&s->proc, &x->procs, sizeof(*proc)) : NULL;

	if (!proc)
		return -ENOMEM;
	*proc = f[0].u;
	p->id = (uint32_t)s->processes;
	p->pid = (uint32_t)f[1].u;
	p->pid_start = f[2].u;
	boot_of(p->boot_id, f[3].text);
	p->pool_id[0] = f[0].u;
	p->uid = uid_of(f[4].text);
	p->tier = TIER_ROLLUP;
	p->connected = f[5].u != 0;
	p->first_ns = f[6].u;
	p->last_ns = f[7].u;
	p->origin.rank = f[8].i < 0 ? 0 : (uint32_t)f[8].i + 1;
	p->origin.world = (uint32_t)f[9].u;
	p->local_rank = f[10].i < 0 ? 0 : (uint32_t)f[10].i + 1;
	ask_word(p->comm, sizeof(p->comm), &f[11]);
	ask_word(p->exe, sizeof(p->exe), &f[12]);
	ask_word(p->run, sizeof(p->run), &f[13]);
	ask_word(p->job, sizeof(p->job), &f[14]);
	ask_word(p->node, sizeof(p->node), &f[15]);
	ask_word(p->note, sizeof(p->note), &f[16]);
	p->account.emitted = f[17].u;
	p->account.stored = f[18].u;
	p->account.untold = f[19].u;
	p->account.overwritten = f[20].u;
	if (f[17].u > f[18].u + f[19].u + f[20].u)
		p->account.in_flight = f[17].u - f[18].u - f[19].u - f[20].u;
	return 0;
}

void job_where(struct sql *q, const struct job_store *s)
{
	ask_where(q, s->f, s->f->pick.job);
	if (s->f->pick.rank >= 0)
		sql_add(q, " AND rank = %d", s->f->pick.rank);
}

/* Limits the times at which rows begin. */
static void when(struct sql *q, const struct job_store *s)
{
	const struct fleet_pick *p = &s->f->pick;

	if (p->from_ns)
		sql_add(q, " AND t_ns >= %" PRIu64, p->from_ns);
	if (p->to_ns)
		sql_add(q, " AND t_ns < %" PRIu64, p->to_ns);
}

static int load_processes(struct job_store *s, struct store_why *why)
{
	struct loading x = { .s = s };
	struct sql q;

	sql_init(&q);
	sql_add(&q, "SELECT proc, toUInt64(any(pid)), any(start_ns), any(boot), any(user),"
		    " toUInt64(argMax(live, end_ns)), min(begin_ns), max(end_ns) AS e,"
		    " toInt64(any(rank)) AS r, toUInt64(max(world)), toInt64(any(local_rank)),"
		    " argMax(comm, end_ns), any(exe), any(run), any(job), any(host),"
		    " argMax(note, end_ns), argMax(emitted, end_ns), argMax(stored, end_ns),"
		    " argMax(lost, end_ns), argMax(overwritten, end_ns) FROM process WHERE ");
	job_where(&q, s);
	if (s->f->pick.from_ns)
		sql_add(&q, " AND end_ns >= %" PRIu64, s->f->pick.from_ns);
	if (s->f->pick.to_ns)
		sql_add(&q, " AND begin_ns < %" PRIu64, s->f->pick.to_ns);
	sql_add(&q, " GROUP BY proc ORDER BY r, proc LIMIT %u", PROCESSES);
	return ask_sql(s->f, &q, "qqqssqqqlqlssssssqqqq", PROCESSES, on_process, &x, why);
}

/* --- names --- */

static int on_hash(void *arg, const struct rowin_field *f)
{
	struct job_store *s = arg;
	struct job_name *n = ask_grow(&s->name, &s->names, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->hash = f[0].u;
	return 0;
}

static int load_names(struct job_store *s, struct store_why *why)
{
	struct ask_name *n;
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q, "SELECT name FROM (SELECT name FROM kernel_hour WHERE ");
	ask_where(&q, s->f, s->f->pick.job);
	if (*s->f->pick.capture) {
		sql_add(&q, " UNION ALL SELECT name FROM event WHERE ");
		ask_where(&q, s->f, s->f->pick.job);
		sql_add(&q, " AND capture = ");
		sql_text(&q, s->f->pick.capture);
	}
	sql_add(&q, ") GROUP BY name ORDER BY name LIMIT %u", NAMES);
	err = ask_sql(s->f, &q, "q", NAMES, on_hash, s, why);
	if (err)
		return err;
	n = calloc(s->names + 1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	for (size_t i = 0; i < s->names; i++)
		n[i] = (struct ask_name){ s->name[i].hash, &s->name[i].text };
	err = ask_names(s->f, n, s->names, why);
	free(n);
	return err;
}

uint32_t job_name(const struct job_store *s, uint64_t hash)
{
	size_t lo = 0, hi = s->names;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->name[mid].hash == hash)
			return (uint32_t)mid + 2;
		*(s->name[mid].hash < hash ? &lo : &hi) = s->name[mid].hash < hash ? mid + 1 : mid;
	}
	return STORE_NAME_OTHER;
}

/* --- the operations --- */

static void forget(struct job_store *s)
{
	for (size_t i = 0; i < s->names; i++)
		free(s->name[i].text);
	free(s->name);
	free(s->process);
	free(s->proc);
	free(s->track);
	s->track = NULL;
	s->tracks = 0;
	s->name = NULL;
	s->process = NULL;
	s->proc = NULL;
	s->names = s->processes = 0;
}

static int load(struct job_store *s, struct store_why *why)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->loaded) {
		err = load_processes(s, why);
		err = err || !*s->f->pick.capture ? err : job_load_capture(s, why);
		err = err ? err : load_names(s, why);
		if (err)
			forget(s);
		s->loaded = !err;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void op_close(void *self)
{
	struct job_store *s = self;

	forget(s);
	fleet_close(s->f);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int op_each_process(void *self, store_process_fn *fn, void *arg)
{
	struct job_store *s = self;
	int err = load(s, NULL);

	for (size_t i = 0; i < s->processes && !err; i++)
		if (!*s->f->pick.capture || job_captured(s, s->process[i].id))
			err = fn(arg, &s->process[i]);
	return err;
}

/* Each process has two tracks: its device and its host. */
static uint32_t track_of(uint32_t process, bool host)
{
	return 2 * process + host;
}

static int op_each_track(void *self, uint32_t process, store_track_fn *fn, void *arg)
{
	struct job_store *s = self;
	int err = load(s, NULL);

	if (!err && *s->f->pick.capture)
		return job_each_track(s, process, fn, arg);
	for (uint32_t i = 1; i <= s->processes && !err; i++) {
		struct track l = { .process = i, .id = track_of(i, false) };

		if (process && i != process)
			continue;
		l.device = s->process[i - 1].local_rank ? s->process[i - 1].local_rank - 1 : 0;
		err = fn(arg, &l);
		l = (struct track){ .process = i, .id = track_of(i, true), .device = TRACK_HOST };
		l.stream = s->process[i - 1].pid;
		err = err ? err : fn(arg, &l);
	}
	return err;
}

static int op_each_name(void *self, store_name_fn *fn, void *arg)
{
	struct job_store *s = self;
	int err = load(s, NULL);

	err = err ? err : fn(arg, STORE_NAME_OTHER, "(other)", strlen("(other)"));
	for (size_t i = 0; i < s->names && !err; i++)
		err = fn(arg, (uint32_t)i + 2, s->name[i].text, strlen(s->name[i].text));
	return err;
}

static const char *op_name_text(void *self, uint32_t id)
{
	struct job_store *s = self;

	if (load(s, NULL) || id < 2 || id - 2 >= s->names)
		return id == STORE_NAME_OTHER ? "(other)" : NULL;
	return s->name[id - 2].text;
}

void job_filter(struct sql *q, const struct job_store *s, const struct store_filter *f,
		const char *dur)
{
	for (size_t i = 0, n = 0; f->process && i <= s->processes; i++)
		if (i == s->processes)
			sql_add(q, n ? ")" : " AND 0");
		else if (store_filter_process(f, (uint32_t)i + 1))
			sql_add(q, "%s%" PRIu64, n++ ? ", " : " AND proc IN (", s->proc[i]);
	if (f->from_ns)
		sql_add(q, " AND t_ns + %s >= %" PRIu64, dur, f->from_ns);
	if (f->to_ns)
		sql_add(q, " AND t_ns < %" PRIu64, f->to_ns);
}

/* Writes the filter for the rows of a walk. */
static void of_filter(struct sql *q, const struct job_store *s, const struct store_filter *f,
		      const char *dur)
{
	job_where(q, s);
	when(q, s);
	job_filter(q, s, f, dur);
}

uint32_t job_process(const struct job_store *s, uint64_t proc)
{
	for (size_t i = 0; i < s->processes; i++)
		if (s->proc[i] == proc)
			return (uint32_t)i + 1;
	return 0;
}

struct windows {
	struct job_store *s;
	struct window w;
	uint64_t proc; /* the process of `w` */
	size_t rows, cap;
	store_window_fn *fn;
	void *arg;
};

static int give_window(struct windows *x)
{
	int err = 0;

	x->w.rows = (uint32_t)x->rows;
	if (x->rows && x->w.process)
		err = x->fn(x->arg, &x->w);
	for (size_t i = 0; i < x->rows; i++)
		sketch_fini(&x->w.row[i].sketch);
	x->rows = 0;
	return err;
}

static bool of_device(uint32_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COPY || kind == EVENT_MEMSET ||
	       kind == EVENT_COLLECTIVE || kind == EVENT_GRAPH;
}

static int on_window(void *arg, const struct rowin_field *f)
{
	struct windows *x = arg;
	struct rollup *r;
	int err = 0;

	if (x->rows && (x->proc != f[0].u || x->w.start_ns != f[1].u))
		err = give_window(x);
	if (err)
		return err;
	if (!x->rows) {
		x->proc = f[0].u;
		x->w.process = job_process(x->s, x->proc);
		x->w.start_ns = f[1].u;
	}
	r = ask_grow(&x->w.row, &x->rows, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->kind = (uint32_t)f[2].u;
	r->track = track_of(x->w.process, !of_device(r->kind));
	r->name = job_name(x->s, f[3].u);
	r->count = f[4].u;
	r->total_ns = f[5].u;
	r->min_ns = f[6].u;
	r->max_ns = f[7].u;
	r->bytes = f[8].u;
	r->geo = ROLLUP_NO_GEO;
	if (f[9].u && r->total_ns)
		r->verdict =
			rollup_verdict((uint32_t)f[9].u, 0, (double)f[10].u / (double)r->total_ns);
	return fold_unhist(&r->sketch, f[11].text, f[11].len);
}

static int op_each_window(void *self, const struct store_filter *f, store_window_fn *fn, void *arg)
{
	struct windows x = { .s = self, .fn = fn, .arg = arg };
	int err = load(x.s, NULL);
	struct sql q;

	if (err)
		return err;
	sql_init(&q);
	sql_add(&q,
		"SELECT proc, t_ns, toUInt64(kind), name, count, total_ns, min_ns, max_ns, bytes,"
		" toUInt64(bound), floor_ns, hist FROM window WHERE ");
	of_filter(&q, x.s, f, "dur_ns");
	sql_add(&q, " ORDER BY proc, t_ns, kind, name LIMIT %u", JOB_ROWS + 1);
	err = ask_sql(x.s->f, &q, "qqqqqqqqqqqs", JOB_ROWS, on_window, &x, NULL);
	err = err ? err : give_window(&x);
	for (size_t i = 0; i < x.rows; i++)
		sketch_fini(&x.w.row[i].sketch);
	free(x.w.row);
	return err;
}

static int on_step(void *arg, const struct rowin_field *f)
{
	struct job_batch *x = arg;
	struct event e = { .start_ns = f[1].u, .kind = EVENT_STEP, .a = f[3].u };

	e.dur_ns = isfinite(f[2].d) && f[2].d > 0 ? (uint64_t)f[2].d : 0;
	e.track = track_of(job_process(x->s, f[0].u), true);
	return job_batch_add(x, f[0].u, &e);
}

/* Only steps, unless the store is a capture. */
static int op_each_events(void *self, const struct store_filter *f, store_rows_fn *fn, void *arg)
{
	struct job_store *s = self;
	struct job_batch *x;
	struct sql q;
	int err = load(s, NULL);

	if (!err && *s->f->pick.capture)
		return job_each_event(s, f, fn, arg);
	if (err || (f->kinds && !(f->kinds & 1u << EVENT_STEP)))
		return err;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->s = s;
	x->fn = fn;
	x->arg = arg;
	sql_init(&q);
	sql_add(&q, "SELECT proc, t_ns, toFloat64(step_ns), toUInt64(step) FROM step WHERE ");
	of_filter(&q, s, f, "step_ns");
	sql_add(&q, " ORDER BY proc, t_ns LIMIT %u", JOB_ROWS + 1);
	err = ask_sql(s->f, &q, "qqdq", JOB_ROWS, on_step, x, NULL);
	err = err ? err : job_batch_give(x);
	free(x);
	return err;
}

struct records {
	struct job_store *s;
	store_rec_fn *fn;
	void *arg;
};

static int on_record(void *arg, const struct rowin_field *f)
{
	struct records *x = arg;
	uint32_t process = job_process(x->s, f[0].u);
	struct step_rec r;

	if (!process || step_rec_decode(&r, f[1].text, f[1].len) < 0)
		return 0; /* an unknown version, or none */
	return x->fn(x->arg, process, &r);
}

static int op_each_step(void *self, const struct store_filter *f, store_rec_fn *fn, void *arg)
{
	struct records x = { .s = self, .fn = fn, .arg = arg };
	int err = load(x.s, NULL);
	struct sql q;

	if (err)
		return err;
	sql_init(&q);
	sql_add(&q, "SELECT proc, rec FROM step WHERE ");
	of_filter(&q, x.s, f, "step_ns");
	sql_add(&q, " AND rec != '' ORDER BY proc, t_ns LIMIT %u", JOB_ROWS + 1);
	return ask_sql(x.s->f, &q, "qs", JOB_ROWS, on_record, &x, NULL);
}

static int on_stat(void *arg, const struct rowin_field *f)
{
	struct store_stat *st = arg;

	st->rollups = f[0].u;
	st->first_ns = f[1].u;
	st->last_ns = f[2].u;
	return 0;
}

static int op_stat(void *self, struct store_stat *out)
{
	struct store_stat st = { .version = 1 };
	struct job_store *s = self;
	struct sql q;
	int err = load(s, NULL);

	if (err)
		return err;
	st.processes = s->processes;
	st.names = s->names + 1;
	st.tracks = 2 * s->processes;
	sql_init(&q);
	sql_add(&q, "SELECT toUInt64(count()), min(t_ns), max(t_ns + dur_ns) FROM window WHERE ");
	job_where(&q, s);
	when(&q, s);
	err = ask_sql(s->f, &q, "qqq", 1, on_stat, &st, NULL);
	if (!err)
		*out = st;
	return err;
}

static const struct store_ops ops = {
	.close = op_close,
	.each_process = op_each_process,
	.each_track = op_each_track,
	.each_name = op_each_name,
	.each_events = op_each_events,
	.each_window = op_each_window,
	.each_step = op_each_step,
	.name_text = op_name_text,
	.stat = op_stat,
};

static const struct http_files *let_in; /* borrowed */

static int open_job(struct store **out, const char *url, struct store_why *why)
{
	struct job_store *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	err = fleet_open(&s->f, url, let_in, why);
	if (!err && !*s->f->pick.job)
		err = fleet_because(why, -EINVAL, "%s: of a cluster a job is a store: ?job=J",
				    s->f->shown);
	err = err ? err : load(s, why);
	if (!err && !s->processes)
		err = fleet_because(why, -ENOENT, "%s: no job '%s' in that time", s->f->shown,
				    s->f->pick.job);
	err = err ? err : store_elsewhere(out, url, &ops, s);
	if (err)
		op_close(s);
	return err;
}

void fleet_register(const struct http_files *files)
{
	let_in = files;
	store_backend(FLEET_PREFIX, open_job);
}
