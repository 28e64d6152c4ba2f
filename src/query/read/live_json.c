/* SPDX-License-Identifier: Apache-2.0 */
/* live_json.c - see live_json.h; docs/subscribe.md says what the members are. */
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
	json_u64(j, "seq", e->seq);
	json_str(j, "kind", aon_consumer_kind(e->kind));
	json_str(j, "name", e->name ? aon_consumer_name(c, e->name) : NULL);
	json_u64(j, "pid", e->pid);
	json_u64(j, "process", e->process);
	json_u64(j, "track", e->track);
	json_u64(j, "lane", e->track); /* the key until 0.1 */
	json_u64(j, "start_ns", e->start_ns);
}

void live_event_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_event *e)
{
	struct json j;

	begin(&j, f, c, e);
	json_u64(&j, "weight", aon_consumer_weight(c));
	json_u64(&j, "dur_ns", e->dur_ns);
	json_u64(&j, "a", e->a);
	json_u64(&j, "b", e->b);
	json_u64(&j, "corr", e->corr);
	json_u64(&j, "flags", e->flags);
	json_u64(&j, "depth", e->depth);
	json_end(&j);
}

void live_window_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_window *w)
{
	struct json j;

	begin(&j, f, c, &w->of);
	json_u64(&j, "count", w->of.a);
	json_u64(&j, "total_ns", w->of.dur_ns);
	json_u64(&j, "bytes", w->of.b);
	json_u64(&j, "min_ns", w->min_ns);
	json_u64(&j, "max_ns", w->max_ns);
	json_u64(&j, "p50_ns", w->p50_ns);
	json_u64(&j, "p95_ns", w->p95_ns);
	json_u64(&j, "p99_ns", w->p99_ns);
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
