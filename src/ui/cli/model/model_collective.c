/* SPDX-License-Identifier: Apache-2.0 */
/* model_collective.c - aon model collective: estimates a collective between ranks. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/model/model.h"
#include "theory/collective.h"

/* all_reduce, as programs write it, is all-reduce. */
static bool is_op(const char *text, const char *word)
{
	for (; *word && (*text == *word || (*text == '_' && *word == '-')); word++)
		text++;
	return !*text && !*word;
}

static int read_op(const struct opts *o, enum coll_op *out)
{
	const char *text = o->val[OPT_COLLOP];

	if (!text)
		return cli_misuse("--op is needed: %s", opt_table[OPT_COLLOP].arg);
	for (int i = 0; i < COLL_OPS; i++)
		if (is_op(text, coll_op_word[i])) {
			*out = (enum coll_op)i;
			return CLI_OK;
		}
	return cli_misuse("--op takes %s, not '%s'", opt_table[OPT_COLLOP].arg, text);
}

static int read_options(struct coll *c, const struct opts *o)
{
	int rc = read_op(o, &c->op);

	if (rc == CLI_OK)
		rc = model_need(o, OPT_BYTES, &c->bytes);
	if (rc == CLI_OK && !o->val[OPT_COLLRANKS])
		rc = cli_misuse("--ranks N is needed");
	if (rc == CLI_OK)
		rc = model_u32(o, OPT_COLLRANKS, &c->ranks);
	if (rc == CLI_OK)
		rc = model_u32(o, OPT_PERNODE, &c->ranks_per_node);
	if (rc == CLI_OK)
		rc = model_u32(o, OPT_NICS, &c->nics);
	return rc == CLI_OK ? model_net(o, &c->net_Bps) : rc;
}

static void print_json(const struct coll *c, const struct coll_cost *t, const struct gpu *g)
{
	struct json j;

	model_json(&j, "collective", g);
	json_members(&j, J_STR("op", coll_op_word[c->op]), J_U64("bytes", c->bytes),
		     J_U64("ranks", c->ranks), J_U64("ranks_per_node", c->ranks_per_node),
		     J_REAL("ns", t->ns), J_STR("algorithm", t->algorithm),
		     J_STR("limiter", t->limiter),
		     J_REAL("algorithm_bytes_per_s", t->algorithm_Bps),
		     J_REAL("bus_bytes_per_s", t->bus_Bps));
	json_end(&j);
}

static void print_text(const struct coll *c, const struct coll_cost *t, const struct gpu *g,
		       const struct opts *o)
{
	char a[FMT_LEN], b[FMT_LEN];
	struct out out;

	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN, "%s of %s over %u x %s, %u a node", coll_op_word[c->op],
		 fmt_bytes(a, c->bytes), c->ranks, g->name,
		 c->ranks_per_node < c->ranks ? c->ranks_per_node : c->ranks);
	out_line(&out, OUT_BOLD, "  %s (%s), limited by %s",
		 out_time(&out, a, FMT_LEN, (uint64_t)llround(t->ns)), t->algorithm, t->limiter);
	out_line(&out, OUT_PLAIN, "  %s GB/s by bytes, %s GB/s as nccl-tests count bus bandwidth",
		 fmt_value(a, t->algorithm_Bps / 1e9, 2), fmt_value(b, t->bus_Bps / 1e9, 2));
}

int model_collective(const struct opts *o, const struct gpu *g)
{
	struct coll c = { .ranks = 0 };
	struct coll_cost t;
	int rc = read_options(&c, o), err;

	if (rc != CLI_OK)
		return rc;
	if (!c.ranks_per_node)
		c.ranks_per_node = coll_domain(g);
	err = coll_cost(&t, g, &c);
	if (err == -ENOTSUP)
		return cli_say(CLI_FAIL, "%s has no links to others: --gpus-per-node 1?", g->key);
	if (err == -ERANGE)
		return cli_say(CLI_FAIL, "too large: at most 2^60 bytes and 2^24 ranks");
	if (err)
		return cli_say(CLI_FAIL, "cannot be modelled: %s", strerror(-err));
	if (o->val[OPT_JSON])
		print_json(&c, &t, g);
	else
		print_text(&c, &t, g, o);
	return CLI_OK;
}
