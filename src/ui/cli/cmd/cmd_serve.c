/* SPDX-License-Identifier: Apache-2.0 */
/* aon serve - the web page and its API. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/core/out.h"
#include "cli/core/serve_inputs.h"
#include "serve/http/http.h"
#include "serve/capture_jobs.h"
#include "serve/serve.h"

/* --- the token --- */

/* A file that is new, and ours alone. */
__attribute__((format(printf, 2, 3))) static int write_secret(const char *path, const char *fmt,
							      ...)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = 0;
	va_list ap;

	if (fd < 0)
		return -errno;
	va_start(ap, fmt);
	if (vdprintf(fd, fmt, ap) < 0)
		err = -errno;
	va_end(ap);
	if (close(fd) < 0 && !err)
		err = -errno;
	return err;
}

static int get_token(char token[TOKEN_BYTES], const char *path)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	struct stat sb;
	int err;

	if (!f) {
		if (path && errno != ENOENT)
			return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
		err = auth_new_token(token);
		if (!err && path)
			err = write_secret(path, "%s\n", token);
		return err ? cli_say(CLI_FAIL, "%s: %s", path ? path : "no token", strerror(-err))
			   : CLI_OK;
	}
	if (!fgets(token, TOKEN_BYTES, f))
		*token = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	err = fstat(fileno(f), &sb);
	fclose(f);
	if (err < 0 || sb.st_mode & 077)
		return cli_say(CLI_FAIL, "%s: others may read it. Do: chmod 600 %s", path, path);
	if (!auth_good_token(token))
		return cli_say(CLI_FAIL, "%s: a token is 16 to 128 letters and digits", path);
	return CLI_OK;
}

/* --- the browser --- */

/*
 * Everybody may read the arguments of a program, so the address with its token is not one: the
 * browser is given a file of ours that leads there.
 */
static int write_redirect(const char *path, const char *address)
{
	return write_secret(path,
			    "<!doctype html><meta charset=\"utf-8\"><title>aon</title>"
			    "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
			    "<a href=\"%s\">The page of aon</a>\n",
			    address, address);
}

/* Whether a browser was asked. */
static bool open_browser(const char *file)
{
	const char *browser = getenv("BROWSER"), *display = getenv("DISPLAY"),
		   *wayland = getenv("WAYLAND_DISPLAY");
	char *argv[] = { (char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)file, NULL };
	posix_spawn_file_actions_t quiet;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	bool done;

	if (!(browser && *browser) && !(display && *display) && !(wayland && *wayland))
		return false;
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
	done = posix_spawnp(&pid, argv[0], &quiet, &attr, argv, environ) == 0;
	posix_spawn_file_actions_destroy(&quiet);
	posix_spawnattr_destroy(&attr);
	return done;
}

/* --- the command --- */

struct serving {
	const struct opts *o;
	struct served v;
	struct http *h;
	char address[512]; /* with the token */
	char redirect[PATH_MAX + 16];
};

static void announce(const struct serving *x, const char *token)
{
	const char *where = http_address(x->h);
	struct json j;

	if (x->o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.serve/1");
		json_members(&j, J_STR("address", x->address), J_STR("base", where),
			     J_STR("token", *where == 'h' ? token : NULL),
			     J_U64("pid", (uint64_t)getpid()));
		json_end(&j);
	} else {
		printf("%s\n", x->address);
	}
	fflush(stdout);
	if (!x->o->val[OPT_JSON] && isatty(STDERR_FILENO))
		fprintf(stderr, "Ctrl-C ends it.\n");
}

static void browse(struct serving *x)
{
	bool asked = false;

	if (x->o->cmd != CMD_OPEN && !x->o->val[OPT_OPENPAGE])
		return;
	if (*x->address == 'h' && served_folder(&x->v) == 0) {
		snprintf(x->redirect, sizeof(x->redirect), "%s/open.html", x->v.folder);
		asked = write_redirect(x->redirect, x->address) == 0 && open_browser(x->redirect);
	}
	if (!asked)
		fprintf(stderr, "No browser is known here: open the address above.\n");
}

/* Where decisions about findings are kept: of the service, or of the user. */
static void find_decided(char path[PATH_MAX])
{
	const char *service = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (service && *service == '/')
		snprintf(path, PATH_MAX, "%.*s/findings", (int)strcspn(service, ":"), service);
	else if (state && *state == '/')
		snprintf(path, PATH_MAX, "%s/aon/findings", state);
	else if (home && *home == '/')
		snprintf(path, PATH_MAX, "%s/.local/state/aon/findings", home);
}

/* Only by a word: without it, nothing that the page sends reaches a program. */
static int allow_capture(struct serving *x)
{
	int err = 0;

	if (!x->o->val[OPT_ALLOWCAPTURE])
		return CLI_OK;
	err = served_folder(&x->v);
	err = err ? err : ordered_new(&x->v.s->orders, x->v.folder);
	return err ? cli_say(CLI_FAIL, "no folder for captures: %s", strerror(-err)) : CLI_OK;
}

static int serve_until_stopped(struct serving *x, const sigset_t *stop)
{
	const struct opts *o = x->o;
	struct serve_opts ho = { .listen =
					 o->val[OPT_LISTEN] ? o->val[OPT_LISTEN] : "127.0.0.1:0" };
	char why[256] = "";
	int rc, sig;

	rc = get_token(ho.guard.token, o->val[OPT_TOKENFILE]);
	if (rc != CLI_OK)
		return rc;
	find_decided(x->v.s->decided);
	rc = allow_capture(x);
	if (rc != CLI_OK)
		return rc;
	if (http_start(&x->h, x->v.s, &ho, why) < 0)
		return cli_say(CLI_FAIL, "%s", why);
	snprintf(x->address, sizeof(x->address), "%s", http_address(x->h));
	if (*x->address == 'h') /* of a unix socket the peer is known */
		snprintf(x->address, sizeof(x->address), "%.300s?token=%s", http_address(x->h),
			 ho.guard.token);
	announce(x, ho.guard.token);
	browse(x);
	while (sigwait(stop, &sig) != 0)
		;
	http_stop(x->h);
	if (*x->redirect)
		unlink(x->redirect);
	return CLI_OK;
}

int cmd_serve(const struct opts *o)
{
	struct serving x = { .o = o };
	sigset_t stop;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	/* Before there are threads, and before there is something to remove. */
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	rc = served_open(&x.v, o);
	if (rc == CLI_OK)
		rc = serve_until_stopped(&x, &stop);
	served_close(&x.v);
	return rc;
}

int cmd_open(const struct opts *o)
{
	return cmd_serve(o);
}
