/* SPDX-License-Identifier: Apache-2.0 */
/* json_in.c - the window over the text; see json_in.h. */
#include "import/json_in.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

int json_in_init(struct json_in *in, struct source *src, size_t window)
{
	*in = (struct json_in){ .src = src, .cap = window ? window : JSON_WINDOW };
	in->buf = malloc(in->cap + JSON_PAD);
	if (!in->buf)
		return -ENOMEM;
	in->p = in->end = in->buf;
	memset(in->end, '"', JSON_PAD);
	return 0;
}

void json_in_fini(struct json_in *in)
{
	free(in->buf);
	in->buf = NULL;
}

static int grow(struct json_in *in)
{
	size_t used = (size_t)(in->end - in->buf);

	if (in->cap >= JSON_LARGEST)
		return -EMSGSIZE;
	if (vec_resize(&in->buf, in->cap * 2 + JSON_PAD, 1) < 0)
		return -ENOMEM;
	in->p = in->buf;
	in->end = in->buf + used;
	in->cap *= 2;
	return 0;
}

int json_in_more(struct json_in *in)
{
	size_t left = in->p < in->end ? (size_t)(in->end - in->p) : 0;
	ssize_t n;
	int err;

	if (in->eof)
		return 0;
	in->at += (uint64_t)(in->end - in->buf) - left;
	if (in->p != in->buf)
		memmove(in->buf, in->end - left, left);
	in->p = in->buf;
	in->end = in->buf + left;
	if (left == in->cap) {
		err = grow(in);
		if (err < 0)
			return err;
	}
	n = source_read(in->src, in->end, in->cap - left);
	if (n <= 0) {
		in->eof = true;
		in->err = (int)n;
		n = 0;
	}
	in->end += n;
	memset(in->end, '"', JSON_PAD);
	return n > 0;
}

/* Consumes what is left of a string. 1: it ended. */
static int skip_string(struct json_in *in)
{
	const char *q = json_quote(in->p);

	if (q >= in->end) {
		in->p = in->end;
	} else if (*q == '"') {
		in->p += q + 1 - in->p;
		return 1;
	} else if (q + 1 < in->end) {
		in->p += q + 2 - in->p;
	} else {
		in->p += q - in->p;
		return json_in_more(in) > 0 ? 0 : -ENODATA;
	}
	return 0;
}

int json_in_skip(struct json_in *in)
{
	size_t depth = 0;
	bool string = false, scalar = false;

	for (;;) {
		const char *q;

		if (in->p >= in->end && json_in_more(in) <= 0)
			return scalar && !depth ? 0 : -ENODATA;
		if (string) {
			int r = skip_string(in);

			if (r < 0)
				return r;
			string = !r;
			if (r && !depth)
				return 0;
			continue;
		}
		q = depth ? json_bracket(in->p) : in->p;
		in->p += q - in->p;
		if (in->p >= in->end)
			continue;
		switch (*in->p) {
		case '"':
			if (scalar)
				return 0;
			string = true;
			break;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (!depth)
				return scalar ? 0 : -EBADMSG;
			if (!--depth) {
				in->p++;
				return 0;
			}
			break;
		default:
			if (scalar && (*in->p == ',' || (unsigned char)*in->p <= ' '))
				return 0;
			scalar = true;
		}
		in->p++;
	}
}

int json_in_next(struct json_in *in)
{
	for (;;) {
		const char *q;

		if (in->p >= in->end) {
			if (json_in_more(in) <= 0)
				return -1;
		} else if (*in->p == ',' || *in->p == ' ' || *in->p == '\n' || *in->p == '\r' ||
			   *in->p == '\t') {
			in->p++;
		} else if (*in->p != '/') {
			return (unsigned char)*in->p;
		} else {
			q = json_comment(in->p, in->end);
			if (q == in->p)
				return '/';
			if (q < in->end)
				in->p += q - in->p;
			else if (json_in_more(in) <= 0)
				return -1;
		}
	}
}

int json_in_enter(struct json_in *in, char bracket)
{
	int c = json_in_next(in);

	if (c != bracket)
		return c < 0 ? -ENODATA : -EBADMSG;
	in->p++;
	return 1;
}

int json_in_item(struct json_in *in)
{
	int c = json_in_next(in);

	if (c < 0)
		return -ENODATA;
	if (c != ']' && c != '}')
		return 1;
	in->p++;
	return 0;
}

int json_in_key(struct json_in *in, char *key, size_t cap)
{
	struct json_tok k;
	const char *v;
	int r = json_in_item(in);

	if (r <= 0)
		return r;
	while ((v = json_key(in->p, in->end, &k)) && v >= in->end) {
		r = json_in_more(in);
		if (r <= 0)
			return r < 0 && r != -EMSGSIZE ? r : -ENODATA;
	}
	if (!v)
		return -EBADMSG;
	k.len = k.len < cap ? k.len : cap - 1;
	memcpy(key, k.s, k.len);
	key[k.len] = '\0';
	in->p += v - in->p;
	return 1;
}

int json_in_value(struct json_in *in, struct json_tok *value)
{
	const char *q;
	int c = json_in_next(in), r;

	if (c < 0)
		return -ENODATA;
	while ((q = json_skip(in->p, in->end)) && q > in->end) {
		r = json_in_more(in);
		if (r <= 0)
			return r < 0 ? r : -ENODATA;
	}
	if (!q)
		return -EBADMSG;
	*value = (struct json_tok){ in->p, (size_t)(q - in->p) };
	in->p += q - in->p;
	return 1;
}

bool json_in_member(struct json_tok obj, const char *name, struct json_tok *value)
{
	const char *p = obj.s + 1;
	struct json_tok key;

	while (obj.len && *obj.s == '{' && json_pair(&p, obj.s + obj.len, &key, value))
		if (json_tok_is(key, name))
			return true;
	return false;
}
