/* SPDX-License-Identifier: Apache-2.0 */
/* oom_text.c - see oom_text.h. */
#include "cli/report/oom_text.h"

#include <stdio.h>
#include <string.h>

#include "abi/memory.h"

struct search {
	const struct oom_ask *ask;
	uint64_t wall_ns; /* of the newest; 0: none */
	struct short_answer *out;
	struct json *j; /* the object is written when the newest comes by */
	uint64_t at;
};

static bool is_asked(const struct oom_ask *a, const struct journal_entry *e)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->id[i] == entry_number(e, a->by))
			return true;
	return false;
}

static const char *action_of(const struct journal_entry *e, char *buf, size_t cap)
{
	const char *site = entry_word(e, FIELD_SITE);
	uint64_t part = entry_number(e, FIELD_PART);

	if (entry_number(e, FIELD_ELSEWHERE) && !entry_has(e, FIELD_GROWTH))
		return "look at what the program keeps outside of tensors: Python objects, caches "
		       "of the "
		       "data set, other libraries; or raise the limit";
	if (entry_has(e, FIELD_GROWTH) && part == AON_MEMORY_DATA)
		return "keep no batches: look at caches of the data set and at prefetch_factor";
	if (entry_has(e, FIELD_GROWTH) && part == AON_MEMORY_BACKWARD)
		return "do not keep gradients or graphs: no retain_graph, no create_graph; "
		       "zero_grad() "
		       "in each step";
	if (entry_has(e, FIELD_GROWTH))
		return "find what keeps tensors after a step, such as a list of losses or outputs: "
		       "keep "
		       "loss.item() or x.detach() instead";
	if (entry_number(e, FIELD_FITS))
		snprintf(buf, cap,
			 "use a batch of %llu, and accumulate gradients; or recompute "
			 "activations%s%s "
			 "(torch.utils.checkpoint)",
			 (unsigned long long)entry_number(e, FIELD_FITS), *site ? " of " : "",
			 site);
	else
		snprintf(buf, cap,
			 "use a smaller batch, recompute activations%s%s (torch.utils.checkpoint), "
			 "or "
			 "raise the limit",
			 *site ? " of " : "", site);
	return buf;
}

/* "Rank 0 ran out of memory in step 41: ..." */
static void sentence(const struct journal_entry *e, char *buf, size_t cap)
{
	char text[ENTRY_TEXT], who[64];
	const char *rest;

	entry_text(e, text);
	rest = strstr(text, ": ");
	if (entry_has(e, FIELD_RANK))
		snprintf(who, sizeof(who), "Rank %llu",
			 (unsigned long long)entry_number(e, FIELD_RANK));
	else
		snprintf(who, sizeof(who), "Process %llu",
			 (unsigned long long)entry_number(e, FIELD_PID));
	snprintf(buf, cap, "%s %.*s.", who, (int)ANSWER_TEXT - 80, rest ? rest + 2 : text);
}

static int on_entry(void *arg, const struct journal_entry *e)
{
	struct search *s = arg;
	char buf[ANSWER_TEXT], line[ANSWER_TEXT];

	if ((e->kind != ENTRY_OOM_KILLED && e->kind != ENTRY_OOM_FAILED) ||
	    entry_number(e, FIELD_CAUGHT) || !is_asked(s->ask, e))
		return 0;
	if (s->j && e->wall_ns == s->at) {
		sentence(e, line, sizeof(line));
		json_open(s->j, "out_of_memory", '{');
		json_members(s->j, J_U64("wall_ns", e->wall_ns),
			     J_STR("kind", entry_kinds[e->kind].word), J_STR("text", line),
			     J_STR("action", action_of(e, buf, sizeof(buf))));
		entry_json(s->j, e);
		json_close(s->j);
		s->j = NULL; /* once */
	}
	if (e->wall_ns < s->wall_ns || !s->out)
		return 0;
	s->wall_ns = e->wall_ns;
	s->out->known = true;
	s->out->sure = sure_word[SURE_HIGH];
	sentence(e, s->out->what, sizeof(s->out->what));
	snprintf(s->out->todo, sizeof(s->out->todo), "%s", action_of(e, buf, sizeof(buf)));
	return 0;
}

bool oom_answer(struct short_answer *out, struct store *st, const struct oom_ask *ask)
{
	struct short_answer found = { 0 };
	struct search s = { .ask = ask, .out = &found };

	if (!st || store_each_entry(st, on_entry, &s) < 0 || !s.wall_ns)
		return false;
	*out = found;
	return true;
}

void oom_json(struct json *j, struct store *st, const struct oom_ask *ask)
{
	struct short_answer found;
	struct search s = { .ask = ask, .out = &found }, again = { .ask = ask, .j = j };

	if (st && store_each_entry(st, on_entry, &s) == 0 && s.wall_ns) {
		again.at = s.wall_ns;
		store_each_entry(st, on_entry, &again);
	}
	if (!again.at || again.j)
		json_null(j, "out_of_memory");
}
