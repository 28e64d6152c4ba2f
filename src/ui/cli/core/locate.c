/* SPDX-License-Identifier: Apache-2.0 */
/* locate.c - finds the daemon and the store to read; see locate.h. */
#include "cli/core/locate.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "store/backend.h"

#define STATUS_MS 2000

static void on_info(void *arg, char *line)
{
	struct admin_status *s = arg;
	char *value = line + strcspn(line, " =");

	if (*value)
		*value++ = '\0';
	if (!strcmp(line, "version"))
		snprintf(s->version, sizeof(s->version), "%s", value);
	else if (!strcmp(line, "store"))
		snprintf(s->store, sizeof(s->store), "%s", value);
	else if (!strcmp(line, "pid"))
		s->pid = num_front(value, NULL);
	else if (!strcmp(line, "uptime_s"))
		s->uptime_s = num_front(value, NULL);
	else if (!strcmp(line, "sessions"))
		s->sessions = num_front(value, NULL);
	else if (!strcmp(line, "sampled"))
		s->sampled = num_front(value, NULL);
	else if (!strcmp(line, "sampling"))
		snprintf(s->sampling, sizeof(s->sampling), "%s", value);
}

int admin_status(const char *run_dir, struct admin_status *out)
{
	memset(out, 0, sizeof(*out));
	return admin_ask(run_dir, "info", STATUS_MS, on_info, out);
}

/* The newest ./aon-*.db, if there is one. */
static bool newest_here(char path[PATH_MAX])
{
	time_t best = 0;
	struct stat sb;
	glob_t g;

	*path = '\0';
	if (glob("aon-*.db", 0, NULL, &g) != 0)
		return false;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (stat(g.gl_pathv[i], &sb) < 0 || !S_ISREG(sb.st_mode) || sb.st_mtime < best)
			continue;
		best = sb.st_mtime;
		snprintf(path, PATH_MAX, "%s", g.gl_pathv[i]);
	}
	globfree(&g);
	return *path != '\0';
}

static int choose(char path[PATH_MAX])
{
	struct admin_status s;

	if (admin_status(locate_run_dir(), &s) == 0 && *s.store && access(s.store, R_OK) == 0) {
		snprintf(path, PATH_MAX, "%s", s.store);
		return CLI_OK;
	}
	if (access(NODE_STORE, R_OK) == 0) {
		snprintf(path, PATH_MAX, NODE_STORE);
		return CLI_OK;
	}
	if (newest_here(path)) {
		static bool told; /* a command may ask several times */

		if (!told)
			cli_say(CLI_OK, "no node store to read here; reading ./%s, the newest.",
				path);
		told = true;
		return CLI_OK;
	}
	if (access(NODE_STORE, F_OK) == 0 || errno == EACCES || *s.store)
		return cli_say(CLI_FAIL,
			       "%s: not readable by you. Join group aon, or record your "
			       "own: aon run -- CMD",
			       *s.store ? s.store : NODE_STORE);
	return cli_say(CLI_FAIL,
		       "no store: no aond runs here and there is no ./aon-*.db. Record one: "
		       "aon run -- CMD");
}

static const char *remedy(int err)
{
	switch (err) {
	case -ENOENT:
		return "Check the name, or record one: aon run -- CMD";
	case -EACCES:
	case -EPERM:
		return "Ask its owner, or join its group.";
	case -EMEDIUMTYPE:
	case -EISDIR:
		return "Give a file that aon wrote.";
	case -EPROTO:
		return "Update aon.";
	case -EBADMSG:
		return "Save what is whole: aon recover FILE -o NEW";
	case -EBUSY:
		return "Stop the aond that writes it, or choose another file.";
	case -EEXIST:
		return "Name a file that is not there.";
	case -ENOSPC:
		return "Make room, or choose another place.";
	default:
		return "Nothing was changed.";
	}
}

int locate_failed(const char *path, int err, const struct store_why *why)
{
	static const char *const tail[] = { ": try `", ": `", ": update" };
	const char *what = why && *why->text ? why->text : strerror(-err);
	size_t len = strlen(path), keep = SIZE_MAX;

	if (store_is_elsewhere(path) && why && *why->text)
		return cli_say(CLI_FAIL, "%s", what); /* with its address */
	if (!strncmp(what, path, len))                /* it stands in front already */
		what += len + strspn(what + len, ": ");
	for (size_t i = 0; i < sizeof(tail) / sizeof(tail[0]); i++) { /* the remedy is ours */
		const char *at = strstr(what, tail[i]);

		if (at && (size_t)(at - what) < keep)
			keep = (size_t)(at - what);
	}
	if (keep == SIZE_MAX)
		keep = strlen(what);
	return cli_say(CLI_FAIL, "%s: %.*s. %s", path, (int)keep, what, remedy(err));
}

int locate_broke(const char *path, int err)
{
	return cli_say(CLI_FAIL, "%s: cannot be read on: %s. Check it: aon store check %s", path,
		       strerror(-err), path);
}

int locate_open(const char *given, struct store **st, char path[PATH_MAX])
{
	struct store_why why = { "" };
	int err;

	if (given)
		snprintf(path, PATH_MAX, "%s", given);
	else if (choose(path) != CLI_OK)
		return CLI_FAIL;
	err = store_open_ro(st, path, &why);
	return err < 0 ? locate_failed(path, err, &why) : CLI_OK;
}
