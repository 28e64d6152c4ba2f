/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - the parts of a step, and which of them a range or a frame of a stack is of. */
#pragma once

#include <stdint.h>

enum host_part {
#define PART(ID, word, people) HOST_PART_##ID,
#include "names/part.tbl.h"
	HOST_PARTS,
};

extern const char *const host_part_word[HOST_PARTS];   /* for programs */
extern const char *const host_part_people[HOST_PARTS]; /* for people */

struct parts;

int parts_new(struct parts **out);
void parts_free(struct parts *p); /* NULL is allowed */

/* HOST_PARTS: it does not tell. */
enum host_part parts_range(const struct parts *p, const char *name);
enum host_part parts_frame(const struct parts *p, const char *file, const char *function);
/* A function of the program itself. */
enum host_part parts_function(const struct parts *p, const char *function);
