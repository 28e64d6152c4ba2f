/* SPDX-License-Identifier: Apache-2.0 */
/* ask_finding.c - lists findings: alarms of aond on nodes, and findings of aon diagnose. */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* how long before the span a finding that lasts into it may have begun */
#define KEPT_NS (30 * UINT64_C(86400000000000))

static int on_finding(void *arg, const struct rowin_field *f)
{
	struct fleet_findings *fs = arg;
	struct fleet_finding *x = ask_grow(&fs->f, &fs->n, sizeof(*x));

	if (!x)
		return -ENOMEM;
	ask_word(x->job, sizeof(x->job), &f[0]);
	ask_word(x->kind, sizeof(x->kind), &f[1]);
	ask_word(x->level, sizeof(x->level), &f[2]);
	ask_word(x->part, sizeof(x->part), &f[3]);
	ask_word(x->host, sizeof(x->host), &f[4]);
	ask_word(x->text, sizeof(x->text), &f[5]);
	ask_word(x->source, sizeof(x->source), &f[6]);
	x->t_ns = f[7].u;
	x->until_ns = f[8].u;
	x->gain = f[9].d;
	x->confidence = f[10].d;
	x->act = f[11].u;
	return 0;
}

void fleet_findings_fini(struct fleet_findings *fs)
{
	free(fs->f);
	*fs = (struct fleet_findings){ .n = 0 };
}

int fleet_findings(struct fleet_findings *out, struct fleet *f, const char *job,
		   struct fleet_span span, size_t most, struct store_why *why)
{
	struct fleet_findings fs = { .n = 0 };
	int err;

	/* Later rows of a finding (over, or worse) have the same t_ns. */
	err = ask_rows(
		&(struct question){ f, job, { 0 }, "sssssssqqddq", most, on_finding, &fs, why },
		"SELECT job, kind, level, part, h, x, source, t_ns, u, g, c, a FROM (SELECT job, "
		"kind, level, part, source, t_ns, any(host) AS h, argMax(text, gain) AS x, "
		"max(until_ns) AS u, toFloat64(max(gain)) AS g, toFloat64(max(confidence)) AS c, "
		"toUInt64(max(act)) AS a FROM finding WHERE {job} AND t_ns < %" PRIu64
		" AND day >= toDate(%" PRIu64
		") GROUP BY job, kind, level, part, source, t_ns) WHERE t_ns >= %" PRIu64
		" OR u >= %" PRIu64 " OR (u = 0 AND source = 'diagnose') ORDER BY a DESC, u != 0, "
		"g DESC, t_ns DESC LIMIT 1 BY job, kind, level, part LIMIT %zu",
		span.to_ns, span.from_ns > KEPT_NS ? (span.from_ns - KEPT_NS) / 1000000000u : 0,
		span.from_ns, span.from_ns, most);
	if (err)
		fleet_findings_fini(&fs);
	else
		*out = fs;
	return err;
}
