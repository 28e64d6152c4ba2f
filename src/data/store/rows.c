/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - small rows: a seal, then varints and counted strings. */
#include "store/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/varint.h"
#include "base/vec.h"

#define PROCESS_MAX (96 * VARINT_MAX + sizeof(struct process))
#define CUT_SUFFIX  17u /* "#" and 16 digits */

void rows_fini(struct rows *r)
{
	free(r->data);
	*r = (struct rows){ 0 };
}

int rows_reserve(struct rows *r, size_t len)
{
	return vec_room(&r->data, &r->cap, r->len + len, 1);
}

int rows_move(struct rows *to, struct rows *from)
{
	int err;

	if (!from->len)
		return 0;
	err = rows_reserve(to, from->len);
	if (err < 0)
		return err;
	memcpy(to->data + to->len, from->data, from->len);
	to->len += from->len;
	rows_fini(from); /* what a burst took is given back */
	return 0;
}

/* Where the body of a new row of at most `max` bytes goes; NULL: no memory. */
static uint8_t *begin(struct rows *r, size_t max)
{
	return rows_reserve(r, sizeof(struct seal) + max) < 0
		       ? NULL
		       : r->data + r->len + sizeof(struct seal);
}

static void end(struct rows *r, struct seal *s, const uint8_t *p)
{
	uint8_t *body = r->data + r->len + sizeof(*s);

	s->len = (uint32_t)(p - body);
	seal_close(s, body);
	memcpy(r->data + r->len, s, sizeof(*s));
	r->len += sizeof(*s) + s->len;
}

const char *row_name(const char *text, size_t *len, char buf[ROW_NAME_MAX])
{
	size_t keep = *len > ROW_NAME_MAX ? ROW_NAME_MAX - CUT_SUFFIX : *len;
	char suffix[CUT_SUFFIX + 1];

	if (keep == *len && !memchr(text, '\0', keep))
		return text;
	/* Names are handed out as C strings: a NUL inside would cut one short. */
	for (size_t i = 0; i < keep; i++)
		buf[i] = text[i] ? text[i] : ' ';
	if (keep < *len) {
		snprintf(suffix, sizeof(suffix), "#%016llx",
			 (unsigned long long)XXH3_64bits(text, *len));
		memcpy(buf + keep, suffix, CUT_SUFFIX);
		*len = ROW_NAME_MAX;
	}
	return buf;
}

int row_put_name(struct rows *r, uint32_t id, const char *text, size_t len)
{
	struct seal s = { .type = SEAL_NAME, .row = id };
	uint8_t *p = begin(r, len);

	if (!p)
		return -ENOMEM;
	memcpy(p, text, len);
	end(r, &s, p + len);
	return 0;
}

int row_put_geo(struct rows *r, const struct geo *g)
{
	const uint32_t v[9] = { g->grid[0],  g->grid[1],     g->grid[2],
				g->block[0], g->block[1],    g->block[2],
				g->regs,     g->smem_static, g->smem_dynamic };
	struct seal s = { .type = SEAL_GEO, .row = g->id };
	uint8_t *p = begin(r, 9 * VARINT_MAX);

	if (!p)
		return -ENOMEM;
	for (int i = 0; i < 9; i++)
		p = varint_put(p, v[i]);
	end(r, &s, p);
	return 0;
}

int row_get_geo(const struct seal *s, const void *body, struct geo *g)
{
	struct varint_in in = { body, (const uint8_t *)body + s->len, false };
	uint32_t v[9];

	for (int i = 0; i < 9; i++)
		v[i] = (uint32_t)varint_get(&in);
	if (in.bad)
		return -EBADMSG;
	*g = (struct geo){ .id = (uint32_t)s->row,
			   .grid = { v[0], v[1], v[2] },
			   .block = { v[3], v[4], v[5] },
			   .regs = v[6],
			   .smem_static = v[7],
			   .smem_dynamic = v[8] };
	return 0;
}

#define FRAME_KIND_BITS 3u

_Static_assert(FRAME_KINDS <= 1 << FRAME_KIND_BITS,
	       "the kind of a frame is on disk in so many bits");

int row_put_stack(struct rows *r, uint32_t id, const struct stack_frame *frame, uint32_t n)
{
	struct seal s = { .type = SEAL_STACK, .row = id };
	uint8_t *p = begin(r, (1 + 4 * (size_t)n) * VARINT_MAX);

	if (!p)
		return -ENOMEM;
	p = varint_put(p, n);
	for (uint32_t i = 0; i < n; i++) {
		p = varint_put(p, (uint32_t)frame[i].flags << FRAME_KIND_BITS | frame[i].kind);
		p = varint_put(p, frame[i].name);
		p = varint_put(p, frame[i].file);
		p = varint_put(p, frame[i].line);
	}
	end(r, &s, p);
	return 0;
}

int row_get_stack(const struct seal *s, const void *body, struct stack_row *out,
		  struct stack_frame frame[STACK_FRAMES_MAX])
{
	struct varint_in in = { body, (const uint8_t *)body + s->len, false };
	uint64_t n = varint_get(&in), v[4];

	if (in.bad || n < 1 || n > STACK_FRAMES_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		for (int k = 0; k < 4; k++)
			v[k] = varint_get(&in);
		frame[i] = (struct stack_frame){ .kind = v[0] & ((1u << FRAME_KIND_BITS) - 1),
						 .flags = (uint8_t)(v[0] >> FRAME_KIND_BITS),
						 .name = (uint32_t)v[1],
						 .file = (uint32_t)v[2],
						 .line = (uint32_t)v[3] };
		if (frame[i].kind >= FRAME_KINDS)
			return -EBADMSG;
	}
	if (in.bad || in.p != in.end)
		return -EBADMSG;
	*out = (struct stack_row){ .id = (uint32_t)s->row, .n = (uint32_t)n, .frame = frame };
	return 0;
}

int row_put_track(struct rows *r, const struct track *l)
{
	struct seal s = { .type = SEAL_TRACK, .row = l->id, .owner = l->process };
	uint8_t *p = begin(r, 4 * VARINT_MAX);

	if (!p)
		return -ENOMEM;
	p = varint_put(p, l->device);
	p = varint_put(p, l->context);
	p = varint_put(p, l->stream);
	p = varint_put(p, l->name);
	end(r, &s, p);
	return 0;
}

int row_get_track(const struct seal *s, const void *body, struct track *l)
{
	struct varint_in in = { body, (const uint8_t *)body + s->len, false };
	struct track v = { .id = (uint32_t)s->row, .process = s->owner };

	v.device = (uint32_t)varint_get(&in);
	v.context = (uint32_t)varint_get(&in);
	v.stream = varint_get(&in);
	v.name = (uint32_t)varint_get(&in);
	if (in.bad)
		return -EBADMSG;
	*l = v;
	return 0;
}

int row_put_entry(struct rows *r, uint64_t id, const struct journal_entry *e)
{
	struct seal s = { .type = SEAL_ENTRY,
			  .owner = (uint32_t)entry_number(e, FIELD_PROCESS),
			  .row = id,
			  .t0_ns = e->wall_ns,
			  .t1_ns = e->wall_ns };
	uint8_t *p = begin(r, ENTRY_BYTES);

	if (!p)
		return -ENOMEM;
	end(r, &s, p + entry_encode(e, p));
	return 0;
}

int row_get_entry(const struct seal *s, const void *body, struct journal_entry *e,
		  char old[ENTRY_OLD])
{
	const char *p = body;
	size_t n;

	e->wall_ns = s->t0_ns;
	if (s->type == SEAL_ENTRY)
		return entry_decode(e, body, s->len);
	n = strnlen(p, s->len);
	if (n + 2 > s->len || p[s->len - 1] != '\0')
		return -EBADMSG;
	entry_from_line(e, old, p, p + n + 1);
	return 0;
}

int row_put_aged(struct rows *r, uint32_t process, uint64_t records)
{
	struct seal s = { .type = SEAL_AGED, .row = process, .owner = process, .t0_ns = records };
	uint8_t *p = begin(r, 0);

	if (!p)
		return -ENOMEM;
	end(r, &s, p);
	return 0;
}

static uint8_t *put_text(uint8_t *p, const char *text, size_t max)
{
	size_t n = strnlen(text, max);

	p = varint_put(p, n);
	memcpy(p, text, n);
	return p + n;
}

/* Cut to what fits, always with a NUL. */
static void get_text(struct varint_in *in, char *to, size_t max)
{
	size_t n = varint_get(in), keep;

	if (in->bad || n > (size_t)(in->end - in->p)) {
		in->bad = true;
		n = 0;
	}
	keep = n < max ? n : max - 1;
	memcpy(to, in->p, keep);
	to[keep] = '\0';
	in->p += n;
}

/* After all fields of the first version, and omitted if empty. */
static uint8_t *put_origin(uint8_t *q, const struct origin *o)
{
	const uint64_t v[] = { o->file,     o->rank, o->world, o->tick_ns, o->rows,
			       o->imported, o->left, o->lost,  o->mended,  o->broke_at };

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		q = varint_put(q, v[i]);
	return q;
}

static void get_origin(struct varint_in *in, struct origin *o)
{
	if (in->bad || in->p == in->end)
		return;
	o->file = (uint32_t)varint_get(in);
	o->rank = (uint32_t)varint_get(in);
	o->world = (uint32_t)varint_get(in);
	o->tick_ns = (uint32_t)varint_get(in);
	o->rows = varint_get(in);
	o->imported = varint_get(in);
	o->left = varint_get(in);
	o->lost = varint_get(in);
	o->mended = varint_get(in);
	o->broke_at = varint_get(in);
}

static uint8_t *put_overhead(uint8_t *q, const struct overhead *o)
{
	const int32_t s[] = { o->lo, o->mid, o->hi, o->mean };

	q = varint_put(q, o->steps);
	q = varint_put(q, o->unsampled);
	q = varint_put(q, o->pairs);
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++)
		q = varint_put(q, zigzag((uint64_t)(int64_t)s[i]));
	q = varint_put(q, o->accounted);
	q = varint_put(q, o->budget);
	q = varint_put(q, o->fidelity);
	q = varint_put(q, o->moves);
	q = varint_put(q, o->by);
	q = varint_put(q, o->emit_ps);
	return varint_put(q, o->residual);
}

static void get_overhead(struct varint_in *in, struct overhead *o)
{
	int32_t *const s[] = { &o->lo, &o->mid, &o->hi, &o->mean };

	o->steps = varint_get(in);
	o->unsampled = varint_get(in);
	o->pairs = varint_get(in);
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++)
		*s[i] = (int32_t)unzigzag(varint_get(in));
	o->accounted = (uint32_t)varint_get(in);
	o->budget = (uint32_t)varint_get(in);
	o->fidelity = (uint32_t)varint_get(in);
	o->moves = (uint32_t)varint_get(in);
	if (in->bad || in->p == in->end) /* written before these were */
		return;
	o->by = (uint32_t)varint_get(in);
	o->emit_ps = (uint32_t)varint_get(in);
	o->residual = (uint32_t)varint_get(in);
}

int row_put_node(struct rows *r, const struct node_ident *n)
{
	struct seal s = { .type = SEAL_NODE, .row = 1 };
	uint8_t *q = begin(r, sizeof(*n) + VARINT_MAX * sizeof(*n) / 8);

	if (!q)
		return -ENOMEM;
#define NODE(name, bytes, what, who) q = put_text(q, n->name, sizeof(n->name));
#include "model/ident.tbl.h"
	end(r, &s, q);
	return 0;
}

int row_get_node(const struct seal *s, const void *body, struct node_ident *n)
{
	struct varint_in in = { body, (const uint8_t *)body + s->len, false };

	*n = (struct node_ident){ 0 };
#define NODE(name, bytes, what, who) \
	if (in.p < in.end)           \
		get_text(&in, n->name, sizeof(n->name));
#include "model/ident.tbl.h"
	return in.bad ? -EBADMSG : 0;
}

static bool has_ident(const struct ident *i)
{
	bool any = false;

#define IDENT(name, bytes, what, who) any = any || *i->name;
#include "model/ident.tbl.h"
	return any;
}

int row_put_process(struct rows *r, const struct process *p)
{
	const struct account *a = &p->account;
	const uint64_t v[] = { p->pid,
			       p->pid_start,
			       p->boot_id[0],
			       p->boot_id[1],
			       p->pool_id[0],
			       p->pool_id[1],
			       p->uid,
			       p->gid,
			       p->tier,
			       p->connected,
			       zigzag((uint64_t)p->wall_offset_ns),
			       a->emitted,
			       a->stored,
			       a->in_flight };
	struct seal s = { .type = SEAL_PROCESS,
			  .row = p->id,
			  .owner = p->id,
			  .t0_ns = p->first_ns,
			  .t1_ns = p->last_ns };
	uint8_t *q = begin(r, PROCESS_MAX);
	bool ident = has_ident(&p->ident) || a->samples || p->parent;

	if (!q)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		q = varint_put(q, v[i]);
	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		q = varint_put(q, a->lost[i]);
	q = put_text(q, p->comm, sizeof(p->comm));
	q = put_text(q, p->exe, sizeof(p->exe));
	q = put_text(q, p->run, sizeof(p->run));
	q = put_text(q, p->library, sizeof(p->library));
	q = put_text(q, p->note, sizeof(p->note));
	if (p->origin.file || p->origin.rank || *p->job || p->overhead.steps || ident)
		q = put_origin(q, &p->origin);
	if (p->origin.rank || *p->job || p->overhead.steps || ident) {
		q = varint_put(q, p->local_rank);
		q = put_text(q, p->job, sizeof(p->job));
		q = put_text(q, p->node, sizeof(p->node));
	}
	if (p->overhead.steps || ident)
		q = put_overhead(q, &p->overhead);
#define IDENT(name, bytes, what, who) \
	if (ident)                    \
		q = put_text(q, p->ident.name, sizeof(p->ident.name));
#include "model/ident.tbl.h"
	if (a->samples || p->parent)
		q = varint_put(q, a->samples);
	if (p->parent)
		q = varint_put(q, p->parent);
	end(r, &s, q);
	return 0;
}

int row_get_process(const struct seal *s, const void *body, struct process *p)
{
	struct varint_in in = { body, (const uint8_t *)body + s->len, false };
	uint64_t v[14];

	*p = (struct process){ .id = (uint32_t)s->row, .first_ns = s->t0_ns, .last_ns = s->t1_ns };
	for (size_t i = 0; i < 14; i++)
		v[i] = varint_get(&in);
	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		p->account.lost[i] = varint_get(&in);
	p->pid = (uint32_t)v[0];
	p->pid_start = v[1];
	memcpy(p->boot_id, v + 2, sizeof(p->boot_id));
	memcpy(p->pool_id, v + 4, sizeof(p->pool_id));
	p->uid = (uint32_t)v[6];
	p->gid = (uint32_t)v[7];
	p->tier = (uint32_t)v[8];
	p->connected = (uint32_t)v[9];
	p->wall_offset_ns = (int64_t)unzigzag(v[10]);
	p->account.emitted = v[11];
	p->account.stored = v[12];
	p->account.in_flight = v[13];
	get_text(&in, p->comm, sizeof(p->comm));
	get_text(&in, p->exe, sizeof(p->exe));
	get_text(&in, p->run, sizeof(p->run));
	get_text(&in, p->library, sizeof(p->library));
	get_text(&in, p->note, sizeof(p->note));
	get_origin(&in, &p->origin);
	if (!in.bad && in.p < in.end) {
		p->local_rank = (uint32_t)varint_get(&in);
		get_text(&in, p->job, sizeof(p->job));
	}
	if (!in.bad && in.p < in.end)
		get_text(&in, p->node, sizeof(p->node));
	if (!in.bad && in.p < in.end)
		get_overhead(&in, &p->overhead);
#define IDENT(name, bytes, what, who) \
	if (!in.bad && in.p < in.end) \
		get_text(&in, p->ident.name, sizeof(p->ident.name));
#include "model/ident.tbl.h"
	if (!in.bad && in.p < in.end)
		p->account.samples = varint_get(&in);
	if (!in.bad && in.p < in.end)
		p->parent = (uint32_t)varint_get(&in);
	return in.bad ? -EBADMSG : 0;
}

int row_put_series(struct rows *r, const struct series *sr)
{
	struct seal s = { .type = SEAL_SERIES, .row = sr->id };
	uint8_t *p = begin(r, 3 * VARINT_MAX + sizeof(*sr));

	if (!p)
		return -ENOMEM;
	p = varint_put(p, sr->metric);
	p = put_text(p, sr->device, SERIES_DEVICE_MAX);
	p = put_text(p, sr->labels, SERIES_LABELS_MAX);
	end(r, &s, p);
	return 0;
}

int row_get_series(const struct seal *s, const void *body, struct series *sr)
{
	struct varint_in in = { body, (const uint8_t *)body + s->len, false };
	struct series v = { .id = (uint32_t)s->row };

	v.metric = (uint32_t)varint_get(&in);
	get_text(&in, v.device, sizeof(v.device));
	get_text(&in, v.labels, sizeof(v.labels));
	if (in.bad || in.p != in.end || !series_labels_ok(v.labels))
		return -EBADMSG;
	*sr = v;
	return 0;
}
