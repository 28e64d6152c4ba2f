/* SPDX-License-Identifier: Apache-2.0 */
/* trace_dump [-e] FILE...: what a trace or store holds, as JSON, for scenarios to compare with others' counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "import/import.h"
#include "model/trace.h"
#include "store/store.h"
#include "store/trace.h"

static const char *const kind_names[EVENT_MAX] = {
#define EVENT(num, NAME, word, has) [num] = word,
#include "model/event.tbl.h"
};

static void dump_file(struct json *j, const struct trace_file *f)
{
	json_open(j, NULL, '{');
	json_str(j, "path", f->path);
	json_i64(j, "rank", f->rank);
	json_i64(j, "world", f->world);
	json_u64(j, "rows", f->rows);
	json_u64(j, "imported", f->imported);
	json_u64(j, "left", f->left);
	json_u64(j, "lost", f->lost);
	json_u64(j, "mended", f->mended);
	json_u64(j, "tick_ns", f->tick_ns);
	json_i64(j, "wall_offset_ns", f->wall_offset_ns);
	if (f->broke_at != UINT64_MAX)
		json_u64(j, "broke_at", f->broke_at);
	json_str(j, "why", f->why);
	json_close(j);
}

static void dump_track(struct json *j, const struct trace *t, size_t i)
{
	const struct trace_track *l = &t->track[i];

	json_open(j, NULL, '{');
	json_u64(j, "pid", t->process[l->process].pid);
	json_u64(j, "process", l->process);
	if (l->device != TRACK_HOST)
		json_u64(j, "device", t->device[l->device].device);
	json_i64(j, "stream", (int64_t)l->stream);
	json_str(j, "name", trace_text(t, l->name));
	json_u64(j, "events", t->track_first[i + 1] - t->track_first[i]);
	json_close(j);
}

/* By kind, where, and whose range: "kernel", "sync host", "range 1". */
static void dump_kinds(struct json *j, const struct trace *t)
{
	static uint64_t n[EVENT_MAX][2][8], dur[EVENT_MAX][2][8];
	char key[64];

	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];
		bool host = t->track[e->track].device == TRACK_HOST;
		uint64_t r = e->kind == EVENT_RANGE ? e->a & 7 : 0;

		n[e->kind][host][r]++;
		dur[e->kind][host][r] += e->dur_ns;
	}
	json_open(j, "kinds", '{');
	for (unsigned k = 0; k < EVENT_MAX; k++)
		for (unsigned h = 0; h < 2; h++)
			for (unsigned r = 0; r < 8; r++) {
				if (!n[k][h][r])
					continue;
				snprintf(key, sizeof(key), "%s%s%s%.0u", kind_names[k],
					 h ? " host" : "", r ? " " : "", r);
				json_open(j, key, '[');
				json_u64(j, NULL, n[k][h][r]);
				json_u64(j, NULL, dur[k][h][r]);
				json_close(j);
			}
	json_close(j);
}

static void dump(const struct trace *t)
{
	struct json j;

	json_init(&j, stdout);
	json_open(&j, NULL, '{');
	json_open(&j, "files", '[');
	for (size_t i = 0; i < t->files; i++)
		dump_file(&j, &t->file[i]);
	json_close(&j);
	json_open(&j, "devices", '[');
	for (size_t i = 0; i < t->devices; i++) {
		json_open(&j, NULL, '{');
		json_u64(&j, "device", t->device[i].device);
		json_str(&j, "name", trace_text(t, t->device[i].name));
		json_u64(&j, "sms", t->device[i].sms);
		json_u64(&j, "memory_bytes", t->device[i].memory_bytes);
		json_close(&j);
	}
	json_close(&j);
	json_open(&j, "lanes", '[');
	for (size_t i = 0; i < t->tracks; i++)
		dump_track(&j, t, i);
	json_close(&j);
	dump_kinds(&j, t);
	json_u64(&j, "names", t->names);
	json_u64(&j, "names_over", t->names_over);
	json_u64(&j, "geos", t->geos);
	json_u64(&j, "comms", t->comms);
	json_end(&j);
}

static int load(struct trace *t, const char *path, struct import_why *why)
{
	struct store_why not_one;
	struct store *st;
	int err;

	if (store_open_ro(&st, path, &not_one) < 0)
		return import_path(t, path, NULL, why);
	err = store_trace(t, st, path, NULL, NULL);
	store_close(st);
	return err;
}

int main(int argc, char *argv[])
{
	struct import_why why = { "" };
	bool events = argc > 1 && !strcmp(argv[1], "-e");
	struct trace *t;
	int err = 0;

	if (argc < 2 || trace_new(&t) < 0)
		return 2;
	for (int i = 1 + events; i < argc && !err; i++)
		err = load(t, argv[i], &why);
	if (!err)
		err = trace_seal(t);
	if (err)
		fprintf(stderr, "%s\n", why.text);
	else if (!events)
		dump(t);
	for (size_t i = 0; !err && events && i < t->events; i++) {
		const struct event *e = &t->event[i];

		printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u %u %s\n",
		       kind_names[e->kind], e->start_ns, e->dur_ns, e->a, e->b, e->corr, e->track,
		       e->flags, t->event_comm ? t->event_comm[i] : 0, trace_text(t, e->name));
	}
	err = err ? 2 : import_damaged(t);
	trace_free(t);
	return err;
}
