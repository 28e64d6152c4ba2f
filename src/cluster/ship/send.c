/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - see send.h. */
#include "ship/send.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/num.h"
#include "ship/ch.h"

#define SECOND      1000000000ull
#define WAIT_MIN_MS 500u
#define WAIT_MAX_MS 60000u
#define CLOCK_TRIPS 16u

struct send {
	struct cluster_url url;
	struct ch *ch;     /* owned; if the target is ClickHouse */
	struct http *http; /* owned; if the target is a relay */
	uint32_t trips;    /* requests since the one that the clock offset is from */
	uint64_t failed;   /* number of the batch whose last try failed */
	uint32_t wait_ms;
	uint64_t seed;
	struct netday *day; /* borrowed */
	struct rowbin rows;
	struct send_stat st;
};

int send_new(struct send **out, const struct cluster_url *url, const struct send_opts *o,
	     struct net_why *why)
{
	struct ch_opts co = { .files = o->files,
			      .timeout_ms = o->timeout_ms,
			      .bytes_s = o->bytes_s };
	struct http_opts ho = { .files = o->files,
				.tls = url->tls,
				.timeout_ms = o->timeout_ms,
				.bytes_s = o->bytes_s };
	struct send *s;
	int err;

	/*
	 * Two relays do not know each other's numbers: both could accept a batch that one did not
	 * confirm.
	 */
	if (url->kind == CLUSTER_RELAY && url->servers > 1)
		return why_say(why, -EINVAL, "expected one relay: a node stays with its own");
	s = calloc(1, sizeof(*s));
	if (!s)
		return why_say(why, -ENOMEM, "out of memory");
	s->url = *url;
	s->seed = o->seed;
	s->day = o->day;
	s->st.clock_err_us = UINT32_MAX;
	err = url->kind == CLUSTER_RELAY ? http_new(&s->http, &ho, why)
					 : ch_new(&s->ch, url, &co, why);
	if (err) {
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

void send_free(struct send *s)
{
	if (!s)
		return;
	ch_free(s->ch);
	http_free(s->http);
	rowbin_fini(&s->rows);
	free(s);
}

const struct send_stat *send_stat(const struct send *s)
{
	return &s->st;
}

/* --- a relay --- */

static bool number_of(const char *text, const char *key, uint64_t *out)
{
	size_t len = strlen(key);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, key, len) && text[len] == ' ') {
			*out = num_front(text + len + 1, NULL);
			return true;
		}
	}
	return false;
}

/*
 * Estimates the clock offset from one round trip: the relay's time lies between request and answer.
 */
static void learn_clock(struct send *s, const char *text, uint64_t asked, uint64_t heard)
{
	uint64_t received, answered;
	uint32_t err_us;
	int64_t off;

	if (!number_of(text, "received_ns", &received) ||
	    !number_of(text, "answered_ns", &answered) || heard < asked || answered < received ||
	    heard - asked < answered - received)
		return;
	off = ((int64_t)(received - asked) + (int64_t)(answered - heard)) / 2;
	err_us = (uint32_t)((heard - asked - (answered - received)) / 2000) + 1;
	/* The quickest round trip is the most exact. It expires, because clocks drift. */
	if (err_us > s->st.clock_err_us && ++s->trips < CLOCK_TRIPS)
		return;
	s->trips = 0;
	s->st.clock_off_us = (int32_t)(off / 1000);
	s->st.clock_err_us = err_us;
}

static enum ch_said relay_said(struct send *s, const struct batch_head *h,
			       const struct http_answer *a, const char *host, struct net_why *why)
{
	uint64_t last = 0;

	if (a->status == 200 && number_of(a->data, "last", &last) && last >= h->seq)
		return CH_TOOK;
	why_say(why, 0, "%s answers with status %d: %.*s", host, a->status,
		(int)strcspn(a->data, "\n"), a->data);
	(void)s;
	return a->status == 400 || a->status == 413 ? CH_POISON : CH_LATER;
}

static enum ch_said to_relay(struct send *s, const struct batch_head *h, const void *data,
			     struct net_why *why)
{
	char target[64], host[CLUSTER_HOST];
	struct http_ask q = { .server = &s->url.server[0],
			      .target = target,
			      .header = { "Content-Type: application/octet-stream" },
			      .body = data,
			      .len = BATCH_HEAD + h->stored };
	struct http_answer a;
	uint64_t asked;
	int err;

	/* Batches are sent in order, so this one is the oldest that we have. */
	snprintf(target, sizeof(target), "/v1/batch?first=%" PRIu64, h->seq);
	asked = clock_wall_ns();
	err = http_do(s->http, &q, &a, why);
	s->st.wire += a.sent + a.got;
	if (err)
		return CH_LATER;
	learn_clock(s, a.data, asked, clock_wall_ns());
	return relay_said(s, h, &a, cluster_host(host, q.server), why);
}

/* --- one batch --- */

static enum ch_said send_one(struct send *s, const struct batch_head *h, const void *data,
			     bool again, struct net_why *why)
{
	if (s->http)
		return to_relay(s, h, data, why);
	if (batch_unpack(&s->rows, h, data)) {
		why_say(why, 0, "its rows are not what its head says");
		return CH_POISON;
	}
	return ch_insert(s->ch, h, &s->rows, again, &s->st.wire, why);
}

static void wait_longer(struct send *s, uint64_t now_ns)
{
	s->wait_ms = !s->wait_ms ? WAIT_MIN_MS : s->wait_ms * 2;
	if (s->wait_ms > WAIT_MAX_MS)
		s->wait_ms = WAIT_MAX_MS;
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	s->st.next_ns =
		now_ns + (s->wait_ms / 2 + (s->seed >> 33) % (s->wait_ms / 2 + 1)) * 1000000ull;
}

static void trouble(struct send *s, const struct batch_head *h, const struct net_why *why,
		    uint64_t now_ns)
{
	s->failed = h->seq;
	s->st.failures++;
	wait_longer(s, now_ns);
	if (strcmp(s->st.trouble, why->text))
		log_warn("batch %" PRIu64 " (%s) waits: %s", h->seq, h->table, why->text);
	snprintf(s->st.trouble, sizeof(s->st.trouble), "%s", why->text);
}

static int arrived(struct send *s, struct spool *spool, const struct batch_head *h)
{
	int err;

	fault_point("ship.answered");
	s->st.batches++;
	s->st.rows += h->rows;
	s->wait_ms = 0;
	if (*s->st.trouble)
		log_info("batch %" PRIu64 " has arrived: it goes on", h->seq);
	s->st.trouble[0] = '\0';
	err = spool_ack(spool, h->seq);
	fault_point("ship.acked");
	return err;
}

/* Approximate overhead of a request and its answer. */
#define EXTRA 4096u

/* Whether the day's limit is used up; it is then retried tomorrow. */
static bool is_over(struct send *s, const struct batch_head *h)
{
	if (netday_fits(s->day, BATCH_HEAD + h->stored + EXTRA, clock_mono_ns()))
		return false;
	snprintf(s->st.trouble, sizeof(s->st.trouble),
		 "what may be sent in a day is sent (net_mib_day)");
	log_warn("batch %" PRIu64 " (%s) waits: %s", h->seq, h->table, s->st.trouble);
	s->st.next_ns = netday_end(s->day);
	return true;
}

int send_round(struct send *s, struct spool *spool, uint64_t now_ns, uint64_t until_ns)
{
	struct net_why why = { "" };
	struct batch_head h;
	const void *data;
	uint64_t wire;
	enum ch_said said;
	int err = 0;

	if (now_ns < s->st.next_ns)
		return 0;
	while (!err && clock_mono_ns() < until_ns) {
		int got = spool_get(spool, 0, &h, &data);

		if (got <= 0) {
			err = got;
			break;
		}
		if (is_over(s, &h))
			break;
		wire = s->st.wire;
		said = send_one(s, &h, data, h.seq == s->failed || spool_maybe_sent(spool, h.seq),
				&why);
		netday_add(s->day, s->st.wire - wire, clock_mono_ns());
		switch (said) {
		case CH_TOOK:
			err = arrived(s, spool, &h);
			break;
		case CH_POISON:
			log_warn("batch %" PRIu64 " (%s, %u rows) is set aside: %s", h.seq, h.table,
				 h.rows, why.text);
			s->st.poison++;
			err = spool_poison(spool, h.seq, why.text);
			break;
		case CH_LATER:
		case CH_SCHEMA:
			trouble(s, &h, &why, clock_mono_ns());
			goto flush;
		}
	}
flush:
	return err ? err : spool_flush(spool);
}
