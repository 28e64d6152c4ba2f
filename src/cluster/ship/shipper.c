/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shipper.c - see shipper.h.
 *
 * One thread. Every ten seconds, once these ten seconds are complete in the store, it puts what is
 * new into the spool; in between it sends what waits there. If the store cannot be read, a server
 * does not answer or the disk is full, it waits: rows that are not in the spool yet are still in
 * the store.
 */
#include "ship/shipper.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "ship/metrics/push.h"
#include "ship/send.h"
#include "ship/spool/spool.h"

#define SECOND     1000000000ull
#define AFTER_NS   (3 * SECOND) /* after a window's end, until its last second is in the store */
#define LOOK_NS    (10 * SECOND)
#define LONG_NS    (600 * SECOND)
#define NAMES_NS   (30 * SECOND) /* how long to wait for aond to say which node this is */
#define PUSH_BYTES (256u << 10)  /* limit for the metrics of one push */

#define LIVE  true
#define START false
static const struct conf_row rows[] = {
#define PARAM(key, type, def, min, max, unit, live, help) \
	{ #key,                                           \
	  CONF_##type,                                    \
	  live,                                           \
	  def,                                            \
	  min,                                            \
	  max,                                            \
	  unit,                                           \
	  help,                                           \
	  offsetof(struct ship_conf, key),                \
	  sizeof(((struct ship_conf *)0)->key) },
#include "ship/conf.tbl.h"
};
const struct conf ship_conf_table = {
	.row = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.size = sizeof(struct ship_conf),
	.help = "aon ship --help",
};

struct shipper {
	const struct shipper_opts *o;
	const struct ship_conf *c;
	struct source_opts so;
	struct ship_source *source;
	struct spool *spool;
	struct send *send;
	struct push *push; /* NULL: no metrics are sent */
	uint64_t pushed_ns, push_wire;
	struct netday day;
	char store_trouble[256];
};

static int open_spool(struct shipper *x, struct net_why *why)
{
	struct spool_opts so = { .dir = x->c->spool.s,
				 .cluster = x->so.cluster,
				 .host = x->so.host,
				 .max_bytes = (uint64_t)x->c->spool_mib << 20,
				 .max_age_ns = (uint64_t)x->c->spool_age_h * 3600 * SECOND };
	struct spool_why sw = { "" };
	int err = spool_open(&x->spool, &so, clock_wall_ns(), &sw);

	return err ? why_say(why, err, "%s", sw.text) : 0;
}

static int open_send(struct shipper *x, struct net_why *why)
{
	struct send_opts so = {
		.files = { .ca = x->c->ca.s,
			   .cert = x->c->cert.s,
			   .key = x->c->key.s,
			   .credentials = x->c->credentials.s,
			   .pin = x->c->pin.s },
		.timeout_ms = (uint32_t)x->c->timeout_s * 1000,
		.bytes_s = (uint64_t)x->c->net_kib_s << 10,
		.day = &x->day,
	};
	struct cluster_url *url = calloc(1, sizeof(*url));
	struct net_why bad;
	int err = -ENOMEM;

	if (url && getrandom(&so.seed, sizeof(so.seed), 0) == (ssize_t)sizeof(so.seed)) {
		err = cluster_url_parse(url, x->c->url.s, &bad);
		if (err)
			why_say(why, err, "url: %s", bad.text);
		else
			err = send_new(&x->send, url, &so, why);
	}
	free(url);
	return err;
}

static int open_push(struct shipper *x, struct net_why *why)
{
	struct push_opts po = { .otlp = x->c->otlp.s,
				.remote_write = x->c->remote_write.s,
				.files = { .ca = x->c->ca.s, .pin = "" },
				.now_ns = clock_wall_ns() };

	return push_new(&x->push, &po, why);
}

/* Pushes metrics if it is time. */
static void push(struct shipper *x)
{
	const struct send_stat *st = send_stat(x->send);
	uint64_t now = clock_mono_ns();
	struct spool_stat *sp;
	uint64_t sent;
	struct meter *m;

	if (!x->push || (x->pushed_ns && now < x->pushed_ns + (uint64_t)x->c->metrics_s * SECOND) ||
	    !netday_fits(&x->day, PUSH_BYTES, now) || !(sp = malloc(sizeof(*sp))))
		return;
	x->pushed_ns = now;
	sent = 0;
	spool_stat(x->spool, sp);
	m = push_meter(x->push, clock_wall_ns());
	if (source_meter(x->source, m) == 0 &&
	    meter_add(m, "aon_ship_batches_total", "1", true, (double)st->batches, NULL) == 0 &&
	    meter_add(m, "aon_ship_bytes_total", "By", true, (double)st->wire, NULL) == 0 &&
	    meter_add(m, "aon_ship_failures_total", "1", true, (double)st->failures, NULL) == 0 &&
	    meter_add(m, "aon_ship_waiting_bytes", "By", false, (double)sp->bytes, NULL) == 0)
		sent = push_send(x->push);
	x->push_wire += sent;
	netday_add(&x->day, sent, now);
	free(sp);
}

/* Writes the file that aon ship status shows; it may be a little old. */
static void write_status(struct shipper *x)
{
	const struct send_stat *st = send_stat(x->send);
	char path[CONF_PATH_BYTES + 16], tmp[CONF_PATH_BYTES + 24];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" SHIPPER_STATUS, x->c->spool.s);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	f = fopen(tmp, "we");
	if (!f)
		return;
	fprintf(f,
		"pid %d\nwall_ns %" PRIu64 "\nbatches %" PRIu64 "\nrows %" PRIu64
		"\nwire_bytes %" PRIu64 "\nfailures %" PRIu64 "\nbehind %" PRIu64
		"\nday_bytes %" PRIu64 "\nday_limit_bytes %" PRIu64 "\nday_stops %" PRIu64 "\n",
		(int)getpid(), clock_wall_ns(), st->batches, st->rows, st->wire + x->push_wire,
		st->failures, source_behind(x->source), x->day.bytes, x->day.limit, x->day.stops);
	if (st->clock_err_us != UINT32_MAX)
		fprintf(f, "clock_off_us %d\nclock_err_us %u\n", st->clock_off_us,
			st->clock_err_us);
	if (*x->store_trouble)
		fprintf(f, "store_trouble %s\n", x->store_trouble);
	if (*st->trouble)
		fprintf(f, "trouble %s\n", st->trouble);
	if (fclose(f) == 0)
		rename(tmp, path);
}

/* Copies what is new into the spool. */
static int look(struct shipper *x)
{
	const struct send_stat *st = send_stat(x->send);
	struct source_node node = { .clock_off_us = st->clock_off_us,
				    .clock_err_us = st->clock_err_us };
	struct store_why why = { "" };
	uint64_t now = clock_wall_ns();
	int err;

	if (x->o->node)
		x->o->node(x->o->arg, &node);
	do
		err = source_look(x->source, x->spool, &node, now, x->o->once, &why);
	while (!err && x->o->once && source_behind(x->source));
	fault_point("ship.looked");
	if (err && strcmp(x->store_trouble, why.text))
		log_warn("%s", why.text);
	snprintf(x->store_trouble, sizeof(x->store_trouble), "%s", err ? why.text : "");
	if (err == -ENOTRECOVERABLE)
		return err;
	push(x);
	err = spool_drops(x->spool, now);
	return err == -ENOSPC ? 0 : err;
}

/* When the windows that end at a multiple of ten seconds can be read. */
static uint64_t next_look(void)
{
	uint64_t wall = clock_wall_ns(), in = LOOK_NS - (wall - AFTER_NS) % LOOK_NS;

	return clock_mono_ns() + in;
}

/* True: it must stop. */
static bool wait_until(struct shipper *x, uint64_t until_ns)
{
	uint64_t now = clock_mono_ns();
	struct pollfd p = { .fd = x->o->stop_fd, .events = POLLIN };
	int ms = until_ns > now ? (int)((until_ns - now) / 1000000) + 1 : 0;

	return poll(&p, p.fd >= 0, ms) > 0;
}

static int run_once(struct shipper *x, struct net_why *why)
{
	uint64_t now = clock_mono_ns();
	struct spool_stat *st = malloc(sizeof(*st));
	int err = look(x);

	if (!err && *x->store_trouble)
		err = why_say(why, -EIO, "%s", x->store_trouble);
	err = err ? err : send_round(x->send, x->spool, now, now + LONG_NS);
	err = err ? err : spool_drops(x->spool, clock_wall_ns());
	if (!err && st) {
		spool_stat(x->spool, st);
		if (st->batches)
			err = why_say(why, -EAGAIN, "%" PRIu64 " batches wait: %s", st->batches,
				      send_stat(x->send)->trouble);
	}
	free(st);
	write_status(x);
	return err;
}

static int run_on(struct shipper *x, struct net_why *why)
{
	bool stop = false;
	int err = 0;

	while (!stop && !err) {
		uint64_t next = next_look();

		err = look(x);
		while (!err && !stop && clock_mono_ns() < next) {
			const struct send_stat *st = send_stat(x->send);

			err = send_round(x->send, x->spool, clock_mono_ns(), next);
			write_status(x);
			stop = wait_until(x, st->next_ns > clock_mono_ns() && st->next_ns < next
						     ? st->next_ns
						     : next);
		}
		/* the spool's disk failed; what is on it is consistent */
		if (err == -ENOSPC || err == -EIO) {
			log_warn("%s: %s", x->c->spool.s, strerror(-err));
			stop = wait_until(x, next);
			err = 0;
		}
		if (err == -ENOTRECOVERABLE) {
			spool_close(x->spool);
			x->spool = NULL;
			err = open_spool(x, why);
		}
	}
	return err;
}

/*
 * The names of cluster and node may be only in the store, which aond may be creating right now.
 * False: it must stop.
 */
static bool learn_names(struct shipper *x)
{
	uint64_t until = clock_mono_ns() + NAMES_NS;

	while (source_names(&x->so, x->o->once || clock_mono_ns() >= until))
		if (wait_until(x, clock_mono_ns() + SECOND / 4))
			return false;
	return true;
}

int shipper_run(const struct shipper_opts *o, struct net_why *why)
{
	struct shipper x = { .o = o, .c = o->conf };
	int err;

	x.so = (struct source_opts){ .store = o->conf->store.s,
				     .events = o->conf->events != 0,
				     .backfill_ns = (uint64_t)o->conf->backfill_h * 3600 * SECOND };
	snprintf(x.so.cluster, sizeof(x.so.cluster), "%.63s", o->conf->cluster.s);
	snprintf(x.so.host, sizeof(x.so.host), "%.63s", o->conf->host.s);
	snprintf(x.so.rack, sizeof(x.so.rack), "%.63s", o->conf->rack.s);
	if (!learn_names(&x))
		return 0;
	netday_init(&x.day, x.c->spool.s, (uint64_t)x.c->net_mib_day << 20, clock_mono_ns());
	err = open_send(&x, why);
	err = err ? err : open_push(&x, why);
	err = err ? err : open_spool(&x, why);
	err = err ? err : source_new(&x.source, &x.so);
	if (!err) {
		log_info("%s of cluster %s: %s to %s", x.so.host, x.so.cluster, x.so.store,
			 o->conf->url.s);
		err = o->once ? run_once(&x, why) : run_on(&x, why);
	}
	if (err && !*why->text)
		why_say(why, err, "%s", strerror(-err));
	source_free(x.source);
	push_free(x.push);
	send_free(x.send);
	spool_close(x.spool);
	return err;
}
