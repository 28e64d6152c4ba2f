/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - aond's status as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/record.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/proc.h"
#include "daemon/core/aond.h"
#include "daemon/core/count.h"

static const char *const tier_word[] = { "off", "heartbeat", "rollup", "flight", "full" };

static const char *const loss_word[AON_LOSS_MAX] = {
#define LOSS(num, NAME, word, side, help) [num] = word,
#include "abi/loss.tbl.h"
};

static void put_counters(struct json *j)
{
	json_open(j, "counters", '{');
	for (int i = 0; i < COUNT_MAX; i++)
		json_u64(j, count_table[i].name, count_get((enum count_id)i));
	json_close(j);
}

static void put_memory(struct json *j)
{
	struct proc_memory m = { 0 };

	proc_memory(&m);
	json_open(j, "memory", '{');
	json_u64(j, "rss_kib", m.rss_kib);
	json_u64(j, "pss_kib", m.pss_kib);
	json_close(j);
}

static void put_account(struct json *j, const struct account *a)
{
	json_u64(j, "emitted", a->emitted);
	json_u64(j, "handed_over", a->stored);
	json_u64(j, "in_flight", a->in_flight);
	json_open(j, "lost", '{');
	for (int i = 0; i < AON_LOSS_MAX; i++)
		if (a->lost[i] && loss_word[i])
			json_u64(j, loss_word[i], a->lost[i]);
	json_close(j);
}

static void put_session(struct json *j, const struct sess *s)
{
	const struct process *p = &s->stream->proc;

	json_open(j, NULL, '{');
	json_u64(j, "session", s->id);
	json_u64(j, "process", p->id);
	json_u64(j, "pid", p->pid);
	json_u64(j, "uid", p->uid);
	json_str(j, "comm", p->comm);
	json_str(j, "run", p->run);
	json_str(j, "library", p->library);
	json_str(j, "tier", tier_word[p->tier]);
	json_str(j, "note", p->note);
	json_bool(j, "socket", s->channel.sock.fd >= 0);
	json_bool(j, "quiet", s->channel.quiet);
	json_u64(j, "pool_bytes", pool_bytes(s->stream->pool));
	json_u64(j, "chunks_used", pool_used(s->stream->pool));
	put_account(j, &p->account);
	json_close(j);
}

static void put_all(struct json *j, const struct aond *d)
{
	json_open(j, NULL, '{');
	json_str(j, "version", AON_VERSION);
	json_u64(j, "pid", (uint64_t)getpid());
	json_u64(j, "uptime_s", (clock_mono_ns() - d->start_ns) / 1000000000u);
	json_str(j, "store", d->param.store.s);
	json_str(j, "run_dir", d->param.run_dir.s);
	put_memory(j);
	put_counters(j);
	broker_json(&d->broker, j);
	leases_json(&d->leases, j);
	sampler_json(&d->sampler, j);
	json_open(j, "sessions", '[');
	for (const struct sess *s = d->roster.first; s; s = s->next)
		if (s->stream)
			put_session(j, s);
	json_end(j);
}

void status_json(const struct aond *d, FILE *f)
{
	struct json j;

	count_set(COUNT_queue_bytes, atomic_load_explicit(&d->queue.bytes, memory_order_relaxed));
	json_init(&j, f);
	put_all(&j, d);
}
