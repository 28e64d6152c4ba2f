/* SPDX-License-Identifier: Apache-2.0 */
/* attach_watch.c - the live top of stacks while a process is sampled; see attach.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/core/out.h"
#include "cli/core/tty.h"
#include "cli/node/attach.h"
#include "cli/report/report_stacks.h"

#define DRAW_MS 1000u
#define HEAD    7u /* lines around the table */

struct watch {
	struct attach *a;
	const struct opts *o;
	const char *command;
	struct tty screen;
	bool live, bar; /* draws a screen; a line of progress */
	bool done;
	uint64_t due_ms;
};

static void draw_screen(struct watch *w)
{
	struct samples_want want = { w->a->process, SAMPLES_ALL, 0, 0 };
	char clean[OUT_TEXT], text[OUT_TEXT], wall[FMT_LEN], n[FMT_LEN], cpu[FMT_LEN];
	const struct attach *a = w->a;
	struct insight *in;
	struct out out;
	size_t rows;
	FILE *f;

	if (trace_seal(a->t) < 0 || insight_new(&in, a->t) < 0)
		return;
	f = tty_begin(&w->screen, &rows);
	if (!f) {
		insight_free(in);
		return;
	}
	out_init(&out, stdout, w->o);
	out.f = f;
	want.track = samples_thread(in, a->process);
	out_line(&out, OUT_BOLD, "pid %d: %s", (int)a->pid,
		 fmt_clean(clean, sizeof(clean), w->command, out.ascii));
	out_line(&out, OUT_DIM,
		 "%s samples in %s, the sampler takes %s %% of a core   q: end and report",
		 fmt_count(n, in->samples.count), fmt_time(wall, a->wall_ns),
		 fmt_percent(cpu, a->wall_ns ? (double)a->cpu_ns / (double)a->wall_ns : 0));
	if (*a->reason)
		out_line(&out, OUT_WARN, "%s",
			 fmt_clean(clean, sizeof(clean), a->reason, out.ascii));
	fputc('\n', f);
	where_sentence(&out, in, &want, text, sizeof(text));
	out_line(&out, OUT_PLAIN, "%s", fmt_clean(clean, sizeof(clean), text, out.ascii));
	fputc('\n', f);
	where_table(&out, in, &want, rows > HEAD + 4 ? rows - HEAD : 4);
	tty_end(&w->screen);
	insight_free(in);
}

static void draw(struct watch *w)
{
	if (w->live)
		draw_screen(w);
	else if (w->bar && w->a->seconds > 0)
		fprintf(stderr, "\rsampling: %.0f of %.0f s ", (double)w->a->wall_ns / 1e9,
			w->a->seconds);
}

static void on_keys(struct watch *w)
{
	char key[64];
	ssize_t n = read(STDIN_FILENO, key, sizeof(key));

	if (n <= 0)
		w->screen.keys = false;
	for (ssize_t i = 0; i < n; i++)
		w->done |= key[i] == 'q' || key[i] == 'Q';
}

/* Until the next is due, or something comes. */
static void wait_for(struct watch *w, int stop, uint64_t end_ms)
{
	struct pollfd p[3] = { { .fd = w->a->fd, .events = POLLIN },
			       { .fd = stop, .events = POLLIN },
			       { .fd = STDIN_FILENO, .events = POLLIN } };
	uint64_t now = clock_mono_ms(), until = w->due_ms < end_ms ? w->due_ms : end_ms;

	if (poll(p, w->live && w->screen.keys ? 3 : 2, until > now ? (int)(until - now) : 0) <= 0)
		return;
	if (p[1].revents)
		w->done = true;
	if (w->live && w->screen.keys && p[2].revents)
		on_keys(w);
	if (p[0].revents && !attach_read(w->a)) {
		w->done = true;
		w->a->gone = true;
	}
}

static void loop(struct watch *w, int stop)
{
	uint64_t now = clock_mono_ms();
	uint64_t end = w->a->seconds > 0 ? now + (uint64_t)(w->a->seconds * 1000) : UINT64_MAX;

	w->due_ms = now + DRAW_MS;
	draw(w);
	while (!w->done && clock_mono_ms() < end) {
		wait_for(w, stop, end);
		if (clock_mono_ms() < w->due_ms)
			continue;
		draw(w);
		w->due_ms += DRAW_MS;
	}
}

int attach_watch(struct attach *a, const struct opts *o, const char *command)
{
	const char *term = getenv("TERM");
	struct watch w = { .a = a, .o = o, .command = command };
	int stop = cli_stop_fd(), err;

	if (stop < 0)
		return cli_say(CLI_FAIL, "signalfd: %s", strerror(errno));
	err = attach_start(a);
	if (err < 0) {
		close(stop);
		return cli_say(CLI_FAIL, "aon-sample: %s", strerror(-err));
	}
	w.live = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") && !o->val[OPT_JSON];
	w.bar = !w.live && isatty(STDERR_FILENO);
	if (w.live)
		tty_open(&w.screen);
	loop(&w, stop);
	attach_stop(a);
	if (w.live)
		tty_fini(&w.screen);
	if (w.bar)
		fputs("\r                                \r", stderr);
	close(stop);
	return a->err ? cli_say(CLI_FAIL, "aon-sample: %s", strerror(-a->err)) : CLI_OK;
}
