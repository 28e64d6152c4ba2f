/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - where the records went: the accounting identity, spelled out. */
#include <string.h>

#include "abi/record.h"
#include "cli/report/report.h"
#include "govern/govern.h"

static const struct {
	const char *word, *help;
} reason[ACCOUNT_LOSSES] = {
#define LOSS(num, NAME, word, side, help) [num] = { word, help },
#include "abi/loss.tbl.h"
};

static const char *reason_word(uint32_t i)
{
	return reason[i].word ? reason[i].word : "unnamed";
}

static void losses(const struct account *a, const struct out *out, uint64_t lost)
{
	uint64_t gone = lost - a->lost[AON_LOSS_ROLLED_UP];
	char n[FMT_LEN], pct[FMT_LEN];

	if (gone)
		out_line(out, OUT_WARN,
			 "  %s %% of records were lost; times and counts are of the rest.",
			 fmt_percent(pct, (double)gone / (double)a->emitted));
	for (uint32_t i = 0; i < ACCOUNT_LOSSES; i++)
		if (a->lost[i])
			out_line(out, OUT_PLAIN, "    %s %s: %s", fmt_exact(n, a->lost[i]),
				 reason_word(i), reason[i].help ? reason[i].help : "");
	if (a->untold)
		out_line(out, OUT_PLAIN, "    %s for reasons that its node knows",
			 fmt_exact(n, a->untold));
}

const char *report_level(uint32_t fidelity)
{
	return fidelity >= FIDELITY_LEVELS      ? "?"
	       : fidelity == FIDELITY_HEARTBEAT ? "steps only"
						: fidelity_table[fidelity].word;
}

/* Too wide to be a figure: it may be nothing, and the range is more than a percent. */
static bool overhead_open(const struct overhead *o)
{
	return o->lo <= 0 && o->hi - o->lo > 10000;
}

void report_overhead(const struct overhead *o, const struct out *out)
{
	bool steps = o->by != OVERHEAD_BY_LAUNCHES;
	char left[64] = "";

	if (!o->steps)
		return;
	if (o->unsampled)
		snprintf(left, sizeof(left), "; %.1f %% of %s skipped to measure it",
			 100.0 * (double)o->unsampled / (double)o->steps,
			 steps ? "steps" : "its time");
	if (o->pairs && overhead_open(o))
		out_line(out, OUT_DIM,
			 "  What recording costs %s is not known yet: between %.0f and %.0f %%, %u "
			 "pairs%s",
			 steps ? "a step" : "launches", o->lo / 1e4, o->hi / 1e4,
			 (unsigned)o->pairs, left);
	else if (o->pairs)
		out_line(out, OUT_DIM,
			 "  Recording slows %s by %.2f %% (95 %% CI: %.2f to %.2f %%)%s",
			 steps ? "a step" : "launches", o->mid / 1e4, o->lo / 1e4, o->hi / 1e4,
			 left);
	else
		out_line(out, OUT_DIM, "  Recording costs %s%.2f %% of %s, by its records alone%s",
			 o->accounted < 100 ? "less than " : "",
			 o->accounted < 100 ? 0.01 : o->accounted / 1e4,
			 steps ? "a step" : "its time", left);
	if (o->moves)
		out_line(out, OUT_DIM,
			 "  To keep its budget it reduced detail %s, to %s. Why: aon store journal",
			 o->moves == 1 ? "once" : "several times", report_level(o->fidelity));
}

void report_account(const struct account *a, const struct out *out)
{
	char e[FMT_LEN], s[FMT_LEN], l[FMT_LEN], o[FMT_LEN], f[FMT_LEN], left[64], right[160];
	uint64_t lost = account_lost(a), sum = a->stored + lost + a->overwritten + a->in_flight;

	snprintf(left, sizeof(left), "  Records: %s emitted =", fmt_exact(e, a->emitted));
	snprintf(right, sizeof(right), "%s stored + %s lost + %s overwritten + %s in flight",
		 fmt_exact(s, a->stored), fmt_exact(l, lost), fmt_exact(o, a->overwritten),
		 fmt_exact(f, a->in_flight));
	if (strlen(left) + 1 + strlen(right) <= out->width) {
		out_line(out, OUT_PLAIN, "%s %s", left, right);
	} else {
		out_line(out, OUT_PLAIN, "%s", left);
		out_line(out, OUT_PLAIN, "    %s", right);
	}
	if (sum != a->emitted)
		out_line(out, OUT_WARN, "  This does not add up, by %s: please report it.",
			 fmt_exact(e, sum > a->emitted ? sum - a->emitted : a->emitted - sum));
	if (lost)
		losses(a, out, lost);
}
