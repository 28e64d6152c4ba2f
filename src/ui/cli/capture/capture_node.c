/* SPDX-License-Identifier: Apache-2.0 */
/* capture_node.c - asks aond for a capture, and waits for it; see capture_node.h. */
#include "cli/capture/capture_node.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/vec.h"
#include "cli/capture/capture.h"
#include "cli/store/export_to.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

#define ASK_MS   10000
#define LOOK_MS  50
#define ARMED_MS 250   /* nothing hurries: it runs already when we learn that it does */
#define LINE     1900u /* of a request */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- what aond says --- */

static void take_proc(struct node_capture *c, char *rest)
{
	struct node_proc p = { .rank = -1 };
	char rank[16];

	if (sscanf(rest,
		   "%" SCNu32 " %" SCNu32 " %15s %11s %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %*u %" SCNu64 " %" SCNu64,
		   &p.pid, &p.id, rank, p.end, &p.first, &p.last, &p.step, &p.emitted,
		   &p.lost) != 9)
		return;
	if (*rank != '-')
		p.rank = (int32_t)strtol(rank, NULL, 10);
	if (vec_room(&c->proc, &c->cap, c->n + 1, sizeof(*c->proc)) == 0)
		c->proc[c->n++] = p;
}

static void on_line(void *arg, char *line)
{
	struct node_capture *c = arg;
	char *rest = line, *word = strsep(&rest, "\t");

	if (!rest)
		snprintf(c->error, sizeof(c->error), "%s",
			 strncmp(word, "error: ", 7) ? word : word + 7);
	else if (!strcmp(word, "id"))
		c->id = strtoull(rest, NULL, 10);
	else if (!strcmp(word, "processes"))
		c->chosen = strtoull(rest, NULL, 10);
	else if (!strcmp(word, "store"))
		snprintf(c->store, sizeof(c->store), "%s", rest);
	else if (!strcmp(word, "process"))
		take_proc(c, rest);
	else if (!strcmp(word, "why"))
		snprintf(c->why, sizeof(c->why), "%s", rest);
	else if (!strcmp(word, "armed") && !c->armed++)
		snprintf(c->values, sizeof(c->values), "%s", rest + strcspn(rest, "\t"));
	else if (!strcmp(word, "capture")) {
		sscanf(rest, "%*u %11s %" SCNu64 " %*u %95[^\n]", c->state, &c->begin_ns, c->error);
		if (!strcmp(c->error, "-"))
			*c->error = '\0';
	}
}

static int ask_aond(struct node_capture *c, const char *line)
{
	int err = ask_on(c->ask, line, on_line, c);

	if (err == -EPIPE || err == -ECONNRESET)
		err = -ENOTCONN;
	return err;
}

static int open_aond(struct node_capture *c)
{
	const char *pids = c->o->val[OPT_PIDS];
	char run_dir[PATH_MAX] = "";

	if (pids)
		locate_run_dir_of((pid_t)strtol(pids, NULL, 10), run_dir);
	c->ask = ask_open(*run_dir ? run_dir : locate_run_dir(), ASK_MS);
	if (c->ask >= 0)
		return CLI_OK;
	return cli_say(CLI_FAIL,
		       "no aond answers: %s. Start it, or the program with: aon run -- CMD",
		       strerror(-c->ask));
}

static int begin(struct node_capture *c)
{
	static const struct {
		enum opt_id id;
		const char *key;
	} words[] = { { OPT_PIDS, "pids" }, { OPT_RANK, "ranks" }, { OPT_JOB, "job" } };
	char line[LINE];
	int at = snprintf(line, sizeof(line),
			  "capture begin steps=%" PRIu64 " ms=%" PRIu64 " from=%" PRIu64
			  " before=%" PRIu64 " timeout=%" PRIu64,
			  c->want.steps, c->want.ms, c->want.from, c->want.before_ms,
			  c->want.timeout_ms);
	int err;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (c->o->val[words[i].id] && at < (int)sizeof(line))
			at += snprintf(line + at, sizeof(line) - (size_t)at, " %s=%s", words[i].key,
				       c->o->val[words[i].id]);
	if (c->o->val[OPT_TRIGGER] && at < (int)sizeof(line))
		at += snprintf(line + at, sizeof(line) - (size_t)at,
			       " expires=%" PRIu64 " cool=%" PRIu64 "%s when=%s", c->want.expires_s,
			       c->want.cool_s, c->want.keep ? " stand=1" : "",
			       c->o->val[OPT_TRIGGER]);
	if (at >= (int)sizeof(line))
		return cli_misuse("too many pids or ranks");
	err = ask_aond(c, line);
	if (err)
		return cli_say(CLI_FAIL, "aond does not answer: %s", strerror(-err));
	if (!c->id)
		return cli_say(CLI_FAIL, "%s", c->error);
	if (!c->chosen && !c->want.before_ms && !c->o->val[OPT_TRIGGER])
		return cli_say(CLI_FAIL, "no such process of yours runs under aond. See: aon ps");
	return CLI_OK;
}

/* --- waiting --- */

static void progress(const struct node_capture *c)
{
	uint64_t least = UINT64_MAX, of = 0;

	if (!isatty(STDERR_FILENO))
		return;
	if (!strcmp(c->state, "armed")) {
		fprintf(stderr, "\r\033[Karmed at %zu processes:%s", c->armed, c->values);
		fflush(stderr);
		return;
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct node_proc *p = &c->proc[i];
		uint64_t done = p->step > p->first ? p->step - p->first : 0;

		of = p->last ? p->last - p->first + 1 : 0;
		done = done > of ? of : done;
		least = done < least ? done : least;
	}
	fprintf(stderr, "\r\033[K%s: %zu processes", c->state, c->n);
	if (of)
		fprintf(stderr, ", %" PRIu64 " of %" PRIu64 " steps", least, of);
	else
		fprintf(stderr, ", %.1f s", (double)(now_ns() - c->begin_ns) / 1e9);
	fflush(stderr);
}

static void progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

/* Said before all is captured, not after. */
static int check_files(const struct node_capture *c)
{
	size_t ranks = 0;

	for (size_t i = 0; i < c->n; i++)
		ranks += c->proc[i].rank >= 0;
	if (ranks < 2 || !export_is_single(c->o, c->to))
		return CLI_OK;
	progress_end();
	return cli_misuse("these are %zu ranks, and a file of that format holds one: name a folder "
			  "with -o DIR/",
			  ranks);
}

static void nap(const struct node_capture *c)
{
	long ms = strcmp(c->state, "armed") ? LOOK_MS : ARMED_MS;

	nanosleep(&(struct timespec){ 0, ms * 1000000l }, NULL);
}

static int wait_for(struct node_capture *c)
{
	int err = 0;

	while (!stopped && !err && strcmp(c->state, "done")) {
		nap(c);
		c->n = c->armed = 0;
		*c->state = '\0';
		err = ask_aond(c, "capture state");
		if (!err && !*c->state) {
			progress_end();
			return cli_say(CLI_FAIL,
				       "capture %" PRIu64 " was cancelled: nothing is "
				       "written",
				       c->id);
		}
		if (!strcmp(c->state, "expired")) {
			progress_end();
			return cli_say(CLI_FAIL, "%s: nothing is written%s",
				       strstr(c->why, "captures_day") ? c->why
								      : "its trigger did not fire",
				       c->times ? " but what was before" : "");
		}
		if (!err && check_files(c) != CLI_OK)
			return CLI_USAGE;
		progress(c);
	}
	progress_end();
	if (stopped)
		return cli_say(CLI_FAIL, "interrupted: the capture is cancelled, nothing is "
					 "written");
	if (err)
		return cli_say(CLI_FAIL,
			       "aond has ended during the capture: nothing is written. What it had "
			       "stored is kept: aon capture --before T -o FILE");
	return CLI_OK;
}

static int open_and_begin(struct node_capture *c)
{
	struct sigaction stop = { .sa_handler = on_signal };
	int rc = open_aond(c);

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	return rc == CLI_OK ? begin(c) : rc;
}

/* "out.csv.gz" is "out.2.csv.gz" the second time, "out/" is "out.2/". */
static int name_file(struct node_capture *c, uint32_t time)
{
	const char *to = c->o->val[OPT_OUTPUT_TRACE], *base, *dot;
	size_t len;
	int n;

	to = to ? to : "aon-capture.pftrace";
	len = strlen(to);
	while (len > 1 && to[len - 1] == '/')
		len--;
	base = memrchr(to, '/', len);
	dot = memchr(base ? base + 1 : to, '.', len - (base ? (size_t)(base + 1 - to) : 0));
	dot = dot ? dot : to + len;
	if (time < 2)
		n = snprintf(c->to, sizeof(c->to), "%s", to);
	else
		n = snprintf(c->to, sizeof(c->to), "%.*s.%u%s", (int)(dot - to), to, time, dot);
	if (n >= (int)sizeof(c->to))
		return cli_misuse("-o: too long a name");
	if (strcmp(to, "-") && access(c->to, F_OK) == 0)
		return cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", c->to);
	return CLI_OK;
}

static int check_names(struct node_capture *c)
{
	int rc = name_file(c, 1);

	if (rc == CLI_OK)
		rc = export_check(c->o, c->to);
	if (rc == CLI_OK && c->want.count > 1 && !strcmp(c->to, "-"))
		rc = cli_misuse("--count needs the name of a file: -o FILE");
	for (uint32_t i = 2; i <= c->want.count && rc == CLI_OK; i++)
		rc = name_file(c, i);
	return rc;
}

static int wait_again(struct node_capture *c)
{
	char line[64];

	snprintf(line, sizeof(line), "capture again %" PRIu64, c->id);
	*c->state = '\0';
	if (ask_aond(c, line))
		return cli_say(CLI_FAIL, "aond has ended: what was captured before is written");
	if (strcmp(c->error, "ok"))
		return cli_say(CLI_FAIL, "%s", c->error);
	return CLI_OK;
}

int capture_node(const struct opts *o, const struct node_want *w)
{
	struct node_capture c = { .o = o, .want = *w, .begin_ns = now_ns(), .ask = -1 };
	bool ask = w->steps || w->ms;
	int rc = check_names(&c);

	if (rc == CLI_OK && ask)
		rc = open_and_begin(&c);
	else if (rc == CLI_OK) /* else what is a second old */
		admin_ask(locate_run_dir(), "flush", ASK_MS, NULL, NULL);
	for (; rc == CLI_OK && c.times < w->count; c.times++) {
		rc = c.times ? wait_again(&c) : CLI_OK;
		if (rc == CLI_OK)
			rc = name_file(&c, c.times + 1);
		if (rc == CLI_OK && ask)
			rc = wait_for(&c);
		if (rc == CLI_OK)
			rc = capture_trace(&c);
	}
	if (c.ask >= 0)
		close(c.ask);
	free(c.proc);
	return rc;
}

/* Nobody waits: what it captures is kept as what alarms raise. */
int capture_node_keep(const struct opts *o, const struct node_want *w)
{
	struct node_capture c = { .o = o, .want = *w, .begin_ns = now_ns(), .ask = -1 };
	int rc = open_and_begin(&c);
	struct json j;

	if (c.ask >= 0)
		close(c.ask);
	free(c.proc);
	if (rc == CLI_OK && o->val[OPT_JSON]) {
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.trigger/1");
		json_u64(&j, "id", c.id);
		json_str(&j, "trigger", o->val[OPT_TRIGGER]);
		json_end(&j);
	} else if (rc == CLI_OK) {
		printf("trigger %" PRIu64 " stands. What it captures: aon capture --raised list\n"
		       "Remove it: aon capture --cancel %" PRIu64 "\n",
		       c.id, c.id);
	}
	return rc;
}

/* --- those under way --- */

struct rows {
	struct json j;
	struct table table;
	struct out out;
	size_t n;
	bool json;
};

static void on_row(void *arg, char *line)
{
	struct rows *r = arg;
	char *word[5];

	for (size_t i = 0; i < 5; i++)
		word[i] = strsep(&line, "\t");
	if (!word[4])
		return;
	r->n++;
	if (!r->json) {
		for (size_t i = 0; i < 5; i++)
			table_add_text(&r->table, &r->out, word[i]);
		return;
	}
	json_open(&r->j, NULL, '{');
	json_u64(&r->j, "id", strtoull(word[0], NULL, 10));
	json_u64(&r->j, "uid", strtoull(word[1], NULL, 10));
	json_str(&r->j, "state", word[2]);
	json_u64(&r->j, "processes", strtoull(word[3], NULL, 10));
	json_str(&r->j, "what", word[4]);
	json_close(&r->j);
}

int capture_node_list(const struct opts *o)
{
	static const struct col col[] = {
		{ "ID", 0, 0 },
		{ "USER", 0, 1 },
		{ "STATE", COL_LEFT, 0 },
		{ "PROCESSES", 0, 1 },
		{ "WHAT", COL_LEFT | COL_FLEX, 0 },
	};
	struct node_capture c = { .o = o, .ask = -1 };
	struct rows r = { .json = o->val[OPT_JSON] };
	int rc = open_aond(&c), err;

	if (rc != CLI_OK)
		return rc;
	out_init(&r.out, stdout, o);
	table_init(&r.table, col, sizeof(col) / sizeof(col[0]));
	if (r.json) {
		json_init(&r.j, stdout);
		json_open(&r.j, NULL, '{');
		json_str(&r.j, "schema", "aon.captures/1");
		json_open(&r.j, "captures", '[');
	}
	err = ask_on(c.ask, "capture list", on_row, &r);
	close(c.ask);
	if (r.json)
		json_end(&r.j);
	else if (r.n)
		table_print(&r.table, &r.out, 0);
	table_fini(&r.table);
	if (err)
		return cli_say(CLI_FAIL, "aond does not answer: %s", strerror(-err));
	return r.n || r.json ? CLI_OK : cli_say(CLI_OK, "no capture of yours is under way");
}

int capture_node_cancel(const struct opts *o)
{
	struct node_capture c = { .o = o, .ask = -1 };
	char line[64];
	double id = 0;
	int rc = opt_number(o, OPT_CANCEL, 1, 1e15, &id), err;

	if (rc == CLI_OK)
		rc = open_aond(&c);
	if (rc != CLI_OK)
		return rc;
	snprintf(line, sizeof(line), "capture cancel %.0f", id);
	err = ask_aond(&c, line);
	close(c.ask);
	if (err || strcmp(c.error, "ok"))
		return cli_say(CLI_FAIL, "%s", err ? strerror(-err) : c.error);
	return CLI_OK;
}
