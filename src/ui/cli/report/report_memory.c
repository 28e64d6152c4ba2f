/* SPDX-License-Identifier: Apache-2.0 */
/* report_memory.c - aon report --memory: what each device's allocator holds, step by step. */
#include <math.h>
#include <string.h>

#include "cli/report/view.h"
#include "insight/heap.h"

#define FOLD         12u        /* rows of a table over steps */
#define UNUSED_SHARE 0.3        /* of what is reserved, that is worth a sentence */
#define GROWTH_BYTES (1u << 20) /* in all, that is */

static void where(const struct view *v, const struct heap *h, char *buf, size_t cap)
{
	const struct trace_process *p = &v->t->process[h->process];
	char name[OUT_TEXT], rank[32] = "";

	if (v->t->file[p->file].rank != TRACE_NO_RANK)
		snprintf(rank, sizeof(rank), "rank %d, ", v->t->file[p->file].rank);
	fmt_clean(name, sizeof(name), trace_text(v->t, p->name), v->out.ascii);
	if (h->device == TRACK_HOST)
		snprintf(buf, cap, "CPU  %s%s%spid %llu", rank, name, *name ? ", " : "",
			 (unsigned long long)p->pid);
	else
		snprintf(buf, cap, "GPU %u  %s%s%spid %llu", v->t->device[h->device].device, rank,
			 name, *name ? ", " : "", (unsigned long long)p->pid);
}

static const char *bytes(char buf[FMT_LEN], uint64_t n)
{
	return n == HEAP_NONE ? "?" : fmt_bytes(buf, n);
}

/* "12.3 GB at the end, 14.1 GB at most (step 812)." */
static void held(const struct view *v, const struct heap *h)
{
	const struct heap_point *last = &h->point[h->points - 1];
	uint64_t step = h->point[h->peak_at].step;
	char now[FMT_LEN], peak[FMT_LEN], at[64] = "", n[FMT_LEN];

	if (step != HEAP_NONE)
		snprintf(at, sizeof(at), " (step %s)", fmt_exact(n, step));
	out_line(&v->out, OUT_BOLD, "  Tensors hold %s at the end, %s at most%s.",
		 bytes(now, last->v[MEMORY_ALLOCATED]), bytes(peak, h->peak), at);
}

static void remarks(const struct view *v, const struct heap *h)
{
	char a[FMT_LEN], n[FMT_LEN];
	double all = h->growth * (double)h->points;

	if (h->grows && all > GROWTH_BYTES && all > (double)h->peak / 50)
		out_line(&v->out, OUT_WARN,
			 "  It grows by %s a step: something keeps tensors alive.",
			 fmt_bytes(a, (uint64_t)h->growth));
	if (h->unused_most >= UNUSED_SHARE)
		out_line(&v->out, OUT_WARN,
			 "  Up to %s %% of what is reserved is not used: fragments, or a peak that "
			 "has passed.",
			 fmt_percent(a, h->unused_most));
	if (h->retries != HEAP_NONE && h->retries)
		out_line(&v->out, OUT_WARN,
			 "  %s allocation%s had to empty the cache and try again, which waits for "
			 "the GPU.",
			 fmt_count(n, h->retries), h->retries == 1 ? "" : "s");
	if (h->ooms != HEAP_NONE && h->ooms)
		out_line(&v->out, OUT_FAIL, "  %s allocation%s failed: out of memory.",
			 fmt_count(n, h->ooms), h->ooms == 1 ? "" : "s");
}

static void cell(struct table *t, uint64_t value, const struct fmt_unit *u)
{
	char n[FMT_LEN];

	if (value == HEAP_NONE)
		table_add(t, "-");
	else
		table_add(t, "%s", fmt_value(n, (double)value / u->scale, 2));
}

static void row(struct table *t, const struct heap *h, size_t from, size_t to,
		const struct fmt_unit *u)
{
	const struct heap_point *last = &h->point[to - 1];
	uint64_t high = 0, reserved = last->v[MEMORY_RESERVED];
	char a[FMT_LEN], b[FMT_LEN];

	for (size_t i = from; i < to; i++)
		if (h->point[i].high != HEAP_NONE && h->point[i].high > high)
			high = h->point[i].high;
	if (last->step == HEAP_NONE)
		table_add(t, "  %s", fmt_time(a, last->ns - h->point[0].ns));
	else if (to - from == 1)
		table_add(t, "  %s", fmt_exact(a, last->step));
	else
		table_add(t, "  %s-%s", fmt_exact(a, h->point[from].step),
			  fmt_exact(b, last->step));
	cell(t, last->v[MEMORY_ALLOCATED], u);
	cell(t, high, u);
	cell(t, last->v[MEMORY_PEAK], u);
	cell(t, reserved, u);
	cell(t, last->v[MEMORY_SPLIT], u);
	if (reserved == HEAP_NONE || !reserved || last->v[MEMORY_ALLOCATED] > reserved)
		table_add(t, "-");
	else
		table_add(t, "%s",
			  fmt_percent(a, ratio(reserved - last->v[MEMORY_ALLOCATED], reserved)));
	table_add(t, "%s",
		  last->v[MEMORY_RETRIES] == HEAP_NONE ? "-"
						       : fmt_count(a, last->v[MEMORY_RETRIES]));
}

static void table(const struct view *v, const struct heap *h)
{
	const struct col col[] = {
		{ h->point[0].step == HEAP_NONE ? "  After" : "  Step", COL_LEFT, 0 },
		{ "allocated", 0, 0 },
		{ "highest", 0, 3 },
		{ "peak", 0, 2 },
		{ "reserved", 0, 0 },
		{ "split", 0, 4 },
		{ "unused", 0, 1 },
		{ "retries", 0, 0 },
	};
	size_t rows = v->out.all || h->points <= FOLD ? h->points : FOLD;
	const struct fmt_unit *u;
	uint64_t most = h->peak;
	struct table t;

	for (size_t i = 0; i < h->points; i++)
		if (h->point[i].v[MEMORY_RESERVED] != HEAP_NONE &&
		    h->point[i].v[MEMORY_RESERVED] > most)
			most = h->point[i].v[MEMORY_RESERVED];
	u = fmt_byte_unit(most);
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 1; i < 6; i++)
		t.unit[i] = u->name;
	t.unit[6] = "%";
	for (size_t i = 0; i < rows; i++)
		row(&t, h, i * h->points / rows, (i + 1) * h->points / rows, u);
	table_print(&t, &v->out, 2);
	table_fini(&t);
}

static void text(const struct view *v, const struct heaps *hs)
{
	char who[2 * OUT_TEXT];

	for (size_t i = 0; i < hs->n; i++) {
		where(v, &hs->h[i], who, sizeof(who));
		out_line(&v->out, OUT_BOLD, "%s", who);
		fputc('\n', v->out.f);
		held(v, &hs->h[i]);
		remarks(v, &hs->h[i]);
		fputc('\n', v->out.f);
		table(v, &hs->h[i]);
		fputc('\n', v->out.f);
	}
}

/* --- JSON --- */

static void bytes_json(struct json *j, const char *key, uint64_t n)
{
	if (n == HEAP_NONE)
		json_null(j, key);
	else
		json_u64(j, key, n);
}

static void share_json(struct json *j, const char *key, double share)
{
	if (share < 0)
		json_null(j, key);
	else
		json_real(j, key, share);
}

static void point_json(struct json *j, const struct heap_point *p)
{
	json_open(j, NULL, '{');
	bytes_json(j, "step", p->step);
	json_u64(j, "ns", p->ns);
	bytes_json(j, "allocated_bytes", p->v[MEMORY_ALLOCATED]);
	bytes_json(j, "highest_bytes", p->high);
	bytes_json(j, "peak_bytes", p->v[MEMORY_PEAK]);
	bytes_json(j, "reserved_bytes", p->v[MEMORY_RESERVED]);
	bytes_json(j, "inactive_split_bytes", p->v[MEMORY_SPLIT]);
	bytes_json(j, "retries", p->v[MEMORY_RETRIES]);
	bytes_json(j, "ooms", p->v[MEMORY_OOMS]);
	json_close(j);
}

static void heap_json(struct json *j, const struct view *v, const struct heap *h)
{
	const struct trace_process *p = &v->t->process[h->process];
	const struct heap_point *last = &h->point[h->points - 1];

	json_open(j, NULL, '{');
	json_rank(j, "rank", v->t->file[p->file].rank);
	json_u64(j, "pid", p->pid);
	if (h->device == TRACK_HOST)
		json_null(j, "device");
	else
		json_u64(j, "device", v->t->device[h->device].device);
	json_u64(j, "readings", h->readings);
	bytes_json(j, "now_bytes", last->v[MEMORY_ALLOCATED]);
	json_u64(j, "peak_bytes", h->peak);
	bytes_json(j, "peak_step", h->point[h->peak_at].step);
	bytes_json(j, "reserved_bytes", last->v[MEMORY_RESERVED]);
	share_json(j, "unused_share", h->unused);
	share_json(j, "unused_share_max", h->unused_most);
	if (h->grows)
		json_i64(j, "growth_bytes_per_step", llround(h->growth));
	else
		json_null(j, "growth_bytes_per_step");
	bytes_json(j, "retries", h->retries);
	bytes_json(j, "ooms", h->ooms);
	json_open(j, "steps", '[');
	for (size_t i = 0; i < h->points; i++)
		point_json(j, &h->point[i]);
	json_close(j);
	json_close(j);
}

static void json(const struct view *v, const struct heaps *hs)
{
	struct json j;

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_str(&j, "schema", "aon.memory/1");
	json_open(&j, "memory", '[');
	for (size_t i = 0; i < hs->n; i++)
		heap_json(&j, v, &hs->h[i]);
	json_close(&j);
	json_end(&j);
}

int report_memory(const struct opts *o)
{
	struct heaps *hs = NULL;
	struct view v;
	int rc, err;

	rc = view_open(&v, o, VIEW_EVENTS);
	if (rc != CLI_OK)
		return rc;
	err = heaps_new(&hs, v.in);
	if (err < 0)
		rc = cli_say(CLI_FAIL, "%s", strerror(-err));
	else if (o->val[OPT_JSON])
		json(&v, hs);
	else if (hs->n)
		text(&v, hs);
	else
		fprintf(stderr,
			"No memory was recorded. PyTorch's memory on GPUs is recorded, on the "
			"CPU with AON_TORCH_MEMORY=cpu.\n");
	if (rc == CLI_OK)
		rc = view_exit(&v);
	heaps_free(hs);
	view_close(&v);
	return rc;
}
