/* SPDX-License-Identifier: Apache-2.0 */
/* aon top - live view of who runs and what it spends time in; reads the store, changes nothing. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/screen.h"
#include "cli/top.h"

#define FAILURES_MAX 5

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };

struct top {
	const struct opts *o;
	struct top_look look;
	struct top_view view;
	struct screen screen;
	bool done;
	int signal; /* that ends us */
	int failures;
};

static void draw(struct top *t)
{
	FILE *f = screen_begin(&t->screen, &t->view.rows);
	struct out out;

	if (!f)
		return;
	out_init(&out, stdout, t->o);
	out.f = f;
	top_draw(&t->look, &t->view, &out);
	screen_end(&t->screen);
}

static void type_filter(struct top_view *v, const char *key)
{
	size_t len = strlen(v->filter);

	if (key[0] == '\n' || key[0] == '\r' || key[0] == 27) {
		v->typing = false;
		if (key[0] == 27)
			v->filter[0] = '\0';
	} else if (key[0] == 127 || key[0] == 8) {
		if (len)
			v->filter[len - 1] = '\0';
	} else if (key[0] >= ' ' && key[0] < 127 && len + 1 < sizeof(v->filter)) {
		v->filter[len] = key[0];
		v->filter[len + 1] = '\0';
	}
	v->scroll = 0;
}

static void scroll(struct top_view *v, long by)
{
	long at = (long)v->scroll + by;

	v->scroll = at > 0 ? (size_t)at : 0;
}

/* Arrows come as three or four bytes that begin with an escape. */
static void on_key(struct top *t, const char *key, size_t n)
{
	struct top_view *v = &t->view;

	if (v->typing && (n == 1 || key[0] != 27)) {
		type_filter(v, key);
	} else if (n >= 3 && key[0] == 27) {
		long page = v->rows > 20 ? (long)v->rows - 15 : 5;

		scroll(v, key[2] == 'A'   ? -1
			  : key[2] == 'B' ? 1
			  : key[2] == '5' ? -page
			  : key[2] == '6' ? page
			  : key[2] == 'H' ? -1000000
					  : 0);
	} else if (key[0] == 'q') {
		t->done = true;
	} else if (key[0] == '?' || key[0] == 'h') {
		v->help = !v->help;
	} else if (key[0] == 's') {
		v->sort = (v->sort + 1) % TOP_SORTS;
		v->scroll = 0;
	} else if (key[0] == 'p') {
		v->paused = !v->paused;
	} else if (key[0] == '/') {
		v->typing = true;
		v->filter[0] = '\0';
	} else if (key[0] == 27) {
		v->help = false;
		v->filter[0] = '\0';
	}
}

static void on_signal(struct top *t, int sig)
{
	if (sig == SIGWINCH || sig == SIGCONT) {
		screen_forget(&t->screen);
	} else if (sig == SIGTSTP) {
		screen_close(&t->screen);
		raise(SIGSTOP);
		screen_open(&t->screen);
	} else {
		t->signal = sig;
		t->done = true;
	}
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

/* Waits for a key, a signal or the time; true when a new look is due. */
static bool wait_input(struct top *t, int sigfd, uint64_t due_ms)
{
	struct pollfd p[2] = { { .fd = sigfd, .events = POLLIN },
			       { .fd = STDIN_FILENO, .events = POLLIN } };
	uint64_t now = now_ms();
	struct signalfd_siginfo si;
	char key[16];
	ssize_t n;

	if (poll(p, t->screen.keys ? 2 : 1, now < due_ms ? (int)(due_ms - now) : 0) <= 0)
		return now_ms() >= due_ms;
	if (p[0].revents && read(sigfd, &si, sizeof(si)) == sizeof(si))
		on_signal(t, (int)si.ssi_signo);
	if (t->screen.keys && p[1].revents) {
		n = read(STDIN_FILENO, key, sizeof(key));
		if (n > 0)
			on_key(t, key, (size_t)n);
		else
			t->screen.keys = false;
	}
	return false;
}

/* A store may be busy or just replaced: the old look stays for a while. */
static int look_again(struct top *t)
{
	struct top_look fresh;
	int rc;

	cli_mute(true);
	rc = top_look(&fresh, t->o->val[OPT_STORE], t->o->val[OPT_ALL]);
	cli_mute(false);
	t->failures = rc == CLI_OK ? 0 : t->failures + 1;
	if (rc == CLI_OK) {
		top_look_fini(&t->look);
		t->look = fresh;
	} else if (t->failures >= FAILURES_MAX) {
		screen_close(&t->screen);
		if (top_look(&fresh, t->o->val[OPT_STORE], t->o->val[OPT_ALL]) == CLI_OK)
			top_look_fini(&fresh);
		return rc;
	}
	return CLI_OK;
}

static int live(struct top *t, int sigfd)
{
	uint64_t due = now_ms();
	int rc = CLI_OK;

	while (!t->done && rc == CLI_OK) {
		draw(t);
		due += (uint64_t)(t->view.delay_s * 1000);
		while (!t->done && !wait_input(t, sigfd, due))
			draw(t);
		if (!t->done && !t->view.paused)
			rc = look_again(t);
	}
	return rc;
}

static int run_live(struct top *t)
{
	sigset_t set, old;
	int fd, rc;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		return cli_say(CLI_FAIL, "signalfd: %s. Use --once.", strerror(errno));
	screen_open(&t->screen);
	rc = live(t, fd);
	screen_fini(&t->screen);
	close(fd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (t->signal && t->signal != SIGINT)
		raise(t->signal);
	return rc;
}

int cmd_top(const struct opts *o)
{
	const char *term = getenv("TERM");
	int sort = opt_choice(o, OPT_SORT, TOP_TOTAL), rc;
	struct top t = { .o = o, .view.delay_s = 2 };
	struct out out;

	if (sort < 0 || opt_number(o, OPT_DELAY, 0.1, 3600, &t.view.delay_s))
		return CLI_USAGE;
	if (o->argc)
		return cli_misuse("takes no operand, not '%s'", o->argv[0]);
	t.view.sort = (enum top_sort)sort;
	rc = top_look(&t.look, o->val[OPT_STORE], o->val[OPT_ALL]);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON])
		top_json(&t.look);
	else if (o->val[OPT_ONCE] || !out.tty || !term || !strcmp(term, "dumb"))
		top_draw(&t.look, &t.view, &out);
	else
		rc = run_live(&t);
	top_look_fini(&t.look);
	return rc;
}
