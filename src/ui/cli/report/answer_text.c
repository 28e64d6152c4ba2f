/* SPDX-License-Identifier: Apache-2.0 */
/* answer_text.c - see answer_text.h. */
#include "cli/report/answer_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/oom_text.h"
#include "cli/report/view.h"
#include "insight/stretch.h"
#include "read/stretch.h"
#include "read/window.h"
#include "store/trace.h"

static int load(struct trace *t, struct store *st, const char *path, const struct procs *ps,
		struct insight **in)
{
	uint32_t *id = calloc(ps->n + 1, sizeof(*id));
	struct store_filter part = { .process = id, .processes = ps->n };
	uint64_t blob, events = 0;
	int err = id ? store_extent(st, &blob, &events) : -ENOMEM;

	for (size_t i = 0; !err && i < ps->n; i++)
		id[i] = ps->p[i].id;
	if (!err && events > WINDOW_WHOLE) {
		struct stretch_opts so = { .part = &part };

		err = read_stretches(t, st, path, &so, in);
	} else if (!err) {
		err = store_trace_part(t, st, path, &part, NULL, NULL);
		err = err ? err : trace_seal(t);
		err = err ? err : insight_new(in, t);
	}
	free(id);
	return err;
}

static bool ran_out(struct short_answer *out, struct store *st, const struct procs *ps)
{
	uint64_t *id = calloc(ps->n + 1, sizeof(*id));
	struct oom_ask ask = { .by = FIELD_PROCESS, .id = id, .n = ps->n };
	bool is;

	for (size_t i = 0; id && i < ps->n; i++)
		id[i] = ps->p[i].id;
	is = id && oom_answer(out, st, &ask);
	free(id);
	return is;
}

bool answer_load(struct short_answer *out, struct store *st, const char *path,
		 const struct procs *ps)
{
	struct findings *fs = NULL;
	struct insight *in = NULL;
	struct trace *t;
	bool known;

	out->known = false;
	if (ran_out(out, st, ps)) /* nothing matters more */
		return true;
	if (!ps->n || trace_new(&t) < 0)
		return false;
	known = load(t, st, path, ps, &in) == 0 && findings_new(&fs, in) == 0;
	if (known)
		answer_of(out, in, fs);
	findings_free(fs);
	insight_free(in);
	trace_free(t);
	return known && out->known;
}

void answer_print(const struct out *out, const struct short_answer *a)
{
	char clean[OUT_TEXT];

	out_line(out, OUT_BOLD, "  %s", view_clean(out, clean, sizeof(clean), a->what));
	if (*a->todo) {
		char text[OUT_TEXT];

		snprintf(text, sizeof(text), "%s (confidence: %s)", a->todo, a->sure);
		view_wrap(out, "do", text);
	}
	fputc('\n', out->f);
}

bool answer_first(const struct out *out, struct store *st, const char *path, const struct procs *ps)
{
	struct short_answer a;

	if (!answer_load(&a, st, path, ps))
		return false;
	answer_print(out, &a);
	return true;
}

static bool same_run(const struct process *a, const struct process *b)
{
	return !strcmp(a->run, b->run); /* those without one are together */
}

struct procs answer_run(const struct procs *ps, size_t i)
{
	struct procs some = { .p = calloc(ps->n + 1, sizeof(*some.p)) };

	for (size_t k = 0; some.p && k < ps->n; k++)
		if (same_run(&ps->p[i], &ps->p[k]))
			some.p[some.n++] = ps->p[k];
	return some;
}

struct procs answer_newest_run(const struct procs *ps)
{
	size_t last = 0;

	for (size_t i = 1; i < ps->n; i++)
		if (ps->p[i].last_ns > ps->p[last].last_ns)
			last = i;
	return answer_run(ps, last);
}

bool answer_newest(const struct out *out, struct store *st, const char *path,
		   const struct procs *ps)
{
	struct procs some;
	bool said;

	if (!ps->n)
		return false;
	some = answer_newest_run(ps);
	if (some.n && some.n < ps->n && *some.p[0].run)
		out_line(out, OUT_PLAIN, "  Newest run, %s:", some.p[0].run);
	said = answer_first(out, st, path, &some);
	free(some.p);
	return said;
}
