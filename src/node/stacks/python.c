/* SPDX-License-Identifier: Apache-2.0 */
/* python.c - frames of CPython by their offsets; see python.h. */
#include "stacks/python.h"

#include <errno.h>
#include <string.h>

#define THREADS 1024u  /* of an interpreter, at most, */
#define INTERPS 8u     /* and those */
#define TABLE   16384u /* bytes of a line table that are looked at */

#define STATE   32u /* of a str, in all of them */
#define CSTACK  3u  /* owner of a frame that only marks where C called */
#define PY_NONE UINT32_MAX

static const struct layout {
	uint32_t minor, interps, interp_next, threads, thread_next, id, frame, current;
	uint32_t code, previous, instr, owner, filename, name, first, table, bytecode;
	uint32_t ascii, compact;
} layouts[] = {
#define PY(...) { __VA_ARGS__ },
#include "stacks/python.tbl.h"
};

static const struct layout *layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (version >> 16 == (3u << 8 | layouts[i].minor))
			return &layouts[i];
	return NULL;
}

bool python_known(uint32_t version)
{
	return layout_of(version) != NULL;
}

/* 0: there is none, or it cannot be read. */
static uint64_t word(const struct python *p, uint64_t addr)
{
	uint64_t v = 0;

	return p->read(p->arg, addr, &v, sizeof(v)) < 0 ? 0 : v;
}

/* A str; what is beyond ASCII becomes '?'. Of a path the last part. */
static void text(const struct python *p, const struct layout *l, uint64_t at, bool path, char *out,
		 size_t cap)
{
	unsigned char raw[512];
	uint64_t len = word(p, at + 16), from;
	uint32_t state = 0, kind;
	size_t n = 0;
	char *slash;

	*out = '\0';
	if (p->read(p->arg, at + STATE, &state, sizeof(state)) < 0)
		return;
	kind = state >> 2 & 7;
	if (kind != 1 && kind != 2 && kind != 4)
		return;
	from = at + (state >> 6 & 1 ? l->ascii : l->compact);
	/* Of a long path the end says where. */
	if (len > cap - 1) {
		from += path ? (len - (cap - 1)) * kind : 0;
		len = cap - 1;
	}
	if (len * kind > sizeof(raw))
		len = sizeof(raw) / kind;
	if (p->read(p->arg, from, raw, (size_t)len * kind) < 0)
		return;
	for (; n < len; n++) {
		bool plain = raw[n * kind] >= 32 && raw[n * kind] < 127;

		for (uint32_t k = 1; k < kind; k++)
			plain &= !raw[n * kind + k];
		out[n] = plain ? (char)raw[n * kind] : '?';
	}
	out[n] = '\0';
	slash = path ? strrchr(out, '/') : NULL;
	if (slash)
		memmove(out, slash + 1, strlen(slash));
}

/* --- lines: PEP 626's table, entries of 1 to 8 code units --- */

struct cursor {
	const unsigned char *b;
	size_t at, n;
};

static uint32_t varint(struct cursor *c)
{
	uint32_t v = 0, shift = 0;

	while (c->at < c->n && shift < 30) {
		unsigned char b = c->b[c->at++];

		v |= (uint32_t)(b & 63) << shift;
		shift += 6;
		if (!(b & 64))
			break;
	}
	return v;
}

static int32_t svarint(struct cursor *c)
{
	uint32_t v = varint(c);

	return v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
}

/* How many lines an entry goes on; it is left behind its bytes. */
static int32_t entry(struct cursor *c, uint32_t code)
{
	int32_t d = 0;

	if (code == 14 || code == 13) {
		d = svarint(c);
		for (int i = 0; code == 14 && i < 3; i++)
			varint(c);
	} else if (code >= 10 && code <= 12) {
		d = (int32_t)code - 10;
		c->at += 2;
	} else if (code < 10) {
		c->at += 1;
	}
	return d;
}

/* Since 3.11: entries of 1 to 8 code units. */
static int64_t line_new(struct cursor *c, int64_t line, uint64_t unit)
{
	uint64_t at = 0;

	while (c->at < c->n) {
		unsigned char b = c->b[c->at++];

		line += entry(c, b >> 3 & 15);
		at += (b & 7) + 1u;
		if (unit < at)
			return line;
	}
	return 0;
}

/* 3.10: pairs of bytes, how far the code goes on and the lines. */
static int64_t line_old(struct cursor *c, int64_t line, uint64_t unit)
{
	uint64_t at = 0;

	for (; c->at + 1 < c->n; c->at += 2) {
		int8_t d = (int8_t)c->b[c->at + 1];

		line += d == -128 ? 0 : d;
		at += c->b[c->at];
		if (2 * unit < at)
			return line;
	}
	return 0;
}

static uint32_t line_of(const struct python *p, const struct layout *l, uint64_t code,
			uint64_t frame)
{
	unsigned char raw[TABLE];
	uint64_t table = word(p, code + l->table), len = word(p, table + 16);
	struct cursor c = { .b = raw };
	uint32_t first = 0, number = 0;
	int64_t line;

	if (p->read(p->arg, code + l->first, &first, sizeof(first)) < 0)
		return 0;
	c.n = len > TABLE ? TABLE : (size_t)len;
	if (!table || p->read(p->arg, table + 32, raw, c.n) < 0)
		return first;
	if (l->bytecode == PY_NONE) {
		p->read(p->arg, frame + l->instr, &number, sizeof(number));
		line = line_old(&c, first, number);
	} else {
		line = line_new(&c, first, (word(p, frame + l->instr) - (code + l->bytecode)) / 2);
	}
	return line > 0 && line < INT32_MAX ? (uint32_t)line : first;
}

/* --- frames --- */

/* 3.13 says where its own things are; free threading moves others, too. */
static bool moved(const struct python *p, struct layout *l)
{
	uint64_t at[3] = { 0 };
	char cookie[8];

	if (l->minor < 13 || p->read(p->arg, p->runtime, cookie, sizeof(cookie)) < 0 ||
	    memcmp(cookie, "xdebugpy", sizeof(cookie)))
		return true;
	if (word(p, p->runtime + 16) ||
	    p->read(p->arg, p->runtime + 40, &at[0], sizeof(at[0])) < 0 ||
	    p->read(p->arg, p->runtime + 64, &at[1], 2 * sizeof(at[0])) < 0)
		return false;
	l->interps = (uint32_t)at[0];
	l->interp_next = (uint32_t)at[1];
	l->threads = (uint32_t)at[2];
	return true;
}

static uint64_t thread_of(const struct python *p, const struct layout *l, pid_t tid, uint64_t self)
{
	uint64_t interp = word(p, p->runtime + l->interps), left = THREADS;
	uint64_t id = l->minor < 11 ? self : (uint64_t)tid;

	for (uint32_t i = 0; interp && i < INTERPS; i++, interp = word(p, interp + l->interp_next))
		for (uint64_t t = word(p, interp + l->threads); t && left;
		     t = word(p, t + l->thread_next), left--)
			if (word(p, t + l->id) == id)
				return t;
	return 0;
}

static void add_frame(const struct python *p, const struct layout *l, uint64_t frame, uint64_t code,
		      struct stack *out)
{
	unsigned char owner = 0, entry = 0;
	char name[96], file[64];

	if (l->owner != PY_NONE)
		p->read(p->arg, frame + l->owner, &owner, 1);
	/* What C called: from 3.12 on a frame of its own says so, in 3.11 a flag before the owner. */
	if (owner == CSTACK && l->minor > 11) {
		if (out->n)
			out->frame[out->n - 1].entry = true;
		return;
	}
	text(p, l, word(p, code + l->name), false, name, sizeof(name));
	text(p, l, word(p, code + l->filename), true, file, sizeof(file));
	stack_add(out, *name ? name : "?", *file ? file : "?", line_of(p, l, code, frame));
	if (l->minor == 11)
		p->read(p->arg, frame + l->owner - 1, &entry, 1);
	if (l->minor < 11 || (l->minor == 11 && entry))
		out->frame[out->n - 1].entry = true;
}

int python_stack(const struct python *p, pid_t tid, uint64_t self, struct stack *out)
{
	const struct layout *known = layout_of(p->version);
	struct layout l;
	uint64_t thread, frame, code;
	size_t was = out->n;

	if (!known)
		return -ENOENT;
	l = *known;
	thread = moved(p, &l) ? thread_of(p, &l, tid, self) : 0;
	frame = thread ? word(p, thread + l.frame) : 0;
	if (frame && l.current != PY_NONE)
		frame = word(p, frame + l.current);
	for (uint32_t i = 0; frame && i < 2 * STACK_FRAMES;
	     i++, frame = word(p, frame + l.previous)) {
		code = word(p, frame + l.code);
		if (!code)
			break;
		add_frame(p, &l, frame, code, out);
	}
	return out->n > was ? 0 : -ENOENT;
}
