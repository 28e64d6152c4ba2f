/* SPDX-License-Identifier: Apache-2.0 */
/* pycode.c - code objects: how long their frames are, their names, their lines; see python.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stacks/pyimpl.h"

#define AGAIN_NS \
	1000000000ull    /* a code object is looked at again after; its address may be another's */
#define TABLE     65536u /* bytes of a line table that are looked at */
#define FRAME_MAX 65536u /* words of a frame */
#define TEXT      511u   /* bytes of a name or a path that are kept */
#define TLBC      256u   /* copies of a function's code, one a thread */

/* --- texts --- */

/* One character; returns its bytes. What would harm a terminal or is none becomes '?'. */
static size_t put_utf8(char out[4], uint32_t c)
{
	if (c < 32 || (c >= 127 && c < 160) || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* A str. Of a long one the start, of a path the end. */
static void text_of(const struct python *p, uint64_t at, bool path, char out[TEXT + 1])
{
	const struct py_layout *l = &p->l;
	unsigned char head[PY_STR_COPY], raw[TEXT * 4];
	uint32_t state, kind;
	uint64_t len, from;
	size_t n = 0;

	strcpy(out, "?");
	if (!at || !py_read(p, at, head, l->str_copy))
		return;
	state = py_half(head + l->state);
	len = py_word(head + l->length);
	kind = state >> l->kind_bit & 7;
	if ((kind != 1 && kind != 2 && kind != 4) || len > 1u << 20)
		return;
	from = at + (state >> (l->kind_bit + 4) & 1 ? l->ascii : l->compact);
	if (len > TEXT) {
		from += path ? (len - TEXT) * kind : 0;
		len = TEXT;
	}
	if (!len || !py_read(p, from, raw, (size_t)len * kind))
		return;
	for (size_t i = 0; i < len && n + 4 <= TEXT; i++) {
		uint32_t c = 0;

		memcpy(&c, raw + i * kind, kind);
		n += put_utf8(out + n, c);
	}
	out[n] = '\0';
}

/* 0: no room. */
static uint32_t keep(struct python *p, const char *s)
{
	size_t n = strlen(s) + 1;
	uint32_t at = (uint32_t)p->text_n;

	if (vec_room(&p->text, &p->text_cap, p->text_n + n, 1))
		return 0;
	memcpy(p->text + at, s, n);
	p->text_n += n;
	return at;
}

static bool has(const char *path, const char *part)
{
	return strstr(path, part) != NULL;
}

bool python_is_user(const char *path)
{
	const char *lib = strstr(path, "/lib/python3");

	if (*path == '<')
		return !strcmp(path, "<string>") || !strcmp(path, "<stdin>") ||
		       !strncmp(path, "<ipython", 8);
	if (has(path, "/site-packages/") || has(path, "/dist-packages/") ||
	    has(path, "/lib64/python3."))
		return false;
	/* "/lib/python3.11/" and "/lib/python311.zip/" are the standard library. */
	return strcmp(path, "?") && !(lib && lib[12] && strchr(lib + 12, '/'));
}

/* --- code objects --- */

void py_codes_clear(struct python *p)
{
	map_fini(&p->codes);
	map_fini(&p->lines);
	p->n = 0;
	p->text_n = 1; /* 0 says: not read */
}

size_t python_bytes(const struct python *p)
{
	return p ? (p->codes.cap + p->lines.cap) * sizeof(*p->codes.slot) +
			       p->code_cap * sizeof(*p->code) + p->text_cap
		 : 0;
}

void python_forget(struct python *p)
{
	free(p->code);
	free(p->text);
	p->code = NULL;
	p->text = NULL;
	p->code_cap = p->text_cap = 0;
	py_codes_clear(p);
}

static bool parse(const struct python *p, const unsigned char *raw, struct py_code *c)
{
	const struct py_layout *l = &p->l;
	uint32_t words = 0;

	c->filename = py_word(raw + l->filename);
	c->name = py_word(raw + l->name);
	c->table = py_word(raw + l->table);
	c->first = py_half(raw + l->first);
	if (l->framesize != PY_NONE)
		words = py_half(raw + l->framesize);
	else if (l->nlocals != PY_NONE)
		words = py_half(raw + l->nlocals) + py_half(raw + l->stacksize) + l->locals / 8;
	c->framesize = words;
	c->check = hash_mix(hash_mix(c->filename, c->name), hash_mix(c->table, c->first));
	if (!c->filename || !c->name || !c->table || c->first > INT32_MAX)
		return false;
	return l->minor < 11 || (words >= l->locals / 8 && words <= FRAME_MAX);
}

/* Texts that are none say that it is no code object; the first one that is gives the type. */
static bool is_code(struct python *p, const unsigned char *raw, const struct py_code *c)
{
	uint64_t type = py_word(raw + p->l.type);
	char file[TEXT + 1];

	if (p->type)
		return type == p->type;
	text_of(p, c->filename, true, file);
	if (!strcmp(file, "?"))
		return false;
	p->type = type;
	return true;
}

static bool take(struct python *p, uint64_t addr, const unsigned char *raw, struct py_code *out)
{
	*out = (struct py_code){ .addr = addr };
	return parse(p, raw, out) && is_code(p, raw, out);
}

static bool look(struct python *p, uint64_t addr, struct py_code *out)
{
	unsigned char raw[PY_CODE_COPY];

	return addr && addr % 8 == 0 && py_read(p, addr, raw, p->l.code_copy) &&
	       take(p, addr, raw, out);
}

struct py_code *py_code(struct python *p, uint64_t addr)
{
	uint64_t at = map_get(&p->codes, addr);
	struct py_code c;

	if (at)
		return &p->code[at - 1];
	if (!look(p, addr, &c))
		return NULL;
	if (p->n == PY_CODES || p->text_n > PY_TEXT - 2 * (TEXT + 1))
		py_codes_clear(p);
	if (vec_room(&p->code, &p->code_cap, p->n + 1, sizeof(c)) ||
	    map_put(&p->codes, addr, p->n + 1))
		return NULL;
	p->code[p->n] = c;
	return &p->code[p->n++];
}

static void name_code(struct python *p, struct py_code *c)
{
	char text[TEXT + 1];

	text_of(p, c->name, false, text);
	c->hash = fnv_text(FNV_BASIS ^ p->o.seed, text);
	c->name_at = keep(p, text);
	text_of(p, c->filename, true, text);
	c->hash = fnv_text(hash_mix(c->hash, 1), text);
	c->file_at = keep(p, text);
	c->user = python_is_user(text);
}

/* --- lines: PEP 626's table --- */

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

/* Free threading gives each thread its own copy of a function's code, but the first one. */
static uint64_t start_of(const struct python *p, const struct py_code *c, uint64_t instr)
{
	uint64_t start = c->addr + p->l.bytecode, array = 0, best = start, copies[TLBC + 1];
	size_t n;

	if (p->l.tlbc == PY_NONE || !py_read(p, c->addr + p->l.tlbc, &array, 8) || !array ||
	    !py_read(p, array, copies, 8))
		return start;
	n = copies[0] < TLBC ? (size_t)copies[0] : TLBC;
	if (!py_read(p, array + 8, copies + 1, 8 * n))
		return start;
	for (size_t i = 1; i <= n; i++)
		if (copies[i] <= instr && (best > instr || copies[i] > best))
			best = copies[i];
	return best;
}

static uint32_t find_line(const struct python *p, const struct py_code *c, uint64_t instr)
{
	static unsigned char raw[TABLE]; /* the reader belongs to one thread */
	struct cursor cur = { .b = raw };
	uint64_t len = 0;
	int64_t line;

	if (!py_read(p, c->table + p->l.bytes_size, &len, 8))
		return c->first;
	cur.n = len > TABLE ? TABLE : (size_t)len;
	if (!cur.n || !py_read(p, c->table + p->l.bytes, raw, cur.n))
		return c->first;
	line = p->l.bytecode == PY_NONE
		       ? line_old(&cur, c->first, instr)
		       : line_new(&cur, c->first, (instr - start_of(p, c, instr)) / 2);
	return line > 0 && line < INT32_MAX ? (uint32_t)line : c->first;
}

static uint32_t line_of(struct python *p, const struct py_code *c, uint64_t instr)
{
	uint64_t key = hash_mix(hash_mix(c->addr, c->check), instr), line = map_get(&p->lines, key);

	if (line)
		return (uint32_t)(line - 1);
	line = find_line(p, c, instr);
	if (p->lines.used >= PY_LINES)
		map_fini(&p->lines);
	map_put(&p->lines, key, line + 1);
	return (uint32_t)line;
}

/* --- places --- */

static bool is_old(const struct py_code *c, uint64_t now_ns)
{
	return c->seen_ns && now_ns - c->seen_ns > AGAIN_NS;
}

/* It is what it was, or another one by now, or (NULL) none: what it was is not said of another. */
static void renew(struct python *p, struct py_code *c, const unsigned char *raw, uint64_t now_ns)
{
	struct py_code now;

	if (!raw || !take(p, c->addr, raw, &now)) {
		c->check = 0;
		return;
	}
	if (now.check != c->check)
		*c = now;
	c->seen_ns = now_ns | 1;
}

void python_look_again(struct python *p, const struct python_frame *f, size_t n, uint64_t now_ns)
{
	static unsigned char raw[STACK_FRAMES_MAX][PY_CODE_COPY]; /* a reader is of one thread */
	struct python_piece piece[STACK_FRAMES_MAX];
	struct py_code *old[STACK_FRAMES_MAX];
	size_t k = 0;

	for (size_t i = 0; i < n && k < STACK_FRAMES_MAX; i++) {
		uint64_t at = map_get(&p->codes, f[i].code);
		struct py_code *c = at ? &p->code[at - 1] : NULL;

		if (!c || !is_old(c, now_ns))
			continue;
		old[k] = c;
		piece[k] = (struct python_piece){ c->addr, raw[k], p->l.code_copy };
		k++;
	}
	for (size_t i = 0; i < k;) {
		size_t got = p->o.read(p->o.arg, piece + i, k - i);

		for (size_t end = i + got; i < end && i < k; i++)
			renew(p, old[i], raw[i], now_ns);
		if (i < k)
			renew(p, old[i++], NULL, now_ns);
	}
}

void python_place(struct python *p, const struct python_frame *f, uint64_t now_ns,
		  struct python_place *out)
{
	struct py_code *c = py_code(p, f->code);

	*out = (struct python_place){ .name = "?", .file = "?", .hash = 1 };
	if (!c || !c->check)
		return;
	if (!c->name_at)
		name_code(p, c);
	c->seen_ns = now_ns | 1;
	*out = (struct python_place){ .name = c->name_at ? p->text + c->name_at : "?",
				      .file = c->file_at ? p->text + c->file_at : "?",
				      .hash = c->hash,
				      .line = line_of(p, c, f->instr),
				      .user = c->user };
}
