/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - every event as a row (RFC 4180), times in nanoseconds. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "export/walk.h"

static const char *const copy_word[16] = { "", "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" };

static void put_text(struct sink *s, const char *text)
{
	char room[4100];

	text = utf8_valid(text, room, sizeof(room));
	if (!strpbrk(text, ",\"\r\n")) {
		sink_str(s, text);
		return;
	}
	sink_byte(s, '"');
	for (; *text; text++) {
		if (*text == '"')
			sink_byte(s, '"');
		sink_byte(s, *text);
	}
	sink_byte(s, '"');
}

/* 0 is "not said", and stays empty. */
static void put_some(struct sink *s, uint64_t v)
{
	if (v)
		sink_u64(s, v);
	sink_byte(s, ',');
}

static void put_geo(struct sink *s, const struct geo *g)
{
	char text[160];

	snprintf(text, sizeof(text), "%ux%ux%u,%ux%ux%u,%u,%u", g->grid[0], g->grid[1], g->grid[2],
		 g->block[0], g->block[1], g->block[2], g->regs, g->smem_static + g->smem_dynamic);
	sink_str(s, text);
}

static void put_place(struct walk *w, const struct trace_track *l)
{
	const struct trace *t = w->t;
	const struct trace_file *f = &t->file[t->process[l->process].file];

	if (f->rank >= 0)
		sink_u64(w->s, (uint64_t)f->rank);
	sink_byte(w->s, ',');
	sink_u64(w->s, t->process[l->process].pid);
	sink_byte(w->s, ',');
	if (l->device != TRACK_HOST)
		sink_u64(w->s, t->device[l->device].device);
	sink_byte(w->s, ',');
	if (l->stream != TRACE_NO_STREAM)
		sink_u64(w->s, l->stream);
	sink_byte(w->s, ',');
}

static void put_value(struct sink *s, const struct event *e)
{
	char room[SINK_REAL];
	double real;

	if (e->kind == EVENT_COUNTER && e->flags & EVENT_FLOAT) {
		memcpy(&real, &e->a, sizeof(real));
		sink_str(s, sink_real(room, real));
	} else if (e->kind == EVENT_COUNTER) {
		sink_i64(s, (int64_t)e->a);
	} else if (e->kind == EVENT_STEP) {
		sink_u64(s, e->a);
	}
	sink_byte(s, ',');
}

static void put_event(struct walk *w, const struct event *e)
{
	bool work = link_is_work(e), sized = e->kind == EVENT_COPY || e->kind == EVENT_MEMSET ||
					     e->kind == EVENT_COLLECTIVE || e->kind == EVENT_ALLOC;
	struct sink *s = w->s;
	char room[64];

	put_place(w, &w->t->track[e->track]);
	sink_str(s, event_word(e->kind));
	sink_byte(s, ',');
	put_text(s, walk_event_name(w, e, room, sizeof(room)));
	sink_byte(s, ',');
	sink_u64(s, e->start_ns);
	sink_byte(s, ',');
	sink_u64(s, e->dur_ns);
	sink_byte(s, ',');
	put_some(s, e->corr);
	put_some(s, sized ? e->a : 0);
	if (e->kind == EVENT_COPY && copy_word[e->flags >> EVENT_COPY_SHIFT])
		sink_str(s, copy_word[e->flags >> EVENT_COPY_SHIFT]);
	sink_byte(s, ',');
	put_value(s, e);
	put_some(s, work ? trace_node(e) : 0);
	if (e->kind == EVENT_KERNEL && e->a && e->a < w->t->geos)
		put_geo(s, &w->t->geo[e->a]);
	else
		sink_str(s, ",,,");
	sink_byte(s, '\n');
}

int export_csv(struct walk *w)
{
	const struct trace *t = w->t;
	int err = 0;

	sink_str(w->s,
		 "rank,pid,device,stream,kind,name,start_ns,dur_ns,correlation,bytes,direction,"
		 "value,graph_node,grid,block,registers,shared_memory\n");
	for (size_t i = 0; i < t->tracks && !err; i++)
		for (size_t k = t->track_first[i];
		     walk_has_track(w, i) && k < t->track_first[i + 1] && !err; k++) {
			put_event(w, &t->event[k]);
			err = walk_step(w, &t->event[k]);
		}
	return err;
}
