/* SPDX-License-Identifier: Apache-2.0 */
/* api_timeline.c - tracks, names, tiles, and details of single events and stretches of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "model/event.h"
#include "serve/api/api.h"
#include "serve/kernel_rows.h"
#include "serve/timeline.h"

#define BYTES    (1u << 20) /* limit for the tiles of one answer */
#define TILES_NS 20000000u  /* time limit for making tiles */
#define LOOK_NS  80000000u  /* time limit for other lookups */
#define FLOWS    64u
#define HITS     2000u
#define SHORT    256u

int api_tracks(struct ask *q, struct json *j)
{
	struct tile_about about;
	struct tile_track t;
	struct tile_view *v;
	struct timeline *tl;
	int err = timeline_get(q, &tl, &v);

	if (err < 0)
		return err;
	tile_about(v, &about);
	q->fleeting = about.partial;
	json_bool(j, "partial", about.partial);
	if (about.partial)
		json_members(j, J_U64("read", about.read), J_U64("to_read", about.to_read));
	json_u64(j, "left", about.left);
	json_open(j, "classes", '[');
	for (size_t i = 0; i < TILE_GROUPS; i++)
		json_str(j, NULL, tile_class_word[i]);
	json_close(j);
	json_open(j, "tracks", '[');
	for (uint32_t i = 1; i <= about.tracks && tile_track(v, i, &t) == 0; i++)
		json_object(j, NULL, J_U64("id", t.id), J_STR("kind", tile_kind_word[t.kind]),
			    J_I64_IF("parent", t.parent, t.parent), J_STR("label", t.label),
			    J_U64("pid", t.pid), J_I64_IF("rank", t.rank >= 0, t.rank),
			    J_I64_IF("gpu", t.gpu >= 0, t.gpu), J_U64("first", t.first_ns),
			    J_U64("last", t.last_ns), J_U64("n", t.n),
			    J_U64("base_level", t.base_level));
	json_close(j);
	timeline_put(q, tl);
	return 0;
}

int api_names(struct ask *q, struct json *j)
{
	uint64_t from = 0, epoch;
	struct tile_about about;
	struct tile_name n;
	struct tile_view *v;
	struct timeline *tl;
	char text[SHORT];
	int err = ask_number(q, "from", 0, UINT32_MAX, &from);

	err = err ? err : timeline_get(q, &tl, &v);
	if (err < 0)
		return err;
	tile_about(v, &about);
	q->fleeting = about.partial;
	json_bool(j, "partial", about.partial);
	epoch = about.names;
	json_u64(j, "epoch", epoch);
	json_open(j, "names", '[');
	for (; from < epoch && tile_name(v, (uint32_t)from, &n) == 0; from++)
		json_object(j, NULL, J_U64("id", from), J_STR("name", n.text),
			    J_STR("short", krow_short(text, sizeof(text), n.text)),
			    J_STR("class", tile_class_word[n.class]));
	json_close(j);
	timeline_put(q, tl);
	return 0;
}

int api_tiles(struct ask *q, struct answer *a)
{
	uint32_t track[TILE_ASK_MAX];
	struct tile_answer out;
	struct tile_view *v;
	struct timeline *tl;
	struct tile_ask ask;
	const char *why;
	int err;

	if (tile_ask_parse(&ask, url_get(&q->url, "L"), url_get(&q->url, "i"),
			   url_get(&q->url, "tracks"), url_get(&q->url, "from"), track,
			   TILE_ASK_MAX, &why) < 0)
		return ask_mistake(q, "%s", why);
	ask.bytes = BYTES;
	ask.ns = TILES_NS;
	err = timeline_get(q, &tl, &v);
	if (err < 0)
		return err;
	err = tile_answer(v, &ask, &out);
	timeline_put(q, tl);
	if (err < 0)
		return err;
	a->body = (char *)out.bytes;
	a->len = out.len;
	a->type = "application/octet-stream";
	a->immutable = !q->run.live && !out.live;
	a->plain = true;
	a->next = out.next;
	return 0;
}

static void link_json(struct json *j, const char *key, struct tile_view *v,
		      const struct tile_link *l)
{
	struct tile_name n;

	json_object(j, key, J_U64("id", l->id),
		    J_STR("name", tile_name(v, l->name, &n) == 0 ? n.text : "?"),
		    J_U64("track", l->track), J_U64("start", l->start_ns), J_U64("dur", l->dur_ns));
}

int api_flows(struct ask *q, struct json *j)
{
	struct tile_flow flow[FLOWS];
	struct tile_view *v;
	struct timeline *tl;
	uint64_t id = 0;
	size_t n;
	int err = ask_number(q, "event", 0, UINT64_MAX >> 1, &id);

	if (!err && !url_get(&q->url, "event"))
		err = ask_mistake(q, "event is the number of an event");
	err = err ? err : timeline_get(q, &tl, &v);
	if (err < 0)
		return err;
	err = tile_flows(v, id, LOOK_NS, flow, FLOWS, &n);
	json_open(j, "flows", '[');
	for (size_t i = 0; i < n && !err; i++) {
		json_open(j, NULL, '{');
		link_json(j, "from", v, &flow[i].from);
		link_json(j, "to", v, &flow[i].to);
		json_close(j);
	}
	json_close(j);
	timeline_put(q, tl);
	return err;
}

static void geo_json(struct json *j, const struct geo *g)
{
	json_open(j, "grid", '[');
	for (size_t i = 0; i < 3; i++)
		json_u64(j, NULL, g->grid[i]);
	json_close(j);
	json_open(j, "block", '[');
	for (size_t i = 0; i < 3; i++)
		json_u64(j, NULL, g->block[i]);
	json_close(j);
	json_members(j, J_U64("registers", g->regs),
		     J_U64("shared_bytes", (uint64_t)g->smem_static + g->smem_dynamic));
}

static void event_json(struct json *j, const struct tile_event *e)
{
	char text[SHORT];

	json_members(j, J_U64("id", e->id), J_U64("track", e->track), J_STR("name", e->name.text),
		     J_STR("short", krow_short(text, sizeof(text), e->name.text)),
		     J_STR("class", tile_class_word[e->class]),
		     J_STR("kind", e->idle ? "idle" : event_word(e->event.kind)),
		     J_U64("start", e->start_ns), J_U64("dur", e->dur_ns), J_U64("pid", e->pid),
		     J_I64_IF("rank", e->rank >= 0, e->rank),
		     J_I64_IF("gpu", e->device != TRACK_HOST, e->device),
		     J_U64(e->device == TRACK_HOST ? "thread" : "stream",
			   e->stream & ((1ull << 53) - 1)));
	if (e->event.corr && e->event.kind != EVENT_OP)
		json_u64(j, "correlation", e->event.corr);
	if (e->has_step)
		json_u64(j, "step", e->step);
	if (strcmp(e->mangled, e->name.text) != 0)
		json_str(j, "mangled", e->mangled);
	if (e->shapes)
		json_str(j, "shapes", e->shapes);
	if (e->geo.grid[0])
		geo_json(j, &e->geo);
	if (e->event.kind == EVENT_COPY || e->event.kind == EVENT_MEMSET ||
	    e->event.kind == EVENT_COLLECTIVE)
		json_u64(j, "bytes", e->event.a);
}

/* Writes the causes of an event as members of its object. */
static void causes_json(struct json *j, struct tile_view *v, uint64_t id)
{
	static const char *const word[] = { "launch", "op" };
	struct tile_flow flow[FLOWS];
	size_t n, at = 0;
	uint64_t of = id;

	if (tile_flows(v, id, LOOK_NS, flow, FLOWS, &n) < 0)
		return;
	for (size_t i = 0; i < n && at < 2; i++)
		if (flow[i].to.id == of) {
			struct tile_name name;

			json_str(j, word[at++],
				 tile_name(v, flow[i].from.name, &name) == 0 ? name.text : "?");
			of = flow[i].from.id;
		}
}

int api_event(struct ask *q, struct json *j)
{
	struct tile_event e;
	struct tile_view *v;
	struct timeline *tl;
	uint64_t id;
	int err;

	if (num_u64(q->tail, 0, UINT64_MAX >> 1, &id) < 0)
		return ask_mistake(q, "an event is a number");
	err = timeline_get(q, &tl, &v);
	if (err < 0)
		return err;
	err = tile_event(v, id, &e);
	if (!err) {
		event_json(j, &e);
		if (e.device != TRACK_HOST)
			causes_json(j, v, id);
	}
	timeline_put(q, tl);
	return err;
}

int api_search(struct ask *q, struct json *j)
{
	struct tile_query look = { .text = url_get(&q->url, "q") };
	uint64_t limit = 40;
	struct tile_link *hit;
	struct tile_view *v;
	struct timeline *tl;
	bool all = false;
	size_t n = 0;
	int err = ask_number(q, "limit", 1, HITS, &limit);

	err = err ? err : ask_number(q, "t0", 0, UINT64_MAX >> 11, &look.from_ns);
	err = err ? err : ask_number(q, "least", 0, UINT64_MAX >> 11, &look.least_ns);
	err = err ? err : ask_number(q, "below", 0, UINT64_MAX >> 11, &look.below_ns);
	if (!err && (!look.text || !*look.text || strlen(look.text) > 400))
		err = ask_mistake(q, "q is a part of a name, of up to 400 bytes");
	err = err ? err : timeline_get(q, &tl, &v);
	if (err < 0)
		return err;
	hit = malloc(limit * sizeof(*hit));
	err = hit ? tile_search(v, &look, LOOK_NS, hit, limit, &n, &all) : -ENOMEM;
	/* the time limit was reached: a repeated request may find more */
	q->fleeting = !all && n < limit;
	json_bool(j, "more", !all);
	json_open(j, "results", '[');
	for (size_t i = 0; i < n && !err; i++)
		link_json(j, NULL, v, &hit[i]);
	json_close(j);
	free(hit);
	timeline_put(q, tl);
	return err;
}

static void sum_json(struct json *j, struct tile_view *v, const struct tile_sum *s, bool named)
{
	struct tile_name n;
	char text[SHORT];

	json_open(j, NULL, '{');
	if (named && tile_name(v, s->name, &n) == 0)
		json_members(j, J_STR("name", n.text),
			     J_STR("short", krow_short(text, sizeof(text), n.text)));
	json_members(j, J_STR("class", tile_class_word[s->class]), J_U64("n", s->n),
		     J_U64("ns", s->ns), J_U64("avg", s->n ? s->ns / s->n : 0),
		     J_U64("p50", s->p50_ns), J_U64("p99", s->p99_ns), J_U64("max", s->max_ns));
	json_close(j);
}

static void selected_json(struct json *j, struct tile_view *v, const struct tile_selected *s,
			  uint64_t t0)
{
	json_members(j, J_BOOL("partial", s->partial), J_U64("t0", t0), J_U64("t1", s->t1_ns),
		     J_U64("n", s->n));
	json_open(j, "classes", '[');
	for (size_t i = 0; i < TILE_GROUPS; i++)
		if (s->class[i].n)
			sum_json(j, v, &s->class[i], false);
	json_close(j);
	json_open(j, "rows", '[');
	for (size_t i = 0; i < s->rows; i++)
		sum_json(j, v, &s->row[i], true);
	json_close(j);
	json_u64(j, "rest", s->rest);
}

/* Parses "1,2,3"; *n is 0 if absent. */
static int ask_tracks(struct ask *q, uint32_t track[TILE_ASK_MAX], size_t *n)
{
	const char *text = url_get(&q->url, "tracks"), *why;
	struct tile_ask a;

	*n = 0;
	if (!text)
		return 0;
	if (tile_ask_parse(&a, "0", "0", text, NULL, track, TILE_ASK_MAX, &why) < 0)
		return ask_mistake(q, "%s", why);
	*n = a.tracks;
	return 0;
}

int api_select(struct ask *q, struct json *j)
{
	struct tile_selected *s = malloc(sizeof(*s));
	uint32_t track[TILE_ASK_MAX];
	struct tile_about about;
	struct tile_view *v;
	struct timeline *tl;
	uint64_t t0, t1;
	size_t tracks = 0;
	int err = s ? ask_range(q, &t0, &t1) : -ENOMEM;

	err = err ? err : ask_tracks(q, track, &tracks);
	err = err ? err : timeline_get(q, &tl, &v);
	if (err < 0) {
		free(s);
		return err;
	}
	tile_about(v, &about);
	t1 = t1 < about.t1_ns + 1 ? t1 : about.t1_ns + 1;
	err = tile_select(v, t0, t1, track, tracks, LOOK_NS, s);
	if (!err)
		selected_json(j, v, s, t0);
	timeline_put(q, tl);
	free(s);
	return err;
}
