/* SPDX-License-Identifier: Apache-2.0 */
/* serve_inputs.c - opens a command's operands as runs to be queried: see serve_inputs.h. */
#include "cli/core/serve_inputs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/core/canary.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/inputs.h"
#include "cli/store/into_store.h"
#include "cli/core/locate.h"
#include "import/import.h"
#include "serve/serve.h"
#include "store/backend.h"
#include "store/store.h"

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

int served_folder(struct served *v)
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

/* An interrupted import leaves nothing behind: blocked signals wait for this. */
static int progress(void *arg, const char *path, uint64_t done, uint64_t size)
{
	static const int stop[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t waiting;

	if (sigpending(&waiting) == 0)
		for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++)
			if (sigismember(&waiting, stop[i]))
				return -ECANCELED;
	return inputs_progress(arg, path, done, size);
}

static int import_into(struct store *st, const char *from, const struct opts *o)
{
	struct import_opts io = { .progress = progress, .arg = (void *)(uintptr_t)o };
	struct import_why why = { "" };
	struct into_store *into;
	struct trace *t;
	int err = trace_new(&t);

	err = err ? err : into_store_new(&into, t, st);
	if (err < 0)
		return cli_say(CLI_FAIL, "out of memory");
	err = import_path(t, from, &io, &why);
	inputs_progress_end();
	err = err ? err : into_store_file_done(into);
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
	int rc, err = served_folder(v);

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

	if (store_is_elsewhere(path) && !strstr(path, "job=")) {
		err = serve_add_fleet(v->s, path, fleet_files(o), &why);
		return err == -EEXIST ? cli_misuse("one cluster is served at a time")
		       : err < 0      ? fleet_ask_failed(NULL, err, &why)
				      : CLI_OK;
	}
	if (store_is_elsewhere(path)) {
		err = serve_add(v->s, path, NULL, &why);
		return err < 0 ? fleet_ask_failed(NULL, err, &why) : CLI_OK;
	}
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

int served_open(struct served *v, const struct opts *o)
{
	int rc = CLI_OK;

	*v = (struct served){ .s = NULL };
	if (serve_new(&v->s) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	canary_begin();
	v->s->canary = canary_send;
	v->s->daemon_pid = canary_daemon;
	if (o->val[OPT_SERVED])
		rc = add_one(v, o->val[OPT_SERVED], o);
	else if (!o->argc)
		rc = add_default(v);
	for (int i = 0; i < o->argc && rc == CLI_OK; i++)
		rc = add_one(v, o->argv[i], o);
	return rc;
}

void served_close(struct served *v)
{
	serve_free(v->s);
	remove_folder(v);
}
