/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - aond's hot path: batches in the cache, no allocation per event, no call per chunk. */
#include "daemon/stream/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agg/graph.h"
#include "agg/roll.h"
#include "agg/understand.h"
#include "daemon/capture/trigger_probe.h"
#include "daemon/core/count.h"
#include "daemon/stream/roofline_live.h"
#include "daemon/stream/shape_learner.h"
#include "daemon/stream/stream_priv.h"
#include "daemon/stream/texts.h"
#include "store/blob.h"
#include "store/store.h"
#include "theory/gpu.h"

#define BUF_BYTES   (4u << 20) /* a default pool, whole: its threads find room at once */
#define RUNS        1024u
#define RUN_EVENTS  (AON_CHUNK_BYTES_MAX / AON_UNIT)
#define PASSES      8           /* over one pool before others have their turn */
#define SPARE_BYTES (64u << 10) /* of buf, kept when idle */

/* --- what streams share --- */

int plant_init(struct plant *pl, struct queue *q, struct store *st, uint32_t names_max)
{
	static const struct geo other;

	*pl = (struct plant){ .queue = q, .store = st, .names_max = names_max };
	pl->buf = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pl->buf == MAP_FAILED)
		return -errno;
	pl->run = malloc(RUNS * sizeof(*pl->run));
	pl->ev = malloc(RUN_EVENTS * sizeof(*pl->ev));
	if (pl->run && pl->ev && !store_geo(st, &other, &pl->geo_other) &&
	    !recorder_names_init(&pl->means, names_max))
		return 0;
	plant_fini(pl);
	return -ENOMEM;
}

void plant_fini(struct plant *pl)
{
	judge_free(pl->judge);
	texts_free(pl->texts);
	recorder_names_fini(&pl->means);
	free(pl->stack_part);
	free(pl->ev);
	free(pl->run);
	munmap(pl->buf, BUF_BYTES);
}

void plant_idle(struct plant *pl)
{
	madvise((char *)pl->buf + SPARE_BYTES, BUF_BYTES - SPARE_BYTES, MADV_DONTNEED);
}

/* --- what the pool's heap says --- */

/* Its length, or below 0: there is none. */
static int heap_text(const struct stream *s, uint32_t heap_id, char text[AON_NAME_MAX + 1])
{
	int n = heap_id > UINT32_MAX / AON_HEAP_ALIGN
			? -EINVAL
			: pool_heap(s->pool, heap_id * AON_HEAP_ALIGN, AON_HEAP_NAME, text,
				    AON_NAME_MAX);

	text[n < 0 ? 0 : n] = '\0';
	return n;
}

/* The store's id of a name of the process. */
static uint32_t name_of(struct stream *s, const char *text, size_t n)
{
	uint32_t id = 0;

	/* Half of the table at most: no single process can use it up. */
	if (s->names++ >= s->plant->names_max / 2 || store_name(s->plant->store, text, n, &id) < 0)
		id = STORE_NAME_OTHER;
	if (id == STORE_NAME_OTHER) {
		count_add(COUNT_names_other, 1);
		return id;
	}
	recorder_name(&s->plant->means, id, text);
	if (s->plant->judge)
		judge_name(s->plant->judge, id, text);
	return id;
}

static uint32_t find_name(void *arg, uint32_t heap_id)
{
	char text[AON_NAME_MAX + 1];
	int n = heap_text(arg, heap_id, text);

	return n < 0 ? 0 : name_of(arg, text, (size_t)n);
}

static uint32_t find_geo(void *arg, uint32_t heap_id)
{
	struct stream *s = arg;
	struct aon_geo g;
	struct geo geo;
	uint32_t id = 0;

	if (heap_id > UINT32_MAX / AON_HEAP_ALIGN ||
	    pool_heap(s->pool, heap_id * AON_HEAP_ALIGN, AON_HEAP_GEO, &g, sizeof(g)) !=
		    (int)sizeof(g))
		return 0;
	geo = understand_geo(&g);
	if (store_geo(s->plant->store, &geo, &id) < 0 || !id)
		return s->plant->geo_other;
	if (s->plant->judge)
		judge_geo(s->plant->judge, id, &geo);
	return id;
}

static uint32_t track_id(struct stream *s, const struct track *l)
{
	uint32_t id = 0;

	return store_track(s->plant->store, l, &id) < 0 ? 0 : id;
}

/* What a device is stands as the name of the track that it has as a whole. */
static void name_device(struct stream *s, const struct track *of)
{
	const struct gpu *g = s->plant->judge ? judge_gpu(s->plant->judge) : NULL;
	struct track track = { .process = of->process, .device = of->device, .stream = UINT64_MAX };

	if (g && of->device != TRACK_HOST && of->stream != UINT64_MAX &&
	    !store_name(s->plant->store, g->name, strlen(g->name), &track.name))
		track_id(s, &track);
}

static uint32_t find_track(void *arg, uint32_t heap_track)
{
	struct stream *s = arg;
	struct aon_track l = { 0 };
	char text[AON_NAME_MAX + 1];
	struct track track;
	int n;

	if (heap_track > UINT32_MAX / AON_TRACK_ALIGN)
		return 0;
	n = pool_heap(s->pool, heap_track * AON_TRACK_ALIGN, AON_HEAP_TRACK, &l, sizeof(l));
	if (n < (int)offsetof(struct aon_track, name) + (int)sizeof(l.name))
		return 0;
	track = (struct track){
		.process = s->proc.id, .device = l.device, .context = l.context, .stream = l.stream
	};
	if (l.name)
		track.name = find_name(s, l.name);
	heap_text(s, l.name, text);
	if (l.device != TRACK_HOST)
		s->gpus |= 1ull << l.device % 64;
	name_device(s, &track);
	track.id = track_id(s, &track);
	if (track.id)
		stepper_track(s->stepper, &track, text);
	if (track.id && l.device == TRACK_HOST)
		launchers_track(&s->launchers, track.id, l.stream);
	return track.id;
}

static uint32_t find_thread(void *arg, uint32_t tid)
{
	struct stream *s = arg;
	struct track track = { .process = s->proc.id, .device = TRACK_HOST, .stream = tid };
	uint32_t id = track_id(s, &track);

	if (id)
		launchers_track(&s->launchers, id, tid);
	return id;
}

/* A mark for a kernel whose source was understood; no record stands behind it. */
static void take_work(void *arg, const char *mark)
{
	struct stream *s = arg;
	struct event e = { .kind = EVENT_MARK, .start_ns = s->text_ns };

	e.name = name_of(s, mark, strlen(mark));
	e.track = find_thread(s, s->proc.pid);
	if (e.track && e.name != STORE_NAME_OTHER)
		roll_add(s->roll, &e, 1, stream_hand_window, s);
}

static void take_text(void *arg, const struct understand_text *piece)
{
	struct stream *s = arg;

	if (!s->plant->texts && texts_new(&s->plant->texts))
		return;
	s->text_ns = piece->ns;
	texts_take(s->plant->texts, s, piece, take_work, s);
}

static const struct understand_ops ops = {
	.name = find_name,
	.geo = find_geo,
	.track = find_track,
	.thread = find_thread,
	.text = take_text,
};

/* --- life --- */

int stream_new(struct stream **out, struct plant *pl, struct pool *pool, const struct process *row,
	       const struct account *was, uint32_t rows_max)
{
	struct roll_opts ro = { .rows_max = rows_max,
				.name_other = STORE_NAME_OTHER,
				.geos = pl->judge != NULL };
	struct stream *s;
	int err;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->plant = pl;
	s->proc = *row;
	s->changed = true;
	err = tally_adopt(&s->tally, was, pool_taken(pool));
	tally_account(&s->tally, &s->proc.account);
	err = err ? err : store_process(pl->store, &s->proc);
	ro.process = s->proc.id;
	err = err ? err : understand_new(&s->understand, &ops, s, pool_head(pool)->heap_bytes);
	err = err ? err : roll_new(&s->roll, &ro);
	err = err ? err : blob_enc_new(&s->enc);
	err = err ? err : stepper_new(&s->stepper, &pl->means.means);
	if (err) {
		stream_free(s);
		return err;
	}
	s->pool = pool; /* last: from here nothing can fail */
	*out = s;
	return 0;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	texts_drop(s->plant->texts, s);
	cost_fini(&s->cost);
	arms_free(s);
	learn_free(s->learn);
	free(s->watcher);
	stepper_free(s->stepper);
	blob_enc_free(s->enc);
	free(s->samples);
	places_fini(&s->places);
	graphs_free(s->graphs);
	roll_free(s->roll);
	understand_free(s->understand);
	pool_free(s->pool);
	free(s);
}

/* --- handing over --- */

void stream_flush(struct stream *s)
{
	struct blob b;
	struct item *it;

	if (!blob_count(s->enc) || blob_seal(s->enc, &b) < 0)
		return;
	s->changed = true;
	it = item_blob(s->proc.id, &b);
	if (it && !queue_offer(s->plant->queue, it, QUEUE_EVENTS)) {
		s->tally.handed += b.records;
		s->disk_bytes += b.len;
		s->plant->dirty = true;
		count_add(COUNT_batches, 1);
		return;
	}
	free(it);
	s->tally.lost[AON_LOSS_QUEUE_FULL] += b.records;
	count_add(COUNT_batches_dropped, 1);
	blob_fini(&b);
}

void stream_samples(struct stream *s, struct event *ev, const uint32_t *tid, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ev[i].track = i && tid[i] == tid[i - 1] ? ev[i - 1].track : find_thread(s, tid[i]);
	s->tally.taken += n;
	s->tally.samples += n;
	s->changed = true;
	stream_take(s, ev, n);
}

static void take_run(struct stream *s, const struct pool_run *run)
{
	struct plant *pl = s->plant;
	uint64_t records;
	size_t n;

	if (pl->shed >= SHED_ALL) {
		s->tally.taken += run->records;
		s->tally.lost[AON_LOSS_BUDGET] += run->records;
		count_add(COUNT_records, run->records);
		return;
	}
	s->tid = run->tid;
	n = understand_records(s->understand, &pl->clock, run->tid, run->tsc_hi, run->rec,
			       run->units, pl->ev, &records, s->tally.lost);
	s->tally.taken += records;
	count_add(COUNT_records, records);
	count_add(COUNT_events, n);
	if (n)
		stream_take(s, pl->ev, n);
}

/* First who has steps: they say what others' events stand for. */
static void take_runs(struct stream *s, size_t runs)
{
	const struct pool_run *run = s->plant->run;
	uint32_t first = s->step_tid;

	for (size_t i = 0; i < runs && first; i++)
		if (run[i].tid == first)
			take_run(s, &run[i]);
	for (size_t i = 0; i < runs; i++)
		if (!first || run[i].tid != first)
			take_run(s, &run[i]);
}

int stream_drain(struct stream *s, bool dead)
{
	struct plant *pl = s->plant;
	bool more = true;
	size_t runs;
	int err = 0;

	for (int pass = 0; more && !err && pass < PASSES; pass++) {
		/* What it copied before it met a lie is good, and counted as taken. */
		err = pool_drain(s->pool, pl->buf, BUF_BYTES, dead, pl->run, RUNS, &runs, &more);
		take_runs(s, runs);
		if (runs)
			s->fresh = s->changed = true;
	}
	pool_doorbell_clear(s->pool);
	return err ? err : more;
}

void stream_gauge(struct stream *s, const char *name, int64_t value, uint64_t now_ns)
{
	struct event e = { .kind = EVENT_COUNTER,
			   .start_ns = now_ns,
			   .a = (uint64_t)value,
			   .track = find_thread(s, s->proc.pid) };

	if (!store_name(s->plant->store, name, strlen(name), &e.name) && e.track)
		roll_add(s->roll, &e, 1, stream_hand_window, s);
}

void stream_stepless(struct stream *s, uint64_t now_ns)
{
	weigh_step(&s->weigh, now_ns, 1);
}

void stream_windows(struct stream *s, uint64_t before_ns)
{
	stream_roll_samples(s, before_ns == UINT64_MAX ? before_ns
						       : before_ns - before_ns % WINDOW_NS);
	roll_close(s->roll, before_ns, stream_hand_window, s);
	s->fresh = false;
}

void stream_steps(struct stream *s, uint64_t before_ns)
{
	recorder_make(s, before_ns);
}

void stream_finish(struct stream *s, uint64_t end_ns)
{
	struct plant *pl = s->plant;
	size_t n;

	while ((n = understand_close(s->understand, end_ns, pl->ev, RUN_EVENTS, s->tally.lost)))
		stream_take(s, pl->ev, n);
	stream_windows(s, UINT64_MAX);
	stream_ripe_samples(s, UINT64_MAX);
	stream_flush(s);
	stream_steps(s, UINT64_MAX);
	s->changed = true;
}

void stream_account(struct stream *s, struct account *out)
{
	uint64_t lost[AON_LOSS_APP_MAX];

	pool_lost(s->pool, lost);
	tally_app_lost(&s->tally, lost);
	s->tally.open = understand_open(s->understand);
	s->tally.pending = s->proc.connected ? pool_pending(s->pool) : 0;
	tally_account(&s->tally, out);
}

void stream_report(struct stream *s)
{
	struct account now;
	struct item *it;

	stream_account(s, &now);
	if (!s->changed && !memcmp(&now, &s->proc.account, sizeof(now)))
		return;
	s->proc.account = now;
	it = item_process(&s->proc);
	if (!it)
		return; /* still changed: it comes with the next commit */
	queue_push(s->plant->queue, it);
	s->plant->dirty = true;
	s->changed = false;
}
