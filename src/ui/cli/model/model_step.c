/* SPDX-License-Identifier: Apache-2.0 */
/* model_step.c - aon model step: a transformer's step, its time by part, and its memory. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/model/model.h"
#include "theory/step.h"

static int unknown_preset(const char *name)
{
	const struct step_model *m;
	char list[256] = "";
	size_t at = 0;

	for (size_t i = 0; (m = step_model_at(i)) && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "",
				       m->name);
	return cli_say(CLI_FAIL, "no model '%s' is known: there are %s; or give its sizes", name,
		       list);
}

static int read_model(struct step_model *m, const struct opts *o)
{
	const struct {
		enum opt_id id;
		uint64_t *to;
	} size[] = {
		{ OPT_LAYERS, &m->layers },    { OPT_HIDDEN, &m->hidden }, { OPT_HEADS, &m->heads },
		{ OPT_KVHEADS, &m->kv_heads }, { OPT_FFN, &m->ffn },       { OPT_VOCAB, &m->vocab },
		{ OPT_EXPERTS, &m->experts },  { OPT_CHOSEN, &m->chosen },
	};
	const struct step_model *preset;
	int rc = CLI_OK;

	*m = (struct step_model){ .gated = true };
	if (o->val[OPT_PRESET]) {
		preset = step_model_find(o->val[OPT_PRESET]);
		if (!preset)
			return unknown_preset(o->val[OPT_PRESET]);
		*m = *preset;
	}
	if (o->val[OPT_HEADS] && !o->val[OPT_KVHEADS])
		m->kv_heads = 0;
	for (size_t i = 0; i < sizeof(size) / sizeof(*size) && rc == CLI_OK; i++) {
		rc = model_size(o, size[i].id, size[i].to);
		if (rc == CLI_OK && i < 6 && !*size[i].to && size[i].id != OPT_KVHEADS)
			rc = cli_misuse("--%s is needed, or --model NAME",
					opt_table[size[i].id].name);
	}
	m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
	m->gated = m->gated && !o->val[OPT_UNGATED];
	return rc;
}

static int read_mode(const struct opts *o, enum step_mode *out)
{
	const char *text = o->val[OPT_MODE];

	for (int i = 0; text && i < STEP_MODES; i++)
		if (strcmp(text, step_mode_word[i]) == 0) {
			*out = (enum step_mode)i;
			return CLI_OK;
		}
	return text ? cli_misuse("--mode takes %s, not '%s'", opt_table[OPT_MODE].arg, text)
		    : CLI_OK;
}

static int read_options(struct step *s, const struct opts *o)
{
	const struct {
		enum opt_id id;
		uint32_t *to;
	} count[] = {
		{ OPT_TP, &s->tp },
		{ OPT_PP, &s->pp },
		{ OPT_DP, &s->dp },
		{ OPT_EP, &s->ep },
		{ OPT_MICRO, &s->micro },
		{ OPT_PERNODE, &s->gpus_per_node },
		{ OPT_INTERLEAVE, &s->interleave },
	};
	int rc = read_model(&s->model, o);

	if (rc == CLI_OK)
		rc = read_mode(o, &s->mode);
	s->seq = s->model.seq;
	if (rc == CLI_OK)
		rc = s->seq ? model_size(o, OPT_SEQ, &s->seq) : model_need(o, OPT_SEQ, &s->seq);
	s->batch = 0;
	if (rc == CLI_OK)
		rc = model_size(o, OPT_BATCH, &s->batch);
	if (rc == CLI_OK)
		rc = model_type(o, OPT_DTYPE, &s->type);
	for (size_t i = 0; i < sizeof(count) / sizeof(*count) && rc == CLI_OK; i++)
		rc = model_u32(o, count[i].id, count[i].to);
	if (rc == CLI_OK && o->val[OPT_ZERO] && strcmp(o->val[OPT_ZERO], "0") != 0)
		rc = model_u32(o, OPT_ZERO, &s->zero);
	if (rc == CLI_OK)
		rc = model_net(o, &s->net_Bps);
	s->recompute = o->val[OPT_RECOMPUTE] != NULL;
	s->sequence = o->val[OPT_SEQPAR] != NULL;
	if (!s->batch) /* one sequence for each micro-batch of each copy */
		s->batch = (uint64_t)(s->dp ? s->dp : 1) * (s->micro ? s->micro : 1);
	return rc;
}

/* --- printing --- */

struct amount {
	const char *name;
	double v;
};

static void memory_list(struct amount out[6], const struct step_memory *m)
{
	const struct amount list[6] = {
		{ "weights", m->weights },     { "gradients", m->gradients },
		{ "optimizer", m->optimizer }, { "activations", m->activations },
		{ "kv_cache", m->kv_cache },   { "total", m->total },
	};

	memcpy(out, list, sizeof(list));
}

static void print_json(const struct step *s, const struct step_cost *c, const struct gpu *g)
{
	struct amount memory[6];
	struct json j;

	model_json(&j, "step", g);
	json_members(&j, J_STR("preset", s->model.name), J_STR("mode", step_mode_word[s->mode]),
		     J_STR("dtype", gpu_type_word[s->type]), J_U64("seq", s->seq),
		     J_U64("batch", s->batch), J_U64("gpus", c->gpus),
		     J_DOUBLE("params", c->params), J_DOUBLE("active_params", c->active),
		     J_DOUBLE("flops", c->flops), J_REAL("ns", c->ns), J_STR("limiter", c->limiter),
		     J_REAL("mfu", c->mfu), J_REAL("tokens_per_s", c->tokens_per_s),
		     J_REAL("forward_ns", c->forward_ns), J_REAL("backward_ns", c->backward_ns));
	json_open(&j, "step_parts_ns", '{');
	for (int i = 0; i < STEP_PARTS; i++)
		json_real(&j, step_part_word[i], c->part_ns[i]);
	json_close(&j);
	memory_list(memory, &c->memory);
	json_open(&j, "gpu_bytes", '{');
	for (int i = 0; i < 6; i++)
		json_double(&j, memory[i].name, memory[i].v);
	json_close(&j);
	json_bool(&j, "fits", c->fits);
	json_end(&j);
}

static void print_parts(const struct out *out, const struct step_cost *c)
{
	static const char *const what[STEP_PARTS] = {
		"matrix products",
		"attention",
		"norms, sums and other memory passes",
		"optimizer",
		"collectives of tensor parallelism",
		"all-to-all of experts",
		"sends between stages",
		"gradient collectives that compute does not hide",
		"pipeline bubble",
	};
	char a[FMT_LEN], b[FMT_LEN];

	for (int i = 0; i < STEP_PARTS; i++)
		if (c->part_ns[i] > 0)
			out_line(out, OUT_PLAIN, "  %5s %%  %10s  %s",
				 fmt_percent(a, c->part_ns[i] / c->ns),
				 out_time(out, b, FMT_LEN, (uint64_t)llround(c->part_ns[i])),
				 what[i]);
}

static void print_memory(const struct out *out, const struct step_cost *c, const struct gpu *g)
{
	struct amount memory[6];
	char a[FMT_LEN], b[FMT_LEN], line[256] = "";
	size_t at = 0;

	memory_list(memory, &c->memory);
	for (int i = 0; i < 5 && at < sizeof(line); i++)
		if (memory[i].v > 0)
			at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s %s",
					       at ? ", " : "", i == 4 ? "KV cache" : memory[i].name,
					       fmt_bytes(a, (uint64_t)memory[i].v));
	out_line(out, OUT_PLAIN, "  %s of a GPU's memory: %s",
		 fmt_bytes(a, (uint64_t)c->memory.total), line);
	if (!c->fits)
		out_line(out, OUT_WARN, "  It does not fit: %s has %s.", g->key,
			 fmt_bytes(b, g->memory_bytes));
}

static void print_text(const struct step *s, const struct step_cost *c, const struct gpu *g,
		       const struct opts *o)
{
	char a[FMT_LEN], b[FMT_LEN], d[FMT_LEN];
	struct out out;

	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN, "%s: %s parameters, %s of %llu x %llu tokens in %s on %u x %s",
		 s->model.name ? s->model.name : "transformer", fmt_count(a, (uint64_t)c->params),
		 step_mode_word[s->mode], (unsigned long long)s->batch, (unsigned long long)s->seq,
		 gpu_type_word[s->type], c->gpus, g->name);
	out_line(&out, OUT_BOLD, "  %s, limited by %s: %s %% of the peak (MFU), %s tokens/s",
		 out_time(&out, a, FMT_LEN, (uint64_t)llround(c->ns)), c->limiter,
		 fmt_percent(b, c->mfu), fmt_count(d, (uint64_t)c->tokens_per_s));
	print_parts(&out, c);
	print_memory(&out, c, g);
}

int model_step(const struct opts *o, const struct gpu *g)
{
	struct step s = { .mode = STEP_TRAIN, .type = GPU_BF16 };
	struct step_cost c;
	const char *why = "";
	int rc = read_options(&s, o), err;

	if (rc != CLI_OK)
		return rc;
	err = step_cost(&c, &why, g, &s);
	if (err == -ENOTSUP)
		return model_failed(err, g, s.type);
	if (err)
		return cli_say(CLI_FAIL, "no such step: %s", why);
	if (o->val[OPT_JSON])
		print_json(&s, &c, g);
	else
		print_text(&s, &c, g, o);
	return CLI_OK;
}
