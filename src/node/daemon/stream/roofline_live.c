/* SPDX-License-Identifier: Apache-2.0 */
/* roofline_live.c - see roofline_live.h. */
#include "daemon/stream/roofline_live.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "names/kwork.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/event.h"
#include "theory/copy.h"

#define MOST 32768u /* names, geometries, and pairs of them */

#define HINTS 4096u

#define SURE 4u   /* times, and so many to one against it */
#define SAME 0.01 /* of work: what is reported twice */

struct pair {
	uint64_t key;
	struct roof_work work;
	struct roof_work seen; /* by its shapes, while it does an operator's work */
	uint32_t does, helps;  /* how often it did that, or was beside one that took longer */
	bool several;          /* other shapes were seen, too */
};

struct name_is {
	struct kernel_name kernel;
	enum copy_way way; /* of copies */
};

struct known {
	struct map at; /* id: place + 1 */
	void *v;       /* owned */
	size_t n;
};

struct judge {
	const struct gpu *gpu; /* borrowed */
	struct knames *names;
	struct names *classes;
	struct known name; /* struct name_is, by store's id */
	struct known geo;  /* struct geo */
	struct known work; /* struct pair, by both */
	struct source_works *texts;
	uint32_t row[HINTS]; /* place + 1 of what that row of a window was: mostly it is again */
};

int judge_new(struct judge **out, const struct gpu *gpu)
{
	struct judge *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->gpu = gpu;
	if (knames_new(&j->names) < 0 || names_new(&j->classes, NULL) < 0 ||
	    source_works_new(&j->texts) < 0) {
		judge_free(j);
		return -ENOMEM;
	}
	*out = j;
	return 0;
}

static void known_fini(struct known *k)
{
	map_fini(&k->at);
	free(k->v);
}

void judge_free(struct judge *j)
{
	if (!j)
		return;
	knames_free(j->names);
	names_free(j->classes);
	source_works_free(j->texts);
	known_fini(&j->name);
	known_fini(&j->geo);
	known_fini(&j->work);
	free(j);
}

const struct gpu *judge_gpu(const struct judge *j)
{
	return j->gpu;
}

/* A place for a key that has none; NULL: it has, or there is no room. */
static void *known_add(struct known *k, uint64_t key, size_t each)
{
	if (k->n == MOST || map_get(&k->at, key))
		return NULL;
	if (vec_more(&k->v, k->n, each) < 0 || map_put(&k->at, key, k->n + 1) < 0)
		return NULL;
	return (char *)k->v + k->n++ * each;
}

static void *known_get(const struct known *k, uint64_t key, size_t each)
{
	uint32_t at = map_get(&k->at, key);

	return at ? (char *)k->v + (at - 1) * each : NULL;
}

void judge_name(struct judge *j, uint32_t id, const char *text)
{
	struct name_is *n = known_add(&j->name, id, sizeof(*n));

	if (!n)
		return;
	kname_of(&n->kernel.says, j->names, text);
	n->kernel.class = names_kernel_text(j->classes, text);
	n->kernel.text = source_kernel(text);
	n->way = copy_way(text);
	source_works_add(j->texts, text);
}

void judge_geo(struct judge *j, uint32_t id, const struct geo *g)
{
	struct geo *to = known_add(&j->geo, id, sizeof(*to));

	if (to)
		*to = *g;
}

static uint32_t add_pair(struct judge *j, uint64_t key)
{
	struct pair *p = known_add(&j->work, key, sizeof(*p));
	const struct name_is *n = known_get(&j->name, (uint32_t)(key >> 32), sizeof(*n));
	const struct geo *g = known_get(&j->geo, (uint32_t)key, sizeof(*g));

	if (!p)
		return 0;
	*p = (struct pair){ .key = key };
	if (n && g)
		kwork_of_launch(&p->work, &n->kernel, j->texts, g);
	return (uint32_t)j->work.n;
}

static struct pair *pair_of(struct judge *j, uint32_t name, uint32_t geo)
{
	uint64_t key = (uint64_t)name << 32 | geo;
	uint32_t at = map_get(&j->work.at, key);

	at = at ? at : add_pair(j, key);
	return at ? (struct pair *)j->work.v + (at - 1) : NULL;
}

static bool same(double a, double b)
{
	return fabs(a - b) <= SAME * fmax(a, b);
}

/* Some calls of a kernel, or of one beside it, may not have been seen: a few do not count. */
static void decide(struct judge *j, struct pair *p)
{
	const struct name_is *n = known_get(&j->name, (uint32_t)(p->key >> 32), sizeof(*n));
	const struct geo *g = known_get(&j->geo, (uint32_t)p->key, sizeof(*g));

	if (!p->several && p->does >= SURE && p->does / SURE > p->helps)
		p->work = p->seen;
	else if (p->work.how == WORK_SEEN && n && g)
		kwork_of_launch(&p->work, &n->kernel, j->texts, g);
}

void judge_learn(struct judge *j, uint32_t name, uint32_t geo, const struct op_known *o)
{
	const struct name_is *n = known_get(&j->name, name, sizeof(*n));
	struct pair *p = pair_of(j, name, geo);

	if (!n || !p || p->several)
		return;
	if (!p->does++) {
		kwork_of_op(&p->seen, &n->kernel, o);
		p->seen.how = WORK_SEEN;
	}
	p->several = !same(p->seen.flops, (double)o->work.flops) ||
		     !same(p->seen.bytes, (double)o->work.bytes);
	decide(j, p);
}

void judge_helps(struct judge *j, uint32_t name, uint32_t geo)
{
	struct pair *p = pair_of(j, name, geo);

	if (!p)
		return;
	p->helps++;
	decide(j, p);
}

/* NULL: there is no room. */
static const struct roof_work *work_of(struct judge *j, uint64_t key, uint32_t *hint)
{
	const struct pair *all = j->work.v;

	if (*hint && all[*hint - 1].key == key)
		return &all[*hint - 1].work;
	*hint = map_get(&j->work.at, key);
	if (!*hint)
		*hint = add_pair(j, key);
	all = j->work.v;
	return *hint ? &all[*hint - 1].work : NULL;
}

static void judge_row(struct judge *j, struct rollup *r, uint32_t *hint)
{
	const struct roof_work *w = work_of(j, (uint64_t)r->name << 32 | r->geo, hint);
	struct roof is;

	if (w && w->how && r->count &&
	    !roof_of(&is, j->gpu, w, (double)r->total_ns / (double)r->count))
		r->verdict = rollup_verdict(is.limit, w->how, is.fraction);
}

static void judge_copies(const struct judge *j, struct rollup *r)
{
	const struct name_is *n = known_get(&j->name, r->name, sizeof(*n));
	struct roof is;

	if (n && n->way < COPY_WAYS &&
	    !copy_roof(&is, j->gpu, n->way, (double)r->count, (double)r->bytes,
		       (double)r->total_ns))
		r->verdict = rollup_verdict(is.limit, WORK_RECORD, is.fraction);
}

void judge_window(struct judge *j, const struct window *w)
{
	for (uint32_t i = 0; i < w->rows; i++)
		if (w->row[i].kind == EVENT_KERNEL && w->row[i].geo != ROLLUP_NO_GEO)
			judge_row(j, &w->row[i], &j->row[i % HINTS]);
		else if (w->row[i].kind == EVENT_COPY)
			judge_copies(j, &w->row[i]);
}

/* --- the node's devices --- */

/* "Model: \t\t NVIDIA H100 80GB HBM3\n" of .../0000:4e:00.0/information */
static bool read_model(int dir, const char *gpu, char *out, size_t cap)
{
	char path[300], text[4096], *s, *end;

	snprintf(path, sizeof(path), "%.255s/information", gpu);
	if (file_text(dir, path, text, sizeof(text)) <= 0 || !(s = strstr(text, "Model:")))
		return false;
	s += strlen("Model:");
	s += strspn(s, " \t");
	end = s + strcspn(s, "\n");
	snprintf(out, cap, "%.*s", (int)(end - s), s);
	return end > s;
}

const struct gpu *judge_node(const char *dir, uint32_t *gpus)
{
	const struct gpu *is = NULL, *one;
	DIR *d = opendir(dir);
	bool alike = true;
	struct dirent *e;
	char model[128];

	*gpus = 0;
	while (d && (e = readdir(d))) {
		if (*e->d_name == '.' || !read_model(dirfd(d), e->d_name, model, sizeof(model)))
			continue;
		one = gpu_find(model);
		alike = alike && one && (!is || is == one);
		is = one;
		++*gpus;
	}
	if (d)
		closedir(d);
	return alike ? is : NULL;
}
