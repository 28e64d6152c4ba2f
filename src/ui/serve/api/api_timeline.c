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

#define BYTES    (1u << 20) /* of tiles in one answer */
#define TILES_NS 20000000u  /* to make them */
#define LOOK_NS  80000000u  /* to look for anything else */
#define FLOWS    64u
#define HITS     2000u
#define SHORT    256u

static const char *kind_word(uint32_t kind)
{
	static const char *const word[EVENT_MAX] = {
#define EVENT(num, NAME, word, has) [num] = word,
#include "model/event.tbl.h"
	};

	return kind < EVENT_MAX && word[kind] ? word[kind] : "?";
}

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
	if (about.partial) {
		json_u64(j, "read", about.read);
		json_u64(j, "to_read", about.to_read);
	}
	json_u64(j, "left", about.left);
	json_open(j, "classes", '[');
	for (size_t i = 0; i < TILE_GROUPS; i++)
		json_str(j, NULL, tile_class_word[i]);
	json_close(j);
	json_open(j, "tracks", '[');
	for (uint32_t i = 1; i <= about.tracks && tile_track(v, i, &t) == 0; i++) {
		json_open(j, NULL, '{');
		json_u64(j, "id", t.id);
		json_str(j, "kind", tile_kind_word[t.kind]);
		json_maybe(j, "parent", t.parent, t.parent);
		json_str(j, "label", t.label);
		json_u64(j, "pid", t.pid);
		json_maybe(j, "rank", t.rank >= 0, t.rank);
		json_maybe(j, "gpu", t.gpu >= 0, t.gpu);
		json_u64(j, "first", t.first_ns);
		json_u64(j, "last", t.last_ns);
		json_u64(j, "n", t.n);
		json_u64(j, "base_level", t.base_level);
		json_close(j);
	}
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
	for (; from < epoch && tile_name(v, (uint32_t)from, &n) == 0; from++) {
		json_open(j, NULL, '{');
		json_u64(j, "id", from);
		json_str(j, "name", n.text);
		json_str(j, "short", krow_short(text, sizeof(text), n.text));
		json_str(j, "class", tile_class_word[n.class]);
		json_close(j);
	}
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

	json_open(j, key, '{');
	json_u64(j, "id", l->id);
	json_str(j, "name", tile_name(v, l->name, &n) == 0 ? n.text : "?");
	json_u64(j, "track", l->track);
	json_u64(j, "start", l->start_ns);
	json_u64(j, "dur", l->dur_ns);
	json_close(j);
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
	json_u64(j, "registers", g->regs);
	json_u64(j, "shared_bytes", (uint64_t)g->smem_static + g->smem_dynamic);
}

static void event_json(struct json *j, const struct tile_event *e)
{
	char text[SHORT];

	json_u64(j, "id", e->id);
	json_u64(j, "track", e->track);
	json_str(j, "name", e->name.text);
	json_str(j, "short", krow_short(text, sizeof(text), e->name.text));
	json_str(j, "class", tile_class_word[e->class]);
	json_str(j, "kind", e->idle ? "idle" : kind_word(e->event.kind));
	json_u64(j, "start", e->start_ns);
	json_u64(j, "dur", e->dur_ns);
	json_u64(j, "pid", e->pid);
	json_maybe(j, "rank", e->rank >= 0, e->rank);
	json_maybe(j, "gpu", e->device != TRACK_HOST, e->device);
	json_u64(j, e->device == TRACK_HOST ? "thread" : "stream", e->stream & ((1ull << 53) - 1));
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

/* The causes of an event, as its members. */
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
	q->fleeting = !all && n < limit; /* time was short: who asks again may learn more */
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
	if (named && tile_name(v, s->name, &n) == 0) {
		json_str(j, "name", n.text);
		json_str(j, "short", krow_short(text, sizeof(text), n.text));
	}
	json_str(j, "class", tile_class_word[s->class]);
	json_u64(j, "n", s->n);
	json_u64(j, "ns", s->ns);
	json_u64(j, "avg", s->n ? s->ns / s->n : 0);
	json_u64(j, "p50", s->p50_ns);
	json_u64(j, "p99", s->p99_ns);
	json_u64(j, "max", s->max_ns);
	json_close(j);
}

static void selected_json(struct json *j, struct tile_view *v, const struct tile_selected *s,
			  uint64_t t0)
{
	json_bool(j, "partial", s->partial);
	json_u64(j, "t0", t0);
	json_u64(j, "t1", s->t1_ns);
	json_u64(j, "n", s->n);
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

/* "1,2,3", or none: 0. */
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
