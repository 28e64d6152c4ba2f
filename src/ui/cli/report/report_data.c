/* SPDX-License-Identifier: Apache-2.0 */
/* report_data.c - batches: how long a process waits for one, and its workers take to make one. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report.h"

#define WAIT   "enumerate(DataLoader)#" /* torch's range */
#define FETCH  "DataLoader fetch"       /* src/app/probe/torch/data.c */
#define WORKER "DataLoader worker %" SCNu32 " of %" SCNu32 " for pid %" SCNu32

struct batches {
	uint64_t waits, wait_ns;  /* for the next one */
	uint64_t made, made_ns;   /* in this process */
	uint32_t number, of, pid; /* as whose worker; of: 0 if it is none */
};

static void look(struct batches *b, const struct gather *g)
{
	memset(b, 0, sizeof(*b));
	for (size_t i = 0; i < g->rows; i++) {
		const struct gather_row *r = &g->row[i];
		const char *name = r->name ? store_name_text(g->st, r->name) : "";

		if (r->kind == EVENT_RANGE && !strncmp(name, WAIT, strlen(WAIT))) {
			b->waits += r->count;
			b->wait_ns += r->total_ns;
		} else if (r->kind == EVENT_RANGE && !strcmp(name, FETCH)) {
			b->made += r->count;
			b->made_ns += r->total_ns;
		} else if (r->kind == EVENT_MARK) {
			uint32_t number, of, pid;

			if (sscanf(name, WORKER, &number, &of, &pid) == 3) {
				b->number = number;
				b->of = of;
				b->pid = pid;
			}
		}
	}
}

static int load(struct batches *b, struct store *st, const struct process *p)
{
	struct gather g;
	int err = gather_init(&g, st, BY_NAME);

	if (err < 0)
		return err;
	err = gather_process(&g, p, 0, false);
	if (!err)
		look(b, &g);
	gather_fini(&g);
	return err;
}

static struct batches *load_all(struct store *st, const struct procs *ps)
{
	struct batches *b = calloc(ps->n + 1, sizeof(*b));

	for (size_t i = 0; b && i < ps->n; i++)
		if (load(&b[i], st, &ps->p[i]) < 0) {
			free(b);
			return NULL;
		}
	return b;
}

/* A pid is one process's at a time: of several the one that began last before the worker did. */
static bool is_worker_of(const struct procs *ps, const struct batches *b, size_t w, size_t i)
{
	const struct process *p = ps->p;

	if (!b[w].of || b[w].pid != p[i].pid || p[i].first_ns > p[w].last_ns)
		return false;
	for (size_t k = 0; k < ps->n; k++)
		if (k != i && p[k].pid == p[i].pid && p[k].first_ns > p[i].first_ns &&
		    p[k].first_ns <= p[w].last_ns)
			return false;
	return true;
}

/* "Batches: 25.3 ms of a step waiting for one; 2 workers make one in 4.2 ms." */
void report_data(struct store *st, const struct procs *ps, const struct process *p,
		 const struct gather *g, const struct out *out)
{
	char a[FMT_LEN], c[FMT_LEN], n[FMT_LEN];
	struct batches own, *all;
	uint64_t made = 0, ns = 0, workers = 0;

	look(&own, g);
	if (!own.waits || g->by != BY_NAME)
		return;
	all = load_all(st, ps);
	for (size_t w = 0; all && w < ps->n; w++) {
		if (!is_worker_of(ps, all, w, (size_t)(p - ps->p)))
			continue;
		workers++;
		made += all[w].made;
		ns += all[w].made_ns;
	}
	free(all);
	made = workers ? made : own.made;
	ns = workers ? ns : own.made_ns;
	out_time(out, a, sizeof(a),
		 own.wait_ns / (g->all_steps.count ? g->all_steps.count : own.waits));
	out_time(out, c, sizeof(c), made ? ns / made : 0);
	if (!made)
		out_line(out, OUT_PLAIN, "  Batches: %s %s waiting for one.", a,
			 g->all_steps.count ? "of a step" : "each time");
	else if (workers)
		out_line(out, OUT_PLAIN,
			 "  Batches: %s %s waiting for one; a worker makes one in %s, %s do.", a,
			 g->all_steps.count ? "of a step" : "each time", c, fmt_count(n, workers));
	else
		out_line(out, OUT_PLAIN,
			 "  Batches: %s %s waiting for one, which takes %s (num_workers=0).", a,
			 g->all_steps.count ? "of a step" : "each time", c);
}

static void one_json(struct json *j, const struct procs *ps, const struct batches *b, size_t i)
{
	json_open(j, NULL, '{');
	json_members(j, J_U64("process", ps->p[i].id), J_U64("pid", ps->p[i].pid),
		     J_U64("waits", b[i].waits), J_U64("wait_ns", b[i].wait_ns),
		     J_U64("fetched", b[i].made), J_U64("fetch_ns", b[i].made_ns));
	json_open(j, "workers", '[');
	for (size_t w = 0; w < ps->n; w++) {
		if (!is_worker_of(ps, b, w, i))
			continue;
		json_object(j, NULL, J_U64("process", ps->p[w].id), J_U64("pid", ps->p[w].pid),
			    J_U64("number", b[w].number), J_U64("fetched", b[w].made),
			    J_U64("fetch_ns", b[w].made_ns));
	}
	json_close(j);
	json_close(j);
}

int report_data_json(struct json *j, struct store *st, const struct procs *ps)
{
	struct batches *b = load_all(st, ps);

	if (!b)
		return -ENOMEM;
	json_open(j, "data", '[');
	for (size_t i = 0; i < ps->n; i++)
		if (b[i].waits)
			one_json(j, ps, b, i);
	json_close(j);
	free(b);
	return 0;
}
