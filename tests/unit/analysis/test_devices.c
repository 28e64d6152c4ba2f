/* SPDX-License-Identifier: Apache-2.0 */
#include "theory/devices.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "t.h"

#define HEAD "{\"schema\":\"aon.devices/1\",\"devices\":["
#define GOOD \
	"{\"key\":\"A\",\"name\":\"An A\",\"memory_Bps\":1e12,\"vector_flops\":{\"fp32\":1e13}}"

/* Where it goes wrong, and a word of what is said. */
static const struct {
	const char *what, *text;
	size_t line;
	const char *say;
} bad[] = {
	/* clang-format off */
	{ "nothing",                "",                                                      1, "expected" },
	{ "a list",                 "[]",                                                    1, "expected" },
	{ "no schema",              "{\"devices\":[]}",                                      1, "schema" },
	{ "another schema",         "{\n\"schema\":\"aon.devices/9\",\"devices\":[]}",       2, "aon.devices/1" },
	{ "no devices",             "{\"schema\":\"aon.devices/1\"}",                        1, "missing" },
	{ "devices that are none",  "{\"schema\":\"aon.devices/1\",\n\n\"devices\":{}}",     3, "a list" },
	{ "a device that is none",  HEAD "\n7]}",                                            2, "an object" },
	{ "a cut file",             HEAD "\n{\"key\":\"A\",",                                1, "JSON" },
	{ "a file without its end", HEAD GOOD "]",                                           1, "JSON" },
	{ "a field not known",      HEAD "{\"key\":\"A\",\n\"memory_bps\":1}]}",             2, "memory_bps" },
	{ "a text for a number",    HEAD "{\"sms\":\"many\"}]}",                             1, "number" },
	{ "a number in quotes",     HEAD "{\"sms\":\"8\"}]}",                                1, "number" },
	{ "a number below 0",       HEAD "{\"sms\":-8}]}",                                   1, "number" },
	{ "a number too large",     HEAD "{\"cc\":1e300}]}",                                 1, "200" },
	{ "not a number",           HEAD "{\"launch_ns\":NaN}]}",                            1, "number" },
	{ "a type not known",       HEAD "{\"vector_flops\":{\"fp33\":1}}]}",                1, "fp33" },
	{ "peaks that are none",    HEAD "{\"vector_flops\":7}]}",                           1, "an object" },
	{ "no key",                 HEAD "{\"name\":\"A\",\"memory_Bps\":1}]}",              1, "key" },
	{ "no bandwidth",           HEAD "{\"key\":\"A\",\"name\":\"A\",\"vector_flops\":{\"fp32\":1}}]}", 1, "memory_Bps" },
	{ "no peak",                HEAD "{\"key\":\"A\",\"name\":\"A\",\"memory_Bps\":1}]}", 1, "peak" },
	{ "like nothing known",     HEAD "{\"like\":\"H1000\"}]}",                           1, "roofline devices" },
	{ "a key that is too long", HEAD "{\"key\":\"0123456789012345678901234567890123456789\"}]}", 1, "shorter" },
	/* clang-format on */
};

static void check_bad(void)
{
	static struct gpu g[GPU_ADDED];

	for (size_t i = 0; i < T_LEN(bad); i++) {
		struct devices_why why = { 0 };
		int n = devices_parse(g, bad[i].text, strlen(bad[i].text), &why);

		T_OK(n == -EINVAL && why.line == bad[i].line && strstr(why.text, bad[i].say),
		     "%s: line %zu: %s", bad[i].what, why.line, why.text);
	}
}

static void check_many(void)
{
	static struct gpu g[GPU_ADDED];
	static char text[1 << 16];
	struct devices_why why = { 0 };
	size_t n = (size_t)snprintf(text, sizeof(text), HEAD);

	for (unsigned i = 0; i <= GPU_ADDED; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s" GOOD, i ? ",\n" : "");
	snprintf(text + n, sizeof(text) - n, "]}");
	T_OK(devices_parse(g, text, strlen(text), &why) == -EINVAL && strstr(why.text, "more than"),
	     "too many devices are refused");
}

/* What is written of a device is read as the same device. */
static void check_round_trip(void)
{
	char *text = NULL;
	size_t len = 0, same = 0, all = 0;
	const struct gpu *g;

	for (; (g = gpu_at(all)); all++) {
		FILE *f = open_memstream(&text, &len);
		struct devices_why why = { 0 };
		struct gpu back;
		struct json j;

		json_init(&j, f);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", DEVICES_SCHEMA);
		json_open(&j, "devices", '[');
		json_open(&j, NULL, '{');
		gpu_json(&j, g);
		json_end(&j);
		fclose(f);
		memset(&back, 0, sizeof(back));
		if (devices_parse(&back, text, len, &why) == 1)
			same += !strcmp(back.key, g->key) && !strcmp(back.name, g->name) &&
				back.sms == g->sms && back.memory_Bps == g->memory_Bps &&
				back.memory_bytes == g->memory_bytes && back.cc == g->cc &&
				back.launch_ns == g->launch_ns && back.link_Bps == g->link_Bps &&
				!memcmp(back.tensor_flops, g->tensor_flops,
					sizeof(g->tensor_flops)) &&
				!memcmp(back.vector_flops, g->vector_flops,
					sizeof(g->vector_flops));
		free(text);
	}
	T_OK(all > 20 && same == all,
	     "each device of the table is read as it was written (%zu of %zu)", same, all);
}

static void check_like(void)
{
	static const char text[] = HEAD
		"{\"link_Bps\":1e11,\"key\":\"X\",\"name\":\"An \\u0058\",\"like\":\"h100\"}]}";
	const struct gpu *h100 = gpu_find("H100_SXM");
	struct devices_why why;
	struct gpu g;

	T_OK(devices_parse(&g, text, strlen(text), &why) == 1 && g.link_Bps == 1e11 &&
		     g.sms == h100->sms && g.memory_Bps == h100->memory_Bps &&
		     !strcmp(g.name, "An X"),
	     "a device is like another where nothing is said");
}

static void check_added(void)
{
	struct gpu g = *gpu_find("H100_SXM"), more = { .memory_Bps = 1 };
	const struct gpu *table = gpu_find("H100_SXM");
	size_t n = 0, i;

	while (gpu_at(n))
		n++;
	snprintf(g.key, sizeof(g.key), "measured");
	g.memory_Bps = 3e12;
	T_OK(!gpu_add(&g) && gpu_find("MEASURED")->memory_Bps == 3e12 && gpu_at(n) &&
		     !gpu_at(n + 1),
	     "a device that was added is found");
	T_OK(gpu_find("NVIDIA H100 80GB HBM3") == gpu_at(n) && gpu_find("H100_SXM") == table,
	     "by its name it goes before the table's, which its key still finds");
	g.memory_Bps = 2e12;
	T_OK(!gpu_add(&g) && gpu_find("measured")->memory_Bps == 2e12 && !gpu_at(n + 1),
	     "one with the same key takes its place");
	for (i = 1; i < GPU_ADDED; i++) {
		snprintf(more.key, sizeof(more.key), "K%zu", i);
		if (gpu_add(&more) < 0)
			break;
	}
	snprintf(more.key, sizeof(more.key), "one more");
	T_OK(i == GPU_ADDED && gpu_add(&more) == -ENOSPC && !gpu_source(gpu_at(n)),
	     "there is room for %u", GPU_ADDED);
}

int main(void)
{
	check_bad();
	check_many();
	check_round_trip();
	check_like();
	check_added();
	return t_done();
}
