/* SPDX-License-Identifier: Apache-2.0 */
/* texts.c - see texts.h. */
#include "daemon/stream/texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/count.h"
#include "theory/cl_source.h"
#include "theory/source_work.h"

_Static_assert(AON_TEXT_MAX <= CL_SOURCE_TEXT, "what is sent is read to its end");

struct open_text {
	const void *of; /* borrowed, never followed; NULL: free */
	char *bytes;    /* owned */
	uint32_t tid, have, total;
};

struct texts {
	struct open_text open[TEXTS_OPEN];
	uint32_t next;   /* whose place the next text takes when all are used */
	uint32_t budget; /* bytes that may be read */
	struct cl_text source;
};

int texts_new(struct texts **out)
{
	struct texts *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->budget = TEXTS_BURST;
	*out = t;
	return 0;
}

static void end(struct open_text *o)
{
	free(o->bytes);
	*o = (struct open_text){ 0 };
}

static void give_up(struct open_text *o)
{
	count_add(COUNT_texts_dropped, 1);
	end(o);
}

void texts_free(struct texts *t)
{
	for (uint32_t i = 0; t && i < TEXTS_OPEN; i++)
		end(&t->open[i]);
	free(t);
}

void texts_drop(struct texts *t, const void *of)
{
	for (uint32_t i = 0; t && i < TEXTS_OPEN; i++)
		if (t->open[i].of == of)
			give_up(&t->open[i]);
}

void texts_tick(struct texts *t)
{
	if (t)
		t->budget =
			t->budget + TEXTS_EACH < TEXTS_BURST ? t->budget + TEXTS_EACH : TEXTS_BURST;
}

/* The text that this thread is sending, or NULL. */
static struct open_text *find(struct texts *t, const void *of, uint32_t tid)
{
	for (uint32_t i = 0; i < TEXTS_OPEN; i++)
		if (t->open[i].of == of && t->open[i].tid == tid)
			return &t->open[i];
	return NULL;
}

/* Makes room for a text; what has no end yet makes way. */
static struct open_text *begin(struct texts *t, const void *of, const struct understand_text *p)
{
	struct open_text *o = NULL;

	for (uint32_t i = 0; i < TEXTS_OPEN && !o; i++)
		if (!t->open[i].of)
			o = &t->open[i];
	if (!o) {
		o = &t->open[t->next++ % TEXTS_OPEN];
		give_up(o);
	}
	o->bytes = malloc(p->total);
	if (!o->bytes)
		return NULL;
	o->of = of;
	o->tid = p->tid;
	o->total = p->total;
	return o;
}

static void read_opencl(struct texts *t, const struct open_text *o, texts_fn *fn, void *arg)
{
	char mark[sizeof(SOURCE_WORK_MARK) + CL_SOURCE_NAME + 256];
	struct cl_text *s = &t->source;

	cl_source_begin(s, o->bytes, o->total);
	while (cl_source_next(s)) {
		int n = snprintf(mark, sizeof(mark), SOURCE_WORK_MARK "%s ", s->k.name);

		if (cl_source_text(mark + n, sizeof(mark) - (size_t)n, &s->k))
			fn(arg, mark);
	}
}

void texts_take(struct texts *t, const void *of, const struct understand_text *p, texts_fn *fn,
		void *arg)
{
	struct open_text *o = find(t, of, p->tid);

	if (o && !p->off) /* the one before has lost its end */
		give_up(o);
	if (!p->off)
		o = begin(t, of, p);
	if (!o || o->have != p->off || o->total != p->total || p->type != AON_TEXT_OPENCL) {
		if (o)
			give_up(o);
		return;
	}
	memcpy(o->bytes + o->have, p->bytes, p->len);
	o->have += p->len;
	if (o->have < o->total)
		return;
	if (o->total > t->budget) {
		give_up(o);
		return;
	}
	t->budget -= o->total;
	count_add(COUNT_texts, 1);
	read_opencl(t, o, fn, arg);
	end(o);
}
