/* SPDX-License-Identifier: Apache-2.0 */
/* aon serve - the web page and its API. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/out.h"
#include "cli/served.h"
#include "serve/http.h"
#include "serve/serve.h"

/* --- the token --- */

static int write_token(const char *path, const char *token)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", token) < 0)
		err = -errno;
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
		err = guard_new_token(token);
		if (!err && path)
			err = write_token(path, token);
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
	if (!guard_good_token(token))
		return cli_say(CLI_FAIL, "%s: a token is 16 to 128 letters and digits", path);
	return CLI_OK;
}

/* --- the command --- */

static void announce(const struct opts *o, const struct http *h, const char *token)
{
	const char *where = http_address(h);
	bool tcp = !strncmp(where, "http:", 5);
	char address[512];
	struct json j;

	snprintf(address, sizeof(address), "%s%s%s", where, tcp ? "?token=" : "", tcp ? token : "");
	if (o->val[OPT_JSON]) {
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.serve/1");
		json_str(&j, "address", address);
		json_str(&j, "base", where);
		json_str(&j, "token", tcp ? token : NULL);
		json_u64(&j, "pid", (uint64_t)getpid());
		json_end(&j);
	} else {
		printf("%s\n", address);
	}
	fflush(stdout);
	if (!o->val[OPT_JSON] && isatty(STDERR_FILENO))
		fprintf(stderr, "Ctrl-C ends it.\n");
}

static int serve_until_stopped(const struct opts *o, struct serve *s)
{
	struct http_opts ho = { .listen = o->val[OPT_LISTEN] ? o->val[OPT_LISTEN] : "127.0.0.1:0" };
	char why[256] = "";
	struct http *h;
	sigset_t stop;
	int rc, sig;

	rc = get_token(ho.guard.token, o->val[OPT_TOKENFILE]);
	if (rc != CLI_OK)
		return rc;
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &stop, NULL); /* before there are threads */
	if (http_start(&h, s, &ho, why) < 0)
		return cli_say(CLI_FAIL, "%s", why);
	announce(o, h, ho.guard.token);
	while (sigwait(&stop, &sig) != 0)
		;
	http_stop(h);
	return CLI_OK;
}

int cmd_serve(const struct opts *o)
{
	struct served v;
	int rc = served_open(&v, o);

	if (rc == CLI_OK)
		rc = serve_until_stopped(o, v.s);
	served_close(&v);
	return rc;
}
