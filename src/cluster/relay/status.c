/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - the relay's state in numbers: JSON for people and scripts, text for Prometheus. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "relay/priv.h"

static const struct {
	const char *name, *what;
} counts[COUNTS] = {
#define COUNT(name, what) { #name, what },
#include "relay/count.tbl.h"
};

/* Gauges of what the relay holds. */
static const struct {
	const char *name, *what;
	size_t off;
} gauges[] = {
	{ "open_batches", "batches that are not in an insert yet",
	  offsetof(struct batch_store_stat, open_batches) },
	{ "open_rows", "rows of these", offsetof(struct batch_store_stat, open_rows) },
	{ "inserts_waiting", "inserts that ClickHouse has not taken yet",
	  offsetof(struct batch_store_stat, inserts) },
	{ "insert_rows_waiting", "rows of these", offsetof(struct batch_store_stat, insert_rows) },
	{ "aside_kept", "batches set aside", offsetof(struct batch_store_stat, aside) },
	{ "disk_bytes", "disk that is in use", offsetof(struct batch_store_stat, disk_bytes) },
	{ "sources", "spools that have sent", offsetof(struct batch_store_stat, sources) },
};

static uint64_t gauge(const struct batch_store_stat *st, size_t i)
{
	uint64_t v;

	memcpy(&v, (const char *)st + gauges[i].off, sizeof(v));
	return v;
}

static double age_s(const struct batch_store_stat *st)
{
	uint64_t now = clock_wall_ns();

	return st->oldest_ns && now > st->oldest_ns ? (double)(now - st->oldest_ns) / 1e9 : 0;
}

static void put_nodes(struct relay *r, struct json *j)
{
	uint64_t now = clock_mono_ns();

	pthread_mutex_lock(&r->lock);
	json_u64(j, "polling", orders_polling(r));
	json_open(j, "nodes", '[');
	for (size_t i = 0; i < r->nodes; i++) {
		const struct node *n = &r->node[i];

		json_object(j, NULL, J_STR("name", n->name),
			    J_REAL("silent_s", (double)(now - n->seen_ns) / 1e9),
			    J_U64("batches", n->batches), J_U64("bytes", n->bytes),
			    J_U64("held_back", n->held_back));
	}
	json_close(j);
	pthread_mutex_unlock(&r->lock);
}

static char *status_text(struct relay *r, size_t *len)
{
	struct batch_store_stat st = { 0 };
	char *text = NULL;
	FILE *f = open_memstream(&text, len);
	struct json j;

	if (!f)
		return NULL;
	batch_store_stat(r->hold, &st);
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_STR("schema", "aon.relay/1"), J_STR("version", AON_VERSION),
		     J_STR("listen", r->address), J_I64("pid", getpid()),
		     J_U64("wall_ns", clock_wall_ns()),
		     J_REAL("uptime_s", (double)(clock_mono_ns() - r->start_ns) / 1e9));
	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
		json_u64(&j, gauges[i].name, gauge(&st, i));
	json_members(&j, J_U64("disk_max_bytes", r->o.disk_bytes), J_REAL("oldest_s", age_s(&st)));
	json_open(&j, "counters", '{');
	for (size_t i = 0; i < COUNTS; i++)
		json_u64(&j, counts[i].name,
			 atomic_load_explicit(&r->count[i], memory_order_relaxed));
	json_close(&j);
	put_nodes(r, &j);
	json_end(&j);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

enum MHD_Result status_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q)
{
	size_t len;
	char *text = status_text(r, &len);

	(void)q;
	if (!text)
		return MHD_NO;
	return httpd_reply(c, 200,
			   MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE),
			   "application/json");
}

enum MHD_Result metrics_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q)
{
	struct batch_store_stat st = { 0 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)q;
	if (!f)
		return MHD_NO;
	batch_store_stat(r->hold, &st);
	for (size_t i = 0; i < COUNTS; i++)
		fprintf(f,
			"# HELP aon_relay_%s_total %s\n# TYPE aon_relay_%s_total counter\n"
			"aon_relay_%s_total %" PRIu64 "\n",
			counts[i].name, counts[i].what, counts[i].name, counts[i].name,
			atomic_load_explicit(&r->count[i], memory_order_relaxed));
	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
		fprintf(f,
			"# HELP aon_relay_%s %s\n# TYPE aon_relay_%s gauge\n"
			"aon_relay_%s %" PRIu64 "\n",
			gauges[i].name, gauges[i].what, gauges[i].name, gauges[i].name,
			gauge(&st, i));
	fprintf(f,
		"# HELP aon_relay_oldest_seconds age of what ClickHouse does not have yet\n"
		"# TYPE aon_relay_oldest_seconds gauge\naon_relay_oldest_seconds %.3f\n",
		age_s(&st));
	if (fclose(f) != 0) {
		free(text);
		return MHD_NO;
	}
	return httpd_reply(c, 200,
			   MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE),
			   "text/plain; version=0.0.4; charset=utf-8");
}

/* For aon relay status, which reads the file and needs no certificate. */
void status_write(struct relay *r)
{
	char name[PATH_MAX + 32], fresh[PATH_MAX + 32];
	size_t len;
	char *text = status_text(r, &len);
	FILE *f;

	if (!text)
		return;
	snprintf(name, sizeof(name), "%s/status.json", r->o.dir);
	snprintf(fresh, sizeof(fresh), "%s/status.json.new", r->o.dir);
	f = fopen(fresh, "we");
	if (f) {
		fwrite(text, 1, len, f);
		if (fclose(f) == 0)
			rename(fresh, name);
	}
	free(text);
}
