/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - the small rows of a store (names, geometries, tracks, processes, journal) as sealed
 * bytes, and back. A row_put_*() appends seal and body to a buffer; a row_get_*() reads the
 * body of a row whose seal was checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/entry.h"
#include "model/node.h"
#include "model/process.h"
#include "model/sample.h"
#include "model/telemetry.h"
#include "store/seal.h"

#define ROW_NAME_MAX 2047u /* bytes of a name; what is longer is cut and gets its hash */

struct rows {
	uint8_t *data; /* owned */
	size_t len, cap;
};

void rows_fini(struct rows *r);
/* Room for `len` more bytes at data + len. 0 or -ENOMEM. */
int rows_reserve(struct rows *r, size_t len);
/* Adds all of `from` and empties it. 0 or -ENOMEM, then both are as they were. */
int rows_move(struct rows *to, struct rows *from);

/* A name as it is stored: `text` itself, or a copy in `buf` without NUL bytes and cut. */
const char *row_name(const char *text, size_t *len, char buf[ROW_NAME_MAX]);
int row_put_name(struct rows *r, uint32_t id, const char *text, size_t len);
int row_put_geo(struct rows *r, const struct geo *g);
/* Innermost frame first; n: 1 to STACK_FRAMES_MAX. */
int row_put_stack(struct rows *r, uint32_t id, const struct stack_frame *frame, uint32_t n);
int row_put_track(struct rows *r, const struct track *l);
int row_put_entry(struct rows *r, uint64_t id, const struct journal_entry *e);
/* The identity of the node: always row 1. */
int row_put_node(struct rows *r, const struct node_ident *n);
/* account.stored must include records that were overwritten since. */
int row_put_process(struct rows *r, const struct process *p);
int row_put_series(struct rows *r, const struct series *sr);
/* Records of a process that were overwritten. */
int row_put_aged(struct rows *r, uint32_t process, uint64_t records);

/* 0, or -EBADMSG. `s` is the seal, `body` its s->len bytes. */
int row_get_geo(const struct seal *s, const void *body, struct geo *g);
/* Its frames are in `frame`. */
int row_get_stack(const struct seal *s, const void *body, struct stack_row *out,
		  struct stack_frame frame[STACK_FRAMES_MAX]);
int row_get_series(const struct seal *s, const void *body, struct series *sr);
int row_get_track(const struct seal *s, const void *body, struct track *l);
int row_get_node(const struct seal *s, const void *body, struct node_ident *n);
int row_get_process(const struct seal *s, const void *body, struct process *p);
/* Also of SEAL_JOURNAL. Its texts are in `body` and `old`. */
int row_get_entry(const struct seal *s, const void *body, struct journal_entry *e,
		  char old[ENTRY_OLD]);
