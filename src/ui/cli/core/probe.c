/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - finds probes and puts them into a program's environment; see probe.h. */
#include "cli/core/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef AON_LIBDIR
#define AON_LIBDIR "/usr/lib"
#endif

static const struct {
	const char *name, *library, *load, *chain, *what;
} probes[PROBE_COUNT] = {
#define PROBE(name, library, load, chain, what) \
	[PROBE_##name] = { #name, library, load, chain, what },
#include "cli/core/probe.tbl.h"
};

/* Owned by root, us, or whoever aon is from, whom we trust already; for nobody else to write. */
static bool trusted(const char *path, bool dir)
{
	struct stat sb, self;
	bool sticky;

	if (stat(path, &sb) < 0 || stat("/proc/self/exe", &self) < 0)
		return false;
	sticky = dir && sb.st_mode & S_ISVTX;
	return (dir ? S_ISDIR(sb.st_mode) : S_ISREG(sb.st_mode)) &&
	       (!(sb.st_mode & S_IWOTH) || sticky) &&
	       (sb.st_uid == 0 || sb.st_uid == geteuid() || sb.st_uid == self.st_uid);
}

static int check(const char *path)
{
	char dir[PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	return trusted(path, false) && trusted(dir, true) ? 0 : -EPERM;
}

int probe_find(enum probe_id id, char path[PATH_MAX])
{
	const char *const place[] = { ".", "../../app/probe", "../lib" };
	char self[PATH_MAX], try[2 * PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(place) / sizeof(place[0]); i++) {
		const char *sub = i == 1 ? probes[id].name : ".";

		snprintf(try, sizeof(try), "%.*s/%s/%s/%s", (int)(slash - self), self, place[i],
			 sub, probes[id].library);
		if (realpath(try, path))
			return check(path);
	}
	snprintf(try, sizeof(try), "%s/%s", AON_LIBDIR, probes[id].library);
	return realpath(try, path) ? check(path) : -ENOENT;
}

static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && !strncmp(list, name, len))
			return true;
	return false;
}

/* Every word of the list must be a probe's name, or `none` alone. */
static int check_list(const char *list)
{
	size_t known = 0, words = 1;

	for (const char *s = list; *s; s++)
		words += *s == ',';
	for (int i = 0; i < PROBE_COUNT; i++)
		known += listed(list, probes[i].name);
	if (known == words || !strcmp(list, "none"))
		return CLI_OK;
	return cli_misuse("--%s takes %s, or some with commas between, not '%s'",
			  opt_table[OPT_PROBE].name, opt_table[OPT_PROBE].arg, list);
}

/* What the user has set in place of the probe, and keeps; else NULL. */
static const char *kept(enum probe_id id, const char *path)
{
	const char *had = getenv(probes[id].load);
	char real[PATH_MAX];

	if (!probes[id].chain || *probes[id].chain || !had || !*had)
		return NULL;
	return realpath(had, real) && !strcmp(real, path) ? NULL : had;
}

/* What the user had set is kept: in the list, or the probe loads it and hands every call on. */
static void load(enum probe_id id, const char *path)
{
	const char *had = getenv(probes[id].load);
	char list[2 * PATH_MAX];

	if (kept(id, path)) {
		cli_say(0, "%s is %s and stays so. Going on without %s.", probes[id].load, had,
			probes[id].what);
		return;
	}
	if (had && *had && strcmp(had, path) && !probes[id].chain) {
		if (snprintf(list, sizeof(list), "%s:%s", had, path) < (int)sizeof(list))
			setenv(probes[id].load, list, 1);
		return;
	}
	if (had && *had && strcmp(had, path))
		setenv(probes[id].chain, had, 1);
	setenv(probes[id].load, path, 1);
}

/* Python finds its start-up hook before any other sitecustomize, which the hook then brings. The
 * hook lies below the library's directory, or in the build tree. */
static void load_python(const char *library)
{
	static const char *const place[] = { "aon-python", "../../../../python" };
	const char *slash = strrchr(library, '/'), *had = getenv("PYTHONPATH");
	char try[PATH_MAX + 32], hook[PATH_MAX], list[4 * PATH_MAX];

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		snprintf(try, sizeof(try), "%.*s/%s/sitecustomize.py", (int)(slash - library),
			 library, place[i]);
		if (!realpath(try, hook) || check(hook) < 0)
			continue;
		*strrchr(hook, '/') = '\0';
		if (had && !strncmp(had, hook, strlen(hook)))
			return;
		snprintf(list, sizeof(list), "%s%s%s", hook, had && *had ? ":" : "",
			 had ? had : "");
		if (strlen(list) < sizeof(list) - 1)
			setenv("PYTHONPATH", list, 1);
		return;
	}
}

static void set(enum probe_id id, bool asked)
{
	char path[PATH_MAX];
	int err = probe_find(id, path);

	if (!err)
		load(id, path);
	if (!err && (id == PROBE_torch || id == PROBE_jax))
		load_python(path);
	if (!err)
		return;
	if (asked || err != -ENOENT)
		cli_say(0, "%s: %s. Going on without %s.", probes[id].library,
			err == -EPERM ? "others may write to it" : "not found", probes[id].what);
}

int probe_setenv(const struct opts *o)
{
	const char *list = o->val[OPT_PROBE];

	if (list && check_list(list) != CLI_OK)
		return CLI_USAGE;
	for (int i = 0; i < PROBE_COUNT; i++)
		if (!list || listed(list, probes[i].name))
			set((enum probe_id)i, list);
	return CLI_OK;
}

void probe_doctor(struct doctor *d)
{
	char path[PATH_MAX], id[32], so[128];

	for (int i = 0; i < PROBE_COUNT; i++) {
		int err = probe_find((enum probe_id)i, path);

		snprintf(id, sizeof(id), "probe_%s", probes[i].name);
		snprintf(so, sizeof(so), "aon run sees no %s", probes[i].what);
		if (!err && kept((enum probe_id)i, path))
			doctor_put(d, id, HEALTH_OFF, so, "unset it to use aon's",
				   "%s is %s, and stays so", probes[i].load,
				   kept((enum probe_id)i, path));
		else if (!err)
			doctor_put(d, id, HEALTH_OK, NULL, NULL, "probe for %s %s", probes[i].what,
				   path);
		else if (err == -EPERM)
			doctor_put(d, id, HEALTH_WARN, so,
				   "let nobody else write to it or its directory: chmod o-w",
				   "probe for %s %s: others may write to it", probes[i].what, path);
		else
			doctor_put(d, id, HEALTH_OFF, so, "reinstall aon",
				   "probe for %s: not found", probes[i].what);
	}
}
