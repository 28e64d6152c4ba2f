/* SPDX-License-Identifier: Apache-2.0 */
/* api_stream.c - what a client of live events asks for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/api/api.h"
#include "serve/http/stream.h"

static int take_kinds(struct ask *q, uint64_t *kinds)
{
	const char *list = url_get(&q->url, "kind");

	while (list && *list) {
		size_t len = strcspn(list, ",");
		char word[32];
		uint32_t kind;

		snprintf(word, sizeof(word), "%.*s", (int)len, list);
		kind = aon_consumer_kind_of(word);
		if (!kind)
			return ask_mistake(q, "kind is a list like kernel,step");
		*kinds |= 1ull << kind;
		list += len + (list[len] == ',');
	}
	return 0;
}

static int take_pids(struct ask *q, struct stream_want *w)
{
	const char *list = url_get(&q->url, "pid");

	while (list && *list) {
		size_t len = strcspn(list, ",");
		char word[16];
		uint64_t pid;

		snprintf(word, sizeof(word), "%.*s", (int)len, list);
		if (len >= sizeof(word) || url_number(word, INT32_MAX, &pid) < 0 || !pid ||
		    w->opts.pids == STREAM_PIDS)
			return ask_mistake(q, "pid is a list of up to %u numbers like 71,72",
					   STREAM_PIDS);
		w->pid[w->opts.pids++] = (uint32_t)pid;
		list += len + (list[len] == ',');
	}
	return 0;
}

/* struct stream_want as it is, for stream_begin() alone. */
int api_stream(struct ask *q, struct json *j, struct answer *a)
{
	struct stream_want *w = calloc(1, sizeof(*w));
	uint64_t rate = 0, window = 0;
	int priority = ask_choice(q, "priority", "normal|low|high");

	(void)j;
	if (!w)
		return -ENOMEM;
	a->type = "text/event-stream";
	a->body = (char *)w;
	a->len = sizeof(*w);
	w->opts.size = sizeof(w->opts);
	if (priority < 0 || take_kinds(q, &w->opts.kinds) < 0 || take_pids(q, w) < 0 ||
	    ask_number(q, "rate", 1, 1000000, &rate) < 0 ||
	    ask_number(q, "window", 0, 1, &window) < 0)
		return -EINVAL;
	if (rate && window)
		return ask_mistake(q, "rate is of events: with window=1 there are none");
	w->opts.rate = (uint32_t)rate;
	w->opts.priority = (uint32_t)priority; /* AON_CONSUMER_NORMAL, LOW, HIGH */
	w->opts.flags = window ? AON_CONSUMER_WINDOWS : 0;
	return 0;
}
