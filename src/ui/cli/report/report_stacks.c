/* SPDX-License-Identifier: Apache-2.0 */
/* report_stacks.c - see report_stacks.h. */
#include "cli/report/report_stacks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/locate.h"
#include "read/json.h"
#include "read/stretch.h"

#define FOLD           20u
#define FOLD_PROCESSES 5u
#define TELLING        0.02 /* of the time without a CPU: worth a line, as with a GPU that waits */

/* --- a sentence --- */

static const char *plus_minus(const struct out *out)
{
	return out->ascii ? "+-" : "\u00b1";
}

static char *percent(const struct out *out, const struct share *s, char buf[64])
{
	char a[FMT_LEN], b[FMT_LEN];

	snprintf(buf, 64, "%s %% (%s%s)", fmt_percent(a, s->share), plus_minus(out),
		 fmt_percent(b, s->error));
	return buf;
}

static void say_few(const struct samples_sum *s, char *buf, size_t cap)
{
	snprintf(buf, cap, "not enough samples: %llu, and %u are needed",
		 (unsigned long long)s->count, SAMPLES_ENOUGH);
}

char *where_sentence(const struct out *out, const struct insight *in, const struct samples_want *w,
		     char *buf, size_t cap)
{
	char who[64] = "Its threads spend", what[OUT_TEXT], share[64];
	struct samples_sum s;
	struct share all;

	*buf = '\0';
	if (samples_blame(&s, in, w) < 0)
		return buf;
	if (w->track != SAMPLES_ALL)
		snprintf(who, sizeof(who), "Thread %llu spends",
			 (unsigned long long)in->t->track[w->track].stream);
	if (!samples_enough(&s)) {
		say_few(&s, what, sizeof(what));
		snprintf(buf, cap, s.count ? "There are %s." : "There are no samples of that.",
			 what);
	} else {
		blame_text(in->t, samples_first(&s, &all), &all, what);
		snprintf(buf, cap, "%s %s %s.", who, percent(out, &all, share), what);
	}
	samples_fini(&s);
	return buf;
}

/* --- tables --- */

void where_table(const struct out *out, const struct insight *in, const struct samples_want *w,
		 size_t fold)
{
	static const struct col col[] = { COL_NUM("SHARE", 0), COL_NUM("+-", 0),
					  COL_NUM("SAMPLES", 2), COL_TEXT("STATE", 1),
					  COL_NAME("CODE", 0) };
	char n[FMT_LEN], code[FRAME_LABEL], library[FRAME_LABEL], works[FRAME_LABEL];
	char row[4 * FRAME_LABEL + 64], into[FRAME_LABEL];
	struct samples_sum s;
	struct table t;
	size_t show;

	if (samples_blame(&s, in, w) < 0)
		return;
	show = out->all || s.rows <= fold + 1 ? s.rows : fold;
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	t.unit[0] = t.unit[1] = "%";
	for (size_t i = 0; i < show; i++) {
		const struct sample_blame *b = &s.row[i];

		frame_placed(in->t, &b->frame, code);
		table_add(&t, "%s", fmt_percent(n, b->s.share));
		table_add(&t, "%s", fmt_percent(n, b->s.error));
		table_add(&t, "%s", fmt_count(n, b->s.count));
		table_add(&t, "%s", sample_state_word(b->state));
		snprintf(row, sizeof(row), "%s%s%s%s%s", b->held ? "held by " : "", code,
			 b->in.name ? " in " : "",
			 b->in.name ? frame_library(in->t, &b->in, library) : "",
			 frame_inlined(in->t, b, into));
		if (b->worker.pid)
			snprintf(row + strlen(row), sizeof(row) - strlen(row),
				 ", waits for worker %llu: %s", (unsigned long long)b->worker.pid,
				 frame_placed(in->t, &b->worker.frame, works));
		table_add_text(&t, out, row);
	}
	table_done(&t, out, 2);
	if (show < s.rows)
		out_line(out, OUT_PLAIN, "  + %zu more (--all)", s.rows - show);
	samples_fini(&s);
}

/* "In gaps of its GPU, 31 % (+-2) of the samples: 71 % (+-4) in ..., running." */
static void say_part(const struct out *out, const struct insight *in, const struct samples_want *w,
		     const struct samples_sum *all, const char *where)
{
	char what[OUT_TEXT], share[64], part[64], clean[OUT_TEXT];
	struct share of, first = { 0 };
	struct samples_sum s;

	if (samples_blame(&s, in, w) < 0)
		return;
	of = samples_share(all, s.ns, s.count);
	if (s.count && !samples_enough(&s))
		snprintf(what, sizeof(what), "too few to name code");
	else if (s.count)
		blame_text(in->t, samples_first(&s, &first), &first, what);
	if (s.count)
		out_line(out, OUT_PLAIN, "  %s, %s of the samples: %s%s%s.", where,
			 percent(out, &of, part),
			 samples_enough(&s) ? percent(out, &first, share) : "",
			 samples_enough(&s) ? " " : "",
			 fmt_clean(clean, sizeof(clean), what, out->ascii));
	samples_fini(&s);
}

static void say_parts(const struct out *out, const struct insight *in, const struct samples_want *w,
		      const struct samples_sum *all)
{
	struct samples_want of = *w;
	char where[96];

	if (!w->causes) {
		of.causes = SAMPLES_IN_GAPS;
		say_part(out, in, &of, all, "While its GPU is idle");
		of.causes = 0;
	}
	for (uint32_t p = 0; !w->parts && p < HOST_PART_OUTSIDE; p++) {
		of.parts = 1u << p;
		snprintf(where, sizeof(where), "%c%s", toupper(host_part_people[p][0]),
			 host_part_people[p] + 1);
		say_part(out, in, &of, all, where);
	}
}

/* "Preempted 31 % (+-2): mostly by hog (pid 123)." */
static void say_no_cpu(const struct out *out, const struct insight *in, const struct samples_sum *s)
{
	const struct share *ran = &s->state[SAMPLE_RUNNABLE], *quota = &s->state[SAMPLE_THROTTLED];
	char a[64], b[FMT_LEN], clean[OUT_TEXT];

	if (quota->share >= TELLING)
		out_line(out, OUT_PLAIN, "  Throttled by its CPU quota %s.",
			 percent(out, quota, a));
	if (ran->share < TELLING)
		return;
	percent(out, ran, a);
	if (s->taker)
		out_line(out, OUT_PLAIN, "  Preempted %s: mostly by %s, %s %% of that.", a,
			 fmt_clean(clean, sizeof(clean), trace_text(in->t, s->taker), out->ascii),
			 fmt_percent(b, s->took.share));
	else
		out_line(out, OUT_PLAIN, "  Preempted %s: by whom is not known.", a);
}

void where_text(const struct out *out, const struct insight *in, const struct samples_want *w,
		size_t fold)
{
	char text[OUT_TEXT], clean[OUT_TEXT];
	struct samples_sum s;

	if (samples_blame(&s, in, w) < 0)
		return;
	where_sentence(out, in, w, text, sizeof(text));
	out_line(out, OUT_BOLD, "%s", fmt_clean(clean, sizeof(clean), text, out->ascii));
	if (samples_enough(&s)) {
		say_no_cpu(out, in, &s);
		say_parts(out, in, w, &s);
	}
	if (s.count) {
		fputc('\n', out->f);
		where_table(out, in, w, fold);
	}
	samples_fini(&s);
}

/* --- aon report --by stack --- */

struct by_stack {
	const struct opts *o;
	struct store *st;
	char path[PATH_MAX];
	struct procs ps;
	uint32_t *id; /* owned: of those that are wanted */
	size_t ids;
	struct samples_want want;
	struct trace *t;
	struct insight *in;
};

static int choose(struct by_stack *r)
{
	uint32_t rank = UINT32_MAX;

	if (opt_u32(r->o, OPT_OF_RANK, &rank))
		return CLI_USAGE;
	r->id = calloc(r->ps.n + 1, sizeof(*r->id));
	for (size_t i = 0; r->id && i < r->ps.n; i++)
		if (rank == UINT32_MAX || r->ps.p[i].origin.rank == rank + 1)
			r->id[r->ids++] = r->ps.p[i].id;
	if (!r->id || !r->ids)
		return cli_say(CLI_FAIL,
			       "%s: no such process. List them: aon report %s --by process",
			       r->path, r->path);
	return CLI_OK;
}

static int understand(struct by_stack *r)
{
	struct store_filter part = { .process = r->id, .processes = r->ids };
	struct stretch_opts so = { .part = &part };
	int err = trace_new(&r->t);

	err = err ? err : read_stretches(r->t, r->st, r->path, &so, &r->in);
	err = err ? err : samples_add_rolled(r->in);
	if (err < 0)
		return cli_say(CLI_FAIL, "%s: cannot be read on: %s", r->path, strerror(-err));
	if (!r->in->samples.count)
		return cli_say(CLI_UNSURE,
			       "%s holds no samples of these processes. Sample one that runs: "
			       "aon attach PID",
			       r->path);
	return CLI_OK;
}

/* "rank 3  python  pid 4711" */
static void head(const struct by_stack *r, const struct out *out, uint32_t process)
{
	char rank[32] = "", clean[256];
	int32_t n = insight_rank(r->t, process);

	if (n >= 0)
		snprintf(rank, sizeof(rank), "rank %d  ", n);
	out_line(out, OUT_BOLD, "%s%s  pid %llu", rank,
		 fmt_clean(clean, sizeof(clean), trace_text(r->t, r->t->process[process].name),
			   out->ascii),
		 (unsigned long long)r->t->process[process].pid);
}

static bool was_sampled(const struct insight *in, uint32_t process)
{
	for (size_t i = 0; i < in->samples.rows; i++)
		if (in->samples.row[i].process == process)
			return true;
	return false;
}

static void text_all(const struct by_stack *r)
{
	struct out out;
	size_t shown = 0, more = 0;

	out_init(&out, stdout, r->o);
	for (uint32_t p = 0; p < r->t->processes; p++) {
		struct samples_want w = r->want;

		if (!was_sampled(r->in, p))
			continue;
		if (!out.all && shown == FOLD_PROCESSES) {
			more++;
			continue;
		}
		w.process = p;
		w.track = samples_thread(r->in, p);
		if (shown++)
			fputc('\n', out.f);
		head(r, &out, p);
		where_text(&out, r->in, &w, FOLD);
	}
	if (more)
		out_line(&out, OUT_PLAIN, "\n+ %zu more processes (--all)", more);
}

static void json_all(const struct by_stack *r)
{
	struct json j;

	json_begin(&j, stdout, "aon.samples/1");
	json_open(&j, "processes", '[');
	for (uint32_t p = 0; p < r->t->processes; p++) {
		struct samples_want w = r->want;

		if (!was_sampled(r->in, p))
			continue;
		w.process = p;
		w.track = samples_thread(r->in, p);
		json_open(&j, NULL, '{');
		json_u64(&j, "pid", r->t->process[p].pid);
		json_rank(&j, "rank", insight_rank(r->t, p));
		json_members(&j, J_STR("command", trace_text(r->t, r->t->process[p].name)),
			     J_U64("thread", r->t->track[w.track].stream));
		samples_json(&j, r->in, &w, STACKS_JSON);
		json_close(&j);
	}
	json_close(&j);
	json_end(&j);
}

/* HOST_PARTS: all; below 0 after an error message. */
static int part_of(const char *word)
{
	for (int i = 0; word && i < (int)HOST_PARTS; i++)
		if (!strcmp(word, host_part_word[i]))
			return i;
	if (!word)
		return HOST_PARTS;
	cli_misuse("--part: no part of a step is called '%s'", word);
	return -1;
}

int report_stacks(const struct opts *o, const struct procs_want *want)
{
	int part = part_of(o->val[OPT_PART]), rc, err;
	struct by_stack r = { .o = o, .want = { SAMPLES_ALL, SAMPLES_ALL, 0, 0 } };

	if (part < 0)
		return CLI_USAGE;
	if (o->argc > 1)
		return cli_misuse("--by stack is of one store");
	r.want.parts = part < (int)HOST_PARTS ? 1u << part : 0;
	r.want.causes = o->val[OPT_GAP] ? SAMPLES_IN_GAPS : 0;
	rc = locate_open(o->argc ? o->argv[0] : NULL, &r.st, r.path);
	if (rc != CLI_OK)
		return rc;
	err = procs_load(&r.ps, r.st, want);
	rc = err < 0 ? cli_say(CLI_FAIL, "%s: cannot be read on: %s", r.path, strerror(-err))
		     : choose(&r);
	rc = rc == CLI_OK ? understand(&r) : rc;
	if (rc == CLI_OK && o->val[OPT_JSON])
		json_all(&r);
	else if (rc == CLI_OK)
		text_all(&r);
	insight_free(r.in);
	trace_free(r.t);
	free(r.id);
	procs_fini(&r.ps);
	store_close(r.st);
	return rc;
}
