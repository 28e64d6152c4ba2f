/* SPDX-License-Identifier: Apache-2.0 */
/* aon roofline - what devices can do at best: known ones, those of a file, this one measured. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/model/roofline.h"
#include "cli/report/view.h"
#include "theory/devices.h"

/* A number in some unit, or "-" where there is none. */
static void add_number(struct table *t, double v, double unit)
{
	char text[FMT_LEN];

	if (v > 0)
		table_add(t, "%s", fmt_value(text, v / unit, 2));
	else
		table_add(t, "-");
}

static void open_json(struct json *j)
{
	json_begin(j, stdout, DEVICES_SCHEMA);
	json_open(j, "devices", '[');
}

static int list_json(void)
{
	const struct gpu *g;
	struct json j;

	open_json(&j);
	for (size_t i = 0; (g = gpu_at(i)); i++) {
		json_open(&j, NULL, '{');
		gpu_json(&j, g);
		json_close(&j);
	}
	json_end(&j);
	return CLI_OK;
}

static int list(const struct opts *o)
{
	static const struct col col[] = { COL_NAME("Device", 0), COL_NUM("fp64", 4),
					  COL_NUM("fp32", 0),    COL_NUM("tf32", 5),
					  COL_NUM("bf16", 0),    COL_NUM("fp8", 1),
					  COL_NUM("fp4", 6),     COL_NUM("memory", 0),
					  COL_NUM("of", 2),      COL_NUM("links", 3) };
	static const enum gpu_type type[] = { GPU_FP64, GPU_FP32, GPU_TF32,
					      GPU_BF16, GPU_FP8,  GPU_FP4 };
	const struct gpu *g;
	struct table t;
	struct out out;

	out_init(&out, stdout, o);
	table_init(&t, col, sizeof(col) / sizeof(*col));
	t.unit[4] = "TFLOPS";
	t.unit[7] = "GB/s";
	t.unit[8] = "GiB";
	t.unit[9] = "GB/s";
	for (size_t i = 0; (g = gpu_at(i)); i++) {
		table_add_text(&t, &out, g->key);
		for (size_t k = 0; k < sizeof(type) / sizeof(*type); k++) {
			double peak = gpu_peak(g, type[k]);

			/* Volta has fp16 only. */
			if (type[k] == GPU_BF16 && peak <= 0)
				peak = gpu_peak(g, GPU_FP16);
			add_number(&t, peak, 1e12);
		}
		add_number(&t, g->memory_Bps, 1e9);
		add_number(&t, (double)g->memory_bytes, 1u << 30);
		add_number(&t, g->link_Bps, 1e9);
	}
	table_done(&t, &out, 2);
	out_line(&out, OUT_DIM,
		 "  Dense peaks with tensor cores where it has them (fp16 of those "
		 "without bf16).");
	out_line(&out, OUT_COPY, "  aon roofline show DEVICE");
	return CLI_OK;
}

/* --- show --- */

/* Every letter that stands behind a number, once each, then what they mean. */
struct letters {
	char seen[32];
	size_t n;
};

static const char *letter(struct letters *l, char c, char out[8])
{
	out[0] = '\0';
	if (!c)
		return out;
	if (!memchr(l->seen, c, l->n) && l->n < sizeof(l->seen))
		l->seen[l->n++] = c;
	snprintf(out, 8, " [%c]", c);
	return out;
}

static void show_peaks(const struct gpu *g, const struct out *out, struct letters *l)
{
	static const struct col col[] = {
		COL_NAME("Peak, dense", 0), COL_NUM("vector", 0), COL_TEXT("", 0),
		COL_NUM("tensor", 0),       COL_TEXT("", 0),      COL_NUM("ridge", 0)
	};
	const struct gpu_source *s = gpu_source(g);
	double best = 0, unit;
	char text[8];
	struct table t;

	for (int i = 0; i < GPU_TYPES; i++)
		best = gpu_peak(g, (enum gpu_type)i) > best ? gpu_peak(g, (enum gpu_type)i) : best;
	unit = best < 1e12 ? 1e9 : 1e12;
	table_init(&t, col, sizeof(col) / sizeof(*col));
	t.unit[1] = t.unit[3] = best < 1e12 ? "GFLOPS" : "TFLOPS";
	t.unit[5] = "FLOP/B";
	for (int i = 0; i < GPU_TYPES; i++) {
		double peak = gpu_peak(g, (enum gpu_type)i);

		if (peak <= 0)
			continue;
		table_add(&t, "%s", gpu_type_word[i]);
		add_number(&t, g->vector_flops[i], unit);
		table_add(&t, "%s", letter(l, s ? s->vector[i] : 0, text) + (s && s->vector[i]));
		add_number(&t, g->tensor_flops[i], unit);
		table_add(&t, "%s", letter(l, s ? s->tensor[i] : 0, text) + (s && s->tensor[i]));
		add_number(&t, peak, g->memory_Bps);
	}
	table_done(&t, out, 2);
}

static void show_line(const struct out *out, struct letters *l, const char *what, double v,
		      double unit, const char *word, char source)
{
	char num[FMT_LEN], text[8];

	if (v > 0)
		out_line(out, OUT_PLAIN, "  %-13s %s%s%s", what,
			 unit > 1 ? fmt_value(num, v / unit, 2) : fmt_exact(num, (uint64_t)v), word,
			 letter(l, source, text));
}

static void show_rest(const struct gpu *g, const struct out *out, struct letters *l)
{
	static const struct gpu_source none;
	const struct gpu_source *s = gpu_source(g) ? gpu_source(g) : &none;

	show_line(out, l, "memory", g->memory_Bps, 1e9, " GB/s", s->memory_rate);
	show_line(out, l, "", (double)g->memory_bytes, 1u << 30, " GiB", s->memory);
	show_line(out, l, "L2", g->l2_Bps, 1e9, " GB/s", s->l2_rate);
	show_line(out, l, g->l2_Bps > 0 ? "" : "L2", (double)g->l2_bytes, 1u << 20, " MiB", s->l2);
	show_line(out, l, "links", g->link_Bps, 1e9, " GB/s, one way, all together", s->link);
	show_line(out, l, "host", g->pcie_Bps, 1e9, " GB/s, one way", s->pcie);
	show_line(out, l, "a kernel", g->launch_ns, 1e3, out->ascii ? " us" : " µs", s->launch);
	show_line(out, l, g->cc ? "SMs" : "compute units", g->sms, 1, "", s->sms);
	show_line(out, l, "clock", g->clock_mhz, 1, " MHz", s->clock);
	show_line(out, l, "memory clock", g->memory_mhz, 1, " MHz", s->memory_clock);
	if (g->cc)
		out_line(out, OUT_PLAIN, "  %-13s %u.%u", "capability", g->cc / 10, g->cc % 10);
}

static void sources_json(struct json *j, const struct gpu_source *s)
{
	const struct {
		const char *key;
		char source;
	} field[] = {
		{ "sms", s->sms },
		{ "clock_mhz", s->clock },
		{ "memory_mhz", s->memory_clock },
		{ "memory_bytes", s->memory },
		{ "memory_Bps", s->memory_rate },
		{ "l2_bytes", s->l2 },
		{ "l2_Bps", s->l2_rate },
		{ "link_Bps", s->link },
		{ "pcie_Bps", s->pcie },
		{ "launch_ns", s->launch },
	};
	char key[32];

	json_open(j, "sources", '{');
	for (size_t i = 0; i < sizeof(field) / sizeof(*field); i++)
		if (field[i].source)
			json_str(j, field[i].key, gpu_source_text(field[i].source));
	for (int i = 0; i < GPU_TYPES; i++) {
		snprintf(key, sizeof(key), "vector_flops.%s", gpu_type_word[i]);
		if (s->vector[i])
			json_str(j, key, gpu_source_text(s->vector[i]));
		snprintf(key, sizeof(key), "tensor_flops.%s", gpu_type_word[i]);
		if (s->tensor[i])
			json_str(j, key, gpu_source_text(s->tensor[i]));
	}
	json_close(j);
}

static int show(const struct opts *o, const char *text)
{
	const struct gpu *g = gpu_find(text);
	struct letters l = { .n = 0 };
	char clean[256];
	struct json j;
	struct out out;

	if (!g)
		return cli_say(CLI_FAIL, "no device '%s' is known. See: aon roofline devices",
			       fmt_clean(clean, sizeof(clean), text, false));
	if (o->val[OPT_JSON]) {
		open_json(&j);
		json_open(&j, NULL, '{');
		gpu_json(&j, g);
		if (gpu_source(g))
			sources_json(&j, gpu_source(g));
		json_end(&j);
		return CLI_OK;
	}
	out_init(&out, stdout, o);
	out_line(&out, OUT_BOLD, "%s  %s%s", g->key,
		 fmt_clean(clean, sizeof(clean), g->name, out.ascii),
		 g->measured     ? "  (measured)"
		 : gpu_source(g) ? ""
				 : "  (from a file)");
	fputc('\n', stdout);
	show_peaks(g, &out, &l);
	fputc('\n', stdout);
	show_rest(g, &out, &l);
	if (l.n)
		fputc('\n', stdout);
	for (size_t i = 0; i < l.n; i++)
		out_line(&out, OUT_DIM, "  [%c] %s", l.seen[i], gpu_source_text(l.seen[i]));
	return CLI_OK;
}

int cmd_roofline(const struct opts *o)
{
	const char *word = o->argc ? o->argv[0] : "devices";

	if (!strcmp(word, "devices") && o->argc <= 1)
		return o->val[OPT_JSON] ? list_json() : list(o);
	if (!strcmp(word, "show") && o->argc == 2)
		return show(o, o->argv[1]);
	if (!strcmp(word, "measure") && o->argc == 1)
		return roofline_measure(o);
	if (!strcmp(word, "devices") || !strcmp(word, "show") || !strcmp(word, "measure"))
		return cli_misuse(
			"expected devices, show with one DEVICE, measure, or stores and traces");
	return view_roofline(o);
}
