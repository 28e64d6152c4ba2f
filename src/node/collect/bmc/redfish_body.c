/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_body.c - parses resources, metric reports and events. */
#include "collect/bmc/redfish_body.h"

#include <errno.h>
#include <stdio.h>

#include "base/num.h"

/* What an object says of itself; its values are understood by it. */
struct about {
	char id[REDFISH_PATH], said[64], kind[32], units[32];
	bool absent, sourced; /* sourced: it repeats what a sensor says */
	size_t pairs;
};

struct walk {
	const struct redfish_fns *fns;
	char path[REDFISH_PATH], pointer[REDFISH_PATH];
	unsigned depth;
};

static void text_of(char *out, size_t cap, struct json_tok value)
{
	struct json_tok text = json_tok_text(value);
	size_t n = json_tok_unescape(out, cap - 1, text);

	out[n] = '\0';
}

static bool is_object(struct json_tok t)
{
	return t.len && *t.s == '{';
}

static bool is_array(struct json_tok t)
{
	return t.len && *t.s == '[';
}

/* A state in which a reading is none, though it may say 0, and health is nobody's. */
static bool not_there(struct json_tok state)
{
	static const char *const off[] = { "Absent", "Disabled", "UnavailableOffline",
					   "StandbyOffline" };

	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		if (json_tok_is(json_tok_text(state), off[i]))
			return true;
	return false;
}

static bool find(struct json_tok object, const char *name, struct json_tok *out)
{
	const char *p = object.s + 1, *end = object.s + object.len;
	struct json_tok key;

	if (!is_object(object))
		return false;
	while (json_pair(&p, end, &key, out))
		if (json_tok_is(key, name))
			return true;
	return false;
}

static void look(struct about *a, struct json_tok object)
{
	const char *p = object.s + 1, *end = object.s + object.len;
	struct json_tok key, value;

	*a = (struct about){ 0 };
	while (json_pair(&p, end, &key, &value)) {
		a->pairs++;
		if (json_tok_is(key, "@odata.id"))
			text_of(a->id, value.len < REDFISH_PATH ? sizeof(a->id) : 1, value);
		else if (json_tok_is(key, "Name") || (json_tok_is(key, "MemberId") && !*a->said))
			text_of(a->said, sizeof(a->said), value);
		else if (json_tok_is(key, "ReadingType"))
			text_of(a->kind, sizeof(a->kind), value);
		else if (json_tok_is(key, "ReadingUnits"))
			text_of(a->units, sizeof(a->units), value);
		else if (json_tok_is(key, "DataSourceUri"))
			a->sourced = true;
		else if (json_tok_is(key, "State") ||
			 (json_tok_is(key, "Status") && find(value, "State", &value)))
			a->absent = not_there(value);
	}
}

/* Where an object is: by its own name, if it has one, else by the way to it. */
static void enter(struct walk *w, const struct about *a)
{
	const char *hash = strchr(a->id, '#');

	if (!*a->id)
		return;
	snprintf(w->path, sizeof(w->path), "%.*s", (int)(hash ? hash - a->id : (long)strlen(a->id)),
		 a->id);
	snprintf(w->pointer, sizeof(w->pointer), "%s", hash ? hash + 1 : "");
	for (size_t n = strlen(w->path); n > 1 && w->path[n - 1] == '/';)
		w->path[--n] = '\0';
}

static void leaf(struct walk *w, const struct about *a, const char *key, struct json_tok value)
{
	struct redfish_leaf l = { .path = w->path,
				  .pointer = w->pointer,
				  .key = key,
				  .said = a->said,
				  .kind = a->kind,
				  .units = a->units,
				  .absent = a->absent,
				  .value = value };
	char *slash = strrchr(w->pointer, '/'), parent[64] = "";

	/* {"PowerWatts": {"Reading": 5}}: the object's name is what it is. */
	if (!strcmp(key, "Reading") && slash && slash != w->pointer && !*a->kind && !*a->units) {
		const char *from = slash;

		while (from > w->pointer && from[-1] != '/')
			from--;
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - from), from);
		if (parent[0] < '0' || parent[0] > '9')
			l.key = parent;
	}
	w->fns->leaf(w->fns->arg, &l);
}

static void walk_value(struct walk *w, const struct about *a, const char *key,
		       struct json_tok value);

static void walk_object(struct walk *w, const char *from, struct json_tok object)
{
	char path[REDFISH_PATH], pointer[REDFISH_PATH], name[80];
	const char *p = object.s + 1, *end = object.s + object.len;
	struct json_tok key, value;
	struct about a;

	look(&a, object);
	if (*a.id && w->fns->link && w->depth > 1)
		w->fns->link(w->fns->arg, from, a.id, a.pairs > 1 && !strchr(a.id, '#'));
	if ((*a.id && a.pairs == 1) || a.sourced)
		return;
	memcpy(path, w->path, sizeof(path));
	memcpy(pointer, w->pointer, sizeof(pointer));
	enter(w, &a);
	while (json_pair(&p, end, &key, &value)) {
		size_t was = strlen(w->pointer);

		if (!key.len || key.len >= sizeof(name) || *key.s == '@' ||
		    memchr(key.s, '@', key.len) || was + key.len + 2 > sizeof(w->pointer))
			continue;
		memcpy(name, key.s, key.len);
		name[key.len] = '\0';
		snprintf(w->pointer + was, sizeof(w->pointer) - was, "/%s", name);
		walk_value(w, &a, name, value);
		w->pointer[was] = '\0';
	}
	memcpy(w->path, path, sizeof(path));
	memcpy(w->pointer, pointer, sizeof(pointer));
}

static void walk_array(struct walk *w, const struct about *a, const char *key,
		       struct json_tok array)
{
	const char *p = array.s + 1, *end = array.s + array.len;
	size_t was = strlen(w->pointer);
	struct json_tok value;

	for (unsigned i = 0; json_item(&p, end, &value); i++) {
		snprintf(w->pointer + was, sizeof(w->pointer) - was, "/%u", i);
		walk_value(w, a, key, value);
		w->pointer[was] = '\0';
	}
}

static void walk_value(struct walk *w, const struct about *a, const char *key,
		       struct json_tok value)
{
	if (w->depth >= REDFISH_DEPTH)
		return;
	w->depth++;
	if (is_object(value))
		walk_object(w, key, value);
	else if (is_array(value))
		walk_array(w, a, key, value);
	else if (w->fns->leaf && value.len)
		leaf(w, a, key, value);
	w->depth--;
}

/* The outermost object, or an empty token. */
static struct json_tok whole(const char *body, size_t len)
{
	const char *end = body + len, *p = json_space(body, end), *q;

	if (p >= end || *p != '{')
		return (struct json_tok){ 0 };
	q = json_skip(p, end);
	if (!q || q > end)
		return (struct json_tok){ 0 };
	return (struct json_tok){ p, (size_t)(q - p) };
}

int redfish_walk(const char *body, size_t len, const struct redfish_fns *fns)
{
	struct json_tok object = whole(body, len);
	struct walk w = { .fns = fns };

	if (!object.len)
		return -EBADMSG;
	walk_value(&w, NULL, "", object);
	return 0;
}

bool redfish_text(const char *body, size_t len, const char *key, char *out, size_t cap)
{
	struct json_tok value;

	if (!find(whole(body, len), key, &value) || value.len >= cap || is_object(value) ||
	    is_array(value))
		return false;
	text_of(out, cap, value);
	return true;
}

/* --- metric reports --- */

static bool says_stale(struct json_tok oem)
{
	static const char word[] = "MetricValueStale\"";
	const char *p = memmem(oem.s, oem.len, word, sizeof(word) - 1), *end = oem.s + oem.len;

	if (!p)
		return false;
	for (p += sizeof(word) - 1; p < end && (*p == ' ' || *p == ':' || *p == '\n'); p++)
		;
	return end - p > 4 && !memcmp(p, "true", 4);
}

/* The object whose brace is at *p, which then is behind it; false: it does not end. */
static bool metric(const char **p, const char *end, struct redfish_metric *m)
{
	struct json_tok key, value;

	*m = (struct redfish_metric){ 0 };
	++*p;
	while (json_pair(p, end, &key, &value)) {
		if (json_tok_is(key, "MetricProperty"))
			m->property = json_tok_text(value);
		else if (json_tok_is(key, "MetricValue"))
			m->value = json_tok_text(value);
		else if (json_tok_is(key, "Timestamp"))
			redfish_time(json_tok_text(value), &m->t_ns);
		else if (json_tok_is(key, "Oem"))
			m->stale = says_stale(value);
	}
	*p = json_space(*p, end);
	return *p < end && *(*p)++ == '}';
}

/* To the next object of a list: 1. 0: the list has ended, and *p is behind it. -EBADMSG: the text has. */
static int next_object(const char **p, const char *end)
{
	struct json_tok other;

	for (;;) {
		*p = json_space(*p, end);
		if (*p >= end)
			return -EBADMSG;
		if (**p == '{')
			return 1;
		if (**p == ']')
			return ++*p, 0;
		if (**p == ',')
			++*p;
		else if (!json_item(p, end, &other))
			return -EBADMSG;
	}
}

/* The list whose bracket is at *p, which then is behind it. How many, or -EBADMSG: it does not end. */
static int metrics(const char **p, const char *end, redfish_metric_fn *fn, void *arg)
{
	struct redfish_metric m;
	int n = 0, more;

	++*p;
	while ((more = next_object(p, end)) > 0) {
		if (!metric(p, end, &m))
			return -EBADMSG;
		if (m.property.len && m.value.len) {
			fn(arg, &m);
			n++;
		}
	}
	return more ? more : n;
}

static int report(const char **p, const char *end, unsigned depth, redfish_metric_fn *fn,
		  void *arg);

/* Reports in a collection that came with its members. */
static int members(const char **p, const char *end, unsigned depth, redfish_metric_fn *fn,
		   void *arg)
{
	int sum = 0, more;

	++*p;
	while ((more = next_object(p, end)) > 0) {
		int n = report(p, end, depth + 1, fn, arg);

		if (n == -EBADMSG)
			return n;
		sum += n < 0 ? 0 : n;
	}
	return more ? more : sum;
}

/*
 * An object whose brace is at *p: its list of values, or of members that are reports. Every byte is read
 * once, so the first values are reported before the end is seen. -ENOENT: it has no such list.
 */
static int report(const char **p, const char *end, unsigned depth, redfish_metric_fn *fn, void *arg)
{
	struct json_tok key, value;
	int n = -ENOENT, got;

	for (++*p;;) {
		const char *q = json_space(*p, end);

		while (q < end && *q == ',')
			q = json_space(q + 1, end);
		if (q >= end)
			return -EBADMSG;
		if (*q == '}') {
			*p = q + 1;
			return n;
		}
		*p = json_key(q, end, &key);
		if (!*p || *p >= end)
			return -EBADMSG;
		if (**p == '[' && json_tok_is(key, "MetricValues"))
			n = got = metrics(p, end, fn, arg);
		else if (**p == '[' && !depth && json_tok_is(key, "Members"))
			n = got = members(p, end, depth, fn, arg);
		else
			got = json_item(p, end, &value) ? 0 : -EBADMSG;
		if (got < 0)
			return -EBADMSG;
	}
}

int redfish_report(const char *body, size_t len, redfish_metric_fn *fn, void *arg)
{
	const char *end = body + len, *p = json_space(body, end);
	int n = p < end && *p == '{' ? report(&p, end, 0, fn, arg) : -EBADMSG;

	return n < 0 ? -EBADMSG : n;
}

/* --- numbers and times --- */

static bool digits(const char *s, size_t n, int64_t *out)
{
	int64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (s[i] - '0');
	}
	*out = v;
	return true;
}

/* Days since 1970 of a date of the Gregorian calendar. */
static int64_t days(int64_t y, int64_t m, int64_t d)
{
	int64_t era, yoe;

	y -= m <= 2;
	era = y / 400;
	yoe = y - era * 400;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 +
	       (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 719469;
}

bool redfish_time(struct json_tok t, int64_t *ns)
{
	int64_t y, mo, d, h, mi, s, frac = 0, scale = 1000000000, oh = 0, om = 0;
	const char *p, *end = t.s + t.len;

	if (t.len < 19 || t.s[4] != '-' || t.s[7] != '-' || t.s[10] != 'T' || t.s[13] != ':' ||
	    t.s[16] != ':' || !digits(t.s, 4, &y) || !digits(t.s + 5, 2, &mo) ||
	    !digits(t.s + 8, 2, &d) || !digits(t.s + 11, 2, &h) || !digits(t.s + 14, 2, &mi) ||
	    !digits(t.s + 17, 2, &s) || y < 1970 || y > 2200 || mo < 1 || mo > 12 || d < 1 ||
	    d > 31 || h > 23 || mi > 59 || s > 60)
		return false;
	p = t.s + 19;
	if (p < end && *p == '.')
		for (p++; p < end && *p >= '0' && *p <= '9'; p++)
			if (scale > 1) {
				frac = frac * 10 + (*p - '0');
				scale /= 10;
			}
	if (end - p == 6 && (*p == '+' || *p == '-') && p[3] == ':' && digits(p + 1, 2, &oh) &&
	    digits(p + 4, 2, &om)) {
		int64_t off = (oh * 60 + om) * 60;

		s -= *p == '+' ? off : -off;
	}
	*ns = ((days(y, mo, d) * 24 + h) * 60 + mi) * 60000000000 + s * 1000000000 + frac * scale;
	return true;
}

bool redfish_duration(struct json_tok t, double *seconds)
{
	const char *p = t.s, *end = t.s + t.len;
	bool time = false;
	double sum = 0;

	if (t.len < 3 || t.len > 60 || *p++ != 'P')
		return false;
	while (p < end) {
		char text[64];
		double v, unit;
		size_t n = 0;

		if (*p == 'T' && !time) {
			time = true;
			p++;
			continue;
		}
		while (p + n < end && ((p[n] >= '0' && p[n] <= '9') || p[n] == '.'))
			n++;
		if (!n || p + n >= end)
			return false;
		memcpy(text, p, n);
		text[n] = '\0';
		v = num_front_real(text, NULL);
		switch (p[n]) {
		case 'D':
			unit = time ? -1 : 86400;
			break;
		case 'H':
			unit = time ? 3600 : -1;
			break;
		case 'M':
			unit = time ? 60 : -1;
			break;
		case 'S':
			unit = time ? 1 : -1;
			break;
		default:
			unit = -1;
		}
		if (unit < 0)
			return false;
		sum += v * unit;
		p += n + 1;
	}
	*seconds = sum;
	return true;
}

bool redfish_number(struct json_tok value, double *out)
{
	struct json_tok text = json_tok_text(value);

	if (text.len && *text.s == 'P')
		return redfish_duration(text, out);
	return text.len &&
	       ((*text.s >= '0' && *text.s <= '9') || *text.s == '-' || *text.s == '.') &&
	       json_tok_real(text, out);
}

/* --- events --- */

static void one_event(struct json_tok item, redfish_event_fn *fn, void *arg)
{
	struct redfish_event e = { 0 };
	struct json_tok value;

	if (find(item, "Severity", &value) || find(item, "MessageSeverity", &value))
		text_of(e.severity, sizeof(e.severity), value);
	if (find(item, "Message", &value))
		text_of(e.message, sizeof(e.message), value);
	if (find(item, "MessageId", &value) && !*e.message)
		text_of(e.message, sizeof(e.message), value);
	if (find(item, "@odata.id", &value) || find(item, "EventId", &value))
		text_of(e.id, sizeof(e.id), value);
	if (find(item, "Created", &value) || find(item, "EventTimestamp", &value))
		text_of(e.created, sizeof(e.created), value);
	if (find(item, "OriginOfCondition", &value) && is_object(value) &&
	    find(value, "@odata.id", &value))
		text_of(e.origin, sizeof(e.origin), value);
	if (*e.message)
		fn(arg, &e);
}

int redfish_events(const char *body, size_t len, redfish_event_fn *fn, void *arg)
{
	struct json_tok object = whole(body, len), list, item;
	const char *p, *end;
	int n = 0;

	if ((!find(object, "Events", &list) && !find(object, "Members", &list)) || !is_array(list))
		return -EBADMSG;
	p = list.s + 1;
	end = list.s + list.len;
	for (; json_item(&p, end, &item); n++)
		one_event(item, fn, arg);
	return n;
}
