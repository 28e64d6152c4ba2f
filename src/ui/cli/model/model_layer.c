/* SPDX-License-Identifier: Apache-2.0 */
/* model_layer.c - aon model attention, conv, elementwise, norm: how long they should take. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "cli/model/model.h"
#include "theory/layer.h"

/* An option and where its number goes; `need`: it has to be given. */
struct ask {
	enum opt_id id;
	uint64_t *to;
	bool need;
};

static int read_sizes(const struct opts *o, const struct ask *ask, size_t n)
{
	int rc = CLI_OK;

	for (size_t i = 0; i < n && rc == CLI_OK; i++)
		rc = ask[i].need ? model_need(o, ask[i].id, ask[i].to)
				 : model_size(o, ask[i].id, ask[i].to);
	return rc;
}

/* "3x5", or "3" for 3x3. */
static int read_pair(const struct opts *o, enum opt_id id, uint64_t *a, uint64_t *b)
{
	const char *text = o->val[id], *second = text;
	uint64_t v[2] = { 0 };

	if (!text)
		return CLI_OK;
	second = num_digits(text, 10, &v[0]);
	if (second && *second == 'x')
		second = num_digits(second + 1, 10, &v[1]);
	else
		v[1] = v[0];
	if (!second || *second || !v[0] || !v[1])
		return cli_misuse("--%s takes %s, not '%s'", opt_table[id].name, opt_table[id].arg,
				  text);
	*a = v[0];
	*b = v[1];
	return CLI_OK;
}

/* --- what all of them print --- */

struct fact {
	const char *name;
	uint64_t v;
};

static void print_json(const char *model, const struct gpu *g, const struct fact *fact, size_t n,
		       enum gpu_type type, const struct layer_time *t, double roof_ns)
{
	struct json j;

	model_json(&j, model, g);
	for (size_t i = 0; i < n; i++)
		json_u64(&j, fact[i].name, fact[i].v);
	json_members(&j, J_STR("dtype", gpu_type_word[type]), J_REAL("ns", t->ns),
		     J_STR("limiter", t->limiter), J_DOUBLE("flops", t->flops),
		     J_DOUBLE("memory_bytes", t->bytes), J_REAL("tflops", t->flops / t->ns / 1e3),
		     J_REAL("memory_bytes_per_s", t->bytes / t->ns * 1e9),
		     J_REAL("roof_ns", roof_ns), J_REAL("roof_fraction", roof_ns / t->ns));
	json_end(&j);
}

static int answer(const struct opts *o, const struct gpu *g, const char *model,
		  const struct fact *fact, size_t n, enum gpu_type type, const struct layer_time *t)
{
	double peak = gpu_peak(g, type), roof = t->bytes / g->memory_Bps * 1e9;
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], line[256] = "";
	struct out out;

	if (peak > 0)
		roof = fmax(roof, t->flops / peak * 1e9);
	if (o->val[OPT_JSON]) {
		print_json(model, g, fact, n, type, t, roof);
		return CLI_OK;
	}
	for (size_t i = 0, at = 0; i < n && at < sizeof(line); i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, " %s %llu,", fact[i].name,
				       (unsigned long long)fact[i].v);
	out_init(&out, stdout, o);
	out_line(&out, OUT_PLAIN, "%s,%s %s, on %s", model, line, gpu_type_word[type], g->name);
	out_line(&out, OUT_BOLD, "  %s, limited by %s, %s %% of the roofline bound",
		 out_time(&out, a, FMT_LEN, (uint64_t)llround(t->ns)), t->limiter,
		 fmt_percent(b, roof / t->ns));
	out_line(&out, OUT_PLAIN, "  %s TFLOPS; %s of memory at %s GB/s",
		 fmt_value(a, t->flops / t->ns / 1e3, 2), fmt_bytes(b, (uint64_t)t->bytes),
		 fmt_value(c, t->bytes / t->ns, 2));
	return CLI_OK;
}

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* --- each --- */

int model_attention(const struct opts *o, const struct gpu *g)
{
	struct attention a = { .batch = 1, .head_dim = 128, .type = GPU_BF16 };
	const struct ask ask[] = {
		{ OPT_BATCH, &a.batch, false },      { OPT_HEADS, &a.heads, true },
		{ OPT_KVHEADS, &a.kv_heads, false }, { OPT_HEADDIM, &a.head_dim, false },
		{ OPT_QUERIES, &a.q, true },         { OPT_KEYS, &a.kv, false },
	};
	struct layer_time t;
	int rc = read_sizes(o, ask, COUNT(ask)), err;

	if (rc == CLI_OK)
		rc = model_type(o, OPT_DTYPE, &a.type);
	if (rc != CLI_OK)
		return rc;
	a.kv_heads = a.kv_heads ? a.kv_heads : a.heads;
	a.kv = a.kv ? a.kv : a.q;
	a.causal = o->val[OPT_CAUSAL] != NULL;
	a.backward = o->val[OPT_BACKWARD] != NULL;
	if (a.heads % a.kv_heads)
		return cli_misuse("--heads has to be a multiple of --kv-heads");
	if (a.causal && a.q > a.kv)
		return cli_misuse("--causal: --q cannot be more than --kv");
	err = attention_time(&t, g, &a);
	if (err)
		return model_failed(err, g, a.type);
	return answer(o, g, "attention",
		      (struct fact[]){ { "batch", a.batch },
				       { "heads", a.heads },
				       { "kv_heads", a.kv_heads },
				       { "head_dim", a.head_dim },
				       { "q", a.q },
				       { "kv", a.kv } },
		      6, a.type, &t);
}

int model_conv(const struct opts *o, const struct gpu *g)
{
	struct conv c = {
		.n = 1, .r = 3, .s = 3, .stride = 1, .dilation = 1, .groups = 1, .type = GPU_BF16
	};
	const struct ask ask[] = {
		{ OPT_BATCH, &c.n, false },           { OPT_CHANNELS, &c.c, true },
		{ OPT_FILTERS, &c.k, true },          { OPT_STRIDE, &c.stride, false },
		{ OPT_DILATION, &c.dilation, false }, { OPT_GROUPS, &c.groups, false },
	};
	struct layer_time t;
	uint64_t p, q;
	int rc = read_sizes(o, ask, COUNT(ask)), err;

	if (rc == CLI_OK && !o->val[OPT_IMAGE])
		rc = cli_misuse("--image HxW is needed");
	if (rc == CLI_OK)
		rc = read_pair(o, OPT_IMAGE, &c.h, &c.w);
	if (rc == CLI_OK)
		rc = read_pair(o, OPT_KERNEL, &c.r, &c.s);
	if (rc == CLI_OK && o->val[OPT_PAD] && strcmp(o->val[OPT_PAD], "0") != 0)
		rc = model_size(o, OPT_PAD, &c.pad);
	if (rc == CLI_OK)
		rc = model_type(o, OPT_DTYPE, &c.type);
	if (rc != CLI_OK)
		return rc;
	if (c.c % c.groups || c.k % c.groups)
		return cli_misuse("--channels and --filters have to be multiples of --groups");
	err = conv_out(&p, &q, &c);
	if (err == -EINVAL)
		return cli_misuse("the filter is larger than the image with its --pad");
	err = err ? err : conv_time(&t, g, &c);
	if (err)
		return model_failed(err, g, c.type);
	return answer(o, g, "conv",
		      (struct fact[]){ { "batch", c.n },
				       { "channels", c.c },
				       { "height", c.h },
				       { "width", c.w },
				       { "filters", c.k },
				       { "out_height", p },
				       { "out_width", q } },
		      7, c.type, &t);
}

int model_elementwise(const struct opts *o, const struct gpu *g)
{
	uint64_t elements = 0, inputs = 1;
	enum gpu_type type = GPU_BF16;
	struct layer_time t;
	int rc = model_need(o, OPT_ELEMENTS, &elements), err;

	if (rc == CLI_OK)
		rc = model_size(o, OPT_INPUTS, &inputs);
	if (rc == CLI_OK && inputs > 1000)
		rc = cli_misuse("--inputs takes at most 1000");
	if (rc == CLI_OK)
		rc = model_type(o, OPT_DTYPE, &type);
	if (rc != CLI_OK)
		return rc;
	err = elementwise_time(&t, g, elements, (uint32_t)inputs, type);
	if (err)
		return model_failed(err, g, type);
	return answer(o, g, "elementwise",
		      (struct fact[]){ { "elements", elements }, { "inputs", inputs } }, 2, type,
		      &t);
}

int model_norm(const struct opts *o, const struct gpu *g)
{
	uint64_t rows = 0, width = 0;
	enum gpu_type type = GPU_BF16;
	const struct ask ask[] = { { OPT_ROWS, &rows, true }, { OPT_ROWWIDTH, &width, true } };
	struct layer_time t;
	int rc = read_sizes(o, ask, COUNT(ask)), err;

	if (rc == CLI_OK)
		rc = model_type(o, OPT_DTYPE, &type);
	if (rc != CLI_OK)
		return rc;
	err = norm_time(&t, g, rows, width, type);
	if (err)
		return model_failed(err, g, type);
	return answer(o, g, "norm", (struct fact[]){ { "rows", rows }, { "width", width } }, 2,
		      type, &t);
}
