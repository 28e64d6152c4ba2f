/* SPDX-License-Identifier: Apache-2.0 */
/* live_json.c - see live_json.h; docs/subscribe.md describes the members. */
#include "read/live_json.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"

int live_kinds(const char *list, uint64_t *kinds, char bad[LIVE_WORD])
{
	for (size_t len; list && *list; list += len + (list[len] == ',')) {
		uint32_t kind;

		len = strcspn(list, ",");
		snprintf(bad, LIVE_WORD, "%.*s", (int)len, list);
		kind = aon_consumer_kind_of(bad);
		if (!kind)
			return -EINVAL;
		*kinds |= 1ull << kind;
	}
	return 0;
}

int live_pids(const char *list, uint32_t *pid, size_t cap, size_t *n)
{
	uint64_t v;
	int rc = 0;

	while (list && *n < cap && (rc = num_next(&list, INT32_MAX, &v)) == 1)
		pid[(*n)++] = (uint32_t)v;
	return rc < 0 || (list && *list) ? -EINVAL : 0;
}

static void begin(struct json *j, FILE *f, struct aon_consumer *c,
		  const struct aon_consumer_event *e)
{
	json_init(j, f);
	json_open(j, NULL, '{');
	json_members(j, J_U64("seq", e->seq), J_STR("kind", aon_consumer_kind(e->kind)),
		     J_STR("name", e->name ? aon_consumer_name(c, e->name) : NULL),
		     J_U64("pid", e->pid), J_U64("process", e->process), J_U64("track", e->track));
	json_u64(j, "lane", e->track); /* the key until 0.1 */
	json_u64(j, "start_ns", e->start_ns);
}

void live_event_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_event *e)
{
	struct json j;

	begin(&j, f, c, e);
	json_members(&j, J_U64("weight", aon_consumer_weight(c)), J_U64("dur_ns", e->dur_ns),
		     J_U64("a", e->a), J_U64("b", e->b), J_U64("corr", e->corr),
		     J_U64("flags", e->flags), J_U64("depth", e->depth));
	json_end(&j);
}

void live_window_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_window *w)
{
	struct json j;

	begin(&j, f, c, &w->of);
	json_members(&j, J_U64("count", w->of.a), J_U64("total_ns", w->of.dur_ns),
		     J_U64("bytes", w->of.b), J_U64("min_ns", w->min_ns),
		     J_U64("max_ns", w->max_ns), J_U64("p50_ns", w->p50_ns),
		     J_U64("p95_ns", w->p95_ns), J_U64("p99_ns", w->p99_ns));
	json_end(&j);
}

void live_lost_json(FILE *f, uint64_t events)
{
	struct json j;

	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_u64(&j, "lost", events);
	json_end(&j);
}
