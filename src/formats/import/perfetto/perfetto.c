/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.c - the packets of a Perfetto trace. Fields by their public numbers:
 *
 *	Trace         1 packet
 *	TracePacket   6 clock_snapshot  8 timestamp  10 sequence  11 track_event  12 interned_data
 *	              13 sequence_flags  41 incremental_state_cleared  50 compressed_packets
 *	              53 gpu_render_stage_event  58 timestamp_clock_id  59 defaults
 *	              60 track_descriptor  98 machine_id  133 zstd_compressed_packets
 *	InternedData  1 categories  2 names  3 annotation names  24 gpu_specifications
 *	              29 annotation texts; each with 1 iid  2 text
 *	ClockSnapshot 1 clocks: 1 clock_id  2 timestamp  3 is_incremental  4 unit_multiplier_ns
 *
 * Times are those of the boot-time clock, which is the default; values of other clocks are moved by
 * the last snapshot that has both.
 */
#include "import/perfetto/perfetto.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "import/unpack.h"

#define PACKET_MAX   (16u << 20)
#define INFLATED_MAX (64u << 20)
#define SEQS_MAX     65536u
#define CLOCKS_MAX   65536u
#define BAD_IN_A_ROW 1000u
#define PROGRESS     16384u
#define CLOCK_BOOT   6u
#define CLOCK_OWN    64u  /* from here on clocks are a writer's own, */
#define CLOCK_GLOBAL 128u /* and from here on global ones that are not built in */

int perfetto_text(struct perfetto *p, struct pb text, uint32_t *name)
{
	return trace_name(p->t, (const char *)text.p, (size_t)(text.end - text.p), name);
}

/* --- what a writer said before --- */

static void seq_clear(struct perfetto_seq *s)
{
	map_fini(&s->names);
	map_fini(&s->categories);
	map_fini(&s->notes);
	map_fini(&s->texts);
	map_fini(&s->specs);
	s->track = s->clock = 0;
}

static int find_seq(struct perfetto *p, uint64_t id, struct perfetto_seq **out)
{
	for (size_t i = p->seqs; i-- > 0;)
		if (p->seq[i].id == id) {
			*out = &p->seq[i];
			return 0;
		}
	if (p->seqs >= SEQS_MAX)
		return -EBADMSG;
	if (vec_more(&p->seq, p->seqs, sizeof(*p->seq)) < 0)
		return -ENOMEM;
	p->seq[p->seqs] = (struct perfetto_seq){ .id = id };
	*out = &p->seq[p->seqs++];
	return 0;
}

static int intern(struct perfetto *p, struct perfetto_seq *s, struct pb in)
{
	struct pb_field f, g;
	int err = 0;

	while (!err && pb_next(&in, &f)) {
		struct map *m = f.num == 1    ? &s->categories
				: f.num == 2  ? &s->names
				: f.num == 3  ? &s->notes
				: f.num == 24 ? &s->specs
				: f.num == 29 ? &s->texts
					      : NULL;
		uint64_t iid = 0;
		uint32_t name = 0;

		while (m && f.wire == 2 && !err && pb_next(&f.data, &g)) {
			if (g.num == 1)
				iid = g.v;
			else if (g.num == 2 && g.wire == 2)
				err = perfetto_text(p, g.data, &name);
		}
		if (m && !err && iid)
			err = map_put(m, iid, (uint64_t)name + 1);
	}
	return err ? err : in.bad ? -EBADMSG : 0;
}

static void defaults(struct perfetto_seq *s, struct pb in)
{
	struct pb_field f, g;

	while (pb_next(&in, &f)) {
		if (f.num == 58)
			s->clock = f.v;
		while (f.num == 11 && f.wire == 2 && pb_next(&f.data, &g))
			if (g.num == 11)
				s->track = g.v;
	}
}

/* --- clocks --- */

static struct perfetto_clock *find_clock(struct perfetto *p, uint64_t seq, uint64_t id)
{
	seq = id < CLOCK_GLOBAL ? seq : 0;
	for (size_t i = 0; i < p->clocks; i++)
		if (p->clock[i].id == id && p->clock[i].seq == seq)
			return &p->clock[i];
	if (p->clocks >= CLOCKS_MAX || vec_more(&p->clock, p->clocks, sizeof(*p->clock)) < 0)
		return NULL;
	p->clock[p->clocks] = (struct perfetto_clock){ .seq = seq, .id = id, .unit = 1 };
	return &p->clock[p->clocks++];
}

struct reading {
	uint64_t id, value, unit;
	bool counts_on;
};

static struct reading read_clock(struct pb in)
{
	struct reading r = { .unit = 1 };
	struct pb_field f;

	while (pb_next(&in, &f)) {
		if (f.num == 1)
			r.id = f.v;
		else if (f.num == 2)
			r.value = f.v;
		else if (f.num == 3)
			r.counts_on = f.v;
		else if (f.num == 4 && f.v && f.v <= 1000000000)
			r.unit = f.v;
	}
	return r;
}

static bool scale(uint64_t value, uint64_t unit, int64_t *ns)
{
	uint64_t v;

	if (__builtin_mul_overflow(value, unit, &v) || v > INT64_MAX / 2)
		return false;
	*ns = (int64_t)v;
	return true;
}

static int snapshot(struct perfetto *p, uint64_t seq, struct pb in)
{
	struct pb again = in;
	struct pb_field f;
	int64_t boot = -1, v;

	while (pb_next(&in, &f)) {
		struct reading r =
			f.num == 1 && f.wire == 2 ? read_clock(f.data) : (struct reading){ 0 };

		if (r.id && r.id < CLOCK_OWN && scale(r.value, 1, &v)) {
			p->base[r.id] = v;
			p->have_base[r.id] = true;
			if (r.id == CLOCK_BOOT)
				boot = v;
		}
	}
	if (boot < 0)
		boot = p->have_base[CLOCK_BOOT] ? p->base[CLOCK_BOOT] : 0;
	while (pb_next(&again, &f)) {
		struct reading r =
			f.num == 1 && f.wire == 2 ? read_clock(f.data) : (struct reading){ 0 };
		struct perfetto_clock *c;

		if (r.id < CLOCK_OWN || !scale(r.value, r.unit, &v))
			continue;
		c = find_clock(p, seq, r.id);
		if (!c)
			return -ENOMEM;
		c->unit = r.unit;
		c->last = r.value;
		c->counts_on = r.counts_on;
		c->zero = boot - v;
	}
	return 0;
}

/* A packet's time on the boot-time clock. */
static bool time_of(struct perfetto *p, uint64_t seq, uint64_t clock, uint64_t value, uint64_t *ns)
{
	int64_t v = 0, zero = 0;

	if (clock >= CLOCK_OWN) {
		struct perfetto_clock *c = find_clock(p, seq, clock);

		if (!c)
			return false;
		if (c->counts_on)
			value = c->last += value;
		zero = c->zero;
		if (!scale(value, c->unit, &v))
			return false;
	} else {
		if (!scale(value, 1, &v))
			return false;
		if (clock && clock != CLOCK_BOOT && p->have_base[clock] && p->have_base[CLOCK_BOOT])
			zero = p->base[CLOCK_BOOT] - p->base[clock];
	}
	if (__builtin_add_overflow(v, zero, &v) || v < 0 || v > INT64_MAX / 2)
		return false;
	*ns = (uint64_t)v;
	return true;
}

/* --- packets --- */

struct raw {
	uint64_t seq, clock, time, machine;
	bool timed, clears, other;
	struct pb event, stage, interned, defaults, clocks, track, zlib, zstd;
};

static bool read_raw(struct raw *r, struct pb in)
{
	struct pb_field f;

	while (pb_next(&in, &f)) {
		struct pb *to = NULL;

		switch (f.num) {
		case 6:
			to = &r->clocks;
			break;
		case 8:
			r->time = f.v;
			r->timed = f.wire == 0;
			break;
		case 10:
			r->seq = f.v;
			break;
		case 11:
			to = &r->event;
			break;
		case 12:
			to = &r->interned;
			break;
		case 13:
			r->clears |= f.v & 1;
			break;
		case 41:
			r->clears |= f.v != 0;
			break;
		case 50:
			to = &r->zlib;
			break;
		case 53:
			to = &r->stage;
			break;
		case 58:
			r->clock = f.v;
			break;
		case 59:
			to = &r->defaults;
			break;
		case 60:
			to = &r->track;
			break;
		case 98:
			r->machine = f.v;
			break;
		case 133:
			to = &r->zstd;
			break;
		case 3:
		case 33:
		case 35:
		case 36:
		case 37:
		case 42:
		case 79:
		case 87:
			break;
		default:
			r->other |= f.wire == 2;
			break;
		}
		if (to && f.wire == 2)
			*to = f.data;
	}
	return !in.bad;
}

static int packet(struct perfetto *p, struct pb in, bool nested);

static int unpack_packets(struct perfetto *p, struct pb packed, unpack_grow_fn *unpack)
{
	struct unpack_in in = { packed.p, (size_t)(packed.end - packed.p) };
	uint8_t *out = NULL;
	size_t len = 0;
	int rc = unpack(&out, &len, INFLATED_MAX, in), err = rc == -ENOMEM ? rc : 0;
	struct pb all = { out, out ? out + len : out, false };
	struct pb_field f;

	while (!err && pb_next(&all, &f))
		if (f.num == 1 && f.wire == 2)
			err = packet(p, f.data, true);
	free(out);
	return err ? err : !rc && !all.bad ? 0 : -EBADMSG;
}

static int count(struct perfetto *p, int r)
{
	struct trace_file *f = importing_file(p->im);

	if (r == PERFETTO_SAME || (r < 0 && r != -EBADMSG))
		return r < 0 ? r : 0;
	f->rows++;
	f->imported += r > 0;
	f->left += r == 0;
	f->lost += r < 0;
	if (r < 0)
		import_broke(p->im, p->at, "a packet without a usable time at byte %llu",
			     (unsigned long long)p->at);
	return 0;
}

/* An event of a packet, if it has one: 0 or -errno. */
static int events(struct perfetto *p, const struct raw *r, struct perfetto_seq *s)
{
	struct perfetto_packet k = { .seq = s };
	uint64_t clock = r->clock ? r->clock : s->clock;
	int err = 0;

	k.timed = r->timed && time_of(p, s->id, clock, r->time, &k.ns);
	if (k.timed && k.ns > p->last_ns)
		p->last_ns = k.ns;
	if (r->event.p)
		err = count(p, perfetto_event(p, &k, r->event));
	if (!err && r->stage.p)
		err = count(p, perfetto_stage(p, &k, r->stage));
	if (!err && r->other && !r->event.p && !r->stage.p)
		err = count(p, 0);
	return err;
}

static int packet(struct perfetto *p, struct pb in, bool nested)
{
	struct raw r = { 0 };
	struct perfetto_seq *s;
	bool whole = read_raw(&r, in);
	int err = find_seq(p, r.seq, &s);

	if (err || !whole)
		return err ? err : -EBADMSG;
	p->machine = r.machine;
	if (r.clears)
		seq_clear(s);
	if (r.defaults.p)
		defaults(s, r.defaults);
	if (r.interned.p)
		err = intern(p, s, r.interned);
	if (!err && r.clocks.p)
		err = snapshot(p, s->id, r.clocks);
	if (!err && r.track.p)
		err = perfetto_describe(p, r.track);
	err = err ? err : events(p, &r, s);
	if (!err && nested && (r.zlib.p || r.zstd.p))
		return -EBADMSG;
	if (!err && r.zlib.p)
		err = unpack_packets(p, r.zlib, unpack_grow_zlib);
	if (!err && r.zstd.p)
		err = unpack_packets(p, r.zstd, unpack_grow_zstd);
	return err;
}

/* --- the file --- */

static bool read_byte(struct source *src, uint8_t *b)
{
	return source_read(src, b, 1) == 1;
}

/* 1: a varint; 0: the text ended before it; -EBADMSG: inside it. */
static int read_varint(struct perfetto *p, struct source *src, uint64_t *v)
{
	uint8_t b;

	*v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (!read_byte(src, &b))
			return shift ? -EBADMSG : 0;
		p->at++;
		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return 1;
	}
	return -EBADMSG;
}

static int bad_packet(struct perfetto *p, const char *what)
{
	importing_file(p->im)->rows++;
	importing_file(p->im)->lost++;
	import_broke(p->im, p->at, "%s at byte %llu", what, (unsigned long long)p->at);
	return ++p->bad >= BAD_IN_A_ROW ? -EBADMSG : 0;
}

static int one_packet(struct perfetto *p, struct source *src, uint8_t **buf, size_t *cap)
{
	uint64_t tag, len;
	int r = read_varint(p, src, &tag), err;

	if (r <= 0)
		return r;
	r = read_varint(p, src, &len);
	if (r <= 0 || (tag & 7) != 2 || len > PACKET_MAX)
		return -EBADMSG;
	if (vec_room(buf, cap, len + 1, 1) < 0)
		return -ENOMEM;
	if (source_read(src, *buf, len) != (ssize_t)len)
		return -EBADMSG;
	err = tag == 10 ? packet(p, (struct pb){ *buf, *buf + len, false }, false) : 0;
	if (err == -EBADMSG)
		err = bad_packet(p, "a packet that is not Perfetto's");
	else
		p->bad = 0;
	p->at += len;
	return err ? err : 1;
}

static int read_all(struct perfetto *p, struct source *src)
{
	const struct import_opts *o = p->im->o;
	uint8_t *buf = NULL;
	size_t cap = 0;
	uint64_t n = 0;
	int r;

	while ((r = one_packet(p, src, &buf, &cap)) > 0)
		if (++n % PROGRESS == 0 && o && o->progress) {
			r = o->progress(o->arg, p->im->path, source_at(src), source_size(src));
			if (r < 0)
				break;
		}
	free(buf);
	if (r == -EBADMSG) {
		import_broke(p->im, p->at, "not a packet of Perfetto at byte %llu",
			     (unsigned long long)p->at);
		r = 0;
	}
	return r;
}

static int verdict(struct perfetto *p, struct source *src, int err)
{
	struct trace_file *f = importing_file(p->im);

	if (*source_why(src)) {
		f->broke_at = UINT64_MAX;
		import_broke(p->im, source_at(src), "%s", source_why(src));
	}
	if (err)
		return import_say(p->im->why, err, "%s: %s", p->im->path, strerror(-err));
	if (f->imported)
		return 0;
	return import_say(p->im->why, -EMEDIUMTYPE,
			  "%s: a Perfetto trace without track events or GPU stages%s%s",
			  p->im->path, f->broke_at != UINT64_MAX ? ": " : "", f->why);
}

int perfetto_import(const struct importing *im, struct source *src)
{
	struct perfetto p = { .im = im, .t = im->t };
	size_t first = im->t->processes;
	int err = read_all(&p, src);

	importing_file(im)->tick_ns = 1;
	err = err ? err : perfetto_finish(&p);
	/* The machine stands above the pid, so that those of two machines differ. */
	for (size_t i = first; i < im->t->processes; i++)
		im->t->process[i].pid &= UINT32_MAX;
	err = verdict(&p, src, err);
	for (size_t i = 0; i < p.seqs; i++)
		seq_clear(&p.seq[i]);
	map_fini(&p.track_of);
	map_fini(&p.flows);
	map_fini(&p.note_of);
	map_fini(&p.kind_of);
	free(p.seq);
	free(p.clock);
	free(p.track);
	free(p.slice);
	return err;
}

/* 1: a field that only a packet has, 0: one that says nothing, -1: no packet's. */
static int sign(const struct pb_field *f)
{
	switch (f->num) {
	case 8:
	case 10:
	case 13:
	case 41:
	case 58:
		return f->wire == 0 ? 1 : -1;
	case 11:
	case 12:
	case 33:
	case 36:
	case 50:
	case 53:
	case 59:
	case 60:
	case 133:
		return f->wire == 2 ? 1 : -1;
	default:
		return f->num < 1000 ? 0 : -1;
	}
}

/*
 * XPlane begins with the same byte, but a plane has none of these fields; so does JSON after an empty
 * line, whose text is not a whole packet with another one behind it.
 */
bool perfetto_is(const char *s, size_t len)
{
	struct pb in = { (const uint8_t *)s, (const uint8_t *)s + len, false };
	struct pb_field f, g;

	while (pb_next(&in, &f) || pb_rest(&in, &f)) {
		bool whole = !in.bad;
		int seen = 0;

		if (f.num != 1 || f.wire != 2)
			return false;
		while (pb_next(&f.data, &g)) {
			int is = sign(&g);

			if (is < 0)
				return false;
			seen |= is;
		}
		if (whole && (f.data.bad || (in.p < in.end && *in.p != '\n')))
			return false;
		if (seen || !whole)
			return seen;
	}
	return false;
}
