/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - an entry of a store's journal: an alarm, a capture, a setting. A kind, a time and typed fields (entry.tbl.h).
 *
 * Programs read the fields; sentences are made where people see them, by entry_text(). Texts and lists are borrowed: whoever
 * fills an entry owns them, and those of an entry that was read are good until the callback returns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum entry_kind {
#define ENTRY(ID, number, what, word, sentence) ENTRY_##ID,
#include "model/entry.tbl.h"
	ENTRY_KINDS,
};

enum entry_field {
#define FIELD(ID, number, TYPE, name, UNIT) FIELD_##ID,
#include "model/entry.tbl.h"
	FIELDS,
};

enum entry_type {
	ENTRY_T_UINT,
	ENTRY_T_INT,
	ENTRY_T_REAL,
	ENTRY_T_FLAG,
	ENTRY_T_TEXT,
	ENTRY_T_UINTS, /* varints */
	ENTRY_T_TEXTS, /* each with its NUL */
};

enum entry_unit {
	ENTRY_U_WORD,
	ENTRY_U_COUNT, /* and numbers of processes, ranks, users */
	ENTRY_U_NS,
	ENTRY_U_MOMENT, /* ns of CLOCK_MONOTONIC */
	ENTRY_U_MS,
	ENTRY_U_S,
	ENTRY_U_BYTES,
	ENTRY_U_MIB,
	ENTRY_U_SHARE, /* of 1 */
};

struct entry_field_row {
	const char *name;
	uint8_t number;
	enum entry_type type;
	enum entry_unit unit;
};

struct entry_kind_row {
	const char *what, *word, *sentence;
	uint8_t number;
};

extern const struct entry_field_row entry_fields[FIELDS];
extern const struct entry_kind_row entry_kinds[ENTRY_KINDS];

typedef unsigned __int128 entry_bits;

struct journal_entry {
	uint64_t wall_ns;
	enum entry_kind kind;
	const char
		*text;   /* of an old store: the line as it was written; NULL: made of the fields */
	entry_bits have; /* a bit for each field that is set */
	union {
		uint64_t u;
		int64_t i;
		double f;
		const char *s;
		struct {
			const void *at;
			size_t len;
		} list;
	} v[FIELDS];
};

_Static_assert(FIELDS <= 128, "a bit each");

#define ENTRY_TEXT  4096u /* bytes of a sentence, at most */
#define ENTRY_BYTES 8192u /* of an encoded one */

/* --- making one --- */

static inline void entry_u(struct journal_entry *e, enum entry_field f, uint64_t v)
{
	e->have |= (entry_bits)1 << f;
	e->v[f].u = v;
}

static inline void entry_i(struct journal_entry *e, enum entry_field f, int64_t v)
{
	e->have |= (entry_bits)1 << f;
	e->v[f].i = v;
}

static inline void entry_f(struct journal_entry *e, enum entry_field f, double v)
{
	e->have |= (entry_bits)1 << f;
	e->v[f].f = v;
}

static inline void entry_s(struct journal_entry *e, enum entry_field f, const char *v)
{
	e->have |= (entry_bits)1 << f;
	e->v[f].s = v;
}

/* UINTS as entry_pack() made them, or TEXTS one behind the other. */
static inline void entry_list(struct journal_entry *e, enum entry_field f, const void *at,
			      size_t len)
{
	e->have |= (entry_bits)1 << f;
	e->v[f].list.at = at;
	e->v[f].list.len = len;
}

/* Adds a number to `len` bytes of UINTS in `buf`; how long they are now: as before if it does not fit. */
size_t entry_pack(uint8_t *buf, size_t cap, size_t len, uint64_t v);

/* --- reading one --- */

static inline bool entry_has(const struct journal_entry *e, enum entry_field f)
{
	return e->have >> f & 1;
}

static inline void entry_unset(struct journal_entry *e, enum entry_field f)
{
	e->have &= ~((entry_bits)1 << f);
}

static inline uint64_t entry_number(const struct journal_entry *e, enum entry_field f)
{
	return entry_has(e, f) ? e->v[f].u : 0;
}

static inline const char *entry_word(const struct journal_entry *e, enum entry_field f)
{
	return entry_has(e, f) ? e->v[f].s : "";
}

/* The next number of UINTS, or text of TEXTS; *at is 0 at first. False: there is none. */
bool entry_next(const struct journal_entry *e, enum entry_field f, size_t *at, uint64_t *v);
const char *entry_next_text(const struct journal_entry *e, enum entry_field f, size_t *at);

/* "alarm", "capture": what the journal calls it. */
const char *entry_what(const struct journal_entry *e);
static inline bool entry_is_alarm(const struct journal_entry *e)
{
	return e->kind >= ENTRY_HANG;
}
/* The kind of alarm of that word; ENTRY_KINDS: none. */
enum entry_kind entry_alarm(const char *word, size_t len);

/* --- showing one: entry_text.c --- */

/* "rank 3, job j, pid 77: steps take 15.0 ms instead of 10.0 ms" */
char *entry_text(const struct journal_entry *e, char out[ENTRY_TEXT]);
/* The same as the journal has it: an alarm begins with its kind. */
char *entry_line(const struct journal_entry *e, char out[ENTRY_TEXT]);

struct json;
/* All fields, by their names, into the open object. */
void entry_json(struct json *j, const struct journal_entry *e);
/* The same as the text of an object, which the caller frees. NULL: no memory. */
char *entry_object(const struct journal_entry *e);

/* --- in stores --- */

/* Bytes written, at most ENTRY_BYTES; texts that are too long are cut. */
size_t entry_encode(const struct journal_entry *e, uint8_t out[ENTRY_BYTES]);
/* Of untrusted bytes, which *e borrows. 0, or -EBADMSG. Fields and kinds that are not known are skipped. */
int entry_decode(struct journal_entry *e, const void *bytes, size_t len);

/* entry_old.c: a line of an older store, whose sentence is parsed as far as programs need it. The
 * texts of *e are in `buf` and in the line. */
#define ENTRY_OLD 4096u
void entry_from_line(struct journal_entry *e, char buf[ENTRY_OLD], const char *what,
		     const char *text);
