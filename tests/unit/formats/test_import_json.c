/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged and odd JSON: 1,000 rows with one injury, and how many are kept. Each case is read
 * through windows of several sizes, which must not matter.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "import/import.h"
#include "model/trace.h"
#include "t.h"

#define ROWS 1000u

struct text {
	char *s;
	size_t len, cap;
};

static void put(struct text *t, const char *s, size_t len)
{
	if (t->len + len + 1 > t->cap) {
		t->cap = (t->len + len) * 2 + 4096;
		t->s = realloc(t->s, t->cap);
	}
	memcpy(t->s + t->len, s, len);
	t->len += len;
}

static void add(struct text *t, const char *s)
{
	put(t, s, strlen(s));
}

static void addf(struct text *t, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	add(t, buf);
}

#define OP(middle) "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2," middle "}"
#define HEAD       "{\"schemaVersion\":1,\"traceEvents\":["
#define TAIL       "],\"displayTimeUnit\":\"ms\"}"
#define NESTED     "NESTED"

enum { CUT = 1, TWICE = 2, NULS = 4, WHOLE = 8 };

static const struct injury {
	const char *name;
	const char *head, *tail, *comma;
	const char *row; /* in place of row 500; NULL: as the others */
	unsigned flags;
	int kept;    /* below 0: refused with it */
	int lost;    /* -1: any number */
	bool damage; /* must be said */
} injuries[] = {
	{ "a good file", HEAD, TAIL, ",", NULL, 0, 1000, 0, false },
	{ "a bare array", "[", "]", ",", NULL, 0, 1000, 0, false },
	{ "cut in the middle of a row", HEAD, TAIL, ",", NULL, CUT, 500, 1, true },
	{ "an array that is not closed", "[", "", ",", NULL, 0, 1000, 0, true },
	{ "an array that ends in a comma", "[", ",\n", ",", NULL, 0, 1000, 0, true },
	{ "bytes that are not UTF-8", HEAD, TAIL, ",",
	  OP("\"name\":\"\xff\xfe\xc3\x28\",\"ts\":1,\"dur\":1"), 0, 1000, 0, false },
	{ "NaN and infinities", HEAD, TAIL, ",",
	  OP("\"name\":\"x\",\"ts\":1,\"dur\":1,\"args\":{\"a\":NaN,\"b\":Infinity,\"c\":-"
	     "Infinity}"),
	  0, 1000, 0, false },
	{ "a comma too many in an object", HEAD, TAIL, ",",
	  OP("\"name\":\"x\",\"ts\":1,\"dur\":1,"), 0, 1000, 0, false },
	{ "a comma too many in the array", HEAD, "," TAIL, ",", NULL, 0, 1000, 0, false },
	{ "comments", "/* a { b */ " HEAD "// one \"\n", "/**/" TAIL, ", /* , */ ", NULL, 0, 1000,
	  0, false },
	{ "a key twice", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":9,\"ts\":1,\"dur\":1"), 0, 1000,
	  0, false },
	{ "a number of thirty digits", HEAD, TAIL, ",",
	  OP("\"name\":\"x\",\"ts\":1,\"dur\":1,\"args\":{\"correlation\":"
	     "123456789012345678901234567890}"),
	  0, 1000, 0, false },
	{ "a number with a huge exponent", HEAD, TAIL, ",",
	  OP("\"name\":\"x\",\"ts\":1,\"dur\":1,\"args\":{\"External id\":1e999999}"), 0, 1000, 0,
	  false },
	{ "a time in quotes", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":\"1.5\",\"dur\":\"1\""), 0,
	  1000, 0, false },
	{ "a control character in a string", HEAD, TAIL, ",",
	  OP("\"name\":\"a\001\nb\",\"ts\":1,\"dur\":1"), 0, 1000, 0, false },
	{ "a byte order mark", "\xef\xbb\xbf" HEAD, TAIL, ",", NULL, 0, 1000, 0, false },
	{ "100,000 brackets in a row", HEAD, TAIL, ",", NESTED, 0, 1000, 0, false },
	{ "escapes that are none", HEAD, TAIL, ",",
	  OP("\"name\":\"C:\\windows\\path\\u12\",\"ts\":1,\"dur\":1"), 0, 1000, 0, false },
	{ "half of a surrogate pair", HEAD, TAIL, ",",
	  OP("\"name\":\"\\ud800x\",\"ts\":1,\"dur\":1"), 0, 1000, 0, false },
	{ "no commas between rows", HEAD, TAIL, " ", NULL, 0, 1000, 0, false },
	{ "garbage in place of a row", HEAD, TAIL, ",", "@#$%^ garbage !!", 0, 999, 1, true },
	{ "two documents in one file", HEAD, TAIL, ",", NULL, TWICE, 2000, 0, false },
	{ "zero bytes at the end", HEAD, TAIL, ",", NULL, NULS, 1000, 0, false },
	{ "an empty file", "", "", "", NULL, WHOLE, -ENODATA, 0, false },
	{ "a text that is no JSON", "hello, world\n", "", "", NULL, WHOLE, -EMEDIUMTYPE, 0, false },
	{ "a key without quotes", HEAD, TAIL, ",",
	  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"name\":\"x\",ts:1,dur:1}", 0,
	  1000, 0, false },
	{ "a length below zero", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":1,\"dur\":-5"), 0, 1000,
	  0, false },
	{ "a quote in a name", HEAD, TAIL, ",", OP("\"name\":\"a\"b\"c\",\"ts\":1,\"dur\":1"), 0,
	  999, 1, true },
	/* Beyond the table of the prototypes. */
	{ "a time that is no number", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":NaN,\"dur\":1"), 0,
	  999, 1, true },
	{ "a time below zero", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":-1,\"dur\":1"), 0, 999, 1,
	  true },
	{ "a row without a time", HEAD, TAIL, ",", OP("\"name\":\"x\",\"dur\":1"), 0, 999, 1,
	  true },
	{ "a length that is no number", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":1,\"dur\":null"),
	  0, 1000, 0, false },
	{ "a huge length", HEAD, TAIL, ",", OP("\"name\":\"x\",\"ts\":1,\"dur\":9e15"), 0, 1000, 0,
	  false },
	{ "a brace that is not closed", HEAD, TAIL, ",",
	  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"args\":{\"a\":1,\"name\":\"x\"}", 0, 999, -1, true },
	{ "a string that is not closed", HEAD, TAIL, ",",
	  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x}", 0, 999, 1, true },
	{ "cut in what stands beside the rows", HEAD,
	  "],\"deviceProperties\":[{\"id\":0,\"name\":\"a name of some length that goes on and on "
	  "and on",
	  ",", NULL, 0, 1000, 0, true },
	{ "a key without a value at the end", HEAD, "],\"distributedInfo\": ", ",", NULL, 0, 1000,
	  0, true },
	{ "text behind the document", HEAD, TAIL "garbage", ",", NULL, 0, 1000, 0, true },
	{ "JSON that is no trace", "{\"a\":[1,2,{\"b\":null}]}", "", "", NULL, WHOLE, -EMEDIUMTYPE,
	  0, false },
	{ "an execution trace",
	  "{\"schema\":\"1.0.1\",\"pid\":1,\"nodes\":[{\"id\":1,\"name\":\"x\"}]}", "", "", NULL,
	  WHOLE, -EMEDIUMTYPE, 0, false },
	{ "a list of other things", "[{\"file\":\"x\",\"mode\":\"FULL\"}]", "", "", NULL, WHOLE,
	  -EMEDIUMTYPE, 0, false },
	{ "a lone brace", "{", "", "", NULL, WHOLE, -EMEDIUMTYPE, 0, false },
};

static void nested(struct text *t)
{
	add(t, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"args\":{"
	       "\"a\":");
	for (unsigned i = 0; i < 100000; i++)
		add(t, "[");
	for (unsigned i = 0; i < 100000; i++)
		add(t, "]");
	add(t, "}}");
}

static void build(struct text *t, const struct injury *c)
{
	size_t cut = 0;

	add(t, c->head);
	for (unsigned i = 0; i < ROWS && !(c->flags & WHOLE); i++) {
		if (i)
			add(t, c->comma);
		if (i == 500)
			cut = t->len + 40;
		if (i == 500 && c->row && !strcmp(c->row, NESTED))
			nested(t);
		else if (i == 500 && c->row)
			add(t, c->row);
		else
			addf(t,
			     OP("\"name\":\"op %u\",\"ts\":%u.5,\"dur\":1.25,\"args\":{\"External "
				"id\":%u}"),
			     i % 7, i, i);
	}
	add(t, c->tail);
	if (c->flags & CUT)
		t->len = cut;
	if (c->flags & TWICE) {
		size_t len = t->len;
		char *again = malloc(len);

		memcpy(again, t->s, len);
		put(t, again, len);
		free(again);
	}
	if (c->flags & NULS)
		put(t, (char[100]){ 0 }, 100);
}

static void injured(const struct injury *c)
{
	static const size_t windows[] = { 0, 64, 113, 4096 };
	struct text text = { 0 };
	bool ok = true;

	build(&text, c);
	for (size_t i = 0; i < T_LEN(windows); i++) {
		struct import_opts o = { .window = windows[i] };
		struct import_why why = { "" };
		const struct trace_file *f;
		struct trace *t;
		int err;

		trace_new(&t);
		err = import_bytes(t, "x.json", text.s, text.len, &o, &why);
		f = t->file;
		if (c->kept < 0) {
			ok = ok && err == c->kept && *why.text && !t->files;
		} else if (err || t->events != (size_t)c->kept ||
			   (c->lost >= 0 && f->lost != (uint64_t)c->lost) ||
			   f->rows != f->imported + f->left + f->lost ||
			   import_damaged(t) != c->damage || c->damage != !!*f->why) {
			printf("# window %zu: err %d %s, %zu events, %u lost, why \"%s\"\n",
			       windows[i], err, why.text, t->events, err ? 0 : (unsigned)f->lost,
			       err ? "" : f->why);
			ok = false;
		}
		trace_free(t);
	}
	T_OK(ok, "%s: %s, whatever the window", c->name,
	     c->kept < 0 ? "refused" : "what is whole is kept");
	free(text.s);
}

/* --- gzip --- */

static void deflate_to(struct text *out, const char *s, size_t len)
{
	z_stream z = { 0 };
	char buf[4096];

	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (unsigned char *)(uintptr_t)s;
	z.avail_in = (uInt)len;
	do {
		z.next_out = (unsigned char *)buf;
		z.avail_out = sizeof(buf);
		deflate(&z, Z_FINISH);
		put(out, buf, sizeof(buf) - z.avail_out);
	} while (z.avail_out == 0);
	deflateEnd(&z);
}

static size_t rows_of(const struct text *gz, uint64_t *at, char why[160])
{
	struct import_why w = { "" };
	struct trace *t;
	size_t n = 0;

	trace_new(&t);
	*at = 0;
	snprintf(why, 160, "refused");
	if (!import_bytes(t, "x.json.gz", gz->s, gz->len, NULL, &w)) {
		n = t->events;
		*at = t->file[0].broke_at;
		snprintf(why, 160, "%s", t->file[0].why);
	}
	trace_free(t);
	return n;
}

static void zipped(void)
{
	struct text text = { 0 }, gz = { 0 }, two = { 0 };
	char why[160];
	char keep[40];
	uint64_t at;
	size_t n, half;

	build(&text, &injuries[0]);
	deflate_to(&gz, text.s, text.len);
	n = rows_of(&gz, &at, why);
	T_OK(n == 1000 && at == UINT64_MAX, "gzip is read by its content");
	deflate_to(&two, text.s, text.len / 3);
	deflate_to(&two, text.s + text.len / 3, text.len - text.len / 3);
	put(&two, (char[512]){ 0 }, 512);
	n = rows_of(&two, &at, why);
	T_OK(n == 1000 && at == UINT64_MAX, "several members are one text, zeros behind them none");
	two.len -= 512;
	add(&two, "more");
	n = rows_of(&two, &at, why);
	T_OK(n == 1000 && at == two.len - 4, "what is no member is damage at its byte");
	gz.s[gz.len - 7] ^= 1;
	n = rows_of(&gz, &at, why);
	T_OK(n == 1000 && at <= gz.len && strstr(why, "incorrect data check"),
	     "a sum that does not match is damage (%s)", why);
	gz.s[gz.len - 7] ^= 1;
	half = gz.len / 2;
	memcpy(keep, gz.s + half, sizeof(keep));
	memset(gz.s + half, 0xff, sizeof(keep));
	n = rows_of(&gz, &at, why);
	T_OK(n < 1000 && at >= half && at <= gz.len && strstr(why, "gzip"),
	     "bytes that do not inflate are damage (%zu; %s)", n, why);
	memcpy(gz.s + half, keep, sizeof(keep));
	gz.len = half;
	n = rows_of(&gz, &at, why);
	T_OK(n > 100 && n < 900 && at == gz.len, "a cut file gives what came before (%zu; %s)", n,
	     why);
	gz.len = 12;
	n = rows_of(&gz, &at, why);
	T_OK(!n, "a head alone is refused (%s)", why);
	free(text.s);
	free(gz.s);
	free(two.s);
}

/* --- shapes of operators --- */

#define ARGS(op, dims, types, concrete)                                                 \
	HEAD OP("\"name\":\"" op "\",\"ts\":1,\"dur\":1,\"args\":{\"Input Dims\":" dims \
		",\"Input type\":" types ",\"Concrete Inputs\":" concrete "}") TAIL
#define BF16 "\"c10::BFloat16\""

static const struct {
	const char *json, *want, *name;
} shapes[] = {
	/* clang-format off */
	{ ARGS("aten::addmm", "[[768], [788, 768], [768, 768], [], []]",
	       "[" BF16 "," BF16 "," BF16 ",\"Scalar\",\"Scalar\"]", "[\"\"]"),
	  "[768]t15 [788,768]t15 [768,768]t15", "sizes and types are kept, scalars are not" },
	{ ARGS("aten::mul", "[[4,8],[]]", "[\"float\",\"double\"]", "[\"\",\"\"]"),
	  "[4,8]t6 []t7", "a tensor without sizes is one" },
	{ ARGS("aten::cat", "[[[1,2],[1,2]],[]]", "[\"TensorList\",\"Scalar\"]", "[]"),
	  "", "a list of tensors says no type" },
	{ ARGS("aten::convolution", "[[4,3,224,224],[768,3,16,16],[768],[],[],[],[],[],[]]",
	       "[" BF16 "," BF16 "," BF16 ",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"]",
	       "[\"\",\"\",\"\",\"[16, 16]\",\"[0, 0]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]"),
	  "[4,3,224,224]t15 [768,3,16,16]t15 [768]t15 > [4,768,14,14]t15", "the result of a convolution is found" },
	{ ARGS("aten::convolution", "[[2,3,4,4],[3,5,2,2],[],[],[],[],[],[],[]]",
	       "[\"float\",\"float\",\"\",\"ScalarList\",\"ScalarList\",\"ScalarList\",\"Scalar\",\"ScalarList\",\"Scalar\"]",
	       "[\"\",\"\",\"\",\"[2]\",\"[0]\",\"[1]\",\"True\",\"[0]\",\"1\"]"),
	  "[2,3,4,4]t6 [3,5,2,2]t6 > [2,5,8,8]t6", "also of a transposed one" },
	{ ARGS("aten::_scaled_dot_product_flash_attention", "[[1,2,3,4],[1,2,3,4],[1,2,3,4],[],[],[],[]]",
	       "[" BF16 "," BF16 "," BF16 ",\"Scalar\",\"Scalar\",\"Scalar\",\"Scalar\"]",
	       "[\"\",\"\",\"\",\"0.\",\"True\",\"False\",\"0.125\"]"),
	  "[1,2,3,4]t15 [1,2,3,4]t15 [1,2,3,4]t15 causal", "an attention says that it is causal" },
	{ ARGS("aten::mm", "7", "{}", "null"), "", "what is no list says nothing" },
	{ ARGS("aten::mm", "[[1,-2],[3]]", "[\"float\",\"float\"]", "[]"), "", "a size below 0 is none" },
	{ ARGS("aten::mm", "[[1,2,3,4,5,6,7]]", "[\"float\"]", "[]"), "", "too many sizes are none" },
	{ ARGS("aten::convolution", "[[2,3,4],[3,5,0]]", "[\"float\",\"float\"]",
	       "[\"\",\"\",\"\",\"[0]\",\"[9]\",\"[1]\",\"False\",\"[0]\",\"1\"]"),
	  "[2,3,4]t6 [3,5,0]t6", "a convolution that cannot be has no result" },
	/* clang-format on */
};

static void shaped(void)
{
	for (size_t i = 0; i < T_LEN(shapes); i++) {
		struct import_why w = { "" };
		struct trace *t;
		int err;

		trace_new(&t);
		err = import_bytes(t, "x.json", shapes[i].json, strlen(shapes[i].json), NULL, &w);
		T_OK(!err && t->events == 1 &&
			     !strcmp(trace_text(t, trace_op_shapes(&t->event[0])), shapes[i].want),
		     "%s", shapes[i].name);
		trace_free(t);
	}
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(injuries); i++)
		injured(&injuries[i]);
	zipped();
	shaped();
	return t_done();
}
