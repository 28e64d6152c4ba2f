/* SPDX-License-Identifier: Apache-2.0 */
/* finding_json.c - findings, what else was looked at, and the critical path as aon.why/1. */
#include "insight/replay.h"
#include "read/json.h"

uint64_t replay_step_ns(const struct finding *f)
{
	return f->replayed ? (f->on->account.base_ns - f->gain_hi_ns) / f->steps : 0;
}

static void evidence_json(struct json *j, const struct finding *f)
{
	json_open(j, "evidence", '{');
	for (size_t i = 0; i < f->facts; i++) {
		if (f->fact[i].real)
			json_real(j, f->fact[i].key, f->fact[i].x);
		else
			json_u64(j, f->fact[i].key, f->fact[i].n);
	}
	json_close(j);
}

static void events_json(struct json *j, const struct trace *t, const struct finding *f, uint64_t t0)
{
	json_open(j, "events", '[');
	for (size_t i = 0; i < f->events; i++) {
		const struct event *e = &f->event[i];

		json_object(j, NULL, J_STR("name", trace_text(t, e->name)),
			    J_U64("start_ns", e->start_ns > t0 ? e->start_ns - t0 : 0),
			    J_U64("dur_ns", e->dur_ns));
	}
	json_close(j);
}

static void texts_json(struct json *j, const struct finding *f)
{
	json_open(j, "seen", '[');
	for (size_t k = 0; k < FINDING_SEEN && *f->seen[k]; k++)
		json_str(j, NULL, f->seen[k]);
	json_close(j);
	json_members(j, J_STR("not", f->ruled_out), J_STR("action", f->action),
		     J_STR("expect", f->expect));
}

/* A gain that is not known is null. */
static void gain_json(struct json *j, const struct finding *f)
{
	json_maybe(j, "gain_lo_ns", f->gain_known, (int64_t)(f->gain_lo_ns / f->steps));
	json_maybe(j, "gain_hi_ns", f->gain_known, (int64_t)(f->gain_hi_ns / f->steps));
	if (f->replayed)
		json_u64(j, "replay_ns", replay_step_ns(f));
}

static void finding_json(struct json *j, const struct trace *t, const struct findings *fs, size_t i,
			 uint64_t t0)
{
	const struct finding *f = &fs->f[i];

	json_open(j, NULL, '{');
	json_members(j, J_U64("id", i + 1), J_STR("family", family_table[f->family].word),
		     J_STR("title", f->title), J_RANK(f->rank),
		     J_I64_IF("device", !f->on->host,
			      f->on->host ? 0 : (int64_t)t->device[f->on->device].device),
		     J_U64("cost_ns", f->cost_ns / f->steps),
		     J_U64("base_ns", finding_base_ns(f->on)),
		     J_STR("per", f->on->account.steps ? "step" : "trace"),
		     J_REAL("share", f->share), J_STR("confidence", sure_word[f->sure]));
	gain_json(j, f);
	evidence_json(j, f);
	events_json(j, t, f, t0);
	texts_json(j, f);
	json_close(j);
}

static void path_json(struct json *j, const struct replay *r, uint64_t t0)
{
	json_open(j, "critical_path", '{');
	if (r) {
		json_bool(j, "partial", r->to_ns);
		if (r->to_ns) {
			json_u64(j, "start_ns", r->from_ns > t0 ? r->from_ns - t0 : 0);
			json_u64(j, "end_ns", r->to_ns > t0 ? r->to_ns - t0 : 0);
		}
		json_members(j, J_I64("span_ns", r->span_ns), J_U64("steps", r->steps),
			     J_U64("tasks", r->tasks), J_U64("collectives_matched", r->meetings));
		json_open(j, "by_kind", '{');
		for (size_t k = 0; k < SIM_KINDS; k++)
			json_i64(j, sim_kind_word[k], r->by_kind[k]);
		json_close(j);
	}
	json_close(j);
}

void accounts_json(struct json *j, const struct insight *in)
{
	json_open(j, "account", '[');
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];

		json_open(j, NULL, '{');
		json_members(j, J_RANK(d->rank), J_U64("device", in->t->device[d->device].device),
			     J_U64("base_ns", d->account.base_ns), J_U64("steps", d->account.steps),
			     J_U64("left_out_ns", d->account.cut_ns));
		json_open(j, "parts", '{');
		for (enum account_cause c = 0; c < ACCOUNT_CAUSES; c++)
			if (d->account.ns[c])
				json_u64(j, account_table[c].word, d->account.ns[c]);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

void findings_some_json(struct json *j, const struct trace *t, const struct findings *fs,
			uint64_t t0, size_t most)
{
	json_open(j, "findings", '[');
	for (size_t i = 0; i < fs->n && i < most; i++)
		finding_json(j, t, fs, i, t0);
	json_close(j);
}

void findings_json(struct json *j, const struct trace *t, const struct findings *fs, uint64_t t0)
{
	findings_some_json(j, t, fs, t0, SIZE_MAX);
	json_open(j, "checked", '[');
	for (enum family k = 0; k < FAMILIES; k++) {
		const struct checked *c = &fs->checked[k];

		json_open(j, NULL, '{');
		json_members(j, J_STR("family", family_table[k].word), J_BOOL("possible", c->could),
			     J_BOOL("found", c->fired), J_REAL("share", c->share));
		if (c->gain >= 0)
			json_real(j, "replay_gain", c->gain);
		json_close(j);
	}
	json_close(j);
	path_json(j, fs->replay, t0);
	json_u64(j, "recorded_steps", fs->recorded_steps);
	json_u64(j, "of_steps", fs->of_steps);
}
