/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_place.c - maps a row's pid and tid to processes, devices and tracks.
 *
 * Kineto gives work on a device the device's index as pid and the stream as tid, whichever process
 * launched it. Here a device belongs to the process of the file that launches (the first with an
 * operator or a call), so that (process, correlation) joins. An id that is not a number ("Spans")
 * becomes the id of its name, with the highest bit set.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/order.h"
#include "base/vec.h"
#include "import/kineto.h"

#define ID_OF_NAME (1ull << 63)

static struct json_tok token(const struct kineto_event *r, enum field f)
{
	return kineto_has(r, f) ? r->val[f] : (struct json_tok){ "", 0 };
}

static int id_of(struct kineto_in *k, struct json_tok t, uint64_t *id)
{
	int64_t v = 0;
	uint32_t name;
	int err;

	if (!t.len || json_tok_i64(t, &v)) {
		*id = (uint64_t)v & ~ID_OF_NAME;
		return 0;
	}
	err = kineto_name(k, t, &name);
	if (!err)
		*id = ID_OF_NAME | name;
	return err;
}

static struct track_cache *cached(struct kineto_in *k, uint64_t pid, uint64_t stream,
				  uint32_t device)
{
	return &k->cache[hash_mix(hash_mix(pid, stream), device) % TRACK_CACHE];
}

static int process_of(struct kineto_in *k, uint64_t pid, bool launches, uint32_t *id)
{
	int err;

	/* Devices came before whoever launched on them. */
	if (launches && k->have_main && !k->main_known) {
		k->t->process[k->main].pid = pid;
		k->main_known = true;
	}
	if (k->main_known && k->t->process[k->main].pid == pid) {
		*id = k->main;
		return 0;
	}
	err = trace_process(k->t, k->im->file, pid, id);
	if (!err && launches && !k->have_main) {
		k->main = *id;
		k->have_main = k->main_known = true;
	}
	return err;
}

int kineto_place_host(struct kineto_in *k, bool launches, uint32_t *track)
{
	struct trace_track l = { .device = TRACK_HOST };
	struct track_cache *c;
	uint64_t pid;
	int err = id_of(k, token(&k->row, F_PID), &pid);

	err = err ? err : id_of(k, token(&k->row, F_TID), &l.stream);
	if (err)
		return err;
	c = cached(k, pid, l.stream, TRACK_HOST);
	if (!c->track || c->pid != pid || c->stream != l.stream || c->device != TRACK_HOST ||
	    (launches && !k->main_known)) {
		err = process_of(k, pid, launches, &l.process);
		if (!err && l.stream & ID_OF_NAME)
			l.name = (uint32_t)l.stream;
		err = err ? err : trace_track(k->t, &l, track);
		if (err)
			return err;
		*c = (struct track_cache){ pid, l.stream, TRACK_HOST, *track + 1 };
	}
	*track = c->track - 1;
	return 0;
}

/* "stream 7", 7 or "0x7"; -1 in 32 or 64 bits: of no stream. */
static int stream_of(struct kineto_in *k, struct json_tok t, uint64_t *stream)
{
	struct json_tok s = json_tok_text(t);
	int64_t v;

	if (s.len > 7 && !memcmp(s.s, "stream ", 7))
		s = (struct json_tok){ s.s + 7, s.len - 7 };
	if (!s.len || !json_tok_i64(s, &v))
		return id_of(k, t, stream);
	*stream = v == -1 || v == UINT32_MAX ? TRACE_NO_STREAM : (uint64_t)v;
	return 0;
}

static bool kineto_plane(const struct kineto_in *k, int64_t *index)
{
	int64_t pid;

	if (!k->planes || !json_tok_i64(token(&k->row, F_PID), &pid))
		return false;
	for (size_t i = 0; i < k->planes; i++)
		if (k->plane[i].pid == (uint64_t)pid) {
			*index = k->plane[i].index;
			return true;
		}
	return false;
}

int kineto_place_device(struct kineto_in *k, struct json_tok device, struct json_tok stream,
			uint32_t *track)
{
	struct trace_track l = { 0 };
	struct track_cache *c;
	int64_t index;
	uint32_t id = 0;
	int err;

	if ((!device.len || !json_tok_i64(device, &index) || index < 0) &&
	    !kineto_plane(k, &index) && !json_tok_i64(token(&k->row, F_PID), &index))
		index = 0;
	if (index < 0 || index >= TRACK_HOST)
		return -EBADMSG;
	err = stream_of(k, stream.len ? stream : token(&k->row, F_TID), &l.stream);
	if (err)
		return err;
	c = cached(k, 0, l.stream, (uint32_t)index);
	if (!c->track || c->stream != l.stream || c->device != index) {
		if (!k->have_main) {
			err = trace_process(k->t, k->im->file, 0, &k->main);
			k->have_main = !err;
		}
		l.process = k->main;
		err = err ? err : trace_device(k->t, k->main, (uint32_t)index, &id);
		l.device = id;
		err = err ? err : trace_track(k->t, &l, track);
		if (err)
			return err;
		*c = (struct track_cache){ 0, l.stream, (uint32_t)index, *track + 1 };
	}
	*track = c->track - 1;
	return 0;
}

enum plane_kind kineto_place_plane(struct kineto_in *k)
{
	uint64_t tid;
	int64_t index, pid;

	if (!k->planes || !kineto_plane(k, &index) || !json_tok_i64(token(&k->row, F_PID), &pid) ||
	    stream_of(k, token(&k->row, F_TID), &tid))
		return PLANE_NONE;
	if (k->thread.known && k->thread.pid == (uint64_t)pid && k->thread.tid == tid)
		return k->thread.kind;
	k->thread.known = true;
	k->thread.pid = (uint64_t)pid;
	k->thread.tid = tid;
	k->thread.kind = PLANE_DERIVED;
	for (size_t i = 0; i < k->metas; i++) {
		const struct meta *m = &k->meta[i];

		if (!m->process && m->pid == (uint64_t)pid && m->tid == tid &&
		    !strncmp(trace_text(k->t, m->name), "Stream #", 8))
			k->thread.kind = PLANE_STREAM;
	}
	return k->thread.kind;
}

/* "/device:GPU:4" is the device 4. */
static void add_plane(struct kineto_in *k, const struct meta *m)
{
	const char *name = trace_text(k->t, m->name), *colon = strrchr(name, ':');

	if (m->process && !strncmp(name, "/device:", 8) && colon > name + 8 &&
	    k->planes < DEVICE_MAX && colon[1] >= '0' && colon[1] <= '9')
		k->plane[k->planes++] =
			(struct plane){ m->pid, (uint32_t)num_front(colon + 1, NULL) };
}

/* Names come before or after the rows they are for: kept, given out at the end. */
int kineto_place_meta(struct kineto_in *k)
{
	struct json_tok what = json_tok_text(token(&k->row, F_NAME));
	struct meta m = { .process = json_tok_is(what, "process_name") };
	int err;

	if ((!m.process && !json_tok_is(what, "thread_name")) ||
	    !kineto_has(&k->row, F_META_NAME) || k->metas >= META_MAX)
		return 0;
	if (vec_more(&k->meta, k->metas, sizeof(*k->meta)) < 0)
		return -ENOMEM;
	err = id_of(k, token(&k->row, F_PID), &m.pid);
	err = err ? err : stream_of(k, token(&k->row, F_TID), &m.tid);
	err = err ? err : kineto_name(k, k->row.val[F_META_NAME], &m.name);
	if (!err) {
		k->meta[k->metas++] = m;
		k->thread.known = false;
		add_plane(k, &m);
	}
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct meta *x = a, *y = b;
	int order = cmp_num(y->process, x->process) ?: cmp_num(x->pid, y->pid);

	return order || x->process ? order : cmp_num(x->tid, y->tid);
}

static uint32_t meta_name(const struct kineto_in *k, struct meta key)
{
	const struct meta *m = NULL;

	if (k->metas)
		m = bsearch(&key, k->meta, k->metas, sizeof(key), by_place);
	return m ? m->name : 0;
}

int kineto_place_finish(struct kineto_in *k)
{
	struct trace *t = k->t;

	if (k->metas)
		qsort(k->meta, k->metas, sizeof(*k->meta), by_place);
	for (size_t i = 0; i < t->processes; i++) {
		struct trace_process *p = &t->process[i];

		if (p->file == k->im->file && !p->name)
			p->name = meta_name(k, (struct meta){ .pid = p->pid, .process = true });
	}
	for (size_t i = k->first_track; i < t->tracks; i++) {
		struct trace_track *l = &t->track[i];
		uint64_t pid = l->device == TRACK_HOST ? t->process[l->process].pid
						       : t->device[l->device].device;

		if (!l->name && l->stream != TRACE_NO_STREAM)
			l->name = meta_name(k, (struct meta){ .pid = pid, .tid = l->stream });
	}
	/* Who sees one device only calls it 0, whatever its work is numbered by. */
	for (size_t i = k->first_device; i < t->devices; i++)
		for (size_t j = 0; j < k->devices; j++)
			if (t->device[i].device == k->device[j].device || k->devices == 1) {
				t->device[i].name = k->device[j].name;
				t->device[i].sms = k->device[j].sms;
				t->device[i].memory_bytes = k->device[j].memory_bytes;
			}
	for (size_t i = k->first_comm; i < t->comms; i++)
		t->comm[i].rank = importing_file(k->im)->rank;
	return 0;
}
