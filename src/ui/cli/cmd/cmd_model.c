/* SPDX-License-Identifier: Apache-2.0 */
/* aon model - what work should take on a device, by models that were held against measurements. */
#include "cli/model/model.h"

#include <errno.h>
#include <string.h>

#include "base/num.h"
#include "cli/model/devices.h"

#define TAKES 32

static const struct {
	const char *name, *what;
	model_fn *run;
	enum opt_id takes[TAKES]; /* 0 ends it: OPT_OUTPUT is no option of models */
} models[] = {
#define MODEL(name, what, ...) { #name, what, model_##name, { __VA_ARGS__ } },
#include "cli/model/model.tbl.h"
};

#define MODELS (sizeof(models) / sizeof(*models))

int model_size(const struct opts *o, enum opt_id id, uint64_t *out)
{
	const char *text = o->val[id];

	if (text && num_u64(text, 1, UINT64_MAX, out) < 0)
		return cli_misuse("--%s takes a whole number above 0, not '%s'", opt_table[id].name,
				  text);
	return CLI_OK;
}

int model_need(const struct opts *o, enum opt_id id, uint64_t *out)
{
	if (!o->val[id])
		return cli_misuse("--%s %s is needed", opt_table[id].name, opt_table[id].arg);
	return model_size(o, id, out);
}

int model_net(const struct opts *o, double *Bps)
{
	const char *text = o->val[OPT_NET];
	double v;

	if (!text)
		return CLI_OK;
	if (num_real(text, 1e-9, 1e9, &v) < 0)
		return cli_misuse("--net takes GB/s above 0, as 50, not '%s'", text);
	*Bps = v * 1e9;
	return CLI_OK;
}

int model_u32(const struct opts *o, enum opt_id id, uint32_t *out)
{
	uint64_t v = *out;
	int rc = model_size(o, id, &v);

	if (rc == CLI_OK && v > UINT32_MAX)
		return cli_misuse("--%s takes at most %u, not '%s'", opt_table[id].name, UINT32_MAX,
				  o->val[id]);
	*out = (uint32_t)v;
	return rc;
}

int model_type(const struct opts *o, enum opt_id id, enum gpu_type *out)
{
	static const struct {
		const char *word;
		enum gpu_type type;
	} other[] = {
		{ "f64", GPU_FP64 },     { "double", GPU_FP64 },  { "f32", GPU_FP32 },
		{ "float", GPU_FP32 },   { "float32", GPU_FP32 }, { "f16", GPU_FP16 },
		{ "half", GPU_FP16 },    { "float16", GPU_FP16 }, { "bfloat16", GPU_BF16 },
		{ "e4m3", GPU_FP8 },     { "e5m2", GPU_FP8 },     { "f8e4m3fn", GPU_FP8 },
		{ "f8e5m2", GPU_FP8 },   { "f8", GPU_FP8 },       { "f4", GPU_FP4 },
		{ "float64", GPU_FP64 },
	};

	if (!o->val[id])
		return CLI_OK;
	for (int i = 0; i < GPU_TYPES; i++)
		if (!strcasecmp(o->val[id], gpu_type_word[i])) {
			*out = (enum gpu_type)i;
			return CLI_OK;
		}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (!strcasecmp(o->val[id], other[i].word)) {
			*out = other[i].type;
			return CLI_OK;
		}
	return cli_misuse("--%s takes %s, not '%s'", opt_table[id].name, opt_table[id].arg,
			  o->val[id]);
}

int model_failed(int err, const struct gpu *g, enum gpu_type type)
{
	switch (err) {
	case -ENOTSUP:
		return cli_say(CLI_FAIL, "%s has no %s. See: aon roofline show %s", g->key,
			       gpu_type_word[type], g->key);
	case -ERANGE:
		return cli_say(CLI_FAIL, "too large: its operations or bytes do not fit 64 bits");
	default:
		return cli_say(CLI_FAIL, "cannot be modelled: %s", strerror(-err));
	}
}

void model_json(struct json *j, const char *model, const struct gpu *g)
{
	json_begin(j, stdout, "aon.model/1");
	json_members(j, J_STR("model", model), J_STR("device", g->key));
}

/* Keys that have the text in them, or begin as it does. */
static int unknown_device(const char *text)
{
	char near[256] = "";
	const struct gpu *g;
	size_t at = 0;

	for (size_t i = 0; (g = gpu_at(i)); i++)
		if ((strcasestr(g->key, text) || !strncasecmp(g->key, text, 2)) &&
		    at + sizeof(g->key) + 2 < sizeof(near))
			at += (size_t)snprintf(near + at, sizeof(near) - at, "%s%s", at ? ", " : "",
					       g->key);
	return cli_say(CLI_FAIL, "no device '%s' is known%s%s. All of them: aon roofline devices",
		       text, at ? "; near: " : "", near);
}

/* An option that another model takes is a mistake here. */
static int check_options(const struct opts *o, size_t model)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		bool mine = false, others = false;

		if (!o->val[id])
			continue;
		for (size_t m = 0; m < MODELS; m++)
			for (size_t i = 0; i < TAKES && models[m].takes[i]; i++)
				*(m == model ? &mine : &others) |=
					models[m].takes[i] == (enum opt_id)id;
		if (others && !mine)
			return cli_misuse("--%s is not for %s", opt_table[id].name,
					  models[model].name);
	}
	return CLI_OK;
}

static int which(const char *given)
{
	char list[256] = "";

	for (size_t i = 0; i < MODELS; i++) {
		size_t at = strlen(list);

		snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "", models[i].name);
	}
	if (given)
		return cli_misuse("no model '%s': there are %s", given, list);
	return cli_misuse("say what to model: %s", list);
}

int cmd_model(const struct opts *o)
{
	const struct gpu *g;
	int rc;

	if (!o->argc)
		return which(NULL);
	if (o->argc > 1)
		return cli_misuse("one model at a time, not '%s'", o->argv[1]);
	for (size_t i = 0; i < MODELS; i++) {
		if (strcmp(o->argv[0], models[i].name))
			continue;
		rc = check_options(o, i);
		if (rc != CLI_OK)
			return rc;
		if (!o->val[OPT_DEVICE])
			return cli_misuse("--device is needed, as H100_SXM");
		rc = devices_load();
		if (rc != CLI_OK)
			return rc;
		g = gpu_find(o->val[OPT_DEVICE]);
		return g ? models[i].run(o, g) : unknown_device(o->val[OPT_DEVICE]);
	}
	return which(o->argv[0]);
}
