/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_code.c - what launching threads do; see top.h.
 *
 * aond stores samples of many seconds together, and has the newest in memory: it is asked for these.
 * Where it does not answer (another user's, a store that nobody writes), the stored ones do.
 */
#include "cli/report/top.h"

#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "model/sample_most.h"

#define LATE_NS (150 * WINDOW_NS) /* aond stores samples of many seconds together */
#define ASK_MS  500               /* a screen that is drawn every two seconds waits no longer */

static void set_code(struct top_look *l, struct top_proc *t, const struct sample_most *m,
		     const struct sample_place *p)
{
	t->code_samples = m->samples;
	t->code_share = m->ns ? (double)p->ns / (double)m->ns : 0;
	t->code_state = p->state;
	t->code_age_ns = l->now_ns > m->newest_ns ? l->now_ns - m->newest_ns : 0;
	snprintf(t->code, sizeof(t->code), "%s",
		 p->name ? store_name_text(l->st, p->name) : "(no frame)");
}

/* --- of aond --- */

struct now {
	struct top_look *l;
	bool ours; /* it writes the store that is looked at */
};

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void on_code(void *arg, char *line)
{
	struct now *n = arg;
	uint64_t v[7] = { 0 };
	const char *at = line;
	struct sample_most m = { .n = 0 };
	struct sample_place p;

	if (!strncmp(line, "store ", 6))
		n->ours = same_file(line + 6, n->l->path);
	for (size_t i = 0; n->ours && i < 7; i++)
		v[i] = num_front(at + strspn(at, " "), &at);
	if (!v[6] || v[4] >= SAMPLE_STATES || v[5] > UINT32_MAX)
		return;
	m.newest_ns = v[1];
	m.samples = v[2];
	m.ns = v[3];
	p = (struct sample_place){ (uint32_t)v[5], (enum sample_state)v[4], v[6] };
	for (size_t i = 0; i < n->l->procs.n; i++)
		if (n->l->procs.p[i].id == v[0])
			set_code(n->l, &n->l->proc[i], &m, &p);
}

static void ask_aond(struct top_look *l)
{
	struct now n = { .l = l };
	char dir[PATH_MAX];

	admin_ask(locate_run_dir(), "code", ASK_MS, on_code, &n);
	for (size_t i = 0; i < l->procs.n && !n.ours;
	     i++) { /* one of `aon run`: all have the same */
		if (!l->proc[i].live)
			continue;
		locate_run_dir_of((pid_t)l->procs.p[i].pid, dir);
		if (*dir)
			admin_ask(dir, "code", ASK_MS, on_code, &n);
		return;
	}
}

/* --- of the store --- */

static int on_newest(void *arg, uint32_t process, const struct event_columns *c)
{
	uint64_t *newest = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++)
		*newest = c->start_ns[i] > *newest ? c->start_ns[i] : *newest;
	return 0;
}

static int on_samples(void *arg, uint32_t process, const struct event_columns *c)
{
	(void)process;
	for (size_t i = 0; i < c->n; i++)
		sample_most_add(arg, c->start_ns[i], c->dur_ns[i], c->name[i], c->b[i]);
	return 0;
}

static int stored_code(struct top_look *l, struct top_proc *t)
{
	struct store_filter f = { .process = &t->p->id,
				  .processes = 1,
				  .kinds = 1u << EVENT_SAMPLE,
				  .from_ns = l->now_ns > LATE_NS ? l->now_ns - LATE_NS : 0 };
	struct sample_most m = { .n = 0 };
	uint64_t newest = 0;
	int err = store_each_events(l->st, &f, EVENT_COL_START, on_newest, &newest);

	if (err < 0 || !newest)
		return err;
	f.from_ns = newest > SAMPLE_NOW_NS ? newest - SAMPLE_NOW_NS : 0;
	err = store_each_events(l->st, &f,
				EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_NAME | EVENT_COL_B,
				on_samples, &m);
	if (err >= 0 && sample_most(&m))
		set_code(l, t, &m, sample_most(&m));
	return err;
}

int top_code(struct top_look *l)
{
	int err = 0;

	ask_aond(l);
	for (size_t i = 0; i < l->procs.n && !err; i++)
		if (!l->proc[i].code_samples)
			err = stored_code(l, &l->proc[i]);
	return err < 0 ? err : 0;
}
