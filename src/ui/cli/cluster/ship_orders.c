/* SPDX-License-Identifier: Apache-2.0 */
/* ship_orders.c - see ship_orders.h. */
#include "cli/cluster/ship_orders.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/num.h"
#include "capture/ask.h"
#include "capture/node_capture.h"
#include "export/export_file.h"
#include "model/trace.h"

#define ASK_MS    5000
#define POLL_MS   20000u /* the relay answers within 5 s */
#define TRACE_MS  300000u
#define WAIT_NS   60000000000ull /* for a relay that lets this node wait */
#define AGAIN_US  1000000u
#define TRACE_MAX (256l << 20)
#define LINES     4000u
#define PACES     64u
#define WHY       512u

struct order {
	uint64_t id, steps, ms, from, timeout_s;
	char job[48], ranks[64];
};

/* How far a job was when it was last looked at: what a step takes is what went by between two looks, for a step
 * need not begin where the last one ended. */
struct pace {
	char job[48];
	uint64_t step, at_ns, step_ns;
};

struct ship_orders {
	const struct ship_conf *conf;
	struct cluster_url url;
	struct http *http;
	pthread_t thread;
	uint64_t last;         /* order that was seen */
	_Atomic bool stopping; /* relaxed: looked at now and then */
	struct pace pace[PACES];
	char jobs[LINES];
	size_t len;
	struct net_why why; /* of the last question that failed */
};

/* --- asking --- */

static struct pace *pace_of(struct ship_orders *s, const char *job)
{
	struct pace *oldest = &s->pace[0];

	for (size_t i = 0; i < PACES; i++) {
		if (!strcmp(s->pace[i].job, job))
			return &s->pace[i];
		if (s->pace[i].at_ns < oldest->at_ns)
			oldest = &s->pace[i];
	}
	*oldest = (struct pace){ 0 };
	snprintf(oldest->job, sizeof(oldest->job), "%s", job);
	return oldest;
}

/* "JOB PROCESSES STEP STEP_NS", as aond says it. */
static void on_job(void *arg, char *line)
{
	struct ship_orders *s = arg;
	uint64_t ranks, step, step_ns, now = clock_mono_ns();
	struct pace *p;
	char job[48];
	int n;

	if (sscanf(line, "%47s %" SCNu64 " %" SCNu64 " %" SCNu64, job, &ranks, &step, &step_ns) !=
	    4)
		return;
	p = pace_of(s, job);
	if (p->at_ns && step > p->step)
		p->step_ns = (now - p->at_ns) / (step - p->step);
	p->at_ns = now;
	p->step = step;
	n = snprintf(s->jobs + s->len, sizeof(s->jobs) - s->len,
		     "job %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", job, ranks, step,
		     p->step_ns ? p->step_ns : step_ns);
	if (n > 0 && s->len + (size_t)n < sizeof(s->jobs))
		s->len += (size_t)n;
}

static void look_at_jobs(struct ship_orders *s)
{
	s->len = (size_t)snprintf(s->jobs, sizeof(s->jobs), "last %" PRIu64 "\n", s->last);
	admin_ask(s->conf->run_dir.s, "capture jobs", ASK_MS, on_job, s);
	s->jobs[s->len] = '\0';
}

static uint64_t number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? num_front(at + strlen(key), NULL) : 0;
}

static int ask(struct ship_orders *s, const char *target, const void *body, size_t len,
	       uint32_t timeout_ms, struct http_answer *a)
{
	struct http_ask q = { .server = &s->url.server[0],
			      .target = target,
			      .body = body,
			      .len = len,
			      .timeout_ms = timeout_ms };
	int err = http_do(s->http, &q, a, &s->why);

	if (!err && a->status != 200)
		err = why_say(&s->why, -EREMOTEIO, "the relay answers with status %d: %.*s",
			      a->status, (int)strcspn(a->data, "\n"), a->data);
	return err;
}

/* 1: there is one; 0: none; -errno. */
static int poll_order(struct ship_orders *s, struct order *o)
{
	struct http_answer a;
	const char *job, *ranks;
	int err;

	look_at_jobs(s);
	err = ask(s, "/v1/orders", s->jobs, s->len, POLL_MS, &a);
	if (err)
		return err;
	*o = (struct order){ .id = number(a.data, "order "),
			     .steps = number(a.data, "steps "),
			     .ms = number(a.data, "ms "),
			     .from = number(a.data, "from "),
			     .timeout_s = number(a.data, "timeout_s ") };
	job = strstr(a.data, "\njob ");
	ranks = strstr(a.data, "\nranks ");
	if (ranks && (sscanf(ranks, "\nranks %63s", o->ranks) != 1 ||
		      strspn(o->ranks, "0123456789,") != strlen(o->ranks)))
		return 0;
	if (!o->id || !job || sscanf(job, "\njob %47s", o->job) != 1)
		return 0;
	return 1;
}

/* --- carrying out --- */

/* What a capture lacks, all lines. */
struct lacks {
	char *why;
	bool any;
};

static void on_trouble(void *arg, const char *line, bool lacks)
{
	struct lacks *l = arg;
	size_t n = strlen(l->why);

	snprintf(l->why + n, WHY - n, "%s\n", line);
	l->any |= lacks;
}

static int is_over(void *arg, struct node_capture *c)
{
	const struct ship_orders *s = arg;

	(void)c;
	return atomic_load_explicit(&s->stopping, memory_order_relaxed) ? -ECANCELED : 0;
}

/* A trace a rank into DIR/traces. 0, or -errno: `why` says it, -ESRCH: no such process is here. */
static int run_capture(struct ship_orders *s, const struct order *o, const char *dir, char why[WHY])
{
	char folder[300], failed[PATH_MAX];
	struct export_to to = { .format = EXPORT_KINETO, .to = folder, .folder = true };
	struct node_want w = { .job = o->job,
			       .ranks = *o->ranks ? o->ranks : NULL,
			       .steps = o->steps,
			       .ms = o->steps ? 0 : o->ms,
			       .from = o->steps ? o->from : 0,
			       .timeout_ms = o->timeout_s * 1000,
			       .count = 1 };
	struct lacks lacks = { why, false };
	struct node_capture c;
	struct trace *t;
	int err;

	snprintf(folder, sizeof(folder), "%s/traces/", dir);
	node_capture_init(&c, &w);
	err = node_capture_begin(&c, s->conf->run_dir.s);
	err = err ? err : node_capture_wait(&c, is_over, s);
	err = err ? err : node_capture_store(&c, &t);
	if (err) {
		snprintf(why, WHY, "%.500s", c.said);
		node_capture_fini(&c);
		return err;
	}
	err = export_files(t, &to, NULL, NULL, failed);
	if (err)
		snprintf(why, WHY, "%.300s: %s", failed, strerror(-err));
	else
		node_capture_troubles(&c, on_trouble, &lacks);
	trace_free(t);
	node_capture_fini(&c);
	return err ? err : lacks.any ? -EREMOTEIO : 0;
}

/* What belongs to a trace: a relay that has had enough of this node for now is waited for. */
static int tell(struct ship_orders *s, const char *target, const void *body, size_t len)
{
	uint64_t until = clock_mono_ns() + WAIT_NS;
	struct http_answer a = { 0 };
	int err;

	while ((err = ask(s, target, body, len, TRACE_MS, &a)) == -EREMOTEIO &&
	       (a.status == 429 || a.status == 503) && clock_mono_ns() < until &&
	       !atomic_load_explicit(&s->stopping, memory_order_relaxed))
		usleep(AGAIN_US);
	return err;
}

static int upload(struct ship_orders *s, const struct order *o, const char *path, size_t part)
{
	char target[96], *text;
	size_t len;
	int err = file_regular(&text, &len, AT_FDCWD, path, 0, TRACE_MAX);

	if (err < 0)
		return err;
	snprintf(target, sizeof(target), "/v1/trace?order=%" PRIu64 "&part=r%zu", o->id, part);
	err = len ? tell(s, target, text, len) : -EIO;
	free(text);
	return err;
}

/* Every file of the folder, which goes with them. Files sent, or -errno. */
static int upload_all(struct ship_orders *s, const struct order *o, const char *dir)
{
	char path[600], folder[300];
	struct dirent *e;
	int err = 0;
	size_t n = 0;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s/traces", dir);
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		err = err ? err : upload(s, o, path, n++);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(folder);
	rmdir(dir);
	return err ? err : (int)n;
}

static void carry_out(struct ship_orders *s, const struct order *o)
{
	char dir[] = "/tmp/aon-order-XXXXXX", why[WHY] = "", target[96];
	int err, n = 0;

	if (!mkdtemp(dir))
		return;
	log_info("order %" PRIu64 ": capture of job %s", o->id, o->job);
	err = run_capture(s, o, dir, why);
	n = upload_all(s, o, dir);
	if (err == -ESRCH && !n && *o->ranks) {
		err = 0; /* they are on other nodes: nothing is missing */
		*why = '\0';
		n = 1;
	}
	if (!err && n <= 0)
		snprintf(why, sizeof(why), "its traces could not be sent: %.400s",
			 n == -EREMOTEIO ? s->why.text : strerror(-n));
	snprintf(target, sizeof(target), "/v1/trace?order=%" PRIu64 "&end=%s", o->id,
		 !err && n > 0 ? "ok" : "failed");
	tell(s, target, *why ? why : "-", *why ? strlen(why) : 1);
}

static void *work(void *arg)
{
	struct ship_orders *s = arg;
	struct order o;

	look_at_jobs(s);
	nanosleep(&(struct timespec){ 1, 0 }, NULL);
	while (!atomic_load_explicit(&s->stopping, memory_order_relaxed)) {
		int got = poll_order(s, &o);

		if (got == 1 && o.id > s->last) {
			s->last = o.id;
			carry_out(s, &o);
		} else if (got < 0) {
			s->last = 0; /* another relay, or one that began anew, counts from 1 */
			for (int i = 0;
			     i < 50 && !atomic_load_explicit(&s->stopping, memory_order_relaxed);
			     i++)
				nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
		}
	}
	return NULL;
}

/* --- begin and end --- */

struct ship_orders *ship_orders_start(const struct ship_conf *conf)
{
	struct ship_orders *s = calloc(1, sizeof(*s));
	struct http_opts o = {
		.files = { .ca = conf->ca.s, .cert = conf->cert.s, .key = conf->key.s }, .tls = true
	};
	struct net_why why;

	if (!s || !*conf->run_dir.s || cluster_url_parse(&s->url, conf->url.s, &why) < 0 ||
	    s->url.kind != CLUSTER_RELAY || http_new(&s->http, &o, &why) < 0) {
		free(s);
		return NULL;
	}
	s->conf = conf;
	if (pthread_create(&s->thread, NULL, work, s)) {
		http_free(s->http);
		free(s);
		return NULL;
	}
	return s;
}

/* It may wait for the relay's answer: whoever ends does not wait for that. */
void ship_orders_stop(struct ship_orders *s)
{
	if (!s)
		return;
	atomic_store_explicit(&s->stopping, true, memory_order_relaxed);
	pthread_detach(s->thread);
}
