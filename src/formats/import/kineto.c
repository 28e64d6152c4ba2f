/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - the document of a Chrome / Kineto trace: {"traceEvents": [...], ...} or a bare array.
 *
 * Rows are read as they come: members of the document may follow them. A row that is not JSON is
 * lost, and reading continues at the next place that looks like the start of one ("}, {"). If the
 * text ends too early, or the inflater fails, the import ends; all rows before are complete.
 */
#include "import/kineto.h"

#include <errno.h>
#include <stdlib.h>

#define BAD_IN_A_ROW 1000u
#define BAD_BYTES    (1ull << 30) /* looked at in vain: a file made to waste time ends here */
#define PROGRESS     (8u << 20)

struct doc {
	struct kineto_in *k;
	uint64_t bad_bytes, next_progress;
	uint32_t bad; /* in a row */
	bool rows_seen, schema, nodes;
};

static void broke(struct doc *d, const char *what)
{
	const struct json_in *in = &d->k->in;

	import_broke(d->k->im, json_in_at(in), "%s at byte %llu%s", what,
		     (unsigned long long)json_in_at(in),
		     source_gzip(in->src) ? " of the inflated text" : "");
}

/* Moves to where a row may start: behind "}" if one is to be left, else at any "{". */
static bool resync(struct json_in *in, bool leave)
{
	const char *p = in->p + leave;

	for (;;) {
		const char *q = memchr(p, leave ? '}' : '{', (size_t)(in->end - p));
		const char *start = q;

		if (!q) {
			in->p = in->end - (in->end > in->p);
			if (json_in_more(in) <= 0) {
				in->p = in->end;
				return false;
			}
			p = in->p;
			continue;
		}
		if (leave) {
			start = json_space(q + 1, in->end);
			if (start < in->end && *start == ',')
				start = json_space(start + 1, in->end);
		}
		if (start < in->end && *start == '{') {
			const char *key = json_space(start + 1, in->end);

			if (key >= in->end || *key == '"') {
				in->p += start - in->p;
				return true;
			}
		}
		if (start >= in->end && !in->eof) {
			in->p += q - in->p;
			if (json_in_more(in) < 0)
				return false;
			p = in->p;
			continue;
		}
		p = q + 1;
	}
}

/* The row at in->p is none. 0: go on; 1: no more. */
static int bad_row(struct doc *d, bool row)
{
	struct json_in *in = &d->k->in;
	struct trace_file *f = importing_file(d->k->im);

	broke(d, "not JSON");
	f->rows++;
	f->lost++;
	if (++d->bad >= BAD_IN_A_ROW || d->bad_bytes > BAD_BYTES)
		return 1;
	return resync(in, row) ? 0 : 1;
}

static int good_row(struct doc *d, const char *behind)
{
	struct kineto_in *k = d->k;
	struct trace_file *f = importing_file(k->im);
	int r = kineto_row(k);

	f->rows++;
	if (r == -EBADMSG) {
		broke(d, "a row without a usable time or place");
		f->lost++;
	} else if (r < 0) {
		return r;
	} else {
		f->imported += r > 0;
		f->left += r == 0;
	}
	d->bad = 0;
	d->rows_seen = d->rows_seen || r > 0 || kineto_has(&k->row, F_PH);
	k->in.p += behind - k->in.p;
	if (k->im->o && k->im->o->progress && json_in_at(&k->in) >= d->next_progress) {
		d->next_progress = json_in_at(&k->in) + PROGRESS;
		return k->im->o->progress(k->im->o->arg, k->im->path, source_at(k->in.src),
					  source_size(k->in.src));
	}
	return 0;
}

/* The row ends behind the window. 0: again; 1: the text ended. */
static int longer_row(struct doc *d)
{
	struct json_in *in = &d->k->in;
	struct trace_file *f = importing_file(d->k->im);
	int r = json_in_more(in);

	if (r > 0)
		return 0;
	if (r < 0 && r != -EMSGSIZE)
		return r;
	d->bad_bytes += (uint64_t)(in->end - in->p);
	broke(d, r < 0 ? "a row without end" : "ends inside a row");
	f->rows++;
	f->lost++;
	if (d->bad_bytes > BAD_BYTES || ++d->bad >= BAD_IN_A_ROW)
		return 1;
	/* A bracket too many would hide all that follows. */
	return resync(in, true) ? 0 : 1;
}

/* Behind the bracket of the rows, to behind the one that closes it. 1: the text ended first. */
static int read_rows(struct doc *d)
{
	struct json_in *in = &d->k->in;
	int r = 0;

	while (!r) {
		int c = json_in_next(in);
		const char *q;

		if (c < 0) {
			broke(d, "ends before the rows do");
			return 1;
		}
		if (c == ']') {
			in->p++;
			return 0;
		}
		if (c == '}' && d->bad) { /* of a row that was given up */
			in->p++;
			continue;
		}
		if (c != '{') {
			r = bad_row(d, false);
			continue;
		}
		q = kineto_read_row(d->k, in->p);
		if (!q)
			r = bad_row(d, true);
		else if (q > in->end)
			r = longer_row(d);
		else
			r = good_row(d, q);
	}
	return r;
}

/* --- what stands beside the rows --- */

static void read_device(struct kineto_in *k, struct json_tok item)
{
	struct json_tok key, value;
	const char *p = item.s + 1;
	struct trace_device dev = { 0 };
	int64_t v;

	if (*item.s != '{' || k->devices == DEVICE_MAX)
		return;
	while (json_pair(&p, item.s + item.len, &key, &value)) {
		bool number = json_tok_i64(value, &v) && v >= 0;

		if (json_tok_is(key, "name"))
			(void)kineto_name(k, value, &dev.name);
		else if (number && json_tok_is(key, "id"))
			dev.device = (uint32_t)v;
		else if (number && json_tok_is(key, "numSms"))
			dev.sms = (uint32_t)v;
		else if (number && json_tok_is(key, "totalGlobalMem"))
			dev.memory_bytes = (uint64_t)v;
	}
	k->device[k->devices++] = dev;
}

static void read_beside(struct doc *d, struct json_tok key, struct json_tok value)
{
	struct trace_file *f = importing_file(d->k->im);
	struct json_tok name, item;
	const char *p = value.s + 1;
	int64_t v;

	if (json_tok_is(key, "baseTimeNanoseconds")) {
		if (json_tok_i64(value, &v))
			f->wall_offset_ns = v;
	} else if (json_tok_is(key, "distributedInfo") && *value.s == '{') {
		while (json_pair(&p, value.s + value.len, &name, &item)) {
			if (!json_tok_i64(item, &v) || v < 0 || v > INT32_MAX)
				continue;
			if (json_tok_is(name, "rank"))
				f->rank = (int32_t)v;
			else if (json_tok_is(name, "world_size"))
				f->world = (int32_t)v;
		}
	} else if (json_tok_is(key, "deviceProperties") && *value.s == '[') {
		while (json_item(&p, value.s + value.len, &item))
			read_device(d->k, item);
	}
}

/* A pair that is larger than any window. */
static int skip_pair(struct json_in *in)
{
	int r = json_in_skip(in);

	if (!r && json_in_next(in) == ':') {
		in->p++;
		r = json_in_next(in) < 0 ? -ENODATA : json_in_skip(in);
	}
	return r == -ENODATA ? 1 : r;
}

/* At a key. 0: the pair is consumed; 1: the text ended. */
static int read_pair(struct doc *d)
{
	static const char *const beside[] = { "baseTimeNanoseconds", "distributedInfo",
					      "deviceProperties" };
	struct json_in *in = &d->k->in;
	struct json_tok key;
	const char *v;
	int r;

	while ((v = json_key(in->p, in->end, &key)) && v > in->end)
		if (json_in_more(in) <= 0)
			return 1;
	if (!v)
		return -EBADMSG;
	if (v == in->end) {
		r = json_in_more(in);
		return r > 0 ? read_pair(d) : 1;
	}
	if (json_tok_is(key, "traceEvents") && *v == '[') {
		d->rows_seen = true;
		in->p += v + 1 - in->p;
		return read_rows(d);
	}
	d->schema = d->schema || json_tok_is(key, "schema");
	d->nodes = d->nodes || (json_tok_is(key, "nodes") && *v == '[');
	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
		const char *q;

		if (!json_tok_is(key, beside[i]))
			continue;
		q = json_skip(v, in->end);
		if (q && q > in->end) {
			/* All that pointed into the window is stale now. */
			r = json_in_more(in);
			return r > 0 ? read_pair(d) : r < 0 ? skip_pair(in) : 1;
		}
		if (!q)
			break;
		read_beside(d, key, (struct json_tok){ v, (size_t)(q - v) });
		in->p += q - in->p;
		return 0;
	}
	in->p += v - in->p;
	r = json_in_skip(in);
	return r == -ENODATA ? 1 : r;
}

static int read_object(struct doc *d)
{
	struct json_in *in = &d->k->in;
	int r = 0;

	while (!r) {
		int c = json_in_next(in);

		if (c < 0)
			r = 1;
		else if (c == '}') {
			in->p++;
			return 0;
		} else
			r = read_pair(d);
	}
	if (r == 1)
		broke(d, "ends before it is complete");
	return r;
}

static int read_document(struct doc *d)
{
	struct json_in *in = &d->k->in;
	int c = json_in_next(in), r;

	if (c == 0xef && in->end - in->p >= 3 && !memcmp(in->p, "\xef\xbb\xbf", 3)) {
		in->p += 3;
		c = json_in_next(in);
	}
	/* Documents one after the other are one trace; zero bytes at the end are of a crash. */
	for (unsigned n = 0; c >= 0; n++) {
		while (n && c == 0) {
			in->p++;
			c = json_in_next(in);
		}
		if (c < 0)
			break;
		if (c != '{' && c != '[') {
			if (n)
				broke(d, "something that is no trace follows");
			return n ? 0 : -EMEDIUMTYPE;
		}
		if (c == '{') {
			in->p++;
			r = read_object(d);
		} else {
			in->p++;
			r = read_rows(d);
		}
		if (r)
			return r < 0 && r != -EBADMSG ? r : 0;
		c = json_in_next(in);
	}
	return 0;
}

/* What an inflater gave before it gave up may be anything: that counts, not what it led to. */
static void distrust(const struct kineto_in *k)
{
	if (k->in.err != -EBADMSG)
		return;
	importing_file(k->im)->broke_at = UINT64_MAX;
	import_broke(k->im, source_at(k->in.src), "%s", source_why(k->in.src));
}

static int verdict(const struct doc *d, int err)
{
	const struct importing *im = d->k->im;
	const struct trace_file *f = importing_file(im);

	if (err < 0 && err != -EMEDIUMTYPE)
		return import_say(im->why, err, "%s: %s", im->path, strerror(-err));
	if (!err && d->rows_seen)
		return 0;
	if (d->schema && d->nodes)
		return import_say(im->why, -EMEDIUMTYPE,
				  "%s: not a trace: a PyTorch execution trace, which has no times; "
				  "give aon what torch.profiler wrote of the same run "
				  "(*.pt.trace.json), recorded with record_shapes=True for shapes",
				  im->path);
	if (f->broke_at != UINT64_MAX)
		return import_say(im->why, -EMEDIUMTYPE, "%s: not a trace: %s", im->path, f->why);
	return import_say(im->why, -EMEDIUMTYPE,
			  "%s: not a trace: JSON without rows (expected traceEvents)", im->path);
}

int kineto_import(const struct importing *im, struct source *src)
{
	struct kineto_in *k = calloc(1, sizeof(*k));
	struct doc d = { .k = k };
	int err;

	if (!k)
		return import_say(im->why, -ENOMEM, "%s: out of memory", im->path);
	k->im = im;
	k->t = im->t;
	k->first_track = im->t->tracks;
	k->first_device = im->t->devices;
	k->first_comm = im->t->comms;
	err = json_in_init(&k->in, src, im->o ? im->o->window : 0);
	err = err ? err : read_document(&d);
	if (!err) {
		importing_file(im)->tick_ns = k->fraction ? 1 : 1000;
		err = kineto_finish(k);
	}
	err = err ? err : kineto_place_finish(k);
	distrust(k);
	err = verdict(&d, err);
	json_in_fini(&k->in);
	free(k->meta);
	free(k->open);
	free(k->top);
	free(k);
	return err;
}
