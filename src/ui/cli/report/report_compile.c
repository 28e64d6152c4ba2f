/* SPDX-License-Identifier: Apache-2.0 */
/* report_compile.c - torch.compile: how often, how long, and the reasons for recompilation. */
#include <string.h>

#include "cli/report/report.h"

#define RANGE "torch.compile " /* names as python/aon_hook_compile.py gives them */
#define MARK  "torch.compile: "
#define AGAIN MARK "recompiled "
#define BREAK MARK "graph break "
#define FOLD  5u

static bool is_of(const struct gather *g, const struct gather_row *r, uint32_t kind,
		  const char *prefix)
{
	return r->kind == kind && r->name &&
	       !strncmp(store_name_text(g->st, r->name), prefix, strlen(prefix));
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "12 compilations took 8.1 s; 9 of them again, 2 graph breaks." */
static bool verdict(const struct gather *g, const struct out *out)
{
	uint64_t n = 0, ns = 0, again = 0, breaks = 0;
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], d[FMT_LEN];

	for (size_t i = 0; i < g->rows; i++) {
		const struct gather_row *r = &g->row[i];

		if (is_of(g, r, EVENT_RANGE, RANGE)) {
			n += r->count;
			ns += r->total_ns;
		}
		again += is_of(g, r, EVENT_MARK, AGAIN) ? r->count : 0;
		breaks += is_of(g, r, EVENT_MARK, BREAK) ? r->count : 0;
	}
	if (!n && !again && !breaks)
		return false;
	out_line(out, again || breaks ? OUT_WARN : OUT_PLAIN,
		 "  torch.compile: %s compilation%s took %s; %s again for another input, %s graph "
		 "break%s.",
		 fmt_count(a, n), plural(n), out_time(out, b, sizeof(b), ns), fmt_count(c, again),
		 fmt_count(d, breaks), plural(breaks));
	return true;
}

void report_compile(const struct gather *g, const struct out *out)
{
	size_t shown = 0, more = 0;
	char clean[OUT_TEXT], n[FMT_LEN];

	if (g->by != BY_NAME || !verdict(g, out))
		return;
	for (size_t i = 0; i < g->rows; i++) {
		const struct gather_row *r = &g->row[i];

		if (!is_of(g, r, EVENT_MARK, MARK))
			continue;
		if (!out->all && shown == FOLD) {
			more++;
			continue;
		}
		shown++;
		fmt_clean(clean, sizeof(clean), store_name_text(g->st, r->name) + strlen(MARK),
			  out->ascii);
		out_line(out, OUT_PLAIN, "    %s x %s", fmt_count(n, r->count), clean);
	}
	if (more)
		out_line(out, OUT_PLAIN, "    + %zu more (--all)", more);
	fputc('\n', out->f);
}
