/* SPDX-License-Identifier: Apache-2.0 */
/* into_store.c - writes the events of a streaming trace to blobs and windows of a store. */
#include "cli/store/into_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "agg/roll.h"
#include "base/clock.h"
#include "base/vec.h"
#include "model/trace.h"
#include "store/blob.h"
#include "store/store.h"
#include "store/trace.h"

#define BATCH      32768u
#define RUN        256u
#define ROWS_MAX   4096u
#define NAME_BYTES (2u << 20) /* that wait for a commit, well below what the store takes */

struct stream {
	struct process p;
	struct blob_enc *enc; /* owned */
	struct roll *roll;    /* owned */
	bool made;
};

struct into_store {
	struct trace *t;
	struct store *st;
	struct stream *stream; /* owned; by process of the trace */
	size_t streams;
	uint32_t *name, *geo, *track; /* owned; id in the store + 1, by that of the trace */
	size_t names, geos, tracks;
	struct blob_packer *packer;
	struct event run[RUN]; /* of one process */
	size_t runs;
	uint32_t run_process;
	uint64_t stamp; /* tells this import's processes from those of another */
	size_t name_bytes, files_done, tracks_done;
	int err;
};

static int widen(uint32_t **map, size_t *n, size_t need)
{
	return vec_room0(map, n, need, sizeof(**map));
}

static void put_window(void *arg, const struct window *w)
{
	struct into_store *s = arg;

	if (!s->err)
		s->err = store_window(s->st, w);
}

static int put_blob(struct into_store *s, struct stream *m)
{
	struct blob b;
	int err;

	if (!blob_count(m->enc))
		return 0;
	err = blob_seal(m->enc, &b);
	if (err)
		return err;
	err = blob_pack(s->packer, &b);
	err = err ? err : store_blob(s->st, m->p.id, &b);
	if (!err) {
		m->p.account.emitted += b.records;
		m->p.account.stored += b.records;
	}
	blob_fini(&b);
	return err;
}

/* --- ids --- */

static int stream_make(struct into_store *s, uint32_t process)
{
	const struct trace_process *from = &s->t->process[process];
	struct roll_opts ro = { .rows_max = ROWS_MAX, .name_other = STORE_NAME_OTHER };
	struct stream *m;
	int err;

	if (vec_room0(&s->stream, &s->streams, (size_t)process + 1, sizeof(*m)) < 0)
		return -ENOMEM;
	m = &s->stream[process];
	if (m->made)
		return 0;
	m->p.pid = (uint32_t)from->pid;
	m->p.pool_id[0] = s->stamp;
	m->p.pool_id[1] = process;
	m->p.tier = TIER_FULL;
	m->p.first_ns = UINT64_MAX;
	m->p.origin.file = from->file + 1;
	snprintf(m->p.exe, sizeof(m->p.exe), "%s", s->t->file[from->file].path);
	strcpy(m->p.library, "import");
	err = store_process(s->st, &m->p);
	ro.process = m->p.id;
	err = err ? err : roll_new(&m->roll, &ro);
	err = err ? err : blob_enc_new(&m->enc);
	m->made = !err;
	return err;
}

static int track_of(struct into_store *s, uint32_t id, uint32_t *to)
{
	const struct trace_track *l = &s->t->track[id];
	struct track row = { .context = l->context, .stream = l->stream, .device = TRACK_HOST };
	int err = widen(&s->track, &s->tracks, s->t->tracks);

	if (!err && !s->track[id]) {
		err = stream_make(s, l->process);
		if (err)
			return err;
		row.process = s->stream[l->process].p.id;
		if (l->device != TRACK_HOST)
			row.device = s->t->device[l->device].device;
		err = store_track(s->st, &row, &s->track[id]);
		s->track[id] += !err;
	}
	*to = err ? 0 : s->track[id] - 1;
	return err;
}

static int name_of(struct into_store *s, uint32_t id, uint32_t *to)
{
	const struct trace_text *n = &s->t->name[id];
	int err = widen(&s->name, &s->names, s->t->names);

	if (!err && !id)
		s->name[0] = 1;
	if (!err && !s->name[id]) {
		err = store_name(s->st, n->s, n->len, &s->name[id]);
		s->name[id] += !err;
		s->name_bytes += n->len + 128;
	}
	*to = err ? 0 : s->name[id] - 1;
	return err;
}

static int geo_of(struct into_store *s, uint32_t id, uint64_t *to)
{
	int err = widen(&s->geo, &s->geos, s->t->geos);

	if (!err && !s->geo[id] && id) {
		err = store_geo(s->st, &s->t->geo[id], &s->geo[id]);
		s->geo[id] += !err;
		s->name_bytes += 128;
	}
	*to = err || !id ? 0 : s->geo[id] - 1;
	return err;
}

/* --- events --- */

static int put_run(struct into_store *s)
{
	struct stream *m;
	size_t at = 0;
	int err = 0;

	if (!s->runs)
		return s->err;
	m = &s->stream[s->run_process];
	for (size_t i = 0; i < s->runs; i++) {
		uint64_t end = s->run[i].start_ns + s->run[i].dur_ns;

		if (s->run[i].start_ns < m->p.first_ns)
			m->p.first_ns = s->run[i].start_ns;
		if (end > m->p.last_ns)
			m->p.last_ns = end;
	}
	roll_add(m->roll, s->run, s->runs, put_window, s);
	while (!err && (at += blob_add(m->enc, s->run + at, s->runs - at)) < s->runs)
		err = put_blob(s, m);
	s->runs = 0;
	return err ? err : s->err;
}

static int put_event(struct into_store *s, const struct event *e)
{
	uint32_t process = s->t->track[e->track].process;
	struct event to = *e;
	int err = track_of(s, e->track, &to.track);

	err = err ? err : name_of(s, e->name, &to.name);
	if (!err && e->kind == EVENT_KERNEL)
		err = geo_of(s, (uint32_t)e->a, &to.a);
	if (e->kind == EVENT_RANGE) {
		uint32_t shapes = 0;

		if (!err && (e->a == TRACE_OP || e->a == TRACE_USER || e->a == TRACE_DEVICE_OP) &&
		    trace_op_shapes(e))
			err = name_of(s, trace_op_shapes(e), &shapes);
		/* a of a stored range says that it was started, not pushed */
		to.b = trace_op_store(e, shapes);
		to.a = 0;
	}
	if (!err && (process != s->run_process || s->runs == RUN))
		err = put_run(s);
	s->run_process = process;
	s->run[s->runs++] = to;
	return err;
}

static int put_comm(struct into_store *s, const struct event *e, const struct trace_comm *c)
{
	struct event mark = {
		.kind = EVENT_MARK, .start_ns = e->start_ns, .track = e->track, .b = c->sequence
	};
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 INTO_COMM "%.200s\x1f%.200s\x1f%.100s\x1f%" PRId32 "\x1f%" PRIu32
				   "\x1f%" PRIu64 "\x1f%" PRIu64,
			 trace_text(s->t, c->name), trace_text(s->t, c->group),
			 trace_text(s->t, c->dtype), c->rank, c->size, c->bytes_in, c->bytes_out);
	int err = trace_name(s->t, text, (size_t)n, &mark.name);

	return err ? err : put_event(s, &mark);
}

/* Nothing is left behind in memory: blobs may follow later, names may not pile up. */
static int take(void *arg, struct trace *t, const struct event *ev, const uint32_t *comm, size_t n)
{
	struct into_store *s = arg;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (comm && comm[i])
			err = put_comm(s, &ev[i], &t->comm[comm[i] - 1]);
		err = err ? err : put_event(s, &ev[i]);
		if (!err && s->name_bytes > NAME_BYTES) {
			s->name_bytes = 0;
			err = store_commit(s->st, 0);
		}
	}
	return err ? err : store_commit(s->st, 0);
}

/* --- what is known at the end of a file --- */

static int put_device(struct into_store *s, uint32_t id)
{
	const struct trace_device *d = &s->t->device[id];
	struct trace_track l = { .process = d->process, .device = id, .stream = TRACE_NO_STREAM };
	struct event e = { .kind = EVENT_COUNTER };
	const struct {
		const char *name;
		uint64_t value;
	} say[] = { { INTO_SMS, d->sms }, { INTO_MEMORY, d->memory_bytes } };
	int err = trace_track(s->t, &l, &e.track);

	s->t->track[err ? 0 : e.track].name = err ? 0 : d->name;
	for (size_t i = 0; i < 2 && !err; i++) {
		e.a = say[i].value;
		e.start_ns = s->stream[d->process].made ? s->stream[d->process].p.first_ns : 0;
		if (!e.a)
			continue;
		err = trace_name(s->t, say[i].name, strlen(say[i].name), &e.name);
		err = err ? err : put_event(s, &e);
	}
	return err;
}

static int name_tracks(struct into_store *s)
{
	int err = 0;

	for (size_t i = s->tracks_done; i < s->t->tracks && !err; i++) {
		const struct trace_track *l = &s->t->track[i];
		struct track row = { .context = l->context,
				     .stream = l->stream,
				     .device = TRACK_HOST };
		uint32_t id;

		err = track_of(s, (uint32_t)i, &id);
		if (err || !l->name)
			continue;
		row.process = s->stream[l->process].p.id;
		if (l->device != TRACK_HOST)
			row.device = s->t->device[l->device].device;
		err = name_of(s, l->name, &row.name);
		err = err ? err : store_track(s->st, &row, &id);
	}
	s->tracks_done = s->t->tracks;
	return err;
}

static int put_process(struct into_store *s, uint32_t id, bool first)
{
	const struct trace_process *from = &s->t->process[id];
	const struct trace_file *f = &s->t->file[from->file];
	struct process *p = &s->stream[id].p;

	p->pid = (uint32_t)from->pid;
	p->wall_offset_ns = f->wall_offset_ns;
	if (p->first_ns == UINT64_MAX)
		p->first_ns = 0;
	snprintf(p->comm, sizeof(p->comm), "%s", from->name ? trace_text(s->t, from->name) : "");
	snprintf(p->node, sizeof(p->node), "%s", from->node ? trace_text(s->t, from->node) : "");
	p->origin.rank = (uint32_t)(f->rank + 1);
	p->origin.world = (uint32_t)f->world;
	p->origin.tick_ns = f->tick_ns;
	if (first) {
		p->origin.rows = f->rows;
		p->origin.imported = f->imported;
		p->origin.left = f->left;
		p->origin.lost = f->lost;
		p->origin.mended = f->mended;
		p->origin.broke_at = f->broke_at + 1;
		p->account.lost[AON_LOSS_INVALID] = f->lost;
		p->account.emitted += f->lost;
		snprintf(p->note, sizeof(p->note), "%s", f->why);
	}
	return store_process(s->st, p);
}

int into_store_file_done(struct into_store *s)
{
	struct trace *t = s->t;
	size_t devices = t->devices;
	int err = trace_flush(t);

	for (size_t i = 0; i < devices && !err; i++)
		if (t->device[i].file >= s->files_done)
			err = put_device(s, (uint32_t)i);
	err = err ? err : put_run(s);
	err = err ? err : name_tracks(s);
	for (size_t file = s->files_done; file < t->files && !err; file++) {
		bool first = true;

		for (size_t i = 0; i < t->processes && !err; i++) {
			struct stream *m;

			if (t->process[i].file != file)
				continue;
			err = stream_make(s, (uint32_t)i);
			if (err)
				break;
			m = &s->stream[i];
			err = put_blob(s, m);
			roll_close(m->roll, UINT64_MAX, put_window, s);
			err = err ? err : put_process(s, (uint32_t)i, first);
			blob_enc_free(m->enc);
			roll_free(m->roll);
			m->enc = NULL;
			m->roll = NULL;
			first = false;
		}
	}
	s->files_done = t->files;
	err = err ? err : s->err;
	return err ? err : store_commit(s->st, 0);
}

struct store *into_store_to(struct into_store *s)
{
	return s->st;
}

int into_store_new(struct into_store **out, struct trace *t, struct store *st)
{
	struct into_store *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->stamp = clock_wall_ns();
	s->t = t;
	s->st = st;
	err = blob_packer_new(&s->packer);
	if (err < 0) {
		free(s);
		return err;
	}
	trace_stream(t, BATCH, take, s);
	*out = s;
	return 0;
}

void into_store_free(struct into_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->streams; i++) {
		blob_enc_free(s->stream[i].enc);
		roll_free(s->stream[i].roll);
	}
	blob_packer_free(s->packer);
	free(s->stream);
	free(s->name);
	free(s->geo);
	free(s->track);
	free(s);
}
