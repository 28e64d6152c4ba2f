/* SPDX-License-Identifier: Apache-2.0 */
/* entry_text.c - entries as sentences, by the templates of entry.tbl.h, and as JSON. */
#include "model/entry.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/json.h"
#include "base/num.h"

/* What the numbers of NVIDIA's driver mean. */
static const char *means(uint64_t xid)
{
	static const struct {
		uint32_t code;
		const char *means;
	} known[] = {
#define FAULT(code, KIND, means) { code, means },
#include "model/xid.tbl.h"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == xid)
			return known[i].means;
	return NULL;
}

/* --- values --- */

struct text {
	char *out;
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->out + t->n, ENTRY_TEXT - t->n, fmt, ap);
	va_end(ap);
	t->n = n < 0 ? t->n : t->n + (size_t)n < ENTRY_TEXT ? t->n + (size_t)n : ENTRY_TEXT - 1;
}

static void add_who(struct text *t, const struct journal_entry *e)
{
	if (entry_has(e, FIELD_RANK))
		add(t, "rank %llu, ", (unsigned long long)entry_number(e, FIELD_RANK));
	if (*entry_word(e, FIELD_JOB))
		add(t, "job %s, ", entry_word(e, FIELD_JOB));
	add(t, "pid %llu", (unsigned long long)entry_number(e, FIELD_PID));
}

/* "41, 42" */
static void add_numbers(struct text *t, const struct journal_entry *e, enum entry_field f)
{
	size_t at = 0;
	uint64_t v;

	for (bool first = true; entry_next(e, f, &at, &v); first = false)
		add(t, "%s%llu", first ? "" : ", ", (unsigned long long)v);
}

/* "ranks 0-2,4", "rank 3" */
static void add_ranges(struct text *t, const struct journal_entry *e, enum entry_field f)
{
	const char *name = entry_fields[f].name;
	size_t at = 0, n = 0;
	uint64_t v, from = 0, to = 0;
	bool more;

	while (entry_next(e, f, &at, &v))
		n++;
	add(t, "%.*s ", (int)(strlen(name) - (n == 1)), name);
	at = 0;
	for (bool first = true; n && (more = entry_next(e, f, &at, &v), true);) {
		if (first || (more && v == to + 1)) {
			from = first ? v : from;
			to = v;
			first = false;
			continue;
		}
		add(t, "%llu", (unsigned long long)from);
		if (to > from)
			add(t, "%c%llu", to - from > 1 ? '-' : ',', (unsigned long long)to);
		if (!more)
			return;
		add(t, ",");
		from = to = v;
	}
}

static void add_texts(struct text *t, const struct journal_entry *e, enum entry_field f)
{
	const char *s, *between = "";
	size_t at = 0;

	for (; (s = entry_next_text(e, f, &at)); between = " <- ")
		add(t, "%s%s", between, s);
}

static void add_uint(struct text *t, enum entry_unit unit, uint64_t v, char how)
{
	char buf[FMT_LEN];

	if (how == 'm')
		add(t, "%.0f", (double)v / 1e6);
	else if (how == 'b')
		add(t, "%s", fmt_bytes(buf, v));
	else if (unit == ENTRY_U_NS)
		add(t, "%s", fmt_time(buf, v));
	else
		add(t, "%llu", (unsigned long long)v);
}

static void add_value(struct text *t, const struct journal_entry *e, enum entry_field f, char how)
{
	switch (entry_fields[f].type) {
	case ENTRY_T_UINT:
	case ENTRY_T_FLAG:
		add_uint(t, entry_fields[f].unit, e->v[f].u, how);
		break;
	case ENTRY_T_INT:
		add(t, "%+.3f", (double)e->v[f].i / 1e9);
		break;
	case ENTRY_T_REAL:
		add(t, how == '2' ? "%.2f %%" : "%.0f %%", 100 * e->v[f].f);
		break;
	case ENTRY_T_TEXT:
		add(t, "%s", e->v[f].s);
		break;
	case ENTRY_T_UINTS:
		if (how == 's')
			add_ranges(t, e, f);
		else
			add_numbers(t, e, f);
		break;
	case ENTRY_T_TEXTS:
		add_texts(t, e, f);
		break;
	}
}

/* --- templates --- */

/* The field of that name; FIELDS: none, as {who} and {means} are. */
static enum entry_field field_of(const char *name, size_t len)
{
	int f = 0;

	while (f < FIELDS && (strlen(entry_fields[f].name) != len ||
			      memcmp(entry_fields[f].name, name, len) != 0))
		f++;
	return (enum entry_field)f;
}

static bool is_set(const struct journal_entry *e, const char *name, size_t len)
{
	enum entry_field f = field_of(name, len);

	if (len == 3 && !memcmp(name, "who", len))
		return entry_has(e, FIELD_PID);
	if (f == FIELDS)
		return means(entry_number(e, FIELD_XID)) != NULL;
	/* An empty list says that there are none. */
	return entry_has(e, f) && (entry_fields[f].type < ENTRY_T_UINTS || e->v[f].list.len);
}

/* {name} or {name:x}; returns what is behind it. */
static const char *add_named(struct text *t, const struct journal_entry *e, const char *at)
{
	const char *end = strchr(at, '}');
	size_t len = strcspn(at + 1, ":}");
	enum entry_field f = field_of(at + 1, len);

	if (!is_set(e, at + 1, len))
		add(t, "?");
	else if (f != FIELDS)
		add_value(t, e, f, at[1 + len] == ':' ? at[2 + len] : 0);
	else if (at[1] == 'w')
		add_who(t, e);
	else
		add(t, "%s", means(entry_number(e, FIELD_XID)));
	return end + 1;
}

/* [?name text], [?name=N text]: whether it is shown; *text is where its text begins. */
static bool condition(const struct journal_entry *e, const char *at, const char **text)
{
	size_t len = strcspn(at, "= ");
	enum entry_field f = field_of(at, len);
	const char *end = at + strcspn(at, " ");
	bool is = is_set(e, at, len);

	*text = end + 1;
	if (is && at[len] == '=')
		return e->v[f].u == num_front(at + len + 1, NULL);
	return is && (f == FIELDS || entry_fields[f].type > ENTRY_T_FLAG || e->v[f].u);
}

static bool are_set(const struct journal_entry *e, const char *at, const char *end)
{
	for (; at < end; at++)
		if (*at == '{' && !is_set(e, at + 1, strcspn(at + 1, ":}")))
			return false;
	return true;
}

static void add_template(struct text *t, const struct journal_entry *e, const char *at)
{
	while (*at) {
		const char *end = *at == '[' ? strchr(at, ']') : NULL;

		if (*at == '{') {
			at = add_named(t, e, at);
			continue;
		}
		if (end) {
			bool shown =
				at[1] == '?' ? condition(e, at + 2, &at) : are_set(e, ++at, end);

			at = shown ? at : end;
			continue;
		}
		if (*at != ']')
			add(t, "%c", *at);
		at++;
	}
}

char *entry_text(const struct journal_entry *e, char out[ENTRY_TEXT])
{
	struct text t = { out, 0 };
	const char *text = e->text;

	*out = '\0';
	if (text && entry_is_alarm(e))
		text += strlen(entry_kinds[e->kind].word) + strlen(": ");
	if (text)
		add(&t, "%s", text);
	else
		add_template(&t, e, entry_kinds[e->kind].sentence);
	return out;
}

char *entry_line(const struct journal_entry *e, char out[ENTRY_TEXT])
{
	struct text t = { out, 0 };

	*out = '\0';
	if (e->text) {
		add(&t, "%s", e->text);
		return out;
	}
	if (entry_is_alarm(e))
		add(&t, "%s: ", entry_kinds[e->kind].word);
	add_template(&t, e, entry_kinds[e->kind].sentence);
	return out;
}

/* --- JSON --- */

static void field_json(struct json *j, const struct journal_entry *e, enum entry_field f)
{
	const char *name = entry_fields[f].name, *s;
	size_t at = 0;
	uint64_t v;

	switch (entry_fields[f].type) {
	case ENTRY_T_UINT:
		json_u64(j, name, e->v[f].u);
		break;
	case ENTRY_T_INT:
		json_i64(j, name, e->v[f].i);
		break;
	case ENTRY_T_REAL:
		json_real(j, name, e->v[f].f);
		break;
	case ENTRY_T_FLAG:
		json_bool(j, name, e->v[f].u);
		break;
	case ENTRY_T_TEXT:
		json_str(j, name, e->v[f].s);
		break;
	case ENTRY_T_UINTS:
		json_open(j, name, '[');
		while (entry_next(e, f, &at, &v))
			json_u64(j, NULL, v);
		json_close(j);
		break;
	case ENTRY_T_TEXTS:
		json_open(j, name, '[');
		while ((s = entry_next_text(e, f, &at)))
			json_str(j, NULL, s);
		json_close(j);
		break;
	}
}

void entry_json(struct json *j, const struct journal_entry *e)
{
	for (int f = 0; f < FIELDS; f++)
		if (f != FIELD_WHAT && entry_has(e, (enum entry_field)f))
			field_json(j, e, (enum entry_field)f);
}

char *entry_object(const struct journal_entry *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct json j;

	if (!f)
		return NULL;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	entry_json(&j, e);
	json_close(&j);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}
