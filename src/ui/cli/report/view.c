/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - reads the operands, has them analysed, and prints a summary of a line or two. */
#include "cli/report/view.h"

#include <ctype.h>
#include <string.h>

#include "cli/report/alarms.h"
#include "cli/core/inputs.h"
#include "insight/live/answer.h"
#include "insight/live/find_live.h"
#include "read/join.h"

/* --device: what GPUs are that the trace does not tell. */
static int assume(const struct opts *o)
{
	const struct gpu *g = o->val[OPT_DEVICE_OF] ? gpu_find(o->val[OPT_DEVICE_OF]) : NULL;

	if (o->val[OPT_DEVICE_OF] && !g)
		return cli_say(CLI_FAIL, "no device '%s' is known. See: aon roofline devices",
			       o->val[OPT_DEVICE_OF]);
	gpu_assume(g);
	return CLI_OK;
}

/* Of one store alone: telemetry is its node's. */
static int join_telemetry(struct view *v)
{
	char path[PATH_MAX];
	struct store *st = alarms_store(v->o, path);
	int err = st ? read_join(v->in, st, 0, 0) : 0;

	store_close(st);
	return err;
}

/* Of a run that is too large for it, the newest steps. Without, the findings stand on their own. */
static int replay_newest(struct view *v)
{
	uint64_t from_ns = 0, to_ns = 0;
	struct trace *t = NULL;
	int err = inputs_window(&t, v->o, &from_ns, &to_ns);

	err = err ? 0 : findings_replay(v->fs, v->in, t, from_ns, to_ns);
	trace_free(t);
	return err;
}

int view_open(struct view *v, const struct opts *o, enum view_by by)
{
	bool swept = by == VIEW_CLASS || by == VIEW_RANK || by == VIEW_STREAM;
	bool less = swept || by == VIEW_STEP;
	bool judged = by == VIEW_ALL || by == VIEW_EVENTS;
	int rc, err;

	memset(v, 0, sizeof(*v));
	v->o = o;
	rc = assume(o);
	if (rc != CLI_OK)
		return rc;
	out_init(&v->out, stdout, o);
	rc = swept ? inputs_sweep(&v->t, &v->in, o, by != VIEW_RANK) : INPUTS_LOAD;
	if (rc == INPUTS_LOAD && by != VIEW_EVENTS)
		rc = inputs_stretches(&v->t, &v->in, o);
	if (rc != INPUTS_LOAD && (rc != CLI_OK || less))
		return rc;
	if (rc == INPUTS_LOAD) {
		rc = inputs_load(&v->t, o);
		if (rc != CLI_OK)
			return rc;
	}
	err = v->in ? 0 : less ? insight_new_breakdown(&v->in, v->t) : insight_new(&v->in, v->t);
	if (!err && !less)
		err = join_telemetry(v);
	if (!err && judged)
		err = findings_new(&v->fs, v->in);
	if (!err && judged && v->in->parted)
		err = replay_newest(v);
	if (err < 0) {
		view_close(v);
		return cli_say(CLI_FAIL, "%s", strerror(-err));
	}
	return CLI_OK;
}

void view_close(struct view *v)
{
	findings_free(v->fs);
	insight_free(v->in);
	trace_free(v->t);
}

int view_exit(const struct view *v)
{
	return inputs_exit(v->t);
}

/* --- text --- */

char *view_clean(const struct out *out, char *buf, size_t cap, const char *text)
{
	char *us;

	fmt_clean(buf, cap, text, out->ascii);
	while (!out->ascii && (us = strstr(buf, " us")) && !isalnum((unsigned char)us[3]) &&
	       strlen(buf) + 2 < cap) {
		memmove(us + 4, us + 3, strlen(us + 3) + 1);
		memcpy(us + 1, "µs", 3);
	}
	return buf;
}

#define LABEL 12 /* columns before a sentence */

/* Where to break a line: at a space, so that `width` columns hold what is before it. */
static size_t line_len(const char *text, size_t width)
{
	size_t best = 0;

	for (size_t i = 0; text[i]; i++) {
		char cut[OUT_TEXT];

		if (text[i + 1] != ' ' && text[i + 1] != '\0')
			continue;
		snprintf(cut, sizeof(cut), "%.*s", (int)(i + 1), text);
		if (fmt_width(cut) > width && best)
			return best;
		best = i + 1;
	}
	return strlen(text);
}

void view_wrap(const struct out *out, const char *label, const char *text)
{
	size_t width = out->width == SIZE_MAX ? 100 : out->width, n;
	char clean[OUT_TEXT];

	view_clean(out, clean, sizeof(clean), text);
	text = clean;
	do {
		n = line_len(text, width > 2 * LABEL ? width - LABEL : LABEL);
		fprintf(out->f, "%s   %-*s%s%.*s\n", out_style(out, OUT_DIM), LABEL - 3, label,
			out_style(out, OUT_PLAIN), (int)n, text);
		label = "";
		text += n + (text[n] == ' ');
	} while (*text);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *view_operands(const struct view *v, char *buf, size_t cap)
{
	char clean[OUT_TEXT];
	size_t used = 0;

	*buf = '\0';
	if (v->o->argc > 3) {
		snprintf(buf, cap, "...");
		return buf;
	}
	for (int i = 0; i < v->o->argc && used < cap; i++)
		used += (size_t)snprintf(
			buf + used, cap - used, "%s%s", i ? " " : "",
			fmt_clean(clean, sizeof(clean), v->o->argv[i], v->out.ascii));
	return buf;
}

static void head_devices(const struct view *v, char *buf, size_t cap)
{
	uint32_t name = v->in->devices ? v->t->device[v->in->device[0].device].name : 0;

	for (size_t i = 1; i < v->in->devices; i++)
		if (v->t->device[v->in->device[i].device].name != name)
			name = 0;
	if (!v->in->devices)
		snprintf(buf, cap, "CPU only");
	else if (v->in->devices == 1)
		snprintf(buf, cap, "%s", name ? trace_text(v->t, name) : "1 GPU");
	else if (name)
		snprintf(buf, cap, "%zu x %s", v->in->devices, trace_text(v->t, name));
	else
		snprintf(buf, cap, "%zu GPUs", v->in->devices);
}

static void head_times(const struct view *v, char *buf, size_t cap)
{
	uint64_t span = 0, steps = 0, ns = 0;
	char n[FMT_LEN], t[FMT_LEN];

	for (size_t i = 0; i < v->in->devices + v->in->hosts.n; i++) {
		const struct insight_device *d = i < v->in->devices
							 ? &v->in->device[i]
							 : live_device(v->in, i - v->in->devices);

		uint64_t base;

		if (!d)
			continue;
		base = v->in->swept ? d->b.span_ns : d->account.base_ns;
		span = base > span ? base : span;
		if (d->steps > steps) {
			steps = d->steps;
			ns = d->account.steps ? base : d->step_ns;
		}
	}
	if (steps)
		snprintf(buf, cap, "%s step%s in %s", fmt_count(n, steps), steps == 1 ? "" : "s",
			 out_time(&v->out, t, sizeof(t), ns));
	else
		snprintf(buf, cap, "%s", out_time(&v->out, t, sizeof(t), span));
}

/* Says that the input is only a part, before it is taken for the whole. */
void view_recorded(const struct view *v)
{
	char a[FMT_LEN], b[FMT_LEN];

	if (v->in->unsampled)
		out_line(
			&v->out, OUT_DIM,
			"     of the %s of %s steps that were recorded: the others were skipped at "
			"random to measure overhead",
			fmt_count(a, v->in->steps), fmt_count(b, v->in->steps + v->in->unsampled));
}

void view_head(const struct view *v)
{
	char what[OUT_TEXT], devices[256], times[128], clean[OUT_TEXT], line[3 * OUT_TEXT];

	if (v->t->files == 1)
		snprintf(what, sizeof(what), "%s", base_name(v->t->file[0].path));
	else
		snprintf(what, sizeof(what), "%zu files", v->t->files);
	head_devices(v, devices, sizeof(devices));
	head_times(v, times, sizeof(times));
	snprintf(line, sizeof(line), "%s  %s  ", what, devices);
	fmt_clean(clean, sizeof(clean), line, v->out.ascii);
	out_line(&v->out, OUT_BOLD, "aon  %s%s", clean, times);
	view_recorded(v);
}

/* Without launches most rules cannot look: silence must not sound like praise. */
static void nothing_found(const struct view *v)
{
	uint64_t idle = 0, span = 0;
	char pct[FMT_LEN];

	for (size_t i = 0; i < v->in->devices; i++) {
		idle += v->in->device[i].account.ns[ACCOUNT_UNKNOWN];
		span += v->in->device[i].account.base_ns;
	}
	if (ratio(idle, span) < 0.05) {
		out_line(&v->out, OUT_BOLD, "  Nothing stands out.");
		return;
	}
	out_line(&v->out, OUT_BOLD,
		 "  GPUs are idle %s %% of the time for reasons not in the trace.",
		 fmt_percent(pct, ratio(idle, span)));
	out_line(&v->out, OUT_PLAIN, "  Record the calls that launch work to see why.");
}

void view_verdict(const struct view *v)
{
	char clean[OUT_TEXT];
	struct short_answer a;

	answer_of(&a, v->in, v->fs);
	if (!v->fs->n && v->in->devices) {
		nothing_found(v);
		return;
	}
	if (!a.known)
		snprintf(a.what, sizeof(a.what),
			 "Nothing can be said: neither GPU work nor steps, ranges or samples of a "
			 "thread are in it.");
	out_line(&v->out, OUT_BOLD, "  %s", view_clean(&v->out, clean, sizeof(clean), a.what));
}
