/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ship_node.c - a node that makes up its rows: batch after batch from a counter, through the same spool to
 * the same relay or ClickHouse as aon ship's. What it makes depends on the counter alone, and the counter is the
 * spool's cursor: however often it is killed, all of it is made once.
 *
 *	ship_node DIR CLUSTER HOST URL CA CERT KEY BATCHES ROWS [KEY=VALUE...]
 *	    max=BYTES       of the spool: then the oldest are dropped, and told
 *	    twice=N         every N-th batch is sent a second time
 *	    ahead=N         every N-th batch is sent before its forerunner
 *	    jobs=N          rows are of N jobs, a batch of one
 *	    hold=1          makes all, sends nothing
 *	    for=S           gives up after so many seconds
 *	    schema=N        says that its columns are of that version
 *	    credentials=FILE
 *
 * Says in JSON what it has made and dropped when all was sent.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "ship/ch.h"
#include "ship/spool/spool.h"

#define DAY_NS 86400000000000ull

struct want {
	uint64_t batches, rows, max, twice, ahead, jobs, hold, seconds, schema;
	const char *credentials;
};

struct node {
	struct want w;
	struct spool *spool;
	struct http *http;
	struct ch *ch;
	struct cluster_url url;
	int64_t off_ns; /* of the relay's clock from ours */
	uint64_t err_ns;
	const char *cluster, *host;
	uint64_t sent, tries;
};

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- making --- */

static uint64_t made(const struct node *n)
{
	uint64_t i = 0;
	size_t len;
	const void *cursor = spool_cursor(n->spool, &len);

	if (len == sizeof(i))
		memcpy(&i, cursor, sizeof(i));
	return i;
}

/* A row's share in the sum that is compared: of batch and row alone. */
static uint64_t value(uint64_t batch, uint64_t row)
{
	return 1 + batch * 1000 + row;
}

static int make_one(struct node *n, uint64_t i)
{
	/* Of today, unless a day ends just now: an insert is of one. */
	uint64_t t = wall_ns() / DAY_NS * DAY_NS + i * 1000000;
	struct rowbin rows = { 0 };
	char job[32];
	int err = 0;

	snprintf(job, sizeof(job), "job%" PRIu64, n->w.jobs ? i % n->w.jobs : 0);
	for (uint64_t k = 0; k < n->w.rows && !err; k++) {
		struct ship_window w = { .cluster = ship_text(n->cluster),
					 .src = spool_src(n->spool),
					 .seq = spool_next(n->spool),
					 .job = ship_text(job),
					 .rank = (int32_t)k,
					 .proc = ship_hash_text(n->host),
					 .host = ship_text(n->host),
					 .t_ns = t,
					 .dur_ns = 1000000,
					 .name = 7,
					 .count = 1,
					 .total_ns = value(i, k),
					 .hist = ship_text("") };

		err = rowbin_put(&rows, ship_table(SHIP_WINDOW), &w);
	}
	if (!err)
		err = spool_put(n->spool, SHIP_WINDOW, &rows, (uint32_t)n->w.rows,
				ship_hash_text(job), wall_ns());
	fault_point("node.put");
	i++;
	if (!err)
		err = spool_commit(n->spool, &i, sizeof(i));
	fault_point("node.made");
	if (!err && n->w.max)
		err = spool_drops(n->spool, wall_ns());
	rowbin_fini(&rows);
	return err;
}

/* --- sending --- */

/* The number behind a word of a relay's answer. */
static uint64_t word(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* The status, 0: nobody answered. */
static int post(struct node *n, const struct batch_head *h, const void *data, uint64_t first,
		uint64_t *last)
{
	char target[64];
	struct http_ask q = { .server = &n->url.server[0],
			      .target = target,
			      .body = data,
			      .len = BATCH_HEAD + h->stored };
	struct net_why why = { "" };
	struct http_answer a = { 0 };
	uint64_t t1 = wall_ns(), t4;
	struct batch_head other = *h;
	uint8_t *copy = NULL;
	int err;

	if (n->w.schema && (copy = malloc(q.len))) {
		other.schema = (uint16_t)n->w.schema;
		other.sum = ship_hash(&other, offsetof(struct batch_head, sum));
		memcpy(copy, data, q.len);
		memcpy(copy, &other, sizeof(other));
		q.body = copy;
	}
	snprintf(target, sizeof(target), "/v1/batch?first=%" PRIu64, first);
	err = http_do(n->http, &q, &a, &why);
	t4 = wall_ns();
	free(copy);
	if (err || (a.status != 200 && a.status != 409)) {
		if (n->tries++ % 50 == 0)
			fprintf(stderr, "%s\n", err ? why.text : a.data);
		return err ? 0 : a.status;
	}
	*last = word(a.data, "last ");
	n->off_ns = ((int64_t)(word(a.data, "received_ns ") - t1) +
		     (int64_t)(word(a.data, "answered_ns ") - t4)) /
		    2;
	n->err_ns = (t4 - t1) / 2;
	return a.status;
}

static int to_clickhouse(struct node *n, const struct batch_head *h, const void *data)
{
	struct rowbin rows = { 0 };
	struct net_why why;
	uint64_t wire = 0;
	enum ch_said said = CH_LATER;

	if (batch_unpack(&rows, h, data) == 0)
		said = ch_insert(n->ch, h, &rows, true, &wire, &why);
	rowbin_fini(&rows);
	return said == CH_TOOK ? 1 : said == CH_POISON ? -EBADMSG : 0;
}

/* The one after the oldest, before it: the relay must want the oldest first. */
static void send_ahead(struct node *n, const struct batch_head *h)
{
	struct batch_head next;
	const void *data;
	uint64_t last;

	if (spool_get(n->spool, h->seq, &next, &data) == 1 &&
	    post(n, &next, data, h->seq, &last) == 200)
		fprintf(stderr, "a batch was taken before its forerunner\n");
}

/* 1: one was sent; 0: not now; -errno. */
static int send_one(struct node *n)
{
	struct batch_head h;
	const void *data;
	uint64_t last = 0;
	int status, got = spool_get(n->spool, 0, &h, &data);

	if (got <= 0)
		return got;
	n->sent++;
	if (n->url.kind == CLUSTER_CLICKHOUSE) {
		got = to_clickhouse(n, &h, data);
		if (got == 1)
			got = spool_ack(n->spool, h.seq) < 0 ? -EIO : 1;
		return got;
	}
	if (n->w.ahead && n->sent % n->w.ahead == 0) {
		send_ahead(n, &h);
		got = spool_get(n->spool, 0, &h, &data);
		if (got <= 0)
			return got;
	}
	status = post(n, &h, data, h.seq, &last);
	if (status == 200 && n->w.twice && n->sent % n->w.twice == 0)
		status = post(n, &h, data, h.seq, &last);
	fault_point("node.answered");
	if (status == 401 || status == 403)
		return -EACCES;
	if (status == 400)
		return spool_poison(n->spool, h.seq, "the relay refuses it") < 0 ? -EIO : 1;
	if (status != 200 || last < h.seq)
		return 0;
	if (spool_ack(n->spool, h.seq) < 0)
		return -EIO;
	fault_point("node.acked");
	return 1;
}

/* --- all of it --- */

static void say(const struct node *n)
{
	struct spool_stat st;
	uint64_t rows = 0, sum = 0;

	spool_stat(n->spool, &st);
	for (uint64_t i = 0; i < n->w.batches; i++)
		for (uint64_t k = 0; k < n->w.rows; k++, rows++)
			sum += value(i, k);
	printf("{\"batches\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"src\":%" PRIu64
	       ",\"dropped\":%" PRIu64 ",\"dropped_rows\":%" PRIu64 ",\"left\":%" PRIu64
	       ",\"clock_off_ns\":%" PRId64 ",\"clock_err_ns\":%" PRIu64 "}\n",
	       n->w.batches, rows, sum, st.src, st.drop[SHIP_WINDOW][SPOOL_FULL].batches,
	       st.drop[SHIP_WINDOW][SPOOL_FULL].rows, st.batches, n->off_ns, n->err_ns);
}

static int run(struct node *n)
{
	uint64_t end = n->w.seconds ? wall_ns() + n->w.seconds * 1000000000u : UINT64_MAX;
	struct spool_stat st;
	int err = 0;

	while (wall_ns() < end) {
		int sent = 1;

		err = 0;
		for (int i = 0; i < 4 && !err && made(n) < n->w.batches; i++)
			err = make_one(n, made(n));
		if (err < 0 && err != -ENOSPC)
			return err;
		if (!n->w.hold)
			sent = send_one(n);
		if (sent < 0)
			return sent;
		if (n->w.max && made(n) == n->w.batches && spool_drops(n->spool, wall_ns()) < 0)
			return -EIO;
		spool_stat(n->spool, &st);
		if (made(n) == n->w.batches && (!st.batches || n->w.hold))
			break;
		if (!sent)
			usleep(100000);
	}
	return spool_flush(n->spool);
}

static int start(struct node *n, char *argv[], struct net_why *why)
{
	struct http_opts ho = { .files = { .ca = argv[5], .cert = argv[6], .key = argv[7] },
				.tls = true };
	struct ch_opts co = { .files = { .ca = argv[5], .credentials = n->w.credentials } };
	struct spool_opts so = {
		.dir = argv[1], .cluster = argv[2], .host = argv[3], .max_bytes = n->w.max
	};
	struct spool_why spool_why;
	int err = cluster_url_parse(&n->url, argv[4], why);

	n->cluster = argv[2];
	n->host = argv[3];
	if (!err)
		err = n->url.kind == CLUSTER_RELAY ? http_new(&n->http, &ho, why)
						   : ch_new(&n->ch, &n->url, &co, why);
	if (err)
		return err;
	err = spool_open(&n->spool, &so, wall_ns(), &spool_why);
	if (err)
		why_say(why, err, "%s", spool_why.text);
	return err;
}

static int read_words(struct want *w, int argc, char *argv[])
{
	const struct {
		const char *key;
		uint64_t *to;
	} keys[] = { { "max=", &w->max },      { "twice=", &w->twice }, { "ahead=", &w->ahead },
		     { "jobs=", &w->jobs },    { "hold=", &w->hold },   { "for=", &w->seconds },
		     { "schema=", &w->schema } };

	for (int i = 10; i < argc; i++) {
		size_t k = 0, len = strcspn(argv[i], "=") + 1;

		if (!strncmp(argv[i], "credentials=", len)) {
			w->credentials = argv[i] + len;
			continue;
		}
		while (k < sizeof(keys) / sizeof(keys[0]) &&
		       strncmp(argv[i], keys[k].key, len) != 0)
			k++;
		if (k == sizeof(keys) / sizeof(keys[0]))
			return -EINVAL;
		*keys[k].to = strtoull(argv[i] + len, NULL, 10);
	}
	return 0;
}

int main(int argc, char *argv[])
{
	struct node n = { 0 };
	struct net_why why = { "" };
	int err;

	if (argc < 10 || read_words(&n.w, argc, argv) < 0) {
		fprintf(stderr, "usage: ship_node DIR CLUSTER HOST URL CA CERT KEY BATCHES ROWS "
				"[KEY=VALUE...]\n");
		return 2;
	}
	n.w.batches = strtoull(argv[8], NULL, 10);
	n.w.rows = strtoull(argv[9], NULL, 10);
	err = start(&n, argv, &why);
	if (!err)
		err = run(&n);
	if (err)
		fprintf(stderr, "ship_node: %s %s\n", why.text, strerror(-err));
	else
		say(&n);
	spool_close(n.spool);
	http_free(n.http);
	ch_free(n.ch);
	return err ? 1 : 0;
}
