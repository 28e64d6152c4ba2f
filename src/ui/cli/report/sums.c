/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - kernels and scopes of a recording without times; see sums.h. */
#include "cli/report/sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

#define FOLD        10u
#define SHARE_LEAST 0.01 /* of a scope, to be shown */
#define PATH_DEPTH  64u
#define NAMED       3u

/* A kernel by its name, over all scopes. */
struct row {
	uint32_t name, device;
	bool devices; /* it ran on several */
	uint64_t ns, count;
};

struct sums {
	const struct trace *t;
	struct trace_sums of;
	struct row *row; /* owned; the one with most time first */
	size_t rows;
	struct trace_sum *with; /* owned: each with all that it holds */
	uint64_t ns, count;
};

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int add_kernel(struct sums *s, struct map *at, const struct trace_sum *x)
{
	uint32_t n = map_number(at, x->name);
	struct row *r;

	if (!n || (n > s->rows && vec_more(&s->row, s->rows, sizeof(*r)) < 0))
		return -1;
	r = &s->row[n - 1];
	if (n > s->rows) {
		*r = (struct row){ .name = x->name, .device = x->device };
		s->rows = n;
	}
	r->devices |= r->device != x->device;
	r->ns += x->ns;
	r->count += x->count;
	s->ns += x->ns;
	s->count += x->count;
	return 0;
}

static void sums_fini(struct sums *s)
{
	free(s->row);
	free(s->with);
}

/* False: no memory. */
static bool sums_init(struct sums *s, const struct trace *t)
{
	struct map at = { 0 };
	bool good;

	*s = (struct sums){ .t = t, .of = trace_sums(t) };
	s->with = calloc(s->of.n + 1, sizeof(*s->with));
	good = s->with != NULL;
	for (size_t i = 0; i < s->of.n && good; i++) {
		s->with[i] = s->of.sum[i];
		if (s->of.sum[i].kernel && add_kernel(s, &at, &s->of.sum[i]) < 0)
			good = false;
	}
	map_fini(&at);
	if (!good) {
		sums_fini(s);
		return false;
	}
	/* A scope comes before what it holds. */
	for (size_t i = s->of.n; i-- > 0;) {
		uint32_t up = s->with[i].parent;

		if (!up || up > i)
			continue;
		s->with[up - 1].ns += s->with[i].ns;
		s->with[up - 1].count += s->with[i].count;
		s->with[up - 1].flops += s->with[i].flops;
		s->with[up - 1].bytes += s->with[i].bytes;
	}
	qsort(s->row, s->rows, sizeof(*s->row), by_time);
	return true;
}

static double share(const struct sums *s, uint64_t ns)
{
	return s->ns ? (double)ns / (double)s->ns : 0;
}

/* --- text --- */

static void head(const struct view *v, const struct sums *s)
{
	const char *path = v->t->file[0].path, *slash = strrchr(path, '/');
	char left[OUT_TEXT], name[OUT_TEXT], right[128], t[FMT_LEN], n[FMT_LEN];

	snprintf(left, sizeof(left), "%s%s",
		 fmt_clean(name, sizeof(name), slash && slash[1] ? slash + 1 : path, v->out.ascii),
		 v->t->files > 1 ? " ..." : "");
	snprintf(right, sizeof(right), "sums without times: %s in %s launches",
		 out_time(&v->out, t, sizeof(t), s->ns), fmt_count(n, s->count));
	out_ends(&v->out, OUT_BOLD, left, right);
}

static void kernel_table(const struct view *v, const struct sums *s)
{
	static const struct col col[] = { COL_NAME("GPU kernels", 0), COL_NUM("count", 2),
					  COL_NUM("total", 0), COL_NUM("avg", 0), COL_NUM("%", 0) };
	size_t show = v->out.all || s->rows <= FOLD + 1 ? s->rows : FOLD;
	const struct fmt_unit *total = fmt_time_unit(s->rows ? s->row[0].ns : 0), *avg;
	uint64_t longest = 0, rest = 0;
	struct table t;
	char n[FMT_LEN];

	for (size_t i = 0; i < s->rows; i++) {
		uint64_t a = s->row[i].count ? s->row[i].ns / s->row[i].count : 0;

		longest = a > longest ? a : longest;
		rest += i >= show ? s->row[i].ns : 0;
	}
	avg = fmt_time_unit(longest);
	table_init(&t, col, 5);
	t.unit[2] = out_unit(&v->out, total->name);
	t.unit[3] = out_unit(&v->out, avg->name);
	for (size_t i = 0; i < show; i++) {
		const struct row *r = &s->row[i];

		table_add_text(&t, &v->out, trace_text(s->t, r->name));
		table_add(&t, "%s", fmt_count(n, r->count));
		table_add_time(&t, r->ns, total, 2);
		table_add_time(&t, r->count ? r->ns / r->count : UINT64_MAX, avg, 2);
		table_add(&t, "%s", fmt_percent(n, share(s, r->ns)));
	}
	table_done(&t, &v->out, 2);
	if (show < s->rows)
		out_line(&v->out, OUT_PLAIN, "    + %zu more, %s %% together (--all)",
			 s->rows - show, fmt_percent(n, share(s, rest)));
}

static unsigned depth_of(const struct sums *s, size_t i)
{
	unsigned depth = 0;

	while (s->of.sum[i].parent && s->of.sum[i].parent <= i) {
		i = s->of.sum[i].parent - 1;
		depth++;
	}
	return depth;
}

/* What the program said of its work, by the time that it took. */
static void rate(struct table *t, double v, uint64_t ns, double unit)
{
	char n[FMT_LEN];

	if (v > 0 && ns)
		table_add(t, "%s", fmt_value(n, v / (double)ns * 1e9 / unit, 2));
	else
		table_add(t, "-");
}

static void scope_table(const struct view *v, const struct sums *s)
{
	static const struct col col[] = { COL_NAME("Scopes, with all that they hold", 0),
					  COL_NUM("launches", 2),
					  COL_NUM("total", 0),
					  COL_NUM("%", 0),
					  COL_NUM("work", 3),
					  COL_NUM("memory", 3) };
	const struct fmt_unit *u = fmt_time_unit(s->ns);
	size_t left_out = 0, shown = 0;
	struct table t;
	char n[FMT_LEN], clean[OUT_TEXT];

	table_init(&t, col, 6);
	t.unit[2] = out_unit(&v->out, u->name);
	t.unit[4] = "TFLOP/s";
	t.unit[5] = "GB/s";
	for (size_t i = 0; i < s->of.n; i++) {
		const struct trace_sum *x = &s->with[i];

		if (x->kernel || !x->parent) /* the root is the file */
			continue;
		if (!v->out.all && share(s, x->ns) < SHARE_LEAST) {
			left_out++;
			continue;
		}
		table_add(&t, "%*s%s", 2 * (int)(depth_of(s, i) - 1), "",
			  fmt_clean(clean, sizeof(clean), trace_text(s->t, x->name), v->out.ascii));
		table_add(&t, "%s", fmt_count(n, x->count));
		table_add_time(&t, x->ns, u, 2);
		table_add(&t, "%s", fmt_percent(n, share(s, x->ns)));
		rate(&t, x->flops, x->ns, 1e12);
		rate(&t, x->bytes, x->ns, 1e9);
		shown++;
	}
	if (shown) {
		fputc('\n', v->out.f);
		table_print(&t, &v->out, 2);
	}
	if (left_out)
		out_line(&v->out, OUT_PLAIN, "    + %zu more below 1 %% (--all)", left_out);
	table_fini(&t);
}

static void next(const struct view *v)
{
	out_line(&v->out, OUT_COPY,
		 "record when they ran: proton.start(NAME, data=\"trace\"), then aon why "
		 "NAME.chrome_trace");
}

void sums_text(const struct view *v)
{
	struct sums s;

	if (!sums_init(&s, v->t))
		return;
	head(v, &s);
	fputc('\n', v->out.f);
	kernel_table(v, &s);
	scope_table(v, &s);
	fputc('\n', v->out.f);
	next(v);
	sums_fini(&s);
}

/* "gemm 71 %, softmax 20 %" */
static void costliest(const struct view *v, const struct sums *s)
{
	char line[OUT_TEXT] = "", pct[FMT_LEN];
	size_t used = 0;

	for (size_t i = 0; i < s->rows && i < NAMED && used < sizeof(line); i++)
		used += (size_t)snprintf(
			line + used, sizeof(line) - used, "%s%.300s %s %%",
			used ? ", " : "of kernel time: ", trace_text(s->t, s->row[i].name),
			fmt_percent(pct, share(s, s->row[i].ns)));
	view_wrap(&v->out, "time", line);
}

/* What a faster kernel saves at most: sums alone give this bound. */
static void bound(const struct view *v, const struct sums *s)
{
	const struct row *r = &s->row[0];
	char line[OUT_TEXT], t[FMT_LEN], each[FMT_LEN], n[FMT_LEN], half[FMT_LEN];

	snprintf(line, sizeof(line),
		 "%.300s ran %s times, for %s (%s each). At twice its speed, kernel time falls by "
		 "%s %%. What that saves of the program's time, sums do not say",
		 trace_text(s->t, r->name), fmt_count(n, r->count), fmt_time(t, r->ns),
		 fmt_time(each, r->count ? r->ns / r->count : 0),
		 fmt_percent(half, share(s, r->ns) / 2));
	view_wrap(&v->out, "bound", line);
}

int sums_why(const struct view *v)
{
	struct sums s;

	if (!sums_init(&s, v->t))
		return cli_say(CLI_FAIL, "out of memory");
	head(v, &s);
	fputc('\n', v->out.f);
	view_wrap(
		&v->out, "kind",
		"a recording of sums: how often and how long kernels ran, and not when. Idle time, "
		"waits, overlap, launches and steps cannot be judged by it, so there is no "
		"finding");
	if (s.rows && s.ns) {
		costliest(v, &s);
		bound(v, &s);
	}
	fputc('\n', v->out.f);
	next(v);
	sums_fini(&s);
	return CLI_UNSURE;
}

/* --- JSON --- */

static void path_json(struct json *j, const struct sums *s, size_t i)
{
	uint32_t at[PATH_DEPTH];
	unsigned n = 0;

	while (n < PATH_DEPTH) {
		uint32_t up = s->of.sum[i].parent;

		if (!up || up > i)
			break; /* the root is the file */
		at[n++] = s->of.sum[i].name;
		i = up - 1;
	}
	json_open(j, "path", '[');
	while (n)
		json_str(j, NULL, trace_text(s->t, at[--n]));
	json_close(j);
}

static void scopes_json(struct json *j, const struct sums *s)
{
	json_open(j, "scopes", '[');
	for (size_t i = 0; i < s->of.n; i++) {
		const struct trace_sum *x = &s->with[i];

		if (x->kernel || !x->parent)
			continue;
		json_open(j, NULL, '{');
		path_json(j, s, i);
		json_members(j, J_U64("count", x->count), J_U64("total_ns", x->ns),
			     J_REAL("share", share(s, x->ns)), J_DOUBLE("flops", x->flops),
			     J_DOUBLE("bytes", x->bytes));
		json_close(j);
	}
	json_close(j);
}

void sums_json(struct json *j, const struct trace *t)
{
	struct sums s;

	if (!trace_sums(t).n || !sums_init(&s, t))
		return;
	json_open(j, "sums", '{');
	json_u64(j, "total_ns", s.ns);
	json_u64(j, "count", s.count);
	json_open(j, "kernels", '[');
	for (size_t i = 0; i < s.rows; i++) {
		const struct row *r = &s.row[i];

		json_object(j, NULL, J_STR("name", trace_text(t, r->name)),
			    J_U64_IF("device", !r->devices, r->device), J_U64("count", r->count),
			    J_U64("total_ns", r->ns), J_REAL("share", share(&s, r->ns)));
	}
	json_close(j);
	scopes_json(j, &s);
	json_close(j);
	sums_fini(&s);
}
