/* SPDX-License-Identifier: Apache-2.0 */
/* view_roof.c - what limits kernels, and how close they come: a row per kernel and shape. */
#include <inttypes.h>
#include <string.h>

#include "cli/report/view.h"

#define FOLD 20u

static double elements(const struct op_tensor *t)
{
	double n = t->is;

	for (uint32_t i = 0; i < t->dims; i++)
		n *= (double)t->size[i];
	return n;
}

/* "mm 8944x2816x1024": rows, columns and sums of a product; of others the largest tensor. */
static void short_op(char *out, size_t cap, const struct trace *t, const struct roof_row *r)
{
	const char *op = trace_text(t, r->op), *colon = strrchr(op, ':');
	const struct op_tensor *most;
	struct op_shapes s;
	size_t n = (size_t)snprintf(out, cap, "%.40s ", colon ? colon + 1 : op);

	if (r->product) {
		n += (size_t)snprintf(out + n, cap - n, "%" PRIu64 "x%" PRIu64 "x%" PRIu64,
				      r->gemm.m, r->gemm.n, r->gemm.k);
		if (r->gemm.batch > 1)
			snprintf(out + n, cap - n, " x %" PRIu64, r->gemm.batch);
		return;
	}
	if (op_shapes_parse(&s, trace_text(t, r->shapes)) || !s.ins)
		return;
	most = s.in;
	for (uint32_t i = 1; i < s.ins; i++)
		most = elements(&s.in[i]) > elements(most) ? &s.in[i] : most;
	for (uint32_t i = 0; i < most->dims && n < cap; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s%" PRIu64, i ? "x" : "", most->size[i]);
}

static void add_percent(struct table *t, double share)
{
	char c[FMT_LEN];

	table_add(t, "%s", share > 0 ? fmt_percent(c, share) : "-");
}

static void add_value(struct table *t, double v)
{
	char n[FMT_LEN];

	table_add(t, "%s", v > 0 ? fmt_value(n, v, 2) : "-");
}

static void add_row(const struct view *v, struct table *t, const struct roof_row *r, uint64_t sum,
		    const struct fmt_unit *total)
{
	const char *name = trace_text(v->t, r->name);
	char clean[OUT_TEXT], op[192], c[FMT_LEN];
	bool is_op = r->op && !r->helps;

	name = *name ? name : "(no name)";
	if (is_op)
		short_op(op, sizeof(op), v->t, r);
	table_add(t, "  %s", fmt_clean(clean, sizeof(clean), is_op ? op : name, v->out.ascii));
	table_add(t, "%s", fmt_count(c, r->count));
	table_add_time(t, r->total_ns, total, 2);
	table_add(t, "%s", fmt_percent(c, ratio(r->total_ns, sum)));
	add_value(t, roof_row_flops(r) / 1e12);
	add_value(t, roof_row_Bps(r) / 1e9);
	table_add(t, "%s", r->is.limit ? roof_limit_word[r->is.limit] : "-");
	add_percent(t, r->is.fraction);
	add_percent(t, roof_row_model(r));
	add_value(t, r->waves);
	table_add(t, "%s", r->work.how ? work_how_word[r->work.how] : "-");
	table_add_text(t, &v->out, is_op ? name : "");
}

/* What is missing for a verdict, once. */
static void say_unknown(const struct view *v)
{
	const struct roofs *rs = &v->in->roofs;
	uint64_t sum = 0, none = 0;
	char share[FMT_LEN], clean[OUT_TEXT];

	for (size_t i = 0; i < v->in->devices; i++) {
		uint32_t d = v->in->device[i].device;
		uint32_t name = v->t->device[d].name;

		if (rs->gpu[d])
			continue;
		fmt_clean(clean, sizeof(clean), name ? trace_text(v->t, name) : "without a name",
			  v->out.ascii);
		out_line(&v->out, OUT_PLAIN,
			 "  Device not known: %s. Say --device, or what it can do "
			 "(docs/devices.md).",
			 clean);
		break;
	}
	for (size_t i = 0; i < rs->rows; i++) {
		sum += rs->row[i].total_ns;
		none += rs->row[i].work.how ? 0 : rs->row[i].total_ns;
	}
	if (none)
		out_line(&v->out, OUT_PLAIN,
			 "  The work of %s %% of the time is not known: PyTorch's profiler says "
			 "shapes with record_shapes=True.",
			 fmt_percent(share, ratio(none, sum)));
}

static void print_rows(const struct view *v, size_t show)
{
	static const struct col col[] = {
		{ "Kernels", COL_LEFT | COL_FLEX, 0 },
		{ "count", 0, 7 },
		{ "total", 0, 0 },
		{ "%", 0, 2 },
		{ "TFLOP/s", 0, 5 },
		{ "GB/s", 0, 6 },
		{ "limit", COL_LEFT, 0 },
		{ "% of bound", 0, 0 },
		{ "of model", 0, 4 },
		{ "waves", 0, 9 },
		{ "how", COL_LEFT, 1 },
		{ "kernel", COL_LEFT, 10 },
	};
	const struct roofs *rs = &v->in->roofs;
	const struct fmt_unit *u = fmt_time_unit(rs->row[0].total_ns);
	uint64_t sum = 0;
	struct table t;

	for (size_t i = 0; i < rs->rows; i++)
		sum += rs->row[i].total_ns;
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	t.unit[2] = out_unit(&v->out, u->name);
	for (size_t i = 0; i < show; i++)
		add_row(v, &t, &rs->row[i], sum, u);
	table_print(&t, &v->out, 2);
	table_fini(&t);
}

static void text(const struct view *v)
{
	const struct roofs *rs = &v->in->roofs;
	size_t show = v->out.all || rs->rows <= FOLD + 1 ? rs->rows : FOLD;
	uint64_t sum = 0, rest = 0;
	char c[FMT_LEN], share[FMT_LEN];

	view_head(v);
	if (!rs->rows) {
		out_line(&v->out, OUT_PLAIN, "  No kernels in this trace.\n");
		view_traffic(v, FOLD);
		say_unknown(v);
		return;
	}
	print_rows(v, show);
	for (size_t i = 0; i < rs->rows; i++) {
		sum += rs->row[i].total_ns;
		rest += i >= show ? rs->row[i].total_ns : 0;
	}
	if (show < rs->rows)
		out_line(&v->out, OUT_PLAIN, "    + %s more, %s %% together (--all)",
			 fmt_count(c, rs->rows - show), fmt_percent(share, ratio(rest, sum)));
	fputc('\n', v->out.f);
	view_traffic(v, FOLD);
	say_unknown(v);
}

int view_roofline(const struct opts *o)
{
	struct view v;
	struct json j;
	int rc = view_open(&v, o, VIEW_KERNEL);

	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON]) {
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.roofline/1");
		insight_roofs_json(&j, v.in);
		insight_account_json(&j, v.t);
		json_end(&j);
	} else {
		text(&v);
	}
	rc = view_exit(&v);
	view_close(&v);
	return rc;
}
