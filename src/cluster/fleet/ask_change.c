/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_change.c - which kernels got slower with a version of the driver or of the framework?
 *
 * It compares jobs on the same kind of GPU that differ in one of the two versions alone: the mean
 * of a kernel's calls under a version against that under the next older one, whichever ran first,
 * because nodes are updated one by one. A name may stand for several shapes: the number of jobs on
 * each side is reported with it.
 */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "model/event.h"

#define ROWS    500000u
#define CALLS   100u /* fewer calls prove nothing */
#define SLOWER  1.05 /* smaller differences come from other jobs, or are noise */
#define CHANGES 50u

struct seen {
	uint64_t name, calls, busy_ns, jobs;
	char gpu[FLEET_WORD], driver[FLEET_WORD], framework[FLEET_WORD];
};

struct seens {
	struct seen *s; /* owned */
	size_t n;
};

static int on_seen(void *arg, const struct rowin_field *f)
{
	struct seens *x = arg;
	struct seen *s = ask_grow(&x->s, &x->n, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->name = f[0].u;
	s->calls = f[1].u;
	s->busy_ns = f[2].u;
	s->jobs = f[3].u;
	ask_word(s->gpu, sizeof(s->gpu), &f[4]);
	ask_word(s->driver, sizeof(s->driver), &f[5]);
	ask_word(s->framework, sizeof(s->framework), &f[6]);
	return 0;
}

static int order(const struct seen *x, const struct seen *y, bool by_driver)
{
	int c = x->name < y->name ? -1 : x->name > y->name;

	c = c ? c : strcmp(x->gpu, y->gpu);
	c = c ? c : by_driver ? strcmp(x->framework, y->framework) : strcmp(x->driver, y->driver);
	return c ? c : 0;
}

static int by_driver(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return order(x, y, true) ?: strverscmp(x->driver, y->driver);
}

static int by_framework(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return order(x, y, false) ?: strverscmp(x->framework, y->framework);
}

/*
 * Whether both are versions of the same thing: "torch 2.7.1" and "torch 2.8.0". A driver has no
 * name before its version.
 */
static bool same_thing(const char *a, const char *b)
{
	size_t n = strcspn(a, " ");

	return (!a[n] && !strchr(b, ' ')) || (a[n] && !strncmp(a, b, n + 1));
}

static int note(struct fleet_changes *cs, const struct seen *a, const struct seen *b, bool driver)
{
	double was = (double)a->busy_ns / (double)a->calls,
	       is = (double)b->busy_ns / (double)b->calls;
	struct fleet_change *c;

	if (was <= 0 || is < SLOWER * was)
		return 0;
	c = ask_grow(&cs->c, &cs->n, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->name = b->name;
	memcpy(c->gpu, b->gpu, sizeof(c->gpu));
	memcpy(c->before, driver ? a->driver : a->framework, sizeof(c->before));
	memcpy(c->after, driver ? b->driver : b->framework, sizeof(c->after));
	snprintf(c->what, sizeof(c->what), "%s", driver ? "driver" : "framework");
	c->before_ns = was;
	c->after_ns = is;
	c->before_count = a->calls;
	c->after_count = b->calls;
	c->before_jobs = a->jobs;
	c->after_jobs = b->jobs;
	c->cost_ns = (is - was) * (double)b->calls;
	return 0;
}

static int compare(struct fleet_changes *cs, struct seens *x, bool driver)
{
	int err = 0;

	if (x->n)
		qsort(x->s, x->n, sizeof(*x->s), driver ? by_driver : by_framework);
	for (size_t i = 1; i < x->n && !err; i++) {
		const struct seen *a = &x->s[i - 1], *b = &x->s[i];
		const char *was = driver ? a->driver : a->framework,
			   *is = driver ? b->driver : b->framework;

		if (!order(a, b, driver) && *was && *is && same_thing(was, is))
			err = note(cs, a, b, driver);
	}
	return err;
}

static int by_cost(const void *a, const void *b)
{
	const struct fleet_change *x = a, *y = b;

	return cmp_num(y->cost_ns, x->cost_ns);
}

static int name_them(struct fleet_changes *cs, struct fleet *f, struct store_why *why)
{
	struct ask_name *n;
	int err;

	if (cs->n)
		qsort(cs->c, cs->n, sizeof(*cs->c), by_cost);
	cs->n = cs->n < CHANGES ? cs->n : CHANGES;
	n = calloc(cs->n + 1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	for (size_t i = 0; i < cs->n; i++)
		n[i] = (struct ask_name){ cs->c[i].name, &cs->c[i].text };
	err = ask_names(f, n, cs->n, why);
	free(n);
	return err;
}

static int ask_seen(struct seens *x, struct fleet *f, struct fleet_span span, struct store_why *why)
{
	return ask_rows(&(struct question){ f, NULL, span, "qqqqsss", ROWS, on_seen, x, why },
			"SELECT name, toUInt64(sum(c)) AS calls_sum, toUInt64(sum(b)), "
			"toUInt64(uniqExact(job)), gm, dr, fw FROM (SELECT name, job, sum(calls) "
			"AS c, sum(busy_ns) AS b FROM kernel_hour WHERE {cluster}{hours} AND kind "
			"= %d AND job != '' GROUP BY name, job) ANY INNER JOIN (SELECT job, "
			"any(gpu_model) AS gm, any(driver) AS dr, any(framework) AS fw FROM "
			"process WHERE {cluster} AND end_ns >= %" PRIu64
			" GROUP BY job HAVING dr != '' OR fw != '') USING (job) GROUP BY name, gm, "
			"dr, fw HAVING calls_sum >= %u",
			EVENT_KERNEL, span.from_ns, CALLS);
}

void fleet_changes_fini(struct fleet_changes *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		free(cs->c[i].text);
	free(cs->c);
	*cs = (struct fleet_changes){ .n = 0 };
}

int fleet_changes(struct fleet_changes *out, struct fleet *f, struct fleet_span span,
		  struct store_why *why)
{
	struct fleet_changes cs = { .n = 0 };
	struct seens x = { .n = 0 };
	int err = ask_seen(&x, f, span, why);

	err = err ? err : compare(&cs, &x, true);
	err = err ? err : compare(&cs, &x, false);
	err = err ? err : name_them(&cs, f, why);
	free(x.s);
	if (err)
		fleet_changes_fini(&cs);
	else
		*out = cs;
	return err;
}
