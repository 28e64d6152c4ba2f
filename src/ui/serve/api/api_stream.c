/* SPDX-License-Identifier: Apache-2.0 */
/* api_stream.c - parses the request of a client for live events. */
#include <errno.h>
#include <stdlib.h>

#include "read/live_json.h"
#include "serve/api/api.h"
#include "serve/http/stream.h"

/* Returns a struct stream_want in binary form, for stream_begin() only. */
int api_stream(struct ask *q, struct answer *a)
{
	struct stream_want *w = calloc(1, sizeof(*w));
	uint64_t rate = 0, window = 0;
	char bad[LIVE_WORD];
	int priority = ask_choice(q, "priority", "normal|low|high");

	if (!w)
		return -ENOMEM;
	a->type = "text/event-stream";
	a->body = (char *)w;
	a->len = sizeof(*w);
	w->opts.size = sizeof(w->opts);
	if (live_kinds(url_get(&q->url, "kind"), &w->opts.kinds, bad) < 0)
		return ask_mistake(q, "kind is a list like kernel,step");
	if (live_pids(url_get(&q->url, "pid"), w->pid, STREAM_PIDS, &w->opts.pids) < 0)
		return ask_mistake(q, "pid is a list of up to %u numbers like 71,72", STREAM_PIDS);
	if (priority < 0 || ask_number(q, "rate", 1, 1000000, &rate) < 0 ||
	    ask_number(q, "window", 0, 1, &window) < 0)
		return -EINVAL;
	if (rate && window)
		return ask_mistake(q, "rate is of events: with window=1 there are none");
	w->opts.rate = (uint32_t)rate;
	w->opts.priority = (uint32_t)priority; /* in this order: AON_CONSUMER_NORMAL, LOW, HIGH */
	w->opts.flags = window ? AON_CONSUMER_WINDOWS : 0;
	return 0;
}
