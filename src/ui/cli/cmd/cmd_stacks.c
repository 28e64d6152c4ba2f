/* SPDX-License-Identifier: Apache-2.0 */
/* aon stacks - where processes stand now, those at the same place together. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/core/locate.h"
#include "read/procs.h"
#include "stacks/find.h"

#define PIDS 256u

struct words {
	char *argv[PIDS + 4];
	int n;
};

static struct words w;

static void add(const char *word)
{
	if (w.n == PIDS + 3)
		return;
	w.argv[w.n++] = strdup(word);
}

/* The live ranks of the job, by the store. CLI_OK, or what to exit with. */
static int add_job(const struct opts *o)
{
	struct procs_want want = { .connected = true };
	char path[PATH_MAX], word[32];
	struct store *st;
	struct procs ps;
	int rc = locate_open(o->val[OPT_STORE], &st, path), err, was = w.n;

	if (rc != CLI_OK)
		return rc;
	err = procs_load(&ps, st, &want);
	for (size_t i = 0; !err && i < ps.n; i++) {
		const struct process *p = &ps.p[i];

		if (strcmp(p->job, o->val[OPT_JOB]))
			continue;
		if (p->origin.rank)
			snprintf(word, sizeof(word), "%u:%u", p->pid, p->origin.rank - 1);
		else
			snprintf(word, sizeof(word), "%u", p->pid);
		add(word);
	}
	procs_fini(&ps);
	store_close(st);
	if (err < 0)
		return locate_broke(path, err);
	return w.n > was ? CLI_OK
			 : cli_say(CLI_FAIL, "no process of job %s is connected. See: aon ps",
				   o->val[OPT_JOB]);
}

int cmd_stacks(const struct opts *o)
{
	char path[PATH_MAX];
	uint32_t pid;
	int rc = CLI_OK;

	if (!o->argc == !o->val[OPT_JOB])
		return cli_misuse("takes process ids, or --job");
	add("aon-stacks");
	add(o->val[OPT_JSON] ? "--json" : "--lines");
	if (o->val[OPT_THREADS])
		add("--threads");
	for (int i = 0; i < o->argc; i++) {
		if (num_u32(o->argv[i], 1, INT_MAX, &pid) < 0)
			return cli_misuse("takes process ids, not '%s'", o->argv[i]);
		add(o->argv[i]);
	}
	if (o->val[OPT_JOB])
		rc = add_job(o);
	if (rc != CLI_OK)
		return rc;
	if (stacks_find(path) < 0)
		return cli_say(CLI_FAIL, "aon-stacks is not installed beside aon");
	fflush(stdout);
	execv(path, w.argv);
	return cli_say(CLI_FAIL, "%s: %s", path, strerror(errno));
}
