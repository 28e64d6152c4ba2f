/* SPDX-License-Identifier: Apache-2.0 */
/* samples_json.c - where threads were, as JSON. */
#include <stdlib.h>

#include "read/json.h"

static void put_share(struct json *j, const struct share *s)
{
	json_members(j, J_REAL("share", s->share), J_REAL("error", s->error),
		     J_U64("samples", s->count));
}

static const char *text_of(const struct trace *t, uint32_t name)
{
	return name ? trace_text(t, name) : NULL;
}

static void put_frame(struct json *j, const char *key, const struct trace *t,
		      const struct stack_frame *f)
{
	static const char *const kind[FRAME_KINDS] = { "python", "native", "task" };

	if (!f->name && !f->file) {
		json_null(j, key);
		return;
	}
	json_open(j, key, '{');
	json_members(j, J_STR("function", text_of(t, f->name)), J_STR("file", text_of(t, f->file)));
	json_maybe(j, "line", f->line, f->line);
	json_members(j, J_STR("kind", f->kind < FRAME_KINDS ? kind[f->kind] : NULL),
		     J_BOOL("own", f->flags & FRAME_USER),
		     J_BOOL("inlined", f->flags & FRAME_INLINE));
	json_close(j);
}

static void put_rows(struct json *j, const struct insight *in, const struct samples_sum *s,
		     size_t most)
{
	char label[FRAME_LABEL];

	json_open(j, "rows", '[');
	for (size_t i = 0; i < s->rows && i < most; i++) {
		const struct sample_blame *b = &s->row[i];

		json_open(j, NULL, '{');
		put_share(j, &b->s);
		json_str(j, "state", sample_state_word(b->state));
		json_bool(j, "held", b->held);
		put_frame(j, "code", in->t, &b->frame);
		json_str(j, "in", b->in.name ? frame_library(in->t, &b->in, label) : NULL);
		json_str(j, "inlined_in", text_of(in->t, b->into.name));
		json_maybe(j, "worker", b->worker.pid, b->worker.pid);
		put_frame(j, "worker_code", in->t, &b->worker.frame);
		json_close(j);
	}
	json_close(j);
}

/* Which program had the CPU while the thread was runnable. */
static void put_taker(struct json *j, const struct insight *in, const struct samples_sum *s)
{
	if (s->taker)
		json_object(j, "preempted_by", J_STR("who", text_of(in->t, s->taker)),
			    J_REAL("share", s->took.share), J_U64("samples", s->took.count));
	else
		json_null(j, "preempted_by");
}

static void put_states(struct json *j, const struct samples_sum *s)
{
	json_open(j, "states", '[');
	for (enum sample_state k = 0; k < SAMPLE_STATES; k++) {
		if (!s->state[k].count)
			continue;
		json_open(j, NULL, '{');
		json_str(j, "state", sample_state_word(k));
		put_share(j, &s->state[k]);
		json_close(j);
	}
	json_close(j);
}

/* Splits the samples by part of the step, or by cause of the gap. */
static void put_split(struct json *j, const struct insight *in, const struct samples_want *w,
		      const struct samples_sum *all, bool gaps)
{
	uint32_t was = gaps ? w->causes : w->parts;

	json_open(j, gaps ? "gaps" : "parts", '[');
	for (uint32_t k = 0; k < (gaps ? (uint32_t)IDLE_CAUSES : (uint32_t)HOST_PARTS); k++) {
		struct samples_want of = *w;
		struct samples_sum s;
		struct share share;

		*(gaps ? &of.causes : &of.parts) = 1u << k;
		if ((was && !(was & 1u << k)) || samples_blame(&s, in, &of) < 0)
			continue;
		share = samples_share(all, s.ns, s.count);
		if (s.count) {
			json_open(j, NULL, '{');
			json_str(j, gaps ? "cause" : "part",
				 gaps ? idle_word[k] : host_part_word[k]);
			put_share(j, &share);
			json_bool(j, "enough", samples_enough(&s));
			json_close(j);
		}
		samples_fini(&s);
	}
	json_close(j);
}

static void put_stacks(struct json *j, const struct insight *in, const struct samples_sum *s,
		       size_t most)
{
	json_open(j, "stacks", '[');
	for (size_t i = 0; i < s->stacks && i < most; i++) {
		const struct sample_stack *k = &s->stack[i];
		struct stack_row row = trace_stack(in->t, k->stack);

		json_open(j, NULL, '{');
		json_members(j, J_STR("state", sample_state_word(k->state)),
			     J_U64("samples", k->count), J_U64("ns", k->ns));
		json_open(j, "frames", '[');
		for (uint32_t f = 0; f < row.n; f++)
			put_frame(j, NULL, in->t, &row.frame[f]);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

void samples_json(struct json *j, const struct insight *in, const struct samples_want *w,
		  size_t most)
{
	struct samples_sum s;

	if (samples_blame(&s, in, w) < 0)
		return;
	json_members(j, J_U64("samples", s.count), J_BOOL("enough", samples_enough(&s)),
		     J_U64("ns", s.ns));
	put_states(j, &s);
	put_taker(j, in, &s);
	put_rows(j, in, &s, most);
	put_split(j, in, w, &s, false);
	put_split(j, in, w, &s, true);
	json_u64(j, "stacks_in_all", s.stacks);
	put_stacks(j, in, &s, most);
	samples_fini(&s);
}
