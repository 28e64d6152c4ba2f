/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - parses a job: model sizes, parameters, groups of ranks. */
#include "sim/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "theory/step.h"

const struct job_param job_param[] = {
#define COUNT(name, def, least, most, what) \
	{ #name, what, offsetof(struct job, name), false, def, least, most },
#define REAL(name, def, least, most, what) \
	{ #name, what, offsetof(struct job, name), true, def, least, most },
#include "sim/job.tbl.h"
	{ NULL, NULL, 0, false, 0, 0, 0 },
};

static void put(struct job *j, const struct job_param *p, double v)
{
	char *at = (char *)j + p->at;

	if (p->real)
		*(double *)(void *)at = v;
	else
		*(uint32_t *)(void *)at = (uint32_t)v;
}

void job_init(struct job *j)
{
	memset(j, 0, sizeof(*j));
	for (const struct job_param *p = job_param; p->name; p++)
		put(j, p, p->def);
	j->seed = 1;
}

/* --- models --- */

static const struct model {
	const char *name;
	uint32_t layers, hidden, heads, kv_heads, ffn, vocab, experts, topk, seq, micro_batch;
} model[] = {
#define MODEL(...) { __VA_ARGS__ },
#include "sim/model.tbl.h"
};

#define SMALL (sizeof(model) / sizeof(*model))

const char *job_model_at(size_t i)
{
	if (i < SMALL)
		return model[i].name;
	return step_model_at(i - SMALL) ? step_model_at(i - SMALL)->name : NULL;
}

static struct model model_at(size_t i)
{
	const struct step_model *m;

	if (i < SMALL)
		return model[i];
	m = step_model_at(i - SMALL);
	return (struct model){ m->name,
			       (uint32_t)m->layers,
			       (uint32_t)m->hidden,
			       (uint32_t)m->heads,
			       (uint32_t)m->kv_heads,
			       (uint32_t)m->ffn,
			       (uint32_t)m->vocab,
			       (uint32_t)m->experts,
			       m->chosen ? (uint32_t)m->chosen : 1,
			       4096,
			       1 };
}

int job_model(struct job *j, const char *name, char why[JOB_WHY])
{
	int n;

	for (size_t i = 0; job_model_at(i); i++) {
		struct model m;

		if (strcmp(job_model_at(i), name))
			continue;
		m = model_at(i);
		j->layers = m.layers;
		j->hidden = m.hidden;
		j->heads = m.heads;
		j->kv_heads = m.kv_heads;
		j->ffn = m.ffn;
		j->vocab = m.vocab;
		j->experts = m.experts;
		j->topk = m.topk;
		j->seq = m.seq;
		j->micro_batch = m.micro_batch;
		j->gated = i < SMALL || step_model_at(i - SMALL)->gated;
		return 0;
	}
	n = snprintf(why, JOB_WHY, "no model '%.40s'. There are:", name);
	for (size_t i = 0; job_model_at(i) && n < (int)JOB_WHY; i++)
		n += snprintf(why + n, JOB_WHY - (size_t)n, " %s", job_model_at(i));
	return -ENOENT;
}

/* --- parameters --- */

static const struct job_param *param_of(const char *word, size_t len)
{
	for (const struct job_param *p = job_param; p->name; p++)
		if (strlen(p->name) == len && !memcmp(p->name, word, len))
			return p;
	return NULL;
}

int job_set(struct job *j, const char *text, char why[JOB_WHY])
{
	while (*text) {
		size_t len = strcspn(text, "=,");
		const struct job_param *p = param_of(text, len);
		const char *end;
		double v;

		if (!p || text[len] != '=') {
			snprintf(why, JOB_WHY, "'%.*s' is no NAME=VALUE of a job",
				 (int)strcspn(text, ","), text);
			return -EINVAL;
		}
		v = num_front_real(text + len + 1, &end);
		if (end == text + len + 1 || (*end && *end != ',') || !(v >= p->least) ||
		    !(v <= p->most) || (!p->real && v != (uint32_t)v)) {
			snprintf(why, JOB_WHY, "%s is %s from %.10g to %.10g: %s", p->name,
				 p->real ? "a number" : "a whole number", p->least, p->most,
				 p->what);
			return -EINVAL;
		}
		put(j, p, v);
		text = *end ? end + 1 : end;
	}
	return 0;
}

int job_check(const struct job *j, char why[JOB_WHY])
{
	const char *what = NULL;

	*why = '\0';
	if ((uint64_t)j->dp * j->tp * j->pp > JOB_RANKS_MAX)
		what = "too many ranks: dp * tp * pp is 131072 at most";
	else if (j->layers < j->pp)
		what = "each stage needs a layer: layers >= pp";
	else if (j->dp % j->ep)
		what = "ep must divide dp";
	else if (j->ep > 1 && (!j->experts || j->experts % j->ep))
		what = "ep must divide the number of experts";
	else if (j->chunks > 1 && (j->pp < 2 || j->micro_batches % j->pp || j->infer))
		what = "chunks need stages and whole rounds of them: pp > 1, pp divides "
		       "micro_batches, no inference";
	else if (j->layers < j->pp * j->chunks)
		what = "each chunk needs a layer: layers >= pp * chunks";
	else if (j->nics && j->ranks_per_node % j->nics)
		what = "nics must divide ranks_per_node";
	else if (j->infer && j->zero)
		what = "an inference has no gradients to share: zero=0";
	else if (j->heads % j->tp)
		what = "tp must divide heads";
	else if (!j->gpu)
		what = "no device";
	if (what)
		snprintf(why, JOB_WHY, "%s", what);
	return what ? -EINVAL : 0;
}

/* --- groups --- */

struct job_team job_team(const struct job *j, enum job_group g, uint32_t rank)
{
	uint32_t stage = j->dp * j->tp, in_stage = rank % stage, base = rank - in_stage;
	struct job_team t = { .first = rank, .stride = 1, .size = 1 };

	switch (g) {
	case GROUP_TP:
		t = (struct job_team){ rank - rank % j->tp, 1, j->tp, 0 };
		break;
	case GROUP_EP:
		t = (struct job_team){ base + in_stage / j->tp / j->ep * j->ep * j->tp +
					       in_stage % j->tp,
				       j->tp, j->ep, 0 };
		break;
	case GROUP_DP:
		t = (struct job_team){ base + in_stage % j->tp, j->tp, j->dp, 0 };
		break;
	default:
		t = (struct job_team){ rank, stage, 2, 0 };
	}
	for (uint32_t i = 0;
	     i < t.size && job_node(j, t.first + i * t.stride) == job_node(j, t.first); i++)
		t.per_node++;
	return t;
}
