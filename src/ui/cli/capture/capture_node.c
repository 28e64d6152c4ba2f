/* SPDX-License-Identifier: Apache-2.0 */
/* capture_node.c - orders a capture at aond, and waits for it; see capture_node.h. */
#include "cli/capture/capture_node.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/capture/capture.h"
#include "cli/store/export_to.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
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
		fprintf(stderr, ", %.1f s", (double)(clock_mono_ns() - c->begin_ns) / 1e9);
	fflush(stderr);
}

static void progress_end(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

/* Said before all is captured, not after. */
static int check_files(const struct node_capture *c, const struct cli_capture *x)
{
	size_t ranks = 0;

	for (size_t i = 0; i < c->n; i++)
		ranks += c->proc[i].rank >= 0;
	if (ranks < 2 || !export_is_single(x->o, x->to))
		return CLI_OK;
	progress_end();
	return cli_misuse("these are %zu ranks, and a file of that format holds one: name a folder "
			  "with -o DIR/",
			  ranks);
}

/* Each time that aond is asked how far it is. */
static int look(void *arg, struct node_capture *c)
{
	if (stopped)
		return -ECANCELED;
	if (check_files(c, arg) != CLI_OK)
		return -EMLINK; /* with its message printed */
	progress(c);
	return 0;
}

/* The result of a call of the library as an exit status; prints its message. */
static int exit_of(const struct node_capture *c, int err)
{
	progress_end();
	if (!err)
		return CLI_OK;
	if (err == -EMLINK)
		return CLI_USAGE;
	return err == -EINVAL ? cli_misuse("%s", c->said) : cli_say(CLI_FAIL, "%s", c->said);
}

static int begin(struct node_capture *c)
{
	struct sigaction stop = { .sa_handler = on_signal };

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	return exit_of(c, node_capture_begin(c, NULL));
}

/* "out.csv.gz" is "out.2.csv.gz" the second time, "out/" is "out.2/". */
static int name_file(struct cli_capture *x, uint32_t time)
{
	const char *to = x->o->val[OPT_OUTPUT_TRACE], *base, *dot;
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
		n = snprintf(x->to, sizeof(x->to), "%s", to);
	else
		n = snprintf(x->to, sizeof(x->to), "%.*s.%u%s", (int)(dot - to), to, time, dot);
	if (n >= (int)sizeof(x->to))
		return cli_misuse("-o: too long a name");
	if (strcmp(to, "-") && access(x->to, F_OK) == 0)
		return cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", x->to);
	return CLI_OK;
}

static int check_names(struct cli_capture *x)
{
	int rc = name_file(x, 1);

	if (rc == CLI_OK)
		rc = export_check(x->o, x->to);
	if (rc == CLI_OK && x->c.want.count > 1 && !strcmp(x->to, "-"))
		rc = cli_misuse("--count needs the name of a file: -o FILE");
	for (uint32_t i = 2; i <= x->c.want.count && rc == CLI_OK; i++)
		rc = name_file(x, i);
	return rc;
}

int capture_node(const struct opts *o, const struct node_want *w)
{
	struct cli_capture x = { .o = o };
	bool ask = w->steps || w->ms;
	int rc;

	node_capture_init(&x.c, w);
	rc = check_names(&x);
	if (rc == CLI_OK && ask)
		rc = begin(&x.c);
	else if (rc == CLI_OK) /* else what is a second old */
		admin_ask(locate_run_dir(), "flush", NODE_CAPTURE_MS, NULL, NULL);
	for (; rc == CLI_OK && x.c.times < w->count; x.c.times++) {
		rc = x.c.times ? exit_of(&x.c, node_capture_again(&x.c)) : CLI_OK;
		if (rc == CLI_OK)
			rc = name_file(&x, x.c.times + 1);
		if (rc == CLI_OK && ask)
			rc = exit_of(&x.c, node_capture_wait(&x.c, look, &x));
		if (rc == CLI_OK)
			rc = capture_write(&x);
	}
	node_capture_fini(&x.c);
	return rc;
}

/* Nobody waits: what it captures is kept as what alarms raise. */
int capture_node_keep(const struct opts *o, const struct node_want *w)
{
	struct node_capture c;
	struct json j;
	int rc;

	node_capture_init(&c, w);
	rc = begin(&c);
	node_capture_fini(&c);
	if (rc == CLI_OK && o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.trigger/1");
		json_members(&j, J_U64("id", c.id), J_STR("trigger", o->val[OPT_TRIGGER]));
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
	json_object(&r->j, NULL, J_U64("id", num_front(word[0], NULL)),
		    J_U64("uid", num_front(word[1], NULL)), J_STR("state", word[2]),
		    J_U64("processes", num_front(word[3], NULL)), J_STR("what", word[4]));
}

int capture_node_list(const struct opts *o)
{
	static const struct col col[] = { COL_NUM("ID", 0), COL_NUM("USER", 1),
					  COL_TEXT("STATE", 0), COL_NUM("PROCESSES", 1),
					  COL_NAME("WHAT", 0) };
	struct node_want w = { .pids = o->val[OPT_PIDS] };
	struct rows r = { .json = o->val[OPT_JSON] };
	struct node_capture c;
	int rc, err;

	node_capture_init(&c, &w);
	rc = exit_of(&c, node_capture_open(&c, NULL));
	if (rc != CLI_OK)
		return rc;
	out_init(&r.out, stdout, o);
	table_init(&r.table, col, sizeof(col) / sizeof(col[0]));
	if (r.json) {
		json_begin(&r.j, stdout, "aon.captures/1");
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
	struct node_want w = { .pids = o->val[OPT_PIDS] };
	struct node_capture c;
	char line[64];
	double id = 0;
	int rc = opt_number(o, OPT_CANCEL, 1, 1e15, &id), err;

	node_capture_init(&c, &w);
	if (rc == CLI_OK)
		rc = exit_of(&c, node_capture_open(&c, NULL));
	if (rc != CLI_OK)
		return rc;
	snprintf(line, sizeof(line), "capture cancel %.0f", id);
	err = node_capture_ask(&c, line);
	close(c.ask);
	if (err || strcmp(c.error, "ok"))
		return cli_say(CLI_FAIL, "%s", err ? strerror(-err) : c.error);
	return CLI_OK;
}
