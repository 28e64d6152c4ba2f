/* SPDX-License-Identifier: Apache-2.0 */
/* aon top - live view of what runs and where its time goes; reads the store, changes nothing. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/core/tty.h"
#include "cli/report/top.h"

#define FAILURES_MAX 5

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };

struct top {
	const struct opts *o;
	struct top_look look;
	struct top_view view;
	struct tty screen;
	bool done;
	int signal; /* that ends us */
	int failures;
};

static void draw(struct top *t)
{
	FILE *f = tty_begin(&t->screen, &t->view.rows);
	struct out out;

	if (!f)
		return;
	out_init(&out, stdout, t->o);
	out.f = f;
	top_draw(&t->look, &t->view, &out);
	tty_end(&t->screen);
}

static void type_filter(struct top_view *v, char key)
{
	size_t len = strlen(v->filter);

	if (key == '\n' || key == '\r' || key == 27) {
		v->typing = false;
		if (key == 27)
			v->filter[0] = '\0';
	} else if (key == 127 || key == 8) {
		if (len)
			v->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < 127 && len + 1 < sizeof(v->filter)) {
		v->filter[len] = key;
		v->filter[len + 1] = '\0';
	}
	v->scroll = 0;
}

static void scroll(struct top_view *v, long by)
{
	long at = (long)v->scroll + by;

	v->scroll = at > 0 ? (size_t)at : 0;
}

static void on_arrow(struct top_view *v, char key)
{
	long page = v->rows > 20 ? (long)v->rows - 15 : 5;

	switch (key) {
	case 'A':
		scroll(v, -1);
		break;
	case 'B':
		scroll(v, 1);
		break;
	case '5':
		scroll(v, -page);
		break;
	case '6':
		scroll(v, page);
		break;
	case 'H':
		v->scroll = 0;
		break;
	default:
		break;
	}
}

static void on_key(struct top *t, char key)
{
	struct top_view *v = &t->view;

	if (v->typing) {
		type_filter(v, key);
	} else if (key == 'q') {
		t->done = true;
	} else if (key == '?' || key == 'h') {
		v->help = !v->help;
	} else if (key == 's') {
		v->sort = (v->sort + 1) % TOP_SORTS;
		v->scroll = 0;
	} else if (key == 'p') {
		v->paused = !v->paused;
	} else if (key == '/') {
		v->typing = true;
		v->filter[0] = '\0';
	} else if (key == 27) {
		v->help = false;
		v->filter[0] = '\0';
	}
}

/* Arrows come as an escape, a bracket and a letter, or a digit and a tilde. */
static void on_input(struct top *t, const char *key, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (key[i] == 27 && i + 2 < n && (key[i + 1] == '[' || key[i + 1] == 'O')) {
			on_arrow(&t->view, key[i + 2]);
			i += i + 3 < n && key[i + 3] == '~' ? 3 : 2;
		} else {
			on_key(t, key[i]);
		}
	}
}

static void on_signal(struct top *t, int sig)
{
	if (sig == SIGWINCH || sig == SIGCONT) {
		tty_forget(&t->screen);
	} else if (sig == SIGTSTP) {
		tty_close(&t->screen);
		raise(SIGSTOP);
		tty_open(&t->screen);
	} else {
		t->signal = sig;
		t->done = true;
	}
}

/* Waits for a key, a signal or the time; true when a new look is due. */
static bool wait_input(struct top *t, int sigfd, uint64_t due_ms)
{
	struct pollfd p[2] = { { .fd = sigfd, .events = POLLIN },
			       { .fd = STDIN_FILENO, .events = POLLIN } };
	uint64_t now = clock_mono_ms();
	struct signalfd_siginfo si;
	char key[64];
	ssize_t n;

	if (poll(p, t->screen.keys ? 2 : 1, now < due_ms ? (int)(due_ms - now) : 0) <= 0)
		return clock_mono_ms() >= due_ms;
	if (p[0].revents && read(sigfd, &si, sizeof(si)) == sizeof(si))
		on_signal(t, (int)si.ssi_signo);
	if (t->screen.keys && p[1].revents) {
		n = read(STDIN_FILENO, key, sizeof(key));
		if (n > 0)
			on_input(t, key, (size_t)n);
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
		tty_close(&t->screen);
		if (top_look(&fresh, t->o->val[OPT_STORE], t->o->val[OPT_ALL]) == CLI_OK)
			top_look_fini(&fresh);
		return rc;
	}
	return CLI_OK;
}

static int live(struct top *t, int sigfd)
{
	uint64_t due = clock_mono_ms();
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
	tty_open(&t->screen);
	rc = live(t, fd);
	tty_fini(&t->screen);
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
