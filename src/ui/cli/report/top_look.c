/* SPDX-License-Identifier: Apache-2.0 */
/* top_look.c - reads the last minute of a store; see top.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/locate.h"
#include "cli/report/top.h"

#define NAMES_NS (15 * WINDOW_NS) /* that the table of names covers; windows come late */

struct minute {
	struct top_proc *proc;
	uint64_t first_ns; /* of spark[0] */
	uint64_t steps[TOP_SPARK], step_ns[TOP_SPARK], events[TOP_SPARK];
};

static int on_window(void *arg, const struct window *w)
{
	struct minute *m = arg;
	uint64_t i;

	if (w->start_ns < m->first_ns)
		return 0;
	i = (w->start_ns - m->first_ns) / WINDOW_NS;
	if (i >= TOP_SPARK)
		return 0;
	for (uint32_t r = 0; r < w->rows; r++) {
		m->events[i] += w->row[r].count;
		if (w->row[r].kind == EVENT_STEP) {
			m->steps[i] += w->row[r].count;
			m->step_ns[i] += w->row[r].total_ns;
		}
	}
	return 0;
}

/* The sparkline, and the newest seconds summed up. */
static void settle(struct minute *m)
{
	struct top_proc *p = m->proc;

	for (size_t i = 0; i < TOP_SPARK; i++)
		p->steps |= m->steps[i] > 0;
	for (size_t i = 0; i < TOP_SPARK; i++) {
		if (p->steps)
			p->spark[i] = m->steps[i] ? m->step_ns[i] / m->steps[i] : 0;
		else
			p->spark[i] = m->events[i];
		if (i + 10 < TOP_SPARK || !m->events[i])
			continue;
		p->events += m->events[i];
		p->step_count += m->steps[i];
		p->step_ns += m->step_ns[i];
		p->seconds++;
	}
}

static int look_at(struct top_look *l, struct top_proc *t, const struct process *p)
{
	struct store_filter f = { .process = &p->id, .processes = 1 };
	struct minute m = { .proc = t };
	uint64_t back = (TOP_SPARK - 1) * WINDOW_NS; /* the last second is this one */
	int err;

	t->p = p;
	t->live = procs_live(&l->procs, p);
	m.first_ns = (l->now_ns > back ? l->now_ns - back : 0) / WINDOW_NS * WINDOW_NS;
	f.from_ns = m.first_ns;
	err = store_each_window(l->st, &f, on_window, &m);
	if (err < 0)
		return err;
	settle(&m);
	account_add(&l->account, &p->account);
	return gather_process(&l->g, p, l->now_ns > NAMES_NS ? l->now_ns - NAMES_NS : 0, false);
}

int top_look(struct top_look *l, const char *store, bool all)
{
	struct procs_want want = { .connected = !all };
	int rc, err;

	memset(l, 0, sizeof(*l));
	rc = locate_open(store, &l->st, l->path);
	if (rc != CLI_OK)
		return rc;
	err = procs_load(&l->procs, l->st, &want);
	l->procs.want = NULL;
	err = err ? err : gather_init(&l->g, l->st, BY_NAME);
	if (!err)
		l->proc = calloc(l->procs.n + 1, sizeof(*l->proc));
	if (!err && !l->proc)
		err = -ENOMEM;
	l->now_ns = procs_now(&l->procs);
	for (size_t i = 0; i < l->procs.n && !err; i++)
		err = look_at(l, &l->proc[i], &l->procs.p[i]);
	err = err ? err : top_code(l);
	if (!err)
		top_jobs(l);
	if (err < 0) {
		top_look_fini(l);
		return locate_broke(l->path, err);
	}
	return CLI_OK;
}

void top_look_fini(struct top_look *l)
{
	gather_fini(&l->g);
	free(l->proc);
	procs_fini(&l->procs);
	store_close(l->st);
	l->st = NULL;
}
