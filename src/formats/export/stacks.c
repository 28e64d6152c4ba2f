/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - GPU time by its launch, and as collapsed stacks.
 *
 * A stack is the ranges that were open on the launching thread, with the kernel on top. With
 * several ranks the lowest frame is the rank. Work without a launch in the trace goes under a frame
 * that says so: no time is omitted.
 */
#include "export/stacks.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "export/host.h"

#define NO_LAUNCH "(launch not seen)"

/* Texts that the trace does not hold, as names beyond its own. */
enum { MADE_NO_LAUNCH, MADE_COPY, MADE_MEMSET, MADE_GRAPH, MADE_NONE, MADE_RANK };

uint32_t stacks_made(const struct trace *t)
{
	return MADE_RANK + (uint32_t)t->files;
}

const char *stacks_text(const struct walk *w, uint32_t name, char *room, size_t cap)
{
	static const char *const made[] = { NO_LAUNCH, "Memcpy", "Memset", "graph", "(no name)" };

	if (!(name & STACKS_MADE))
		return walk_name(w, name);
	name &= ~STACKS_MADE;
	if (name < MADE_RANK)
		return made[name];
	if (w->t->file[name - MADE_RANK].rank >= 0)
		snprintf(room, cap, "rank %d", w->t->file[name - MADE_RANK].rank);
	else
		snprintf(room, cap, "file %u", name - MADE_RANK);
	return room;
}

static uint32_t leaf_name(const struct event *e)
{
	if (e->name)
		return e->name;
	return STACKS_MADE | (e->kind == EVENT_COPY     ? MADE_COPY
			      : e->kind == EVENT_MEMSET ? MADE_MEMSET
			      : e->kind == EVENT_GRAPH  ? MADE_GRAPH
							: MADE_NONE);
}

static int add_track(struct walk *w, size_t track)
{
	const struct trace *t = w->t;
	uint32_t process = t->track[track].process, node, none = UINT32_MAX;
	int err = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++) {
		const struct event *e = &t->event[i];
		struct link k;

		if (!link_is_work(e)) {
			w->n->left++;
			continue;
		}
		if (link_find(&k, &w->links, process, e->corr) && k.flags & LINK_CALL) {
			node = k.stack;
		} else {
			if (none == UINT32_MAX)
				err = link_frame(&w->links, 0, STACKS_MADE | MADE_NO_LAUNCH, &none);
			node = none;
		}
		err = err ? err : link_frame(&w->links, node, leaf_name(e), &node);
		if (err)
			break;
		w->links.node[node].ns += e->dur_ns;
		w->links.node[node].count++;
		err = walk_step(w, e);
	}
	return err;
}

/* Of one file: its GPU work onto its nodes. */
static int add_all(struct walk *w, uint32_t file)
{
	int err = 0;

	for (size_t i = 0; i < w->t->tracks && !err; i++)
		if (w->t->track[i].device != TRACK_HOST && walk_has_track(w, i) &&
		    w->t->process[w->t->track[i].process].file == file)
			err = add_track(w, i);
	return err;
}

/* Every stack with time, its frames from the top down. Then the nodes are empty again. */
static int each_stack(struct walk *w, uint32_t file, stacks_fn *fn, void *arg)
{
	bool ranks = w->o->file < 0 && w->t->files > 1;
	uint32_t frame[600];
	int err = 0;

	for (size_t i = 1; i < w->links.nodes && !err; i++) {
		struct stack_node *n = &w->links.node[i];
		size_t depth = 0;

		if (!n->count)
			continue;
		for (uint32_t at = (uint32_t)i; at && depth < 598; at = w->links.node[at].below)
			frame[depth++] = w->links.node[at].name;
		if (ranks)
			frame[depth++] = STACKS_MADE | (MADE_RANK + file);
		err = fn(w, arg, frame, depth, n);
		w->n->stacks++;
		n->ns = n->count = 0;
	}
	return err;
}

int stacks_each(struct walk *w, stacks_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t f = 0; f < w->t->files && !err; f++) {
		if (w->o->file >= 0 && f != (uint32_t)w->o->file)
			continue;
		err = add_all(w, f);
		err = err ? err : each_stack(w, f, fn, arg);
	}
	return err;
}

/* --- for readers --- */

struct reader {
	export_stack_fn *fn;
	void *arg;
};

static int tell(struct walk *w, void *arg, const uint32_t *frame, size_t depth,
		const struct stack_node *leaf)
{
	const struct reader *r = arg;
	const char *text[600];
	char room[64]; /* of the rank: the one made text that is not a constant, at the bottom */

	for (size_t i = 0; i < depth; i++)
		text[i] = stacks_text(w, frame[depth - 1 - i], room, sizeof(room));
	return r->fn(r->arg, text, depth, leaf->ns, leaf->count);
}

static int discard(void *arg, const void *bytes, size_t n)
{
	(void)arg;
	(void)bytes;
	(void)n;
	return 0;
}

int export_stacks(const struct trace *t, export_stack_fn *fn, void *arg)
{
	struct export_opts o = { .format = EXPORT_COLLAPSED, .file = -1, .write = discard };
	struct export_count n = { 0 };
	struct walk w = { .t = t, .o = &o, .n = &n, .all = t->events };
	struct reader r = { fn, arg };
	int err = sink_new(&w.s, o.write, NULL, false);

	if (err)
		return err;
	err = link_all(&w.links, t, o.file, true);
	err = err ? err : stacks_each(&w, tell, &r);
	link_free(&w.links);
	sink_end(w.s);
	return err;
}

/* --- collapsed --- */

/* Frames are parted by semicolons, lines by their ends: names may have neither. */
static void put_frame(struct sink *s, const char *text)
{
	char room[4100];

	for (text = utf8_valid(text, room, sizeof(room)); *text; text++)
		sink_byte(s, *text == ';' ? ':' : (unsigned char)*text < 0x20 ? ' ' : *text);
}

static void put_rank(struct walk *w, uint32_t file)
{
	char room[64];

	put_frame(w->s, stacks_text(w, STACKS_MADE | (MADE_RANK + file), room, sizeof(room)));
	sink_byte(w->s, ';');
}

static int collapsed_line(struct walk *w, void *arg, const uint32_t *frame, size_t depth,
			  const struct stack_node *leaf)
{
	char room[64];

	(void)arg;
	while (depth--) {
		put_frame(w->s, stacks_text(w, frame[depth], room, sizeof(room)));
		sink_byte(w->s, depth ? ';' : ' ');
	}
	sink_u64(w->s, leaf->ns);
	sink_byte(w->s, '\n');
	return w->s->err;
}

/* A stack of a thread, from the bottom up; what it waited for stands on top. */
static void host_line(struct walk *w, const struct host_row *r, const char *below)
{
	struct stack_row s = trace_stack(w->t, r->stack);
	char line[16];

	if (w->o->file < 0 && w->t->files > 1)
		put_rank(w, w->t->process[w->t->track[r->track].process].file);
	sink_str(w->s, below);
	put_frame(w->s, host_thread(w->t, r->track, (char[160]){ 0 }, 160));
	for (uint32_t i = s.n; i-- > 0;) {
		const struct stack_frame *f = &s.frame[i];
		const char *file = f->file ? trace_text(w->t, f->file) : "";

		sink_byte(w->s, ';');
		put_frame(w->s, host_name(w->t, f->name));
		if (*file) {
			sink_str(w->s, " (");
			put_frame(w->s, strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
			snprintf(line, sizeof(line), f->line ? ":%u)" : ")", f->line);
			sink_str(w->s, line);
		}
		if (f->flags & FRAME_INLINE)
			sink_str(w->s, "_[i]"); /* as flamegraph.pl knows it */
	}
	if (r->state != SAMPLE_RUNNING) {
		sink_str(w->s, ";[");
		sink_str(w->s, sample_state_word((enum sample_state)r->state));
		sink_byte(w->s, ']');
	}
	sink_byte(w->s, ' ');
	sink_u64(w->s, r->ns);
	sink_byte(w->s, '\n');
	w->n->stacks++;
}

int export_collapsed(struct walk *w)
{
	struct host h;
	int err = stacks_each(w, collapsed_line, NULL);
	bool gpu = w->n->stacks;

	err = err ? err : host_init(&h, w);
	if (err)
		return err;
	for (size_t i = 0; i < h.rows && !w->s->err; i++)
		host_line(w, &h.row[i], gpu ? "(threads);" : "");
	host_fini(&h);
	return w->s->err;
}
