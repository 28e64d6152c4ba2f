/* SPDX-License-Identifier: Apache-2.0 */
/* pylayout.c - see pylayout.h. */
#include "stacks/pylayout.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define FIRST   10u /* minor versions: the first, */
#define DEBUG   13u /* the first that says its own offsets, */
#define LAST    15u /* and the last that is known */
#define FINAL   0xfu
#define LARGEST (1u << 20) /* an offset in an interpreter's state */

static const struct {
	uint32_t field;                /* where in struct py_layout */
	uint32_t at[LAST - FIRST + 1]; /* by minor */
} rows[] = {
#define PY(name, ...) { offsetof(struct py_layout, name), { __VA_ARGS__ } },
#include "stacks/python.tbl.h"
};

static uint32_t minor_of(uint32_t version)
{
	return version >> 24 == 3 ? version >> 16 & 255 : 0;
}

/* What says its own offsets has them in another order in each pre-release. */
bool py_layout_known(uint32_t version)
{
	uint32_t minor = minor_of(version);

	return minor >= FIRST && minor <= LAST && (minor < DEBUG || (version >> 4 & 15) == FINAL);
}

static int take(struct py_layout *l, const uint64_t words[PY_WORDS])
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t at = rows[i].at[l->minor - FIRST];

		if (at != PY_NONE && l->minor >= DEBUG)
			at = words[at];
		if (at != PY_NONE && at > LARGEST)
			return -ENOENT;
		*(uint32_t *)((char *)l + rows[i].field) = (uint32_t)at;
	}
	if (l->gil_holder < l->gil_state || l->gil_locked < l->gil_state)
		return -ENOENT;
	l->gil_holder -= l->gil_state;
	l->gil_locked -= l->gil_state;
	return 0;
}

/* What follows from the rest. */
static void derive(struct py_layout *l)
{
	l->compact = l->ascii + (l->minor < 12 ? 24 : 16);
	l->kind_bit = l->free_threaded && l->minor > 13 ? 8 : 2;
	l->gil_bytes = l->free_threaded ? 216 : 208;
	l->framesize = l->nlocals = l->stacksize = PY_NONE;
	if (l->minor == 11) {
		l->nlocals = l->first + 4;
		l->stacksize = l->first - 4;
	} else if (l->minor > 11) {
		l->framesize = l->first + 8;
	}
	if (!l->free_threaded)
		l->tlbc = PY_NONE;
	l->globals = l->minor < 11 ? 48 : l->minor < 12 ? 8 : 24;
	if (l->minor == 13 && !l->free_threaded) { /* it does not say them */
		l->gen_frame = 72;
		l->gen_state = 67;
	}
}

/* Bytes up to the end of the last field, each of at most 8 bytes. */
static uint32_t copy_of(const uint32_t *fields, size_t n)
{
	uint32_t most = 0;

	for (size_t i = 0; i < n; i++)
		if (fields[i] != PY_NONE && fields[i] + 8 > most)
			most = fields[i] + 8;
	return most;
}

#define COPY(...) \
	copy_of((uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static int measure(struct py_layout *l)
{
	/* Behind the chunk is where its used part ends. */
	uint32_t top = l->chunk == PY_NONE ? PY_NONE : l->chunk + 8;

	l->thread_copy = COPY(l->next, l->interp, l->frame, l->self, l->id, top);
	l->frame_copy = COPY(l->previous, l->code, l->instr, l->owner, l->entry, l->locals - 8,
			     l->globals, l->instr + 8);
	l->code_copy = COPY(l->filename, l->name, l->table, l->first, l->framesize, l->nlocals,
			    l->stacksize, l->type, l->tlbc);
	l->gil_copy = COPY(l->gil_holder, l->gil_locked);
	l->str_copy = COPY(l->state, l->length);
	return l->locals >= 8 && l->thread_copy <= PY_THREAD_COPY &&
			       l->frame_copy <= PY_FRAME_COPY && l->code_copy <= PY_CODE_COPY &&
			       l->gil_copy <= PY_GIL_COPY && l->str_copy <= PY_STR_COPY
		       ? 0
		       : -ENOENT;
}

int py_layout(struct py_layout *out, uint32_t version, const uint64_t words[PY_WORDS])
{
	struct py_layout l = { .minor = minor_of(version) };

	if (!py_layout_known(version))
		return -ENOENT;
	if (l.minor >= DEBUG &&
	    (memcmp(words, "xdebugpy", 8) || words[1] != version || words[2] > 1))
		return -ENOENT;
	l.free_threaded = l.minor >= DEBUG && words[2];
	if (take(&l, words))
		return -ENOENT;
	derive(&l);
	if (measure(&l))
		return -ENOENT;
	*out = l;
	return 0;
}
