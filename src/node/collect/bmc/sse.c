/* SPDX-License-Identifier: Apache-2.0 */
/* sse.c - parses lines of "data: ...", until an empty one. */
#include "collect/bmc/sse.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/vec.h"

static void add(struct sse *s, char c)
{
	if (s->dropping)
		return;
	if (s->n == SSE_LARGEST || vec_room(&s->data, &s->cap, s->n + 1 + JSON_PAD, 1) < 0) {
		s->dropping = true;
		return;
	}
	s->data[s->n++] = c;
}

static void end_event(struct sse *s, sse_fn *fn, void *arg)
{
	s->dropped += s->dropping;
	if (s->n && !s->dropping) {
		memset(s->data + s->n, '"', JSON_PAD);
		fn(arg, s->data, s->n);
	}
	s->n = 0;
	s->dropping = false;
}

static void end_line(struct sse *s, sse_fn *fn, void *arg)
{
	if (!s->at)
		end_event(s, fn, arg);
	else if (s->is_data)
		add(s, '\n');
	s->at = 0;
	s->is_data = false;
}

void sse_feed(struct sse *s, const char *bytes, size_t n, sse_fn *fn, void *arg)
{
	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];

		if (c == '\r')
			continue;
		if (c == '\n') {
			end_line(s, fn, arg);
		} else if (s->is_data) {
			add(s, c);
		} else if (s->at < sizeof(s->line)) {
			s->line[s->at++] = c;
			s->is_data = s->at == 5 && !memcmp(s->line, "data:", 5);
		}
	}
}

void sse_fini(struct sse *s)
{
	free(s->data);
	*s = (struct sse){ 0 };
}
