/* SPDX-License-Identifier: Apache-2.0 */
/* answer_text.c - see answer_text.h. */
#include "cli/report/answer_text.h"

#include <errno.h>
#include <stdlib.h>

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

bool answer_load(struct answer *out, struct store *st, const char *path, const struct procs *ps)
{
	struct findings *fs = NULL;
	struct insight *in = NULL;
	struct trace *t;
	bool known;

	out->known = false;
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

void answer_print(const struct out *out, const struct answer *a)
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

void answer_first(const struct out *out, struct store *st, const char *path, const struct procs *ps)
{
	struct answer a;

	if (answer_load(&a, st, path, ps))
		answer_print(out, &a);
}
