/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - sums the windows and walks the events of chosen processes; see gather.h. */
#include "read/gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/order.h"
#include "base/vec.h"

#define DEPTHS    32u
#define OPS_OPEN  (1u << 20)
#define BIT(KIND) (1u << EVENT_##KIND)
#define GPU_KINDS (BIT(KERNEL) | BIT(COPY) | BIT(MEMSET) | BIT(GRAPH) | BIT(COLLECTIVE))

bool gather_is_gpu(uint32_t kind)
{
	return kind < 32 && GPU_KINDS & 1u << kind;
}

int gather_init(struct gather *g, struct store *st, enum gather_by by)
{
	memset(g, 0, sizeof(*g));
	g->st = st;
	g->by = by;
	g->all_steps.kind = EVENT_STEP;
	return 0;
}

void gather_fini(struct gather *g)
{
	for (size_t i = 0; i < g->rows; i++)
		sketch_fini(&g->row[i].sketch);
	sketch_fini(&g->all_steps.sketch);
	free(g->row);
	lookup_fini(&g->by_key);
	free(g->track);
	free(g->step);
	free(g->op);
}

static struct gather_row *row_of(struct gather *g, uint32_t kind, uint32_t name, uint32_t track)
{
	uint64_t hash;
	uint32_t i;

	if (g->by == BY_NAME)
		track = 0;
	else
		name = 0;
	hash = hash_mix((uint64_t)name << 32 | track, kind);
	for (size_t at = 0; lookup_next(&g->by_key, hash, &at, &i);) {
		struct gather_row *r = &g->row[i];

		if (r->kind == kind && r->name == name && r->track == track)
			return r;
	}
	if (vec_more(&g->row, g->rows, sizeof(*g->row)) < 0 ||
	    lookup_put(&g->by_key, hash, (uint32_t)g->rows) < 0)
		return NULL;
	g->row[g->rows] = (struct gather_row){ .kind = kind, .name = name, .track = track };
	return &g->row[g->rows++];
}

static int row_add(struct gather_row *r, const struct rollup *u)
{
	if (!r->count || u->min_ns < r->min_ns)
		r->min_ns = u->min_ns;
	if (u->max_ns > r->max_ns)
		r->max_ns = u->max_ns;
	r->count += u->count;
	r->total_ns += u->total_ns;
	r->bytes += u->bytes;
	if (rollup_limit(u->verdict) && rollup_limit(u->verdict) < ROOF_LIMITS &&
	    rollup_how(u->verdict) < WORK_HOWS) {
		r->roof.known_ns += u->total_ns;
		r->roof.least_ns += rollup_fraction(u->verdict) * (double)u->total_ns;
		r->roof.by_limit[rollup_limit(u->verdict)] += u->total_ns + 1;
		r->roof.by_how[rollup_how(u->verdict)] += u->total_ns + 1;
	}
	return sketch_merge(&r->sketch, &u->sketch);
}

/* Rows for unrecorded steps are recognised by their names. */
static void find_steps(struct gather *g, const struct window *w)
{
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *u = &w->row[i];

		if (u->kind != EVENT_STEP || !u->name || u->name == g->sampled.left ||
		    u->name == g->sampled.unseen)
			continue;
		if (!strcmp(store_name_text(g->st, u->name), STEPS_UNSAMPLED))
			g->sampled.left = u->name;
		else if (!strcmp(store_name_text(g->st, u->name), STEPS_UNSEEN))
			g->sampled.unseen = u->name;
	}
}

/* Scales what was recorded in the sampled steps to all steps. */
static void end_sampled(struct gather *g)
{
	for (size_t i = 0; i < g->rows; i++) {
		struct gather_row *r = &g->row[i];
		struct sampled_more m = sampled_end(&g->sampled, &r->sampled);

		r->total_ns = (uint64_t)((double)r->total_ns + m.ns + 0.5);
		r->count = (uint64_t)((double)r->count + m.count + 0.5);
		r->bytes = (uint64_t)((double)r->bytes + m.bytes + 0.5);
		r->variance += m.variance;
		r->sampled = (struct sampled_sum){ 0 };
	}
	if (!g->sampled.slots)
		g->unsampled += g->sampled.unsampled;
	g->unseen += g->sampled.unseen_steps;
	g->sampled = (struct sampled){ .left = g->sampled.left, .unseen = g->sampled.unseen };
}

static int on_window(void *arg, const struct window *w)
{
	struct gather *g = arg;
	struct gather_row *r;
	int err;

	if (!g->first_ns || w->start_ns < g->first_ns)
		g->first_ns = w->start_ns;
	if (w->start_ns + WINDOW_NS > g->last_ns)
		g->last_ns = w->start_ns + WINDOW_NS;
	find_steps(g, w);
	sampled_window(&g->sampled, w);
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *u = &w->row[i];

		r = u->kind == EVENT_STEP ? &g->all_steps : row_of(g, u->kind, u->name, u->track);
		err = r ? row_add(r, u) : -ENOMEM;
		if (err < 0)
			return err;
		sampled_add(&g->sampled, &r->sampled, u);
	}
	return 0;
}

static int on_track(void *arg, const struct track *l)
{
	struct gather *g = arg;
	bool new_device = l->device != TRACK_HOST;

	for (size_t i = 0; new_device && i < g->tracks; i++)
		new_device = g->track[i].track.device != l->device ||
			     g->track[i].track.process != l->process;
	if (vec_room(&g->track, &g->track_cap, g->tracks + 1, sizeof(*g->track)) < 0)
		return -ENOMEM;
	g->track[g->tracks++] = (struct gather_track){ .track = *l, .step = SIZE_MAX };
	g->threads += l->device == TRACK_HOST;
	g->streams += l->device != TRACK_HOST;
	g->devices += new_device;
	return 0;
}

static int track_cmp(const void *a, const void *b)
{
	const struct gather_track *x = a, *y = b;

	return x->track.id < y->track.id ? -1 : x->track.id > y->track.id;
}

static struct gather_track *track_find(const struct gather *g, uint32_t id)
{
	struct gather_track key = { .track.id = id };

	return bsearch(&key, g->track, g->tracks, sizeof(*g->track), track_cmp);
}

const struct track *gather_track(const struct gather *g, uint32_t id)
{
	struct gather_track *l = track_find(g, id);

	return l ? &l->track : NULL;
}

static int step_cmp(const void *a, const void *b)
{
	const struct gather_step *x = a, *y = b;

	return cmp_num(x->track, y->track) ?: cmp_num(x->start_ns, y->start_ns);
}

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct gather *g = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		if (c->flags[i] & EVENT_OPEN)
			continue;
		if (g->steps == GATHER_STEPS) { /* full: drop the older half */
			g->steps /= 2;
			memmove(g->step, g->step + g->steps, g->steps * sizeof(*g->step));
		}
		if (vec_room(&g->step, &g->step_cap, g->steps + 1, sizeof(*g->step)) < 0)
			return -ENOMEM;
		g->step[g->steps++] = (struct gather_step){
			.track = c->track[i],
			.start_ns = c->start_ns[i],
			.end_ns = c->start_ns[i] + c->dur_ns[i],
			.number = c->a[i],
		};
	}
	return 0;
}

static bool step_holds(const struct gather *g, size_t i, uint32_t track, uint64_t t)
{
	return i < g->steps && g->step[i].track == track && g->step[i].start_ns <= t &&
	       t < g->step[i].end_ns;
}

/*
 * Whether `t` lies in a step of the track. Ranges arrive in order, so the search starts at the last
 * place.
 */
static bool in_step(const struct gather *g, struct gather_track *l, uint64_t t)
{
	const struct gather_step *s = g->step;
	uint32_t track = l->track.id;
	size_t next;

	if (step_holds(g, l->step, track, t))
		return true;
	next = first_where(i, 0, g->steps,
			   s[i].track > track || (s[i].track == track && s[i].start_ns > t));
	l->step = next ? next - 1 : SIZE_MAX;
	return step_holds(g, l->step, l->track.id, t);
}

/*
 * Ranges of a thread arrive in the order of their ends, inner ones before the outer one. The time
 * of inner ranges waits in child_ns of their depth.
 */
static int self_time(struct gather *g, const struct event *e)
{
	struct gather_track *l = track_find(g, e->track);
	uint32_t depth = e->depth < DEPTHS ? e->depth : DEPTHS - 1;
	uint64_t own = e->dur_ns;
	struct gather_row *r;

	if (!l)
		return 0;
	r = row_of(g, EVENT_RANGE, e->name, e->track);
	if (!r)
		return -ENOMEM;
	r->held_ns += e->dur_ns;
	if (e->a) {
		r->span |= g->by == BY_NAME;
		return 0;
	}
	own -= l->child_ns[depth + 1] < own ? l->child_ns[depth + 1] : own;
	l->child_ns[depth + 1] = 0;
	l->child_ns[depth] += e->dur_ns;
	if (g->steps && in_step(g, l, e->start_ns)) {
		r->step_ns += own;
		g->step_in_ns += own;
	}
	r->self_ns += own;
	return 0;
}

/*
 * Operators and modules have no depth, but arrive in the order of their ends, too: the inner ones
 * are the last of the track that began after this one.
 */
static int op_time(struct gather *g, const struct event *e)
{
	struct gather_row *r = row_of(g, e->kind, e->name, e->track);
	struct gather_track *l = track_find(g, e->track);
	uint64_t own = e->dur_ns;
	size_t i = g->ops;

	if (!r || vec_room(&g->op, &g->op_cap, g->ops + 1, sizeof(*g->op)) < 0)
		return -ENOMEM;
	while (i && g->op[i - 1].track == e->track && g->op[i - 1].start_ns >= e->start_ns) {
		i--;
		own -= g->op[i].dur_ns < own ? g->op[i].dur_ns : own;
	}
	if (i == OPS_OPEN) /* their callers never ended */
		i = 0;
	g->op[i] = (struct gather_op){ e->track, e->start_ns, e->dur_ns };
	g->ops = i + 1;
	r->held_ns += e->dur_ns;
	r->self_ns += own;
	if (e->kind == EVENT_OP && l && g->steps && in_step(g, l, e->start_ns) &&
	    l->step != g->op_step) {
		g->op_step = l->step;
		g->op_steps++;
	}
	return 0;
}

static int on_events(void *arg, uint32_t process, const struct event_columns *c)
{
	struct gather *g = arg;
	int err = 0;

	(void)process;
	for (size_t i = 0; i < c->n && !err; i++) {
		struct event e = event_at(c, i);

		err = e.kind == EVENT_RANGE ? self_time(g, &e) : op_time(g, &e);
	}
	return err;
}

static int walk_events(struct gather *g, uint32_t process, uint64_t from_ns)
{
	/* Each kind on its own: operators do not reduce the self time of modules. */
	static const enum event_kind nest[] = { EVENT_RANGE, EVENT_OP, EVENT_MODULE };
	struct store_filter f = {
		.process = &process, .processes = 1, .kinds = BIT(STEP), .from_ns = from_ns
	};
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_NAME |
			EVENT_COL_TRACK | EVENT_COL_FLAGS | EVENT_COL_DEPTH;
	int err;

	g->steps = 0;
	err = store_each_events(g->st, &f, cols, on_steps, g);
	if (err < 0)
		return err;
	if (g->steps)
		qsort(g->step, g->steps, sizeof(*g->step), step_cmp);
	for (size_t i = 0; i < g->steps; i++)
		g->held_step_ns += g->step[i].end_ns - g->step[i].start_ns;
	g->held_steps += g->steps;
	g->op_step = SIZE_MAX;
	for (size_t i = 0; i < sizeof(nest) / sizeof(nest[0]) && !err; i++) {
		g->ops = 0;
		f.kinds = 1u << nest[i];
		err = store_each_events(g->st, &f, cols, on_events, g);
	}
	/* A range that begins in a step may end after it. */
	if (g->step_in_ns > g->held_step_ns)
		g->step_in_ns = g->held_step_ns;
	return err;
}

static int learn_names(const struct gather *g)
{
	const char **name = calloc(g->rows + 1, sizeof(char *));

	for (size_t i = 0; name && i < g->rows; i++)
		name[i] = g->row[i].name ? store_name_text(g->st, g->row[i].name) : "";
	if (name)
		demangle_learn(name, g->rows);
	free(name);
	return name ? 0 : -ENOMEM;
}

int gather_process(struct gather *g, const struct process *p, uint64_t from_ns, bool events)
{
	struct store_filter f = { .process = &p->id, .processes = 1, .from_ns = from_ns };
	int err;

	g->processes++;
	if (!g->begin_ns || p->first_ns < g->begin_ns)
		g->begin_ns = p->first_ns;
	if (p->last_ns > g->end_ns)
		g->end_ns = p->last_ns;
	account_add(&g->account, &p->account);
	if (!g->overhead.steps || overhead_share(&p->overhead) > overhead_share(&g->overhead))
		g->overhead = p->overhead;
	err = store_each_track(g->st, p->id, on_track, g);
	if (err < 0)
		return err;
	if (g->tracks)
		qsort(g->track, g->tracks, sizeof(*g->track), track_cmp);
	g->sampled.slots = p->overhead.by == OVERHEAD_BY_LAUNCHES && p->overhead.unsampled;
	g->left_slots += g->sampled.slots ? p->overhead.unsampled : 0;
	g->all_slots += g->sampled.slots ? p->overhead.steps : 0;
	err = store_each_window(g->st, &f, on_window, g);
	if (!err)
		end_sampled(g);
	if (!err && events)
		err = walk_events(g, p->id, from_ns);
	return err < 0 ? err : learn_names(g);
}

bool gather_nests(uint32_t kind)
{
	return kind == EVENT_RANGE || kind == EVENT_OP || kind == EVENT_MODULE;
}

uint64_t gather_time(const struct gather_row *r)
{
	if (!gather_nests(r->kind) || r->span || !r->held_ns || r->held_ns == r->self_ns)
		return r->total_ns;
	if (r->held_ns == r->total_ns)
		return r->self_ns;
	return (uint64_t)((double)r->total_ns * (double)r->self_ns / (double)r->held_ns);
}

bool gather_sampled(const struct gather *g, uint32_t kind)
{
	return (g->unsampled || g->left_slots) && sampled_kind(kind);
}

bool gather_judged(const struct gather_row *const *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (row[i]->roof.known_ns)
			return true;
	return false;
}

char *gather_limit(const struct gather_row *r, char out[32])
{
	if (r->roof.known_ns)
		snprintf(out, 32, "%s %.0f %%", roof_limit_word[roof_name_limit(&r->roof)],
			 100 * roof_name_fraction(&r->roof));
	else
		snprintf(out, 32, "-");
	return out;
}

uint64_t gather_quantile(const struct gather_row *r, double q)
{
	uint64_t v = sketch_quantile(&r->sketch, q);

	return v > r->max_ns ? r->max_ns : v < r->min_ns ? r->min_ns : v;
}

static int time_cmp(const void *a, const void *b)
{
	const struct gather_row *x = *(const struct gather_row *const *)a;
	const struct gather_row *y = *(const struct gather_row *const *)b;
	uint64_t tx = gather_time(x), ty = gather_time(y);

	return cmp_num(ty, tx) ?: cmp_num(y->count, x->count) ?: cmp_num(x, y);
}

static uint32_t row_bit(const struct gather_row *r)
{
	return 1u << (r->span ? GATHER_SPAN : r->kind & 31);
}

const struct gather_row **gather_sorted(const struct gather *g, uint32_t kinds, size_t *n,
					uint64_t *total)
{
	const struct gather_row **list = calloc(g->rows + 1, sizeof(struct gather_row *));

	*n = 0;
	*total = 0;
	for (size_t i = 0; list && i < g->rows; i++) {
		if (!(kinds & row_bit(&g->row[i])))
			continue;
		list[(*n)++] = &g->row[i];
		*total += gather_time(&g->row[i]);
	}
	if (list)
		qsort(list, *n, sizeof(struct gather_row *), time_cmp);
	return list;
}

uint32_t gather_kinds(const struct gather *g)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < g->rows; i++)
		kinds |= row_bit(&g->row[i]);
	return kinds;
}

const char *gather_name(const struct gather *g, const struct gather_row *r)
{
	return r->name ? demangle(store_name_text(g->st, r->name)) : "(no name)";
}

char *gather_label(const struct gather *g, const struct gather_row *r, char *buf, size_t cap)
{
	const struct track *l;

	if (!r->track) {
		snprintf(buf, cap, "%s", gather_name(g, r));
		return buf;
	}
	l = gather_track(g, r->track);
	if (!l)
		snprintf(buf, cap, "track %u", r->track);
	else if (l->device == TRACK_HOST)
		snprintf(buf, cap, "thread %llu%s%s", (unsigned long long)l->stream,
			 l->name ? " " : "", l->name ? store_name_text(g->st, l->name) : "");
	else
		snprintf(buf, cap, "GPU %u stream %llu%s%s", l->device,
			 (unsigned long long)l->stream, l->name ? " " : "",
			 l->name ? store_name_text(g->st, l->name) : "");
	return buf;
}

void account_add(struct account *into, const struct account *a)
{
	into->emitted += a->emitted;
	into->stored += a->stored;
	into->overwritten += a->overwritten;
	into->in_flight += a->in_flight;
	for (uint32_t i = 0; i < ACCOUNT_LOSSES; i++)
		into->lost[i] += a->lost[i];
	into->untold += a->untold;
	into->samples += a->samples;
}
