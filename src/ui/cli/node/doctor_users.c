/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_users.c - who uses a GPU, or trains in Python, without being recorded. */
#include <string.h>

#include "cli/core/locate.h"
#include "cli/node/doctor.h"
#include "cli/node/users.h"
#include "read/procs.h"

#define NAMED 8u /* PIDs of the line */

/* "71, 72 and 3 more" */
static void name_pids(const struct users *u, char *out, size_t cap)
{
	uint32_t named = 0;
	size_t n = 0;

	*out = '\0';
	for (uint32_t i = 0; i < u->n && named < NAMED; i++)
		if (!u->user[i].recorded && !u->user[i].worker)
			n += (size_t)snprintf(out + n, cap - n, "%s%d", named++ ? ", " : "",
					      (int)u->user[i].pid);
	if (u->unrecorded > named)
		snprintf(out + n, cap - n, " and %u more", u->unrecorded - named);
}

/* Of the node's store, if this user may read it. */
static bool load_procs(struct procs *ps, const struct procs_want *want)
{
	struct admin_status s;
	struct store_why why = { "" };
	struct store *st;
	bool ok;

	if (admin_status(locate_run_dir(), &s) < 0 || !*s.store ||
	    store_open_ro(&st, s.store, &why) < 0)
		return false;
	ok = procs_load(ps, st, want) == 0;
	store_close(st);
	return ok;
}

void doctor_users(struct doctor *d, const char *root)
{
	const struct procs_want want = { .connected = true };
	struct procs ps = { 0 };
	bool known = load_procs(&ps, &want);
	struct users_want w = { .root = root, .ps = known ? &ps : NULL };
	char pids[192], hidden[96] = "";
	struct users u;

	if (users_load(&u, &w) < 0) {
		doctor_put(d, "unrecorded", HEALTH_OFF,
			   "processes that use a GPU unrecorded are not found", "mount /proc",
			   "processes on GPUs: no /proc");
		goto done;
	}
	name_pids(&u, pids, sizeof(pids));
	if (u.hidden)
		snprintf(hidden, sizeof(hidden), "; %u processes of others are hidden", u.hidden);
	if (u.unrecorded)
		doctor_put(d, "unrecorded", HEALTH_OFF,
			   "of these only what the kernel counts is known",
			   "aon ps says of each why, and the command that records it",
			   "%u process%s that use%s a GPU or train in Python %s not recorded: pid "
			   "%s%s",
			   u.unrecorded, u.unrecorded == 1 ? "" : "es",
			   u.unrecorded == 1 ? "s" : "", u.unrecorded == 1 ? "is" : "are", pids,
			   hidden);
	else
		doctor_put(d, "unrecorded", HEALTH_OK, NULL, NULL,
			   "no process uses a GPU or trains in Python unrecorded%s", hidden);
	users_fini(&u);
done:
	procs_fini(&ps);
}
