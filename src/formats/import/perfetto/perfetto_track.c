/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_track.c - Perfetto's tracks as threads and streams.
 *
 *	TrackDescriptor  1 uuid  2 name  3 process: 1 pid 2 cmdline 6 name  4 thread: 1 pid 2 tid
 *	                 5 name  5 parent_uuid  8 counter  10 static_name
 *
 * A track below a thread is that thread: slices that do not nest have a second one. A track with GPU
 * work is a stream; the device is the number behind "GPU", "AGENT [" or "device" in its name or in
 * one above it.
 */
#include "import/perfetto/perfetto.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

#include "base/num.h"
#include "base/vec.h"

#define TRACKS_MAX 1000000u
#define ABOVE_MAX  16u          /* tracks above one another */
#define ID_OF_NAME (1ull << 63) /* of a stream: no number, but a name */

int perfetto_track(struct perfetto *p, uint64_t uuid, struct perfetto_track **out)
{
	uint64_t at = map_get(&p->track_of, uuid);

	if (!at) {
		if (p->tracks >= TRACKS_MAX)
			return -EBADMSG;
		if (vec_more(&p->track, p->tracks, sizeof(*p->track)) < 0 ||
		    map_put(&p->track_of, uuid, p->tracks + 1) < 0)
			return -ENOMEM;
		p->track[p->tracks] = (struct perfetto_track){ .uuid = uuid };
		at = ++p->tracks;
	}
	*out = &p->track[at - 1];
	return 0;
}

int perfetto_process(struct perfetto *p, uint64_t pid, uint32_t *process)
{
	return trace_process(p->t, p->im->file, p->machine << 32 | (pid & UINT32_MAX), process);
}

/* "rank 3 python3": how aon's own export names a process of a job. A file of several has none. */
static void note_rank(struct perfetto *p, const char *name)
{
	struct trace_file *f = importing_file(p->im);
	const char *end;
	unsigned long rank;

	if (strncmp(name, "rank ", 5) || !isdigit((unsigned char)name[5]))
		return;
	rank = num_front(name + 5, &end);
	if (*end != ' ' || rank > INT32_MAX)
		return;
	p->ranks += f->rank != (int32_t)rank;
	f->rank = p->ranks > 1 ? TRACE_NO_RANK : (int32_t)rank;
}

static int describe_process(struct perfetto *p, struct perfetto_track *l, struct pb in)
{
	struct pb_field f;
	uint32_t name = 0, process;
	int err = 0;

	l->process = true;
	while (!err && pb_next(&in, &f)) {
		if (f.num == 1)
			l->pid = f.v;
		else if (f.num == 6 && f.wire == 2)
			err = perfetto_text(p, f.data, &name);
		else if (f.num == 2 && f.wire == 2 && !name)
			err = perfetto_text(p, f.data, &name);
	}
	err = err ? err : perfetto_process(p, l->pid, &process);
	if (err || !name)
		return err;
	p->t->process[process].name = name;
	note_rank(p, trace_text(p->t, name));
	return 0;
}

static int describe_thread(struct perfetto *p, struct perfetto_track *l, struct pb in)
{
	struct pb_field f;
	int err = 0;

	l->thread = true;
	while (!err && pb_next(&in, &f)) {
		if (f.num == 1)
			l->pid = f.v;
		else if (f.num == 2)
			l->tid = f.v;
		else if (f.num == 5 && f.wire == 2)
			err = perfetto_text(p, f.data, &l->name);
	}
	return err;
}

int perfetto_describe(struct perfetto *p, struct pb in)
{
	struct perfetto_track *l;
	struct pb again = in;
	struct pb_field f;
	uint64_t uuid = 0;
	int err;

	while (pb_next(&again, &f))
		if (f.num == 1)
			uuid = f.v;
	err = again.bad ? -EBADMSG : perfetto_track(p, uuid, &l);
	while (!err && pb_next(&in, &f)) {
		if (f.num == 5)
			l->parent = f.v;
		else if (f.wire != 2)
			continue;
		else if (f.num == 2 || f.num == 10)
			err = perfetto_text(p, f.data, &l->name);
		else if (f.num == 3)
			err = describe_process(p, l, f.data);
		else if (f.num == 4)
			err = describe_thread(p, l, f.data);
		else if (f.num == 8)
			l->counter = true;
	}
	if (!err)
		l->place = 0;
	return err;
}

static const struct perfetto_track *above(const struct perfetto *p, const struct perfetto_track *l)
{
	uint64_t at = l->parent ? map_get(&p->track_of, l->parent) : 0;

	return at ? &p->track[at - 1] : NULL;
}

/* The number behind the word, in "GPU 3 NVIDIA H100" or "COMPUTE AGENT [1] QUEUE [0] (GPU)". */
static bool number_behind(const char *s, const char *word, uint32_t *out)
{
	const char *q = strcasestr(s, word);

	for (q = q ? q + strlen(word) : NULL; q && (*q == ' ' || *q == '[' || *q == ':'); q++)
		;
	if (!q || !isdigit((unsigned char)*q))
		return false;
	*out = (uint32_t)num_front(q, NULL);
	return true;
}

static bool device_of(const struct perfetto *p, const struct perfetto_track *l, uint32_t *device)
{
	static const char *const words[] = { "GPU", "AGENT", "device" };

	for (unsigned n = 0; l && n < ABOVE_MAX; l = above(p, l), n++)
		for (size_t i = 0; i < 3; i++)
			if (!l->thread && !l->process &&
			    number_behind(trace_text(p->t, l->name), words[i], device))
				return *device < TRACK_HOST;
	return false;
}

static uint64_t stream_of(const struct perfetto *p, const struct perfetto_track *l)
{
	const char *name = trace_text(p->t, l->name);
	uint32_t n;

	if (!strcmp(name, "device"))
		return TRACE_NO_STREAM;
	if (number_behind(name, "stream", &n) || number_behind(name, "QUEUE", &n))
		return n;
	return ID_OF_NAME | (l->name ? l->name : l->uuid >> 1);
}

/* work: the track has work of a device. */
void perfetto_find_place(struct perfetto *p, struct perfetto_track *l, bool work)
{
	const struct perfetto_track *q = l, *thread = NULL, *process = NULL;
	uint32_t device = 0;

	if (l->place && (!work || l->place == PLACE_STREAM + 1))
		return;
	for (unsigned n = 0; q && n < ABOVE_MAX; q = above(p, q), n++) {
		if (q->thread && !thread)
			thread = q;
		if ((q->process || q->thread) && !process)
			process = q;
	}
	if (perfetto_process(p, process ? process->pid : 0, &l->owner) < 0)
		return;
	if (work || (!thread && !l->process && device_of(p, l, &device))) {
		device_of(p, l, &device);
		l->place = PLACE_STREAM + 1;
		l->device = device;
		l->stream = l->counter ? TRACE_NO_STREAM : stream_of(p, l);
		return;
	}
	l->place = PLACE_THREAD + 1;
	l->stream = thread       ? thread->tid
		    : l->process ? l->pid
		    : l->counter ? (process ? process->pid : 0)
				 : ID_OF_NAME | (l->name ? l->name : l->uuid >> 1);
}

/* "GPU 0 NVIDIA H100 80GB HBM3": how aon's own export names a device. */
static void name_device(struct perfetto *p, const struct perfetto_track *l, uint32_t device)
{
	struct trace_device *d = &p->t->device[device];
	unsigned n = 0;

	for (; l && n < ABOVE_MAX && !d->name; l = above(p, l), n++) {
		const char *s = trace_text(p->t, l->name);
		size_t skip;

		if (l->thread || l->process || strncasecmp(s, "GPU ", 4) ||
		    !isdigit((unsigned char)s[4]))
			continue;
		skip = 4 + strspn(s + 4, "0123456789");
		if (s[skip] == ' ' && s[skip + 1])
			(void)trace_name(p->t, s + skip + 1, strlen(s + skip + 1), &d->name);
	}
}

int perfetto_place(struct perfetto *p, const struct perfetto_track *l, uint32_t context,
		   uint32_t *track)
{
	struct trace_track k = { .process = l->owner, .device = TRACK_HOST, .stream = l->stream };
	const char *name = trace_text(p->t, l->name);
	int err = 0;

	if (l->place == PLACE_STREAM + 1) {
		k.context = context;
		err = trace_device(p->t, l->owner, l->device, &k.device);
		if (!err && !p->t->device[k.device].name)
			name_device(p, l, k.device);
	}
	if (!l->counter && strncmp(name, "stream ", 7) && strncmp(name, "thread ", 7))
		k.name = l->stream == TRACE_NO_STREAM ? 0 : l->name;
	return err ? err : trace_track(p->t, &k, track);
}
