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
#include "cli/inputs.h"
#include "cli/into_store.h"
#include "cli/locate.h"
#include "cli/out.h"
#include "import/import.h"
#include "serve/http.h"
#include "serve/serve.h"
#include "store/store.h"

/* --- what is served --- */

struct served {
	struct serve *s;
	char folder[PATH_MAX]; /* of stores that were made of traces; "": none yet */
	size_t imported;
};

static void remove_folder(struct served *v)
{
	static const char *const tail[] = { "", "-wal", "-shm" };
	char path[PATH_MAX + 32];

	if (!*v->folder)
		return;
	for (size_t i = 0; i < v->imported; i++)
		for (size_t k = 0; k < 3; k++) {
			snprintf(path, sizeof(path), "%s/%zu.db%s", v->folder, i, tail[k]);
			unlink(path);
		}
	rmdir(v->folder);
}

static int make_folder(struct served *v)
{
	const char *tmp = getenv("TMPDIR");

	if (*v->folder)
		return 0;
	snprintf(v->folder, sizeof(v->folder), "%.4000s/aon-serve-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(v->folder))
		return 0;
	*v->folder = '\0';
	return -errno;
}

static int import_into(struct store *st, const char *from, const struct opts *o)
{
	struct import_opts io = { .progress = inputs_progress, .arg = (void *)(uintptr_t)o };
	struct import_why why = { "" };
	struct into_store *into;
	struct trace *t;
	int err = trace_new(&t);

	err = err ? err : into_store_new(&into, t, st);
	if (err < 0)
		return cli_say(CLI_FAIL, "out of memory");
	err = import_path(t, from, &io, &why);
	inputs_progress_end();
	if (!err)
		err = into_store_file_done(into);
	into_store_free(into);
	if (err)
		cli_say(CLI_FAIL, "%s", *why.text ? why.text : strerror(-err));
	else
		inputs_say_damage(t);
	trace_free(t);
	return err ? CLI_FAIL : CLI_OK;
}

/* A trace becomes a store, so that one of ten million events is not kept in memory. */
static int add_trace(struct served *v, const char *from, const struct opts *o)
{
	struct store_opts so = { .names_max = TRACE_NAMES_MAX + 1000, .create = true };
	char path[PATH_MAX + 32], label[PATH_MAX];
	struct store_why why = { "" };
	struct store *st;
	int rc, err = make_folder(v);

	if (err < 0)
		return cli_say(CLI_FAIL, "no place for what is imported: %s. Set TMPDIR.",
			       strerror(-err));
	snprintf(path, sizeof(path), "%s/%zu.db", v->folder, v->imported++);
	err = store_open_rw(&st, path, &so, &why);
	if (err < 0)
		return cli_say(CLI_FAIL, "%s: cannot be made: %s", path, strerror(-err));
	rc = import_into(st, from, o);
	store_close(st);
	if (rc != CLI_OK)
		return rc;
	err = serve_add(v->s, path, realpath(from, label) ? label : from, &why);
	return err < 0 ? locate_failed(path, err, &why) : CLI_OK;
}

static int add_one(struct served *v, const char *path, const struct opts *o)
{
	struct store_why why = { "" };
	struct stat sb;
	int err;

	if (!strcmp(path, "-") || (!stat(path, &sb) && !S_ISREG(sb.st_mode)))
		return add_trace(v, path, o);
	err = serve_add(v->s, path, NULL, &why);
	if (err == -EMEDIUMTYPE)
		return add_trace(v, path, o);
	return err < 0 ? locate_failed(path, err, &why) : CLI_OK;
}

static int add_default(struct served *v)
{
	struct store_why why = { "" };
	char path[PATH_MAX];
	struct store *st;
	int err, rc = locate_open(NULL, &st, path);

	if (rc != CLI_OK)
		return rc;
	store_close(st);
	err = serve_add(v->s, path, NULL, &why);
	return err < 0 ? locate_failed(path, err, &why) : CLI_OK;
}

static int add_all(struct served *v, const struct opts *o)
{
	int rc = CLI_OK;

	if (serve_new(&v->s) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	if (!o->argc)
		rc = add_default(v);
	for (int i = 0; i < o->argc && rc == CLI_OK; i++)
		rc = add_one(v, o->argv[i], o);
	return rc;
}

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
	struct served v = { .s = NULL };
	int rc = add_all(&v, o);

	if (rc == CLI_OK)
		rc = serve_until_stopped(o, v.s);
	serve_free(v.s);
	remove_folder(&v);
	return rc;
}
