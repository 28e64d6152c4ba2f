/* SPDX-License-Identifier: Apache-2.0 */
/* import_store.c - traces of other tools into a store, in bounded memory. */
#include "cli/store/import_store.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/inputs.h"
#include "cli/store/into_store.h"
#include "import/import.h"
#include "store/store.h"

void import_remove(const char *to)
{
	static const char *const tail[] = { "", "-wal", "-shm" };
	char path[PATH_MAX + 8];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", to, tail[i]);
		unlink(path);
	}
}

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

/* An interrupted import leaves nothing behind. */
static int progress(void *arg, const char *path, uint64_t done, uint64_t size)
{
	return stopped ? -ECANCELED : inputs_progress(arg, path, done, size);
}

bool import_stopped(void)
{
	return stopped;
}

struct files {
	const struct opts *o;
	char *const *path;
	int paths;
	const char *to;
};

/* All files, one after the other; a file that is no trace ends it. */
static int import_all(void *arg, struct trace *t, struct into_store *into)
{
	const struct files *f = arg;
	struct import_opts io = { .progress = progress, .arg = (void *)(uintptr_t)f->o };
	struct import_why why = { "" };
	int err = 0;

	for (int i = 0; i < f->paths && !err; i++) {
		err = import_path(t, f->path[i], &io, &why);
		inputs_progress_end();
		if (!err) {
			err = into_store_file_done(into);
			if (err)
				snprintf(why.text, sizeof(why.text), "%.250s: %s", f->to,
					 strerror(-err));
		}
	}
	return err < 0 ? cli_say(CLI_FAIL, "%s", why.text) : CLI_OK;
}

/* Written aside and renamed: a store of that name is whole, whatever ended an import half way. */
static int finish(const char *part, const char *to, int rc)
{
	if (rc == CLI_OK && rename(part, to) < 0)
		rc = cli_say(CLI_FAIL, "%s: %s", to, strerror(errno));
	if (rc != CLI_OK)
		import_remove(part);
	return rc;
}

static int fill_store(struct trace *t, struct store *st, import_fill_fn *fill, void *arg)
{
	struct into_store *into;
	int rc;

	if (into_store_new(&into, t, st) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	rc = fill(arg, t, into);
	into_store_free(into);
	return rc;
}

int import_store_by(struct trace *t, const char *to, import_fill_fn *fill, void *arg)
{
	struct store_opts so = { .names_max = TRACE_NAMES_MAX + 1000, .create = true };
	struct sigaction stop = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	struct store_why why = { "" };
	char part[PATH_MAX];
	struct store *st;
	int err, rc;

	if (access(to, F_OK) == 0)
		return cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", to);
	snprintf(part, sizeof(part), "%s.part-%d", to, (int)getpid());
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	err = store_open_rw(&st, part, &so, &why);
	if (err < 0)
		return cli_say(CLI_FAIL, "%s: cannot be made: %s", to, strerror(-err));
	rc = fill_store(t, st, fill, arg);
	store_close(st);
	return finish(part, to, rc);
}

int import_store(const struct opts *o, struct trace *t, char *const path[], int paths,
		 const char *to)
{
	struct files f = { o, path, paths, to };

	return import_store_by(t, to, import_all, &f);
}
