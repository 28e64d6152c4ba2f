/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_row.c - reads one row of a Chrome trace as tokens, and turns these into an event.
 *
 * One pass over a row only notes where the values of interest are; then the numbers that its
 * category needs are parsed. Keys are found in a table of their own by length, first and last byte.
 */
#include <errno.h>

#include "base/vec.h"
#include "import/kineto.h"
#include "model/dtype.h"

#define KEY_SLOTS  128u
#define TIME_MAX   (INT64_MAX / 2)
#define OPEN_MAX   1000000u
#define SERIES_MAX 16u

enum what { W_NONE, W_HOST, W_OP, W_USER, W_CALL, W_KERNEL, W_COPY, W_SET, W_SYNC, W_MTIA, W_GPU };

struct key {
	const char *text;
	uint8_t len, id, range;
};

/* clang-format off */
static const struct key row_keys[] = {
#define ROW(ID, key) { key, sizeof(key) - 1, F_##ID, 0 },
#include "import/kineto.tbl.h"
};
static const struct key arg_keys[] = {
#define ARG(ID, key) { key, sizeof(key) - 1, F_##ID, 0 },
#define AKA(ID, key) { key, sizeof(key) - 1, F_##ID, 0 },
#include "import/kineto.tbl.h"
};
static const struct key cats[] = {
#define CAT(name, what, range) { name, sizeof(name) - 1, W_##what, range },
#include "import/kineto.tbl.h"
};
/* clang-format on */

struct keys {
	uint8_t slot[KEY_SLOTS]; /* index + 1 */
};

static struct keys row_index, arg_index, cat_index;

static inline unsigned slot_of(const char *s, size_t len)
{
	return (unsigned)(len * 5 + (unsigned char)s[0] * 3 + (unsigned char)s[len - 1] * 17 +
			  (unsigned char)s[len / 2]) %
	       KEY_SLOTS;
}

static void keys_fill(struct keys *x, const struct key *k, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned at = slot_of(k[i].text, k[i].len);

		while (x->slot[at])
			at = (at + 1) % KEY_SLOTS;
		x->slot[at] = (uint8_t)(i + 1);
	}
}

__attribute__((constructor)) static void keys_init(void)
{
	keys_fill(&row_index, row_keys, sizeof(row_keys) / sizeof(*row_keys));
	keys_fill(&arg_index, arg_keys, sizeof(arg_keys) / sizeof(*arg_keys));
	keys_fill(&cat_index, cats, sizeof(cats) / sizeof(*cats));
}

/* Most keys have 4 to 16 bytes, and are those that they look like: two loads that may overlap. */
static inline bool same_key(const char *a, const char *b, size_t n)
{
	uint64_t a8[2], b8[2];
	uint32_t a4[2], b4[2];

	if (n < 4 || n > 16)
		return !memcmp(a, b, n);
	if (n < 8) {
		memcpy(&a4[0], a, 4);
		memcpy(&a4[1], a + n - 4, 4);
		memcpy(&b4[0], b, 4);
		memcpy(&b4[1], b + n - 4, 4);
		return a4[0] == b4[0] && a4[1] == b4[1];
	}
	memcpy(&a8[0], a, 8);
	memcpy(&a8[1], a + n - 8, 8);
	memcpy(&b8[0], b, 8);
	memcpy(&b8[1], b + n - 8, 8);
	return a8[0] == b8[0] && a8[1] == b8[1];
}

static inline const struct key *keys_find(const struct keys *x, const struct key *k,
					  struct json_tok t)
{
	if (!t.len)
		return NULL;
	for (unsigned at = slot_of(t.s, t.len); x->slot[at]; at = (at + 1) % KEY_SLOTS) {
		const struct key *c = &k[x->slot[at] - 1];

		if (c->len == t.len && same_key(c->text, t.s, t.len))
			return c;
	}
	return NULL;
}

static inline const char *parse_args(struct kineto_in *k, const char *p, const char *end);

/* The pairs of an object into k->row. */
static inline const char *parse_pairs(struct kineto_in *k, const char *p, const char *end,
				      bool args)
{
	for (p++;;) {
		const struct key *key;
		struct json_tok name;
		const char *v;

		p = json_space(p, end);
		if (p >= end)
			return end + 1;
		if (*p == '}')
			return p + 1;
		if (*p == ',') {
			p++;
			continue;
		}
		v = json_key(p, end, &name);
		if (!v || v > end)
			return v;
		key = args ? keys_find(&arg_index, arg_keys, name)
			   : keys_find(&row_index, row_keys, name);
		if (!args && key && key->id == F_ARGS && *v == '{')
			p = parse_args(k, v, end);
		else
			p = json_skip(v, end);
		if (!p || p > end)
			return p;
		if (key) {
			k->row.val[key->id] = (struct json_tok){ v, (size_t)(p - v) };
			k->row.have |= 1ull << key->id;
		}
	}
}

static inline const char *parse_args(struct kineto_in *k, const char *p, const char *end)
{
	return parse_pairs(k, p, end, true);
}

const char *kineto_read_row(struct kineto_in *k, const char *p)
{
	k->row.have = 0;
	return parse_pairs(k, p, k->in.end, false);
}

int kineto_name(struct kineto_in *k, struct json_tok t, uint32_t *id)
{
	t = json_tok_text(t);
	if (memchr(t.s, '\\', t.len < TRACE_NAME_BYTES ? t.len : TRACE_NAME_BYTES))
		t = (struct json_tok){ k->text, json_tok_unescape(k->text, sizeof(k->text), t) };
	return trace_name(k->t, t.s, t.len, id);
}

static uint64_t number(const struct kineto_event *r, enum field f)
{
	int64_t v;

	return kineto_has(r, f) && json_tok_i64(r->val[f], &v) && v > 0 ? (uint64_t)v : 0;
}

/* What does not fit counts as not said: no wrong join. */
static uint32_t number32(const struct kineto_event *r, enum field f)
{
	uint64_t v = number(r, f);

	return v <= UINT32_MAX ? (uint32_t)v : 0;
}

static struct json_tok token(const struct kineto_event *r, enum field f)
{
	return kineto_has(r, f) ? r->val[f] : (struct json_tok){ "", 0 };
}

static int row_time(struct kineto_in *k, struct event *e)
{
	const struct kineto_event *r = &k->row;
	int64_t ts, dur = 0;

	if (!kineto_has(r, F_TS) || !json_tok_scaled(r->val[F_TS], 3, &ts) || ts < 0 ||
	    ts > TIME_MAX)
		return -EBADMSG;
	if (kineto_has(r, F_DUR) && (!json_tok_scaled(r->val[F_DUR], 3, &dur) || dur < 0)) {
		importing_file(k->im)->mended++;
		dur = 0;
	}
	e->start_ns = (uint64_t)ts;
	e->dur_ns = dur > TIME_MAX ? TIME_MAX : (uint64_t)dur;
	k->fraction = k->fraction || ts % 1000 || dur % 1000;
	if (e->start_ns + e->dur_ns > k->last_ns)
		k->last_ns = e->start_ns + e->dur_ns;
	return 0;
}

static void sizes(uint32_t out[3], struct json_tok t)
{
	const char *end = t.s + t.len;
	unsigned n = 0;

	for (const char *s = t.s; s < end && n < 3; n++) {
		uint64_t v = 0;

		while (s < end && (*s < '0' || *s > '9'))
			s++;
		if (s == end)
			break;
		for (; s < end && *s >= '0' && *s <= '9'; s++)
			v = v < UINT32_MAX ? v * 10 + (uint64_t)(*s - '0') : v;
		out[n] = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	}
}

static int kernel(struct kineto_in *k, struct event *e)
{
	struct geo g = { .regs = number32(&k->row, F_REGISTERS),
			 .smem_static = number32(&k->row, F_SHARED) };
	uint32_t id = 0;
	int err;

	sizes(g.grid, token(&k->row, F_GRID));
	sizes(g.block, token(&k->row, F_BLOCK));
	err = trace_geo(k->t, &g, &id);
	e->kind = EVENT_KERNEL;
	e->a = id;
	return err;
}

static int collective(struct kineto_in *k, uint32_t *comm)
{
	const struct kineto_event *r = &k->row;
	struct json_tok dtype = json_tok_text(token(r, F_DTYPE));
	unsigned bytes = dtype_bytes(dtype.s, dtype.len);
	struct trace_comm c = { .rank = TRACE_NO_RANK,
				.size = number32(r, F_GROUP_SIZE),
				.bytes_in = number(r, F_NELEMS_IN) * bytes,
				.bytes_out = number(r, F_NELEMS_OUT) * bytes,
				.sequence = number(r, F_SEQUENCE) };
	int err;

	err = kineto_name(k, token(r, F_COLLECTIVE), &c.name);
	err = err ? err : kineto_name(k, token(r, F_GROUP), &c.group);
	err = err ? err : kineto_name(k, token(r, F_DTYPE), &c.dtype);
	err = err ? err : trace_comm_add(k->t, &c, comm);
	*comm += !err;
	return err;
}

/* "kind_src:pageable kind_dst:device size:112 dest:4 async:0" */
static uint64_t bytes_of_details(struct json_tok t)
{
	const char *p = memmem(t.s, t.len, "size:", 5), *end = t.s + t.len;
	uint64_t v = 0;

	for (p = p ? p + 5 : end; p < end && *p >= '0' && *p <= '9' && v < UINT64_MAX / 16; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

/* What ran on a device, or was drawn there. */
static int on_device(struct kineto_in *k, const struct key *cat, struct event *e)
{
	const struct kineto_event *r = &k->row;
	struct json_tok name = json_tok_text(token(r, F_NAME)), dir;
	unsigned what = cat->id;
	int err = kineto_place_device(k, token(r, F_DEVICE), token(r, F_STREAM), &e->track);

	if (err < 0)
		return err;
	e->corr = number32(r, F_CORRELATION);
	e->b = number(r, F_NODE) & UINT32_MAX;
	e->b |= (uint64_t)(number32(r, F_EXTERNAL) & 0x7fffffffu) << 32;
	if (what == W_MTIA) {
		what = W_KERNEL;
		if (json_tok_is(name, "dma_request"))
			what = W_COPY;
		else if (json_tok_is(name, "event_wait") || json_tok_is(name, "event_record"))
			what = W_SYNC;
	}
	switch (what) {
	case W_KERNEL:
		return kernel(k, e);
	case W_COPY:
	case W_SET:
		e->kind = what == W_COPY ? EVENT_COPY : EVENT_MEMSET;
		e->a = number(r, F_BYTES);
		if (kineto_has(r, F_DETAILS))
			e->a = bytes_of_details(r->val[F_DETAILS]);
		dir = json_tok_text(token(r, F_DIRECTION));
		if (what == W_COPY)
			e->flags = dir.len ? import_copy(dir.s, dir.len, &e->b)
					   : import_copy(name.s, name.len, &e->b);
		return 0;
	case W_SYNC:
		e->kind = EVENT_SYNC;
		e->b = (e->b >> 32 << 32) | number32(r, F_WAIT_CORR);
		if (kineto_has(r, F_WAIT_STREAM)) {
			int64_t s;

			if (json_tok_i64(r->val[F_WAIT_STREAM], &s) && s >= 0 && s != UINT32_MAX)
				e->a = (uint64_t)s + 1;
		}
		return 0;
	default:
		e->kind = EVENT_RANGE;
		e->a = cat->range;
		e->corr = number32(r, F_EXTERNAL);
		e->b = 0;
		return 0;
	}
}

static int on_host(struct kineto_in *k, const struct key *cat, struct event *e)
{
	const struct kineto_event *r = &k->row;
	struct json_tok name = json_tok_text(token(r, F_NAME));
	unsigned what = cat ? cat->id : W_HOST;
	int err = kineto_place_host(k, what == W_OP || what == W_CALL, &e->track);

	if (err < 0)
		return err;
	if (what == W_CALL) {
		e->kind = import_is_sync(name.s, name.len) ? EVENT_SYNC : EVENT_API;
		e->corr = number32(r, F_CORRELATION);
		e->b = number32(r, F_EXTERNAL);
		if (e->kind == EVENT_SYNC)
			e->b = (e->b & 0x7fffffffu) << 32;
		return 0;
	}
	e->kind = EVENT_RANGE;
	e->a = cat ? cat->range : TRACE_OTHER_HOST;
	e->corr = number32(r, F_EXTERNAL);
	if ((what == W_OP || what == W_USER) && import_step(name.s, name.len, &e->a)) {
		e->kind = EVENT_STEP;
	} else if (what == W_OP || (name.len > 5 && !memcmp(name.s, "nccl:", 5))) {
		uint32_t shapes = 0;

		err = kineto_has(r, F_DIMS) ? kineto_shapes(k, &shapes) : 0;
		/* Only operators of the backward pass name the forward thread. */
		e->b = trace_op(number(r, F_FORWARD), number32(r, F_OP_SEQUENCE), shapes);
	}
	return err;
}

/* Rows of JAX and TensorFlow have no category: their process and thread say what they are. */
static const struct key *cat_of_plane(struct kineto_in *k)
{
	static const struct key work = { .id = W_KERNEL }, copy = { .id = W_COPY },
				set = { .id = W_SET },
				derived = { .id = W_GPU, .range = TRACE_GPU_USER },
				call = { .id = W_CALL };
	struct json_tok name = json_tok_text(token(&k->row, F_NAME));

	switch (kineto_place_plane(k)) {
	case PLANE_STREAM:
		if (name.len > 6 && !memcmp(name.s, "Memcpy", 6))
			return &copy;
		return name.len >= 6 && !memcmp(name.s, "Memset", 6) ? &set : &work;
	case PLANE_DERIVED:
		return &derived;
	default:
		return k->planes && kineto_has(&k->row, F_CORRELATION) ? &call : NULL;
	}
}

static int place(struct kineto_in *k, struct event *e, uint32_t *comm)
{
	const struct key *cat = keys_find(&cat_index, cats, json_tok_text(token(&k->row, F_CAT)));
	int err;

	if (!kineto_has(&k->row, F_CAT) && k->planes)
		cat = cat_of_plane(k);
	if (cat && cat->id == W_NONE)
		return -ENOENT;
	err = kineto_name(k, token(&k->row, F_NAME), &e->name);
	if (err < 0)
		return err;
	if (kineto_has(&k->row, F_COLLECTIVE)) {
		err = collective(k, comm);
		if (err < 0)
			return err;
	}
	return cat && cat->id >= W_KERNEL ? on_device(k, cat, e) : on_host(k, cat, e);
}

static int complete(struct kineto_in *k)
{
	struct event e = { 0 };
	uint32_t comm = 0;
	int err = row_time(k, &e);

	err = err ? err : place(k, &e, &comm);
	if (err == -ENOENT)
		return 0;
	err = err ? err : trace_add(k->t, &e, comm);
	return err ? err : 1;
}

/* --- pairs of B and E --- */

static int begin(struct kineto_in *k)
{
	struct event e = { 0 };
	uint32_t comm = 0, at = k->free_open;
	int err = row_time(k, &e);

	err = err ? err : place(k, &e, &comm);
	if (err == -ENOENT)
		return 0;
	err = err ? err : vec_room0(&k->top, &k->top_cap, (size_t)e.track + 1, sizeof(*k->top));
	if (err)
		return err;
	if (!at && (k->opens >= OPEN_MAX || vec_more(&k->open, k->opens, sizeof(*k->open)) < 0))
		return -ENOMEM;
	if (at)
		k->free_open = k->open[at - 1].below;
	else
		at = (uint32_t)++k->opens;
	k->open[at - 1] = (struct open_range){ .e = e, .below = k->top[e.track] };
	k->top[e.track] = at;
	return 1;
}

/* An end whose begin is not there tells of no event: its time before is unknown. */
static int end(struct kineto_in *k)
{
	struct event now = { 0 }, *e;
	struct open_range *o;
	uint32_t at;
	int err = row_time(k, &now);

	err = err ? err : kineto_place_host(k, false, &now.track);
	if (err)
		return err;
	at = now.track < k->top_cap ? k->top[now.track] : 0;
	if (!at)
		return 0;
	o = &k->open[at - 1];
	e = &o->e;
	k->top[now.track] = o->below;
	o->below = k->free_open;
	k->free_open = at;
	e->dur_ns = now.start_ns > e->start_ns ? now.start_ns - e->start_ns : 0;
	err = trace_add(k->t, e, 0);
	return err ? err : 1;
}

int kineto_finish(struct kineto_in *k)
{
	int err = 0;

	for (size_t track = 0; track < k->top_cap; track++)
		for (uint32_t at = k->top[track]; at && !err; at = k->open[at - 1].below) {
			struct event *e = &k->open[at - 1].e;

			e->flags |= EVENT_OPEN;
			e->dur_ns = k->last_ns - e->start_ns;
			err = trace_add(k->t, e, 0);
		}
	return err;
}

/* --- moments and series --- */

static int memory(struct kineto_in *k, struct event *e)
{
	const struct kineto_event *r = &k->row;
	struct json_tok none = { "-1", 2 };
	int64_t bytes = 0;
	int err;

	if (number(r, F_DEVICE_TYPE))
		err = kineto_place_device(k, token(r, F_DEVICE_ID), none, &e->track);
	else
		err = kineto_place_host(k, false, &e->track);
	if (kineto_has(r, F_BYTES))
		(void)json_tok_i64(r->val[F_BYTES], &bytes);
	e->kind = EVENT_ALLOC;
	e->flags = (uint8_t)((bytes < 0 ? 2u : 1u) << EVENT_COPY_SHIFT);
	e->a = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
	e->b = number(r, F_ADDRESS);
	err = err ? err : trace_add(k->t, e, 0);
	if (err || !kineto_has(r, F_ALLOCATED))
		return err;
	*e = (struct event){ .kind = EVENT_COUNTER, .start_ns = e->start_ns, .track = e->track };
	e->a = number(r, F_ALLOCATED);
	return trace_name(k->t, TRACE_ALLOCATED, strlen(TRACE_ALLOCATED), &e->name) < 0 ||
			       trace_add(k->t, e, 0) < 0
		       ? -ENOMEM
		       : 0;
}

static int moment(struct kineto_in *k)
{
	struct json_tok name = json_tok_text(token(&k->row, F_NAME));
	struct event e = { .kind = EVENT_MARK };
	int64_t pid;
	int err;

	/* "Traces", "Spans": the profiler's notes on itself. */
	if (!json_tok_i64(token(&k->row, F_PID), &pid))
		return 0;
	err = row_time(k, &e);
	err = err ? err : kineto_name(k, token(&k->row, F_NAME), &e.name);
	e.dur_ns = 0;
	if (!err && json_tok_is(name, "[memory]")) {
		err = memory(k, &e);
	} else {
		err = err ? err : kineto_place_host(k, false, &e.track);
		err = err ? err : trace_add(k->t, &e, 0);
	}
	return err ? err : 1;
}

static int one_value(struct kineto_in *k, struct event *e, struct json_tok key,
		     struct json_tok value)
{
	struct json_tok name = json_tok_text(token(&k->row, F_NAME));
	double real;
	size_t n;

	if (json_tok_i64(value, (int64_t *)&e->a) && !memchr(value.s, '.', value.len)) {
		e->flags = 0;
	} else if (json_tok_real(value, &real)) {
		memcpy(&e->a, &real, sizeof(real));
		e->flags = EVENT_FLOAT;
	} else {
		return 0;
	}
	n = json_tok_unescape(k->text, sizeof(k->text) / 2, name);
	if (n < sizeof(k->text) / 2 - 2 && !json_tok_is(key, "value")) {
		memcpy(k->text + n, ": ", 2);
		n += 2 + json_tok_unescape(k->text + n + 2, sizeof(k->text) / 2, key);
	}
	return trace_name(k->t, k->text, n, &e->name) < 0 || trace_add(k->t, e, 0) < 0 ? -ENOMEM
										       : 1;
}

static int counter(struct kineto_in *k)
{
	struct json_tok args = token(&k->row, F_ARGS), key, value;
	struct event e = { .kind = EVENT_COUNTER };
	const char *p = args.s + 1;
	int n = 0, r, err = row_time(k, &e);

	err = err ? err : kineto_place_host(k, false, &e.track);
	if (err)
		return err;
	e.dur_ns = 0;
	if (!args.len || *args.s != '{')
		return 0;
	for (unsigned i = 0; i < SERIES_MAX && json_pair(&p, args.s + args.len, &key, &value);
	     i++) {
		r = one_value(k, &e, key, value);
		if (r < 0)
			return r;
		n += r;
	}
	return n > 0;
}

int kineto_row(struct kineto_in *k)
{
	struct json_tok ph = json_tok_text(token(&k->row, F_PH));

	if (ph.len != 1)
		return 0;
	switch (ph.s[0]) {
	case 'X':
		return complete(k);
	case 'B':
		return begin(k);
	case 'E':
		return end(k);
	case 'i':
	case 'I':
	case 'R':
		return moment(k);
	case 'C':
		return counter(k);
	case 'M':
		return kineto_place_meta(k);
	default:
		return 0; /* flows, async pairs, objects: of other tools */
	}
}
