/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - whatever goes in, valid JSON comes out. */
#include "base/json.h"

#include <string.h>

#include "t.h"

static char *text, long_text[5001];
static size_t len;

static struct json *begin(void)
{
	static struct json j;

	json_init(&j, open_memstream(&text, &len));
	return &j;
}

static const char *end(struct json *j)
{
	json_end(j);
	fclose(j->f);
	return text;
}

/* clang-format off */
static const struct { const char *name, *in, *want; } strings[] = {
	{ "plain",            "gemm",               "\"gemm\"" },
	{ "quotes",           "a\"b\\c",            "\"a\\\"b\\\\c\"" },
	{ "control bytes",    "\x1b[0m\n\x7f",      "\"\\u001b[0m\\u000a\\u007f\"" },
	{ "UTF-8",            "\xc3\xa9",           "\"\xc3\xa9\"" },
	{ "C1 controls",      "\xc2\x9b" "2J\xc2\xa0", "\"\\u009b2J\xc2\xa0\"" },
	{ "bad UTF-8",        "a\xff\xc3",          "\"a\\ufffd\\ufffd\"" },
	{ "an overlong NUL",  "\xc0\x80",           "\"\\ufffd\\ufffd\"" },
	{ "markup is text",   "</script>",          "\"</script>\"" },
};
/* clang-format on */

static void test_members(void)
{
	struct json *j = begin();

	json_open(j, NULL, '[');
	json_object(j, NULL, J_STR("s", "x"), J_STR("none", NULL), J_U64("u", UINT64_MAX),
		    J_I64("i", -1), J_REAL("r", 0.5), J_DOUBLE("d", 0.1), J_BOOL("b", 4 & 4),
		    J_U64_IF("n", false, 1), J_I64_IF("m", true, 2));
	T_OK(!strcmp(end(j), "[{\"s\":\"x\",\"none\":null,\"u\":18446744073709551615,\"i\":-1,"
			     "\"r\":0.5,\"d\":0.1,\"b\":true,\"n\":null,\"m\":2}]\n"),
	     "an object of several members: %s", text);
	free(text);
	j = begin();
	json_begin(j, j->f, "aon.test/1");
	T_OK(!strcmp(end(j), "{\"schema\":\"aon.test/1\"}\n"), "an answer names its schema: %s",
	     text);
	free(text);
}

int main(void)
{
	struct json *j;

	for (size_t i = 0; i < T_LEN(strings); i++) {
		j = begin();
		json_str(j, NULL, strings[i].in);
		end(j);
		text[strcspn(text, "\n")] = '\0';
		T_OK(!strcmp(text, strings[i].want), "%s: %s", strings[i].name, text);
		free(text);
	}
	j = begin();
	json_open(j, NULL, '{');
	json_u64(j, "a", UINT64_MAX);
	json_open(j, "b", '[');
	json_i64(j, NULL, -1);
	json_real(j, NULL, 0.5);
	json_real(j, NULL, 1.0 / 0.0);
	json_open(j, NULL, '{');
	json_close(j);
	json_close(j);
	json_bool(j, "c", true);
	json_str(j, "d", NULL);
	json_raw(j, "e", "[1,2]x", 5);
	end(j);
	T_OK(!strcmp(text, "{\"a\":18446744073709551615,\"b\":[-1,0.5,null,{}],\"c\":true,"
			   "\"d\":null,\"e\":[1,2]}\n"),
	     "commas, nesting, numbers, what is not finite, what is JSON already: %s", text);
	free(text);
	j = begin();
	json_open(j, NULL, '[');
	for (int i = 0; i < 2; i++) {
		json_line(j);
		json_token(j, NULL, "1.50");
		json_i64(j, NULL, INT64_MIN);
	}
	json_str(j, NULL, "");
	end(j);
	T_OK(!strcmp(text, "[\n1.50,-9223372036854775808,\n1.50,-9223372036854775808,\"\"]\n"),
	     "lines, numbers as they are: %s", text);
	free(text);
	j = begin();
	json_open(j, NULL, '{');
	for (size_t i = 0; i < T_LEN(long_text); i++)
		long_text[i] = i % 63 ? 'x' : '"';
	long_text[T_LEN(long_text) - 1] = '\0';
	json_str(j, long_text, long_text);
	end(j);
	T_OK(len == 2 * (strlen(long_text) + 80 + 2) + 4 && !strncmp(text, "{\"\\\"xxx", 7) &&
		     !strcmp(text + len - 6, "xxx\"}\n"),
	     "keys and texts longer than the writer's room: %zu", len);
	free(text);
	test_members();
	return t_done();
}
