/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spank_aon.c - a SPANK plugin of Slurm: passes the place of the node's aond and the job's name to the
 * tasks, so that in a cluster with several Slurms no two jobs have the same name.
 *
 *	plugstack.conf:  optional spank_aon.so [run_dir=/run/aon] [prefix=alpha-]
 *
 * It runs in slurmstepd and must never prevent a task from starting: on any failure it sets nothing.
 * It does not override what the user has set. docs/identity.md
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <slurm/spank.h>

#define VALUE_MAX 96

SPANK_PLUGIN(aon, 1)

/* The value of key= among the plugin's arguments; NULL: none, or none that is a name or path. */
static const char *arg_of(int ac, char **av, const char *key)
{
	size_t n = strlen(key);

	for (int i = 0; i < ac; i++) {
		const char *v = av[i] + n + 1;

		if (strncmp(av[i], key, n) || av[i][n] != '=' || strlen(v) >= VALUE_MAX)
			continue;
		for (const char *c = v; *c; c++)
			if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			      (*c >= '-' && *c <= ':') || *c == '_'))
				return NULL;
		return *v ? v : NULL;
	}
	return NULL;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av);

/* In the task, as its user, before its program starts. */
int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	const char *run_dir = arg_of(ac, av, "run_dir"), *prefix = arg_of(ac, av, "prefix");
	char job[VALUE_MAX + 16];
	uint32_t id = 0;

	if (!spank_remote(sp))
		return ESPANK_SUCCESS;
	if (run_dir)
		spank_setenv(sp, "AON_RUN_DIR", run_dir, 0);
	if (spank_get_item(sp, S_JOB_ID, &id) == ESPANK_SUCCESS && id) {
		snprintf(job, sizeof(job), "%s%u", prefix ? prefix : "", id);
		spank_setenv(sp, "AON_JOB", job, 0);
	}
	return ESPANK_SUCCESS;
}
