/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - sums of accounts and windows of the stores, updated at each scrape.
 *
 * A scrape reads the accounts of all processes and the windows that were stored since the last
 * scrape. Sums of windows start at the first scrape, which Prometheus allows for counters. The
 * current utilisation of a GPU comes from the newest complete windows.
 */
#include "serve/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/vec.h"
#include "insight/breakdown.h"
#include "names/class.h"
#include "model/rollup.h"
#include "model/trace.h"
#include "serve/metrics/bound_metrics.h"
#include "serve/serve.h"
#include "serve/telemetry.h"
#include "store/store.h"

#define GPUS               64u /* more are not reported */
#define SECONDS            16u /* seconds of utilisation that are kept */
#define WHOLE_S            3u  /* after this a window is in the store */
#define MEAN_S             5u
#define FIRST              64u /* windows to read before the first scrape, so that it has data */
#define DCGM_UTIL_NUMBER   203u
#define DCGM_ACTIVE_NUMBER 1001u
#define AGAIN_NS           10000000000ull /* if aond did not answer, look for it again after this */

enum metric_id {
#define METRIC(ID, name, type, help) M_##ID,
#include "serve/metrics/metrics.tbl.h"
	METRICS,
};

static const struct {
	const char *name, *type, *help;
} metric[METRICS] = {
#define METRIC(ID, name, type, help) { name, type, help },
#include "serve/metrics/metrics.tbl.h"
};

static const char *const reason[ACCOUNT_LOSSES] = {
#define LOSS(num, NAME, word, side, help) [num] = word,
#include "abi/loss.tbl.h"
};

struct gpu_sum {
	bool known;
	char model[64];
	double work_s;
	uint64_t kernels, copies, bytes;
	uint64_t second[SECONDS], busy_ns[SECONDS]; /* indexed by second % SECONDS */
	struct bound_limits limits;
};

#define COSTS 128u

struct from {
	uint64_t after; /* the last window that was read */
	/* owned, by id: the GPU of the track; GPUS: none; UINT32_MAX: not looked up */
	uint32_t *track;
	size_t tracks;
	struct limit_names class;
};

struct metrics {
	pthread_mutex_t lock; /* guards all members */
	bool begun;
	struct from *from; /* owned, by source */
	size_t froms;
	struct names *names; /* owned */
	struct tele *tele;   /* owned */
	struct gpu_sum gpu[GPUS];
	uint64_t steps;
	double step_s;
	pid_t daemon; /* 0: none */
	uint64_t daemon_start, look_ns;
};

int metrics_new(struct metrics **out)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	if (names_new(&m->names, NULL) < 0 || tele_new(&m->tele) < 0) {
		names_free(m->names);
		free(m);
		return -ENOMEM;
	}
	pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return 0;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->froms; i++) {
		limit_names_fini(&m->from[i].class);
		free(m->from[i].track);
	}
	free(m->from);
	names_free(m->names);
	tele_free(m->tele);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* --- sums --- */

struct sums {
	struct metrics *m;
	struct from *from;
	struct store *st;
	struct account all;
	uint64_t connected, processes, bytes;
	struct cost {
		uint32_t pid, rank; /* rank + 1 */
		char job[sizeof(((struct process *)0)->job)];
		char pod[sizeof(((struct ident *)0)->pod)];
		char namespace[sizeof(((struct ident *)0)->namespace)];
		struct overhead o;
	} cost[COSTS]; /* the first recorded processes that have steps */
	size_t costs;
	bool stale; /* a window names an unknown track */
};

static int on_process(void *arg, const struct process *p)
{
	struct sums *x = arg;

	x->processes++;
	if (p->origin.file)
		return 0; /* imported: another tool recorded it */
	x->connected += p->connected;
	if (p->connected && p->overhead.steps && x->costs < COSTS) {
		struct cost *c = &x->cost[x->costs++];

		*c = (struct cost){ .pid = p->pid, .rank = p->origin.rank, .o = p->overhead };
		memcpy(c->job, p->job, sizeof(c->job));
		memcpy(c->pod, p->ident.pod, sizeof(c->pod));
		memcpy(c->namespace, p->ident.namespace, sizeof(c->namespace));
	}
	x->all.emitted += p->account.emitted;
	x->all.stored += p->account.stored + p->account.overwritten;
	x->all.overwritten += p->account.overwritten;
	x->all.in_flight += p->account.in_flight;
	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		x->all.lost[i] += p->account.lost[i];
	return 0;
}

static int on_track(void *arg, const struct track *l)
{
	struct sums *x = arg;
	size_t had = x->from->tracks;
	struct gpu_sum *g;

	if (vec_room(&x->from->track, &x->from->tracks, (size_t)l->id + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	for (; had < x->from->tracks; had++)
		x->from->track[had] = UINT32_MAX;
	x->from->track[l->id] = l->device < GPUS ? l->device : GPUS;
	if (l->device >= GPUS)
		return 0;
	g = &x->m->gpu[l->device];
	g->known = true;
	if (l->stream == TRACE_NO_STREAM && l->name)
		snprintf(g->model, sizeof(g->model), "%s", store_name_text(x->st, l->name));
	return 0;
}

static void add_work(struct gpu_sum *g, const struct rollup *r, uint64_t second)
{
	uint64_t at = second % SECONDS;

	g->work_s += (double)r->total_ns / 1e9;
	if (r->kind == EVENT_COPY || r->kind == EVENT_MEMSET) {
		g->copies += r->count;
		g->bytes += r->bytes;
	} else if (r->kind == EVENT_KERNEL) {
		g->kernels += r->count;
	}
	if (g->second[at] < second) {
		g->second[at] = second;
		g->busy_ns[at] = 0;
	}
	if (g->second[at] == second)
		g->busy_ns[at] += r->total_ns;
}

static int on_window(void *arg, const struct window *w)
{
	struct sums *x = arg;

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];

		if (r->kind == EVENT_STEP) {
			x->m->steps += r->count;
			x->m->step_s += (double)r->total_ns / 1e9;
		}
		if (!kind_is_gpu(r->kind) || r->kind == EVENT_GRAPH)
			continue;
		if (r->track >= x->from->tracks || x->from->track[r->track] == UINT32_MAX) {
			if (x->stale || store_each_track(x->st, 0, on_track, x) < 0)
				continue;
			x->stale = true; /* once for each scrape */
		}
		if (r->track < x->from->tracks && x->from->track[r->track] < GPUS) {
			struct gpu_sum *g = &x->m->gpu[x->from->track[r->track]];

			add_work(g, r, w->start_ns / WINDOW_NS);
			limits_add(&g->limits, &x->from->class, x->m->names, x->st, r);
		}
	}
	return 0;
}

static uint64_t file_bytes(const char *path)
{
	char log[4096 + 8];
	struct stat sb;
	uint64_t sum = stat(path, &sb) == 0 ? (uint64_t)sb.st_size : 0;

	snprintf(log, sizeof(log), "%.4095s-wal", path);
	return stat(log, &sb) == 0 ? sum + (uint64_t)sb.st_size : sum;
}

static int gather(struct metrics *m, struct serve *s, struct sums *x)
{
	int err = 0;

	if (!m->from) {
		m->from = calloc(s->sources + 1, sizeof(*m->from));
		if (!m->from)
			return -ENOMEM;
		m->froms = s->sources;
	}
	for (size_t i = 0; i < m->froms && !err; i++) {
		struct from *from = &m->from[i];

		x->from = from;
		x->st = s->source[i]->st;
		x->stale = false;
		x->bytes += file_bytes(s->source[i]->path);
		err = store_each_process(x->st, on_process, x);
		if (!err && !m->begun) {
			err = store_last_window(x->st, &from->after);
			from->after = from->after > FIRST ? from->after - FIRST : 0;
		}
		err = err ? err : store_new_windows(x->st, &from->after, 0, on_window, x);
	}
	m->begun = m->begun || !err;
	return err;
}

/* --- as text --- */

struct text {
	FILE *f;
	enum metric_id last; /* the metric whose head was written last; METRICS: none */
};

/* Escapes a label's value, so that the line stays one line whatever bytes it has. */
static void label(FILE *f, const char *name, const char *value, bool first)
{
	fprintf(f, "%s%s=\"", first ? "{" : ",", name);
	for (const unsigned char *p = (const unsigned char *)value; *p; p++) {
		if (*p == '\\' || *p == '"')
			fputc('\\', f);
		fputc(*p < 0x20 || *p >= 0x7f ? '?' : *p, f);
	}
	fputc('"', f);
}

/* Writes one value. `labels` ends with a NULL name; a label whose value is NULL is omitted. */
static void put(struct text *t, enum metric_id m, double v, const char *labels[][2])
{
	bool first = true;

	if (t->last != m)
		fprintf(t->f, "# HELP %s %s\n# TYPE %s %s\n", metric[m].name, metric[m].help,
			metric[m].name, metric[m].type);
	t->last = m;
	fputs(metric[m].name, t->f);
	for (; labels && labels[0][0]; labels++)
		if (labels[0][1]) {
			label(t->f, labels[0][0], labels[0][1], first);
			first = false;
		}
	fprintf(t->f, "%s %.17g\n", first ? "" : "}", v);
}

static void one(struct text *t, enum metric_id m, double v)
{
	put(t, m, v, NULL);
}

/* `class` and `limit` may be NULL. */
static void put_gpu(struct text *t, enum metric_id m, const struct serve *s, uint32_t i,
		    const struct gpu_sum *g, double v, const char *class, const char *limit)
{
	bool nvidia = strstr(g->model, "NVIDIA") || strstr(g->model, "Tesla");
	char gpu[16], device[32];
	const char *labels[][2] = { { "gpu", gpu },
				    { "device", device },
				    { m >= M_DCGM_UTIL ? "modelName" : "model_name",
				      *g->model ? g->model : NULL },
				    { "Hostname", s->host },
				    { "class", class },
				    { "limit", limit },
				    { NULL } };

	snprintf(gpu, sizeof(gpu), "%" PRIu32, i);
	snprintf(device, sizeof(device), "%s%s", nvidia ? "nvidia" : "gpu", gpu);
	put(t, m, v, labels);
}

/* The limits of a GPU that has verdicts. */
static void put_limits(struct text *t, enum metric_id m, const struct serve *s, uint32_t i,
		       const struct gpu_sum *g)
{
	for (uint32_t c = 0; g->known && g->limits.judged && c < LIMIT_CLASSES; c++)
		for (uint32_t l = 0; l < ROOF_LIMITS; l++)
			if (g->limits.s[c][l] > 0 && (m != M_AT_ROOF || l != ROOF_UNKNOWN))
				put_gpu(t, m, s, i, g,
					m == M_LIMITED ? g->limits.s[c][l] : g->limits.roof_s[c][l],
					limit_class[c], roof_limit_word[l]);
}

/* Mean utilisation over the last complete seconds, at most 1: streams may overlap. */
static double use_of(const struct gpu_sum *g, uint64_t now)
{
	uint64_t to = now / WINDOW_NS - WHOLE_S;
	double sum = 0;

	for (uint64_t sec = to - MEAN_S; sec < to; sec++)
		if (g->second[sec % SECONDS] == sec)
			sum += fmin((double)g->busy_ns[sec % SECONDS] / (double)WINDOW_NS, 1);
	return sum / MEAN_S;
}

static double gpu_of(enum metric_id m, const struct gpu_sum *g, uint64_t now)
{
	switch (m) {
	case M_GPU_TIME:
		return g->work_s;
	case M_GPU_KERNELS:
		return (double)g->kernels;
	case M_GPU_COPIES:
		return (double)g->copies;
	case M_GPU_BYTES:
		return (double)g->bytes;
	case M_DCGM_UTIL:
		return floor(100 * use_of(g, now) + 0.5);
	default:
		return use_of(g, now);
	}
}

/* Current values are written only while a process is recorded. */
static void put_gpus(struct text *t, const struct metrics *m, const struct serve *s, bool live)
{
	uint64_t now = clock_mono_ns();

	for (enum metric_id k = M_GPU_TIME; k <= M_DCGM_ACTIVE; k++) {
		if (k == M_LIMITED || k == M_AT_ROOF)
			continue;
		/* A collector's measurement is better than this estimate. */
		if ((k == M_DCGM_UTIL && tele_has(m->tele, DCGM_UTIL_NUMBER)) ||
		    (k == M_DCGM_ACTIVE && tele_has(m->tele, DCGM_ACTIVE_NUMBER)))
			continue;
		for (uint32_t i = 0; i < GPUS && (live || k < M_DCGM_UTIL); i++)
			if (m->gpu[i].known)
				put_gpu(t, k, s, i, &m->gpu[i], gpu_of(k, &m->gpu[i], now), NULL,
					NULL);
	}
	for (enum metric_id k = M_LIMITED; k <= M_AT_ROOF; k++)
		for (uint32_t i = 0; i < GPUS; i++)
			put_limits(t, k, s, i, &m->gpu[i]);
}

static void put_accounts(struct text *t, const struct sums *x)
{
	one(t, M_EMITTED, (double)x->all.emitted);
	one(t, M_STORED, (double)x->all.stored);
	one(t, M_OVERWRITTEN, (double)x->all.overwritten);
	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		if (reason[i])
			put(t, M_LOST, (double)x->all.lost[i],
			    (const char *[][2]){ { "reason", reason[i] }, { NULL } });
	one(t, M_IN_FLIGHT, (double)x->all.in_flight);
	one(t, M_SESSIONS, (double)x->connected);
	one(t, M_PROCESSES, (double)x->processes);
	one(t, M_STORE, (double)x->bytes);
}

static double cost_of(enum metric_id m, const struct overhead *o)
{
	switch (m) {
	case M_SLOWDOWN:
		return o->pairs ? o->mid / 1e6 : NAN;
	case M_SLOWDOWN_LO:
		return o->pairs ? o->lo / 1e6 : NAN;
	case M_SLOWDOWN_HI:
		return o->pairs ? o->hi / 1e6 : NAN;
	case M_ACCOUNTED:
		return o->accounted / 1e6;
	default:
		return o->fidelity;
	}
}

/* Describes the node, from the first store that knows it. */
static void put_node(struct text *t, const struct serve *s)
{
	struct node_ident n;
	const char *labels[][2] = { { "node", n.host },
				    { "cluster", n.cluster },
				    { "rack", n.rack },
				    { "leaf", n.leaf },
				    { NULL } };
	size_t i = 0;

	while (i < s->sources && (!s->source[i]->st || store_node_get(s->source[i]->st, &n)))
		i++;
	if (i < s->sources && *n.host)
		put(t, M_NODE, 1, labels);
}

static void put_costs(struct text *t, const struct sums *x)
{
	for (enum metric_id k = M_SLOWDOWN; k <= M_RUNG; k++)
		for (size_t i = 0; i < x->costs; i++) {
			const struct cost *c = &x->cost[i];
			double v = cost_of(k, &c->o);
			char pid[16], rank[16];
			const char *labels[][2] = { { "pid", pid },
						    { "job", *c->job ? c->job : NULL },
						    { "rank", c->rank ? rank : NULL },
						    { "pod", *c->pod ? c->pod : NULL },
						    { "namespace",
						      *c->namespace ? c->namespace : NULL },
						    { NULL } };

			snprintf(pid, sizeof(pid), "%" PRIu32, c->pid);
			snprintf(rank, sizeof(rank), "%" PRIu32, c->rank - 1);
			if (!isnan(v))
				put(t, k, v, labels);
		}
}

/* Finds aond by its socket, then watches its pid until that belongs to another process. */
static bool daemon_usage(struct metrics *m, const struct serve *s, struct proc_usage *u)
{
	uint64_t now = clock_mono_ns();

	if (m->daemon && (proc_usage(m->daemon, u) < 0 || u->start_ticks != m->daemon_start))
		m->daemon = 0;
	if (!m->daemon && s->daemon_pid && now >= m->look_ns) {
		m->daemon = s->daemon_pid();
		m->look_ns = now + AGAIN_NS;
		if (m->daemon && proc_usage(m->daemon, u) == 0)
			m->daemon_start = u->start_ticks;
		else
			m->daemon = 0;
	}
	return m->daemon != 0;
}

bool metrics_daemon(struct metrics *m, const struct serve *s, struct proc_usage *out)
{
	bool is;

	pthread_mutex_lock(&m->lock);
	is = daemon_usage(m, s, out);
	pthread_mutex_unlock(&m->lock);
	return is;
}

static void put_daemon(struct text *t, struct metrics *m, const struct serve *s)
{
	struct proc_usage u = { .start_ticks = 0 };
	bool up = daemon_usage(m, s, &u);

	if (!s->daemon_pid)
		return;
	one(t, M_UP, up ? 1 : 0);
	if (up) {
		one(t, M_CPU, u.cpu_s);
		one(t, M_RSS, (double)u.rss_bytes);
	}
}

int metrics_write(struct metrics *m, struct serve *s, FILE *f)
{
	struct sums x = { .m = m };
	struct text text = { f, METRICS }, *t = &text;
	struct proc_usage self;
	int err;

	pthread_mutex_lock(&m->lock);
	err = gather(m, s, &x);
	err = err ? err : tele_gather(m->tele, s);
	if (!err) {
		put(t, M_BUILD, 1, (const char *[][2]){ { "version", AON_VERSION }, { NULL } });
		put_node(t, s);
		put_accounts(t, &x);
		put_daemon(t, m, s);
		put_costs(t, &x);
		one(t, M_STEPS, (double)m->steps);
		one(t, M_STEP_TIME, m->step_s);
		put_gpus(t, m, s, x.connected > 0);
		tele_write(m->tele, f);
		if (proc_usage(getpid(), &self) == 0) {
			one(t, M_SELF_CPU, self.cpu_s);
			one(t, M_SELF_RSS, (double)self.rss_bytes);
		}
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}
