/* SPDX-License-Identifier: Apache-2.0 */
/* aon whatif - what a step would take if something in it were faster, gone or hidden. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/core/inputs.h"
#include "cli/core/out.h"
#include "read/whatif.h"

static const char *const kind_people[SIM_KINDS] = {
#define SIM_KIND(NAME, word, what) [SIM_##NAME] = what,
#include "sim/kind.tbl.h"
};

static void print_json(const struct whatif *w)
{
	struct json j;

	json_begin(&j, stdout, "aon.whatif/1");
	whatif_json(&j, w);
	json_end(&j);
}

static void print_path(const struct whatif *w, const struct out *out, uint64_t steps)
{
	static const struct col col[] = { COL_NAME("Critical path", 0), COL_NUM("now", 0),
					  COL_NUM("then", 0), COL_NUM("% now", 0) };
	int64_t max =
		w->before->span_ns > w->after->span_ns ? w->before->span_ns : w->after->span_ns;
	const struct fmt_unit *u = fmt_time_unit((uint64_t)max / steps);
	unsigned decimals = fmt_decimals((double)max / (double)steps / u->scale);
	struct table t;
	char pct[FMT_LEN];

	table_init(&t, col, sizeof(col) / sizeof(*col));
	t.unit[1] = t.unit[2] = u->name;
	for (int k = 0; k < SIM_KINDS; k++) {
		if (!w->before->by_kind[k] && !w->after->by_kind[k])
			continue;
		table_add(&t, "%s", kind_people[k]);
		table_add_time(&t, (uint64_t)w->before->by_kind[k] / steps, u, decimals);
		table_add_time(&t, (uint64_t)w->after->by_kind[k] / steps, u, decimals);
		table_add(&t, "%s",
			  fmt_percent(pct, (double)w->before->by_kind[k] /
						   (double)(w->before->span_ns ? w->before->span_ns
									       : 1)));
	}
	table_done(&t, out, 2);
}

static void print_text(const struct whatif *w, const struct opts *o)
{
	uint64_t steps = w->steps ? w->steps : 1;
	uint64_t now = (uint64_t)w->before->span_ns / steps,
		 then = (uint64_t)w->after->span_ns / steps;
	const char *what = w->steps ? "A step takes" : "The trace takes";
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], p[FMT_LEN];
	struct out out;

	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN, "%llu %s, %llu %s, replayed to %.2f %% of what was measured",
		 (unsigned long long)w->files, w->files == 1 ? "file" : "files",
		 (unsigned long long)w->steps, w->steps == 1 ? "step" : "steps",
		 100.0 * (double)w->replay_ns /
			 (double)(w->before->span_ns ? w->before->span_ns : 1));
	if (then == now)
		out_line(&out, OUT_BOLD, "  %s %s, and the change brings nothing.", what,
			 out_time(&out, a, sizeof(a), now));
	else
		out_line(&out, OUT_BOLD, "  %s %s now; with the change %s: %s %s (%s %%).", what,
			 out_time(&out, a, sizeof(a), now), out_time(&out, b, sizeof(b), then),
			 out_time(&out, c, sizeof(c), then < now ? now - then : then - now),
			 then < now ? "less" : "more",
			 fmt_percent(p,
				     (double)(then < now ? now - then : then - now) / (double)now));
	fputc('\n', stdout);
	print_path(w, &out, steps);
}

static int failed(int err, const char *why)
{
	switch (err) {
	case -ENODATA:
		return cli_say(CLI_UNSURE,
			       "nothing to replay: no call of a runtime and no GPU work in it");
	case -EINVAL:
		if (*why)
			return cli_misuse("--%s", why);
		break;
	case -ENOENT:
		return cli_say(CLI_FAIL, "%s", why);
	}
	return cli_say(CLI_FAIL, "cannot be replayed: %s", strerror(-err));
}

int cmd_whatif(const struct opts *o)
{
	struct whatif_ask ask = {
		.scale = o->val[OPT_SCALE],
		.scale_host = o->val[OPT_SCALEHOST],
		.no_sync = o->val[OPT_NOSYNC],
		.free_host = o->val[OPT_FREEHOST],
		.free_launch = o->val[OPT_FREELAUNCH],
		.overlap_comm = o->val[OPT_OVERLAP],
	};
	char why[WHATIF_WHY] = "";
	struct whatif *w = NULL;
	struct trace *t;
	int rc, err;

	rc = inputs_load(&t, o);
	if (rc != CLI_OK)
		return rc;
	err = whatif_new(&w, t, &ask, why);
	if (err < 0)
		rc = failed(err, why);
	else if (o->val[OPT_JSON])
		print_json(w);
	else
		print_text(w, o);
	if (rc == CLI_OK)
		rc = inputs_exit(t);
	whatif_free(w);
	trace_free(t);
	return rc;
}
