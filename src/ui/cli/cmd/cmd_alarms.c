/* SPDX-License-Identifier: Apache-2.0 */
/* aon alarms - the alarms of aond's detectors, from the store's journal. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report/alarms.h"
#include "cli/report/answer_text.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/locate.h"

static long print_json(struct store *st, const char *path)
{
	struct json j;
	long n;

	json_begin(&j, stdout, "aon.alarms/1");
	json_str(&j, "store", path);
	n = alarms_json(&j, st);
	json_end(&j);
	return n < 0 ? n : 1;
}

/* The first finding of the newest run comes first: an alarm says that something changed, not why. */
static void answer(struct store *st, const char *path, const struct out *out)
{
	struct procs_want want = { .run = NULL };
	struct procs ps = { 0 }, some = { 0 };
	struct short_answer a;

	if (!procs_load(&ps, st, &want) && ps.n)
		some = answer_newest_run(&ps);
	if (some.n && answer_load(&a, st, path, &some) && a.sure)
		answer_print(out, &a);
	free(some.p);
	procs_fini(&ps);
}

int cmd_alarms(const struct opts *o)
{
	char path[PATH_MAX];
	struct store *st;
	struct out out;
	int rc;
	long n;

	if (o->argc > 1)
		return cli_misuse("takes one store, not '%s' too", o->argv[1]);
	if (fleet_listed(o))
		return fleet_list_cmd(o);
	rc = fleet_not_asked(o);
	if (rc == CLI_OK)
		rc = locate_open(o->argc ? o->argv[0] : NULL, &st, path);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	if (!o->val[OPT_JSON])
		answer(st, path, &out);
	n = o->val[OPT_JSON] ? print_json(st, path) : alarms_text(st, &out, SIZE_MAX);
	if (!n)
		fprintf(stderr, "No alarm in %s.\n", path);
	if (n < 0)
		rc = locate_broke(path, (int)n);
	store_close(st);
	return rc;
}
