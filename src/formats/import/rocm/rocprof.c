/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocprof.c - the JSON of rocprofv3, read as it comes:
 *
 *	{"rocprofiler-sdk-tool": [{
 *	  "metadata": {"pid": ..., "command": [...]},
 *	  "agents": [{"id": {"handle": H}, "type": 1 CPU | 2 GPU, "product_name": ...}],
 *	  "strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": [...]}],
 *	              "marker_api": [{"key": correlation id, "value": message}]},
 *	  "kernel_symbols": [{"kernel_id": ..., "formatted_kernel_name": ...}],
 *	  "callback_records": {"counter_collection": [{"dispatch_data": {...}}]},
 *	  "buffer_records": {"kernel_dispatch": [...], "hip_api": [...], "memory_copy": [...], ...}
 *	}, ...]}, one for each process
 *
 * Rows name their kind and operation by their place in "strings", which its writer puts first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "import/json_in.h"
#include "import/rocm/rocm.h"

#define KINDS_MAX     256u
#define BAD_IN_A_ROW  1000u
#define ROWS_PROGRESS 16384u
#define GPU_AGENT     2

struct kind {
	char name[48];
	uint32_t *op; /* owned: names */
	size_t ops;
};

struct rocprof {
	struct rocm r;
	struct json_in in;
	struct kind kind[KINDS_MAX];
	size_t kinds;
	struct map kernel;  /* id: name + 1 */
	struct map message; /* correlation id: name + 1 */
	struct map counted; /* dispatches that were seen with counters */
	uint64_t records;
	bool process; /* its row was made */
	uint32_t bad; /* in a row */
	char text[TRACE_NAME_BYTES];
};

/* What a row says besides struct rocm_row. */
struct fields {
	struct rocm_row row;
	int64_t kind, op, kernel, dispatch;
	bool begins, ends;
};

static int name_of(struct rocprof *k, struct json_tok t, uint32_t *id)
{
	size_t len;

	t = json_tok_text(t);
	len = json_tok_unescape(k->text, sizeof(k->text), t);
	return trace_name(k->r.t, k->text, len, id);
}

/* {"handle": 3} of a newer version, 3 of an older one. */
static int64_t number(struct json_tok v, const char *inside)
{
	struct json_tok in = v;
	int64_t n;

	if (*v.s == '{' && !json_in_member(v, inside, &in))
		return 0;
	return json_tok_i64(in, &n) && n > 0 ? n : 0;
}

static void sizes(struct json_tok v, uint32_t out[3])
{
	static const char *const axes[] = { "x", "y", "z" };

	for (int i = 0; i < 3; i++) {
		struct json_tok t = v;
		int64_t n = json_in_member(v, axes[i], &t) ? number(t, "") : 0;

		out[i] = n <= UINT32_MAX ? (uint32_t)n : 0;
	}
}

static void read_field(struct fields *f, struct json_tok key, struct json_tok v)
{
	struct rocm_row *r = &f->row;
	const struct {
		const char *key, *inside;
		void *to; /* of 64 bits */
	} numbers[] = {
		{ "correlation_id", "internal", &r->corr },
		{ "agent_id", "handle", &r->agent },
		{ "dst_agent_id", "handle", &r->agent },
		{ "src_agent_id", "handle", &r->from },
		{ "stream_id", "handle", &r->stream },
		{ "queue_id", "handle", &r->queue },
		{ "thread_id", "", &r->thread },
		{ "bytes", "", &r->bytes },
		{ "allocation_size", "", &r->bytes },
		{ "address", "handle", &r->address },
		{ "kind", "", &f->kind },
		{ "operation", "", &f->op },
		{ "kernel_id", "", &f->kernel },
		{ "dispatch_id", "", &f->dispatch },
	};

	if (json_tok_is(key, "start_timestamp")) {
		f->begins = json_tok_i64(v, &r->start);
	} else if (json_tok_is(key, "end_timestamp")) {
		f->ends = json_tok_i64(v, &r->end);
	} else if (json_tok_is(key, "grid_size")) {
		sizes(v, r->geo.grid);
	} else if (json_tok_is(key, "workgroup_size")) {
		sizes(v, r->geo.block);
	} else if (json_tok_is(key, "group_segment_size")) {
		r->geo.smem_static = (uint32_t)number(v, "");
	} else {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			if (json_tok_is(key, numbers[i].key)) {
				int64_t n = number(v, numbers[i].inside);

				memcpy(numbers[i].to, &n, sizeof(n));
			}
	}
}

/* What stands in dispatch_data and dispatch_info is read as if it stood beside them. */
static void read_fields(struct fields *f, struct json_tok obj, unsigned depth)
{
	const char *p = obj.s + 1;
	struct json_tok key, v;

	while (json_pair(&p, obj.s + obj.len, &key, &v)) {
		if (*v.s == '{' && depth < 3 &&
		    (json_tok_is(key, "dispatch_info") || json_tok_is(key, "dispatch_data")))
			read_fields(f, v, depth + 1);
		else
			read_field(f, key, v);
	}
	f->row.timed = f->begins && f->ends;
}

static uint32_t named(const struct map *m, uint64_t key)
{
	uint64_t v = map_get(m, key);

	return v ? (uint32_t)(v - 1) : 0;
}

/* --- rows --- */

typedef int row_fn(struct rocprof *k, struct fields *f);

static int kernel_row(struct rocprof *k, struct fields *f)
{
	f->row.name = named(&k->kernel, (uint64_t)f->kernel);
	if (map_get(&k->counted, (uint64_t)f->dispatch))
		return 0;
	return rocm_kernel(&k->r, &f->row);
}

/* With counters only, these rows are the only ones of their kernels. */
static int counter_row(struct rocprof *k, struct fields *f)
{
	int r = kernel_row(k, f);

	if (r == 1 && f->dispatch && map_put(&k->counted, (uint64_t)f->dispatch, 1) < 0)
		return -ENOMEM;
	return r;
}

static int copy_row(struct rocprof *k, struct fields *f)
{
	return rocm_copy(&k->r, &f->row);
}

static int call_row(struct rocprof *k, struct fields *f)
{
	const char *domain = f->kind < (int64_t)k->kinds ? k->kind[f->kind].name : "";

	return rocm_call(&k->r, &f->row, domain, named(&k->message, f->row.corr));
}

static int memory_row(struct rocprof *k, struct fields *f)
{
	const char *op = trace_text(k->r.t, f->row.name);

	/* Reserved addresses are not memory yet. */
	if (strstr(op, "VMEM"))
		return 0;
	return rocm_memory(&k->r, &f->row, strstr(op, "FREE") != NULL);
}

/* Arrays of rows; any other is left. */
static row_fn *rows_of(const char *key)
{
	static const struct {
		const char *key;
		row_fn *fn;
	} kinds[] = {
		{ "kernel_dispatch", kernel_row }, { "counter_collection", counter_row },
		{ "memory_copy", copy_row },       { "memory_allocation", memory_row },
		{ "hip_api", call_row },           { "hsa_api", call_row },
		{ "marker_api", call_row },        { "rccl_api", call_row },
		{ "rocdecode_api", call_row },     { "rocjpeg_api", call_row },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(key, kinds[i].key))
			return kinds[i].fn;
	return NULL;
}

static void broke(struct rocprof *k, const char *what, const char *where)
{
	unsigned long long at = json_in_at(&k->in);

	import_broke(k->r.im, at, "%s in %s at byte %llu%s", what, where, at,
		     source_gzip(k->in.src) ? " of the inflated text" : "");
}

static int one_row(struct rocprof *k, row_fn *fn, struct json_tok v, const char *where)
{
	struct trace_file *f = importing_file(k->r.im);
	struct fields row = { .kind = 0 };
	const struct import_opts *o = k->r.im->o;
	int r = 0;

	if (fn && *v.s == '{') {
		read_fields(&row, v, 0);
		if (row.kind < (int64_t)k->kinds && row.op < (int64_t)k->kind[row.kind].ops)
			row.row.name = k->kind[row.kind].op[row.op];
		r = fn(k, &row);
	} else if (fn) {
		r = -EBADMSG;
	}
	if (r < 0 && r != -EBADMSG)
		return r;
	f->rows++;
	f->imported += r > 0;
	f->left += r == 0;
	f->lost += r < 0;
	k->bad = r < 0 ? k->bad + 1 : 0;
	if (r < 0)
		broke(k, "a row without a usable time or agent", where);
	if (++k->records % ROWS_PROGRESS == 0 && o && o->progress)
		return o->progress(o->arg, k->r.im->path, source_at(k->in.src),
				   source_size(k->in.src));
	return k->bad >= BAD_IN_A_ROW ? -EBADMSG : 0;
}

/* {"kernel_dispatch": [...], ...} */
static int read_records(struct rocprof *k)
{
	char key[64];
	int r = json_in_enter(&k->in, '{');

	while (r > 0 && (r = json_in_key(&k->in, key, sizeof(key))) > 0) {
		row_fn *fn = rows_of(key);
		struct json_tok v;

		if (json_in_next(&k->in) != '[') {
			r = json_in_skip(&k->in);
			r = r ? r : 1;
			continue;
		}
		k->in.p++;
		while ((r = json_in_item(&k->in)) > 0) {
			r = json_in_value(&k->in, &v);
			if (r > 0)
				r = one_row(k, fn, v, key);
			if (r < 0)
				return r;
		}
		r = r < 0 ? r : 1;
	}
	return r;
}

/* --- what stands before the rows --- */

static int read_kind(struct rocprof *k, struct json_tok v)
{
	struct kind *kind = &k->kind[k->kinds];
	struct json_tok name, ops, op;
	const char *p;
	int err = 0;

	if (k->kinds == KINDS_MAX || *v.s != '{')
		return 0;
	k->kinds++;
	*kind = (struct kind){ "", NULL, 0 };
	if (json_in_member(v, "kind", &name)) {
		name = json_tok_text(name);
		kind->name[json_tok_unescape(kind->name, sizeof(kind->name) - 1, name)] = '\0';
	}
	if (!json_in_member(v, "operations", &ops) || *ops.s != '[')
		return 0;
	for (p = ops.s + 1; !err && json_item(&p, ops.s + ops.len, &op);) {
		if (vec_more(&kind->op, kind->ops, sizeof(*kind->op)) < 0)
			return -ENOMEM;
		err = name_of(k, op, &kind->op[kind->ops]);
		kind->ops += !err;
	}
	return err;
}

static int read_message(struct rocprof *k, struct json_tok v)
{
	struct json_tok key, text;
	int64_t corr;
	uint32_t name;
	int err;

	if (!json_in_member(v, "key", &key) || !json_tok_i64(key, &corr) ||
	    !json_in_member(v, "value", &text))
		return 0;
	err = name_of(k, text, &name);
	return err ? err : map_put(&k->message, (uint64_t)corr, (uint64_t)name + 1);
}

static int read_symbol(struct rocprof *k, struct json_tok v)
{
	static const char *const names[] = { "formatted_kernel_name", "demangled_kernel_name",
					     "kernel_name" };
	struct json_tok id, text = { "", 0 };
	uint32_t name;
	int err;

	if (!json_in_member(v, "kernel_id", &id))
		return 0;
	for (size_t i = 0; i < 3 && text.len <= 2; i++)
		if (!json_in_member(v, names[i], &text))
			text.len = 0;
	err = name_of(k, text, &name);
	return err ? err : map_put(&k->kernel, (uint64_t)number(id, ""), (uint64_t)name + 1);
}

static int read_agent(struct rocprof *k, struct json_tok v)
{
	struct rocm_agent a = { 0 };
	struct json_tok t;
	int err = 0;

	if (!json_in_member(v, "id", &t))
		return 0;
	a.id = (uint64_t)number(t, "handle");
	a.gpu = json_in_member(v, "type", &t) && number(t, "") == GPU_AGENT;
	if (json_in_member(v, "gpu_index", &t) || json_in_member(v, "logical_node_type_id", &t))
		a.index = (uint32_t)number(t, "");
	if (json_in_member(v, "cu_count", &t))
		a.units = (uint32_t)number(t, "");
	/* "gfx942" where the driver does not say what it is sold as. */
	if ((json_in_member(v, "product_name", &t) && json_tok_text(t).len) ||
	    json_in_member(v, "name", &t))
		err = name_of(k, t, &a.name);
	return err ? err : rocm_agent_add(&k->r, &a);
}

/* A process of its own each: numbers of kernels and agents are the process'. */
static int read_metadata(struct rocprof *k, struct json_tok v)
{
	struct json_tok t, first;
	const char *p;
	int err;

	err = trace_process(k->r.t, k->r.im->file,
			    json_in_member(v, "pid", &t) ? (uint64_t)number(t, "") : 0,
			    &k->r.process);
	k->process = !err;
	if (!err && json_in_member(v, "command", &t) && *t.s == '[') {
		p = t.s + 1;
		if (json_item(&p, t.s + t.len, &first))
			err = name_of(k, first, &k->r.t->process[k->r.process].name);
	}
	if (!err && json_in_member(v, "node", &t) && json_in_member(t, "hostname", &first))
		err = name_of(k, first, &k->r.t->process[k->r.process].node);
	return err;
}

typedef int item_fn(struct rocprof *k, struct json_tok v);

static int read_items(struct rocprof *k, item_fn *fn)
{
	struct json_tok v;
	int r, err;

	if (json_in_next(&k->in) != '[')
		return json_in_skip(&k->in);
	k->in.p++;
	while ((r = json_in_item(&k->in)) > 0) {
		r = json_in_value(&k->in, &v);
		err = r > 0 && *v.s == '{' ? fn(k, v) : r;
		if (err < 0)
			return err;
	}
	return r;
}

static int read_strings(struct rocprof *k)
{
	char key[64];
	int r;

	if (json_in_next(&k->in) != '{')
		return json_in_skip(&k->in);
	k->in.p++;
	while ((r = json_in_key(&k->in, key, sizeof(key))) > 0) {
		if (!strcmp(key, "buffer_records"))
			r = read_items(k, read_kind);
		else if (!strcmp(key, "marker_api"))
			r = read_items(k, read_message);
		else
			r = json_in_skip(&k->in);
		if (r < 0)
			return r;
	}
	return r;
}

static void forget(struct rocprof *k)
{
	for (size_t i = 0; i < k->kinds; i++)
		free(k->kind[i].op);
	k->kinds = 0;
	map_fini(&k->kernel);
	map_fini(&k->message);
	map_fini(&k->counted);
	rocm_fini(&k->r);
}

static int read_part(struct rocprof *k, const char *key)
{
	struct json_tok v;
	int r;

	if (!strcmp(key, "metadata")) {
		r = json_in_value(&k->in, &v);
		return r > 0 && *v.s == '{' ? read_metadata(k, v) : r;
	}
	if (!strcmp(key, "agents"))
		return read_items(k, read_agent);
	if (!strcmp(key, "strings"))
		return read_strings(k);
	if (!strcmp(key, "kernel_symbols"))
		return read_items(k, read_symbol);
	if (strstr(key, "_records") && json_in_next(&k->in) == '{')
		return read_records(k);
	return json_in_skip(&k->in);
}

static int read_process(struct rocprof *k)
{
	char key[64];
	int r;

	forget(k);
	k->process = false;
	r = json_in_enter(&k->in, '{');
	while (r > 0 && (r = json_in_key(&k->in, key, sizeof(key))) > 0) {
		if (!k->process && strcmp(key, "metadata")) {
			r = trace_process(k->r.t, k->r.im->file, 0, &k->r.process);
			if (r < 0)
				return r;
			k->process = true;
		}
		r = read_part(k, key);
		r = r < 0 ? r : 1;
	}
	return r;
}

static int read_tool(struct rocprof *k)
{
	int r;

	if (json_in_next(&k->in) != '[')
		return read_process(k);
	k->in.p++;
	while ((r = json_in_item(&k->in)) > 0) {
		r = read_process(k);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_document(struct rocprof *k)
{
	char key[64];
	int r = json_in_enter(&k->in, '{');

	while (r > 0 && (r = json_in_key(&k->in, key, sizeof(key))) > 0) {
		r = strcmp(key, "rocprofiler-sdk-tool") ? json_in_skip(&k->in) : read_tool(k);
		r = r < 0 ? r : 1;
	}
	return r;
}

int rocprof_import(const struct importing *im, struct source *src)
{
	struct rocprof *k = calloc(1, sizeof(*k));
	struct trace_file *f = importing_file(im);
	int err;

	if (!k)
		return import_say(im->why, -ENOMEM, "%s: out of memory", im->path);
	k->r.im = im;
	k->r.t = im->t;
	err = json_in_init(&k->in, src, im->o ? im->o->window : 0);
	err = err ? err : read_document(k);
	/* What came before the damage counts. */
	if (err == -ENODATA || err == -EBADMSG || err == -EMSGSIZE) {
		broke(k, err == -ENODATA ? "the text ends" : "not JSON of rocprofv3", "the file");
		err = 0;
	}
	if (k->in.err == -EBADMSG) {
		f->broke_at = UINT64_MAX;
		import_broke(im, source_at(src), "%s", source_why(src));
	}
	f->tick_ns = 1;
	if (err)
		import_say(im->why, err, "%s: %s", im->path, strerror(-err));
	else if (!f->rows)
		err = import_say(im->why, -EMEDIUMTYPE,
				 "%s: rocprofv3's JSON without records%s%s (record with: rocprofv3 "
				 "--sys-trace --output-format json)",
				 im->path, f->broke_at != UINT64_MAX ? ": " : "", f->why);
	json_in_fini(&k->in);
	forget(k);
	free(k);
	return err;
}
