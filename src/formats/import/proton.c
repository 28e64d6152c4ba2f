/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proton.c - the sums of Triton's Proton (a tree for Hatchet), read as they come:
 *
 *	[{"children": [...], "frame": {"name": "ROOT", "type": "function"}, "metrics": {...}},
 *	 {"CUDA": {"0": {"arch": "90", "num_sms": 132, ...}}}]
 *
 * A node with "time (ns)" and a device is a kernel; all others are scopes, which hold kernels. The
 * program may add metrics of its own to either: "flops", "flops16", "bytes" are understood. The root
 * is the file itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/json_in.h"
#include "import/priv.h"
#include "model/trace_sum.h"

#define DEPTH_MAX 1000u
#define SUMS_MAX  (4u << 20)
#define PROGRESS  16384u

struct proton {
	const struct importing *im;
	struct json_in in;
	uint64_t cycles; /* nodes whose time is in cycles */
	char text[TRACE_NAME_BYTES];
};

struct node {
	struct trace_sum sum;
	bool timed, placed, named;
};

static int read_name(struct proton *p, struct json_tok frame, struct node *n)
{
	struct json_tok name;

	if (!json_in_member(frame, "name", &name))
		return 0;
	n->named = true;
	return trace_name(p->im->t, p->text,
			  json_tok_unescape(p->text, sizeof(p->text), json_tok_text(name)),
			  &n->sum.name);
}

/* "flops", and "flops8" to "flops64" of operations of so many bits. */
static bool is_flops(struct json_tok key)
{
	return key.len >= 5 && !memcmp(key.s, "flops", 5) &&
	       strspn(key.s + 5, "0123456789") >= key.len - 5;
}

static void read_metric(struct proton *p, struct json_tok key, struct json_tok v, struct node *n)
{
	int64_t i;
	double d;

	key = json_tok_text(key);
	if (json_tok_is(key, "time (ns)") && json_tok_i64(v, &i) && i >= 0) {
		n->sum.ns = (uint64_t)i;
		n->timed = true;
	} else if (json_tok_is(key, "count") && json_tok_i64(v, &i) && i >= 0) {
		n->sum.count = (uint64_t)i;
	} else if (json_tok_is(key, "device_id") && json_tok_i64(v, &i) && i >= 0) {
		n->sum.device = i < TRACK_HOST ? (uint32_t)i : 0;
		n->placed = true;
	} else if (json_tok_is(key, "cycles")) {
		p->cycles++;
	} else if (json_tok_is(key, "bytes") && json_tok_real(v, &d) && d > 0) {
		n->sum.bytes += d;
	} else if (is_flops(key) && json_tok_real(v, &d) && d > 0) {
		n->sum.flops += d;
	}
}

static void read_metrics(struct proton *p, struct json_tok obj, struct node *n)
{
	const char *at = obj.s + 1;
	struct json_tok key, v;

	while (*obj.s == '{' && json_pair(&at, obj.s + obj.len, &key, &v))
		read_metric(p, key, v, n);
	n->sum.kernel = n->timed && n->placed;
}

static int read_nodes(struct proton *p, uint32_t parent, unsigned depth);

static int read_part(struct proton *p, const char *key, uint32_t id, struct node *n, unsigned depth)
{
	struct json_tok v;
	int r;

	if (!strcmp(key, "children") && json_in_next(&p->in) == '[')
		return read_nodes(p, id + 1, depth + 1);
	if (strcmp(key, "frame") && strcmp(key, "metrics"))
		return json_in_skip(&p->in);
	r = json_in_value(&p->in, &v);
	if (r <= 0)
		return r;
	if (!strcmp(key, "frame"))
		return read_name(p, v, n);
	read_metrics(p, v, n);
	return 0;
}

static int progress(const struct proton *p)
{
	const struct import_opts *o = p->im->o;

	if (trace_sums(p->im->t).n % PROGRESS || !o || !o->progress)
		return 0;
	return o->progress(o->arg, p->im->path, source_at(p->in.src), source_size(p->in.src));
}

/* What is not whole is lost, and so is what it holds: a scope without a name would lie. */
static int read_node(struct proton *p, uint32_t parent, unsigned depth)
{
	struct trace *t = p->im->t;
	struct node n = { .sum = { .file = p->im->file, .parent = parent } };
	char key[64];
	uint32_t id;
	int r;

	if (depth > DEPTH_MAX || trace_sums(t).n >= SUMS_MAX)
		return -EMSGSIZE;
	r = trace_sum_add(t, &n.sum, &id);
	r = r < 0 ? r : progress(p);
	r = r < 0 ? r : json_in_enter(&p->in, '{');
	while (r > 0 && (r = json_in_key(&p->in, key, sizeof(key))) > 0) {
		r = read_part(p, key, id, &n, depth);
		r = r < 0 ? r : 1;
	}
	trace_sums(t).sum[id] = n.sum;
	if (r >= 0 && !n.named && trace_sums(t).n == id + 1u) /* the list of devices */
		trace_sum_cut(t, id);
	return r;
}

static int read_nodes(struct proton *p, uint32_t parent, unsigned depth)
{
	int r = json_in_enter(&p->in, '[');

	while (r > 0 && (r = json_in_item(&p->in)) > 0) {
		r = json_in_next(&p->in) == '{' ? read_node(p, parent, depth)
						: json_in_skip(&p->in);
		r = r < 0 ? r : 1;
	}
	return r;
}

static void count(const struct proton *p, size_t first)
{
	struct trace_sums s = trace_sums(p->im->t);
	struct trace_file *f = importing_file(p->im);

	for (size_t i = first; i < s.n; i++) {
		f->rows++;
		f->imported += s.sum[i].kernel;
		f->left += !s.sum[i].kernel;
	}
}

static int verdict(struct proton *p, size_t first, int err)
{
	struct trace_file *f = importing_file(p->im);
	unsigned long long at = json_in_at(&p->in);

	if (err == -ENODATA || err == -EBADMSG || err == -EMSGSIZE) {
		import_broke(p->im, at, "%s at byte %llu",
			     err == -ENODATA   ? "the text ends"
			     : err == -EBADMSG ? "not a tree of Proton"
					       : "a tree too deep or too large",
			     at);
		err = 0;
	}
	if (p->in.err == -EBADMSG) {
		f->broke_at = UINT64_MAX;
		import_broke(p->im, source_at(p->in.src), "%s", source_why(p->in.src));
	}
	count(p, first);
	if (err)
		return import_say(p->im->why, err, "%s: %s", p->im->path, strerror(-err));
	if (f->imported)
		return 0;
	trace_sum_cut(p->im->t, first);
	if (p->cycles)
		return import_say(p->im->why, -EMEDIUMTYPE,
				  "%s: sums of cycles, of Proton's instrumentation; aon reads sums "
				  "of time: proton.start(NAME) without backend=\"instrumentation\"",
				  p->im->path);
	return import_say(p->im->why, -EMEDIUMTYPE, "%s: sums of Proton without a kernel%s%s",
			  p->im->path, f->broke_at != UINT64_MAX ? ": " : "", f->why);
}

int proton_import(const struct importing *im, struct source *src)
{
	struct proton *p;
	size_t first = trace_sums(im->t).n;
	int err;

	if (!im->o || !im->o->sums)
		return import_say(
			im->why, -EMEDIUMTYPE,
			"%s: sums of Triton's Proton, which have no times: only aon report "
			"and aon why read them. Record with proton.start(NAME, "
			"data=\"trace\") and give aon NAME.chrome_trace",
			im->path);
	p = calloc(1, sizeof(*p));
	if (!p)
		return import_say(im->why, -ENOMEM, "%s: out of memory", im->path);
	p->im = im;
	err = json_in_init(&p->in, src, im->o->window);
	err = err ? err : read_nodes(p, 0, 0);
	err = verdict(p, first, err);
	importing_file(im)->tick_ns = 1;
	json_in_fini(&p->in);
	free(p);
	return err;
}
