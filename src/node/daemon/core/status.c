/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - aond's status as JSON. */
#include <stdio.h>
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
	json_object(j, "memory", J_U64("rss_kib", m.rss_kib), J_U64("pss_kib", m.pss_kib));
}

static void put_account(struct json *j, const struct account *a)
{
	json_members(j, J_U64("emitted", a->emitted), J_U64("handed_over", a->stored),
		     J_U64("in_flight", a->in_flight));
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
	json_members(j, J_U64("session", s->id), J_U64("process", p->id), J_U64("pid", p->pid),
		     J_U64("uid", p->uid), J_STR("comm", p->comm), J_STR("run", p->run),
		     J_STR("library", p->library), J_STR("tier", tier_word[p->tier]),
		     J_STR("note", p->note), J_BOOL("socket", s->channel.sock.fd >= 0),
		     J_BOOL("quiet", s->channel.quiet),
		     J_U64("pool_bytes", pool_bytes(s->stream->pool)),
		     J_U64("chunks_used", pool_used(s->stream->pool)));
	put_account(j, &p->account);
	json_close(j);
}

static void put_all(struct json *j, const struct aond *d)
{
	json_open(j, NULL, '{');
	json_members(j, J_STR("version", AON_VERSION), J_U64("pid", (uint64_t)getpid()),
		     J_U64("uptime_s", (clock_mono_ns() - d->start_ns) / 1000000000u),
		     J_STR("store", d->param.store.s), J_STR("run_dir", d->param.run_dir.s));
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
