/* SPDX-License-Identifier: Apache-2.0 */
/* leased.c - see leased.h. */
#include "collect/leased.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "collect/emit.h"

enum leased leased_parse(const char *text, uint64_t now_ns)
{
	uint64_t until;
	char hw[8];

	/* An aond that ended, and did not come back, leaves it: then its time ends it. */
	if (sscanf(text, "%7s %19" SCNu64, hw, &until) != 2 || now_ns >= until)
		return LEASED_NO;
	return !strcmp(hw, "pm") ? LEASED_PM : !strcmp(hw, "dcgm") ? LEASED_DCGM : LEASED_NO;
}

bool leased_look(enum leased *now, const char *run_dir, const char *what, struct emit *e)
{
	enum leased was = *now;
	char path[4096], text[64];
	FILE *f;

	if (!run_dir)
		return false;
	*now = LEASED_NO;
	snprintf(path, sizeof(path), "%s/" LEASED_NAME, run_dir);
	f = fopen(path, "re");
	if (f) {
		if (fgets(text, sizeof(text), f))
			*now = leased_parse(text, clock_mono_ns());
		fclose(f);
	}
	if (*now == was)
		return false;
	emit_event(e, "lease", "%s: %s", what,
		   *now == LEASED_NO   ? "measured again: the counters are free"
		   : *now == LEASED_PM ? "not measured: a tool has a lease on the counters (pm)"
				       : "not measured: DCGM has a lease on the counters (dcgm)");
	return true;
}
