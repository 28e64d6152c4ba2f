/* SPDX-License-Identifier: Apache-2.0 */
/* aon validate - is this node what it should be: its settings, against a golden profile, against others. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/node/validate.h"
#include "validate/sandbox.h"
#include "validate/expect.h"
#include "validate/gpus.h"
#include "validate/log.h"
#include "validate/node.h"

#define LOG_BYTES (16u << 20)
#define NODES     1024u
#define BMC_DIR   "/run/aon/bmc"

/* What each may take. A health check is to end within 5 s, whatever hangs. */
#define FILES_MS        5000u
#define NVML_MS         10000u
#define HEALTH_FILES_MS 1500u
#define HEALTH_NVML_MS  2500u

static int say_file(const char *path, int err, const char *expected)
{
	return cli_say(CLI_FAIL, "%s: %s%s", path, err == -EBADMSG ? "expected " : strerror(-err),
		       err == -EBADMSG ? expected : "");
}

/* --- logs --- */

static int read_log(struct validation *v, const char *path)
{
	FILE *in = fopen(path, "re");
	struct log_said said;
	char *text;
	size_t n;
	int rc = CLI_OK;

	if (!in)
		return say_file(path, -errno, "");
	text = malloc(LOG_BYTES);
	n = text ? fread(text, 1, LOG_BYTES, in) : 0;
	if (!text || ferror(in))
		rc = say_file(path, text ? -EISDIR : -ENOMEM, "");
	else if (n == LOG_BYTES)
		rc = say_file(path, -EFBIG, "");
	else if (log_facts(&v->f, text, n, &said))
		rc = cli_say(CLI_FAIL, "%s:%u: %s%sexpected %s", path, said.line,
			     said.tool ? said.tool : "", said.tool ? ": " : "", said.expected);
	fclose(in);
	free(text);
	return rc;
}

static int read_logs(struct validation *v, const char *paths)
{
	char *copy = strdup(paths), *at = copy, *path;
	int rc = copy ? CLI_OK : CLI_FAIL;

	while (rc == CLI_OK && (path = strsep(&at, ",")))
		if (*path)
			rc = read_log(v, path);
	free(copy);
	return rc;
}

/* --- nodes --- */

struct nodes {
	char *name[NODES]; /* owned */
	struct facts f[NODES];
	size_t n;
};

static int add_node(struct nodes *ns, const char *path)
{
	const char *base = strrchr(path, '/');
	char name[64];
	int err;

	if (ns->n == NODES)
		return cli_say(CLI_FAIL, "more than %u nodes", NODES);
	err = facts_load(&ns->f[ns->n], path);
	if (err)
		return say_file(path, err,
				"a report or a profile of aon validate, or a state of a BMC");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(base ? base + 1 : path, "."),
		 base ? base + 1 : path);
	ns->name[ns->n++] = strdup(name);
	return CLI_OK;
}

static int add_folder(struct nodes *ns, const char *dir)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX];
	struct dirent *e;
	int rc = CLI_OK;

	if (!d)
		return say_file(dir, -errno, "");
	while (rc == CLI_OK && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (*e->d_name == '.' || n < 6 || strcmp(e->d_name + n - 5, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		rc = add_node(ns, path);
	}
	closedir(d);
	return rc;
}

static int compare(struct validation *v, const char *folder)
{
	struct nodes *ns = calloc(1, sizeof(*ns));
	int rc = ns ? CLI_OK : CLI_FAIL;

	if (rc == CLI_OK && folder)
		rc = add_folder(ns, folder);
	for (int i = 0; rc == CLI_OK && i < v->o->argc; i++)
		rc = add_node(ns, v->o->argv[i]);
	if (rc == CLI_OK && ns->n < 3)
		rc = cli_say(CLI_FAIL, "%zu nodes: to tell who is otherwise than most takes three",
			     ns->n);
	if (rc == CLI_OK && checks_nodes(&v->c, (const char *const *)ns->name, ns->f, ns->n))
		rc = cli_say(CLI_FAIL, "no memory");
	if (rc == CLI_OK)
		facts_set(&v->f, "nodes", "%zu", ns->n);
	for (size_t i = 0; ns && i < ns->n; i++) {
		free(ns->name[i]);
		facts_fini(&ns->f[i]);
	}
	free(ns);
	return rc;
}

/* --- this node --- */

static void look(struct sandbox *a, void *arg)
{
	sandbox_at(a, "reading /proc and /sys");
	node_facts(&a->f, arg);
}

/* NVML is of this machine: with another root it is asked only if it is named. */
static int this_node(struct validation *v)
{
	const char *root = v->o->val[OPT_ROOT] ? v->o->val[OPT_ROOT] : "",
		   *library = getenv("AON_NVML");
	bool health = v->o->val[OPT_HEALTH];
	char at[SANDBOX_AT] = "";
	int err;

	if (*root && access(root, R_OK | X_OK) < 0)
		return cli_say(CLI_FAIL, "%s: %s", root, strerror(errno));
	err = sandbox_run(&v->f, health ? HEALTH_FILES_MS : FILES_MS, look, (void *)root, at);

	if (err)
		return cli_say(CLI_FAIL, "%s: %s", at, strerror(-err));
	library = library && *library ? library : NULL;
	if (!*root || library)
		gpus_ask(&v->f, library, health ? HEALTH_NVML_MS : NVML_MS);
	return CLI_OK;
}

/* Firmware, BIOS and parts, as the BMC told aon-collect: "bmc/...". */
static int read_bmc(struct validation *v, const char *path)
{
	struct facts b = { 0 };
	char key[FACT_KEY];
	int err = facts_load(&b, path);

	for (size_t i = 0; !err && i < b.n; i++)
		if ((size_t)snprintf(key, sizeof(key), "bmc/%s", b.f[i].key) < sizeof(key))
			facts_set(&v->f, key, "%s", b.f[i].value);
	facts_fini(&b);
	return err ? say_file(path, err, "a state of a BMC, as aon-collect keeps it in " BMC_DIR)
		   : CLI_OK;
}

/* The state of the only BMC that is there: where there are more, none of them is known to be this node's. */
static bool own_bmc(char *path, size_t cap)
{
	DIR *d = opendir(BMC_DIR);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (*e->d_name != '.' && len > 5 && !strcmp(e->d_name + len - 5, ".json") &&
		    ++n == 1)
			snprintf(path, cap, BMC_DIR "/%s", e->d_name);
	}
	if (d)
		closedir(d);
	return n == 1;
}

static int against_profile(struct validation *v, const char *path)
{
	struct facts golden = { 0 };
	int err = facts_load(&golden, path), rc;

	rc = err ? say_file(path, err, "a profile: aon validate --learn FILE writes one")
	     : checks_profile(&v->c, &v->f, &golden) ? CLI_FAIL
						     : CLI_OK;
	facts_fini(&golden);
	return rc;
}

static int gather(struct validation *v)
{
	const struct opts *o = v->o;
	char bmc[PATH_MAX];
	int rc;

	if (o->argc || o->val[OPT_RACKDIR])
		return compare(v, o->val[OPT_RACKDIR]);
	rc = this_node(v);
	if (rc == CLI_OK && o->val[OPT_BMC])
		rc = read_bmc(v, o->val[OPT_BMC]);
	else if (rc == CLI_OK && !o->val[OPT_ROOT] && own_bmc(bmc, sizeof(bmc)))
		rc = read_bmc(v, bmc);
	if (rc == CLI_OK && o->val[OPT_LOGS])
		rc = read_logs(v, o->val[OPT_LOGS]);
	if (rc == CLI_OK && o->val[OPT_MEASURE])
		rc = validate_measure(v);
	if (rc == CLI_OK) {
		expect_logs(&v->f);
		expect_measured(&v->f);
	}
	if (rc == CLI_OK && (checks_advice(&v->c, &v->f) || checks_expected(&v->c, &v->f)))
		rc = cli_say(CLI_FAIL, "no memory");
	if (rc == CLI_OK && o->val[OPT_GOLDEN])
		rc = against_profile(v, o->val[OPT_GOLDEN]);
	return rc;
}

int cmd_validate(const struct opts *o)
{
	struct validation v = { .o = o };
	int rc;

	if (o->argc && (o->val[OPT_LEARN] || o->val[OPT_GOLDEN] || o->val[OPT_LOGS] ||
			o->val[OPT_MEASURE] || o->val[OPT_HEALTH]))
		return cli_misuse(
			"compares the nodes that are named, or looks at this one: not both");
	if (o->val[OPT_HEALTH] && o->val[OPT_MEASURE])
		return cli_misuse("--health ends within seconds: it does not measure");
	rc = gather(&v);
	if (rc == CLI_OK)
		rc = validate_save(&v);
	if (rc == CLI_OK) {
		validate_print(&v);
		rc = checks_worst(&v.c) == CHECK_FAIL ? CLI_FAIL : CLI_OK;
	}
	checks_fini(&v.c);
	facts_fini(&v.f);
	return rc;
}
