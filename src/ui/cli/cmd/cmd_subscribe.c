/* SPDX-License-Identifier: Apache-2.0 */
/* aon subscribe - events as they come, from aond's ring (abi/consume.h). */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <aon/consumer.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "read/live_json.h"

#define PIDS_MAX  64u
#define WAIT_MS   500
#define DUR_WIDTH 8 /* columns */

static volatile sig_atomic_t stopped;

static void on_stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static const char *trouble(int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		return "no aond runs here. Start one: sudo systemctl start aond, or record a run "
		       "of your own: aon run -- CMD";
	case -EBUSY:
		return "aond takes no more consumers: there are too many, or its setting "
		       "subscribe_mib is 0";
	case -EPROTO:
		return "aond is of another version. Restart it, or update aon";
	default:
		return strerror(-err);
	}
}

static int take_rest(const struct opts *o, struct aon_consumer_opts *want)
{
	static const char *const priority[] = { "normal", "low", "high" };
	const char *rate = o->val[OPT_ATMOST], *word = o->val[OPT_PRIORITY];

	if (rate && num_u32(rate, 1, UINT32_MAX, &want->rate) < 0)
		return cli_misuse("--rate takes a number of events a second, not '%s'", rate);
	if (rate && o->val[OPT_WINDOWS])
		return cli_misuse("--rate is of events: with --window there are none");
	while (word && want->priority < 3 && strcmp(word, priority[want->priority]))
		want->priority++;
	if (want->priority == 3)
		return cli_misuse("--priority takes low, normal or high, not '%s'", word);
	want->flags = (o->val[OPT_WINDOWS] ? AON_CONSUMER_WINDOWS : 0) |
		      (o->val[OPT_DETAIL] ? AON_CONSUMER_DETAIL : 0);
	return CLI_OK;
}

/* A line of a window. */
static void print_window(const struct out *out, struct aon_consumer *c,
			 const struct aon_consumer_window *w)
{
	const char *kind = aon_consumer_kind(w->of.kind), *name = aon_consumer_name(c, w->of.name);
	char clean[OUT_TEXT], dur[FMT_LEN + 8], count[FMT_LEN];

	out_time(out, dur, sizeof(dur), w->of.dur_ns);
	fmt_clean(clean, sizeof(clean), name, out->ascii);
	out_line(out, OUT_PLAIN, "%" PRIu64 "  %7u  %-10s %7s x  %*s%s  %s",
		 w->of.start_ns / 1000000000u, w->of.pid, kind ? kind : "?",
		 fmt_count(count, w->of.a), DUR_WIDTH - (int)fmt_width(dur), "", dur, clean);
}

static void print_text(const struct out *out, struct aon_consumer *c,
		       const struct aon_consumer_event *e)
{
	const char *kind = aon_consumer_kind(e->kind), *name = aon_consumer_name(c, e->name);
	char clean[OUT_TEXT], dur[FMT_LEN + 8] = "";

	if (e->dur_ns)
		out_time(out, dur, sizeof(dur), e->dur_ns);
	if (e->name)
		fmt_clean(clean, sizeof(clean), name, out->ascii);
	else
		snprintf(clean, sizeof(clean), "%" PRIu64, e->a);
	out_line(out, OUT_PLAIN, "%" PRIu64 ".%06" PRIu64 "  %7u  %-10s  %*s%s  %s",
		 e->start_ns / 1000000000u, e->start_ns / 1000u % 1000000u, e->pid,
		 kind ? kind : "?", DUR_WIDTH - (int)fmt_width(dur), "", dur, clean);
}

static void print_lost(const struct out *out, bool json, uint64_t n)
{
	char count[FMT_LEN];

	if (json)
		live_lost_json(stdout, n);
	else
		out_line(out, OUT_WARN, "%s events lost: not read in time", fmt_exact(count, n));
}

static void put_schema(void)
{
	struct json j;

	json_begin(&j, stdout, "aon.subscribe/1");
	json_end(&j);
}

static int next(struct aon_consumer *c, struct aon_consumer_window *w, bool windows, int ms)
{
	return windows ? aon_consumer_next_window(c, w, ms) : aon_consumer_next(c, &w->of, ms);
}

/* Returns -EPIPE, or 0 when it was stopped. */
static int follow(const struct out *out, struct aon_consumer *c, bool json, bool windows)
{
	struct aon_consumer_window w;
	uint64_t told = 0, lost;
	int got = 0;

	while (!stopped && got >= 0) {
		got = next(c, &w, windows, 0);
		if (got == 0) { /* all that is there was printed: let it be seen, then wait */
			fflush(stdout);
			got = next(c, &w, windows, WAIT_MS);
		}
		lost = aon_consumer_lost(c);
		if (lost != told)
			print_lost(out, json, lost - told);
		told = lost;
		if (got <= 0)
			continue;
		if (windows && json)
			live_window_json(stdout, c, &w);
		else if (windows)
			print_window(out, c, &w);
		else if (json)
			live_event_json(stdout, c, &w.of);
		else
			print_text(out, c, &w.of);
	}
	return got < 0 ? got : 0;
}

int cmd_subscribe(const struct opts *o)
{
	struct sigaction stop = { .sa_handler = on_stop }; /* no SA_RESTART: it ends a wait */
	struct aon_consumer_opts want = { .size = sizeof(want) };
	char bad[LIVE_WORD];
	uint32_t pid[PIDS_MAX];
	struct aon_consumer *c;
	struct out out;
	int rc, err;

	if (o->argc)
		return cli_misuse("takes no operand, not '%s'", o->argv[0]);
	if (live_kinds(o->val[OPT_KINDS], &want.kinds, bad) < 0)
		return cli_misuse("--kind: there is no kind of event '%s'", bad);
	if (live_pids(o->val[OPT_OFPIDS], pid, PIDS_MAX, &want.pids) < 0)
		return cli_misuse("--pid takes a pid, or up to %u with commas, not '%s'", PIDS_MAX,
				  o->val[OPT_OFPIDS]);
	rc = take_rest(o, &want);
	if (rc != CLI_OK)
		return rc;
	want.pid = pid;
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	err = aon_consumer_open(&c, locate_run_dir(), &want);
	if (err)
		return cli_say(CLI_FAIL, "%s: %s", locate_run_dir(), trouble(err));
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON])
		put_schema();
	err = follow(&out, c, o->val[OPT_JSON] != NULL, o->val[OPT_WINDOWS] != NULL);
	aon_consumer_close(c);
	return err ? cli_say(CLI_FAIL, "%s: aond has ended", locate_run_dir()) : CLI_OK;
}
