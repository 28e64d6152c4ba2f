/* SPDX-License-Identifier: Apache-2.0 */
/* account_json.c - where the records went, and the identity of their processes. */
#include "abi/record.h"
#include "govern/govern.h"
#include "model/node.h"
#include "read/json.h"
#include "read/procs.h"

static const char *const reason[ACCOUNT_LOSSES] = {
#define LOSS(num, NAME, word, side, help) [num] = word,
#include "abi/loss.tbl.h"
};

void account_json(struct json *j, const char *key, const struct account *a)
{
	json_open(j, key, '{');
	json_members(j, J_U64("emitted", a->emitted), J_U64("stored", a->stored),
		     J_U64("overwritten", a->overwritten), J_U64("in_flight", a->in_flight),
		     J_U64("lost", account_lost(a)), J_U64("samples", a->samples));
	json_open(j, "lost_by", '{');
	for (uint32_t i = 0; i < ACCOUNT_LOSSES; i++)
		if (a->lost[i] || reason[i])
			json_u64(j, reason[i] ? reason[i] : "unnamed", a->lost[i]);
	json_close(j);
	json_close(j);
}

void overhead_json(struct json *j, const char *key, const struct overhead *o)
{
	bool known = o->pairs != 0, level = o->fidelity < FIDELITY_LEVELS;
	const char *word = level ? fidelity_table[o->fidelity].word : NULL;

	if (!o->steps) {
		json_null(j, key);
		return;
	}
	json_object(
		j, key, J_STR("measured_by", o->by == OVERHEAD_BY_LAUNCHES ? "launches" : "steps"),
		J_REAL("slowdown", known ? o->mid / 1e6 : 0.0 / 0.0),
		J_REAL("slowdown_lo", known ? o->lo / 1e6 : 0.0 / 0.0),
		J_REAL("slowdown_hi", known ? o->hi / 1e6 : 0.0 / 0.0),
		J_REAL("slowdown_mean", known ? o->mean / 1e6 : 0.0 / 0.0),
		J_REAL("fixed_cost", o->residual / 1e6),
		J_REAL("stays_on", o->residual / 1e6), /* the key until 0.1 */
		J_REAL("accounted", o->accounted / 1e6),
		J_REAL("record_ns", o->emit_ps ? o->emit_ps / 1e3 : 0.0 / 0.0),
		J_REAL("budget", o->budget ? o->budget / 1e6 : 0.0 / 0.0), J_U64("pairs", o->pairs),
		J_REAL("recorded", level ? 1.0 / fidelity_table[o->fidelity].duty : 0.0 / 0.0),
		J_STR("fidelity", word), J_STR("rung", word), J_U64("moves", o->moves),
		J_U64("steps", o->steps), J_U64("skipped", o->unsampled),
		J_U64("left_out", o->unsampled));
}

void ident_json(struct json *j, const char *key, const struct ident *i)
{
	json_open(j, key, '{');
#define IDENT(name, bytes, what, who) \
	if (*i->name)                 \
		json_str(j, #name, i->name);
#include "model/ident.tbl.h"
	json_close(j);
}

void node_json(struct json *j, const char *key, const struct node_ident *n)
{
	json_open(j, key, '{');
#define NODE(name, bytes, what, who) \
	if (*n->name)                \
		json_str(j, #name, n->name);
#include "model/ident.tbl.h"
	json_close(j);
}

void process_json(struct json *j, const struct process *p, uint64_t t0)
{
	json_members(j, J_U64("process", p->id), J_U64("pid", p->pid), J_U64("uid", p->uid),
		     J_STR("comm", p->comm), J_STR("exe", *p->exe ? p->exe : NULL),
		     J_STR("run", *p->run ? p->run : NULL), J_STR("job", *p->job ? p->job : NULL),
		     J_STR("node", *p->node ? p->node : NULL),
		     J_U64_IF("rank", p->origin.rank, p->origin.rank - 1),
		     J_U64_IF("world", p->origin.world, p->origin.world),
		     J_STR("detail", procs_detail(p->tier)), J_STR("tier", procs_tier(p->tier)),
		     J_BOOL("connected", p->connected),
		     J_U64("first_ns", p->first_ns > t0 ? p->first_ns - t0 : 0),
		     J_U64("last_ns", p->last_ns > t0 ? p->last_ns - t0 : 0));
	ident_json(j, "identity", &p->ident);
	overhead_json(j, "overhead", &p->overhead);
}
