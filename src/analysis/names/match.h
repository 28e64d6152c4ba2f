/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h - which rule of a table matches a name? One walk over the name, however many rules.
 *
 * A rule is a list of words, "layernorm|layer_norm", each matched anywhere in the name, in any
 * case; '^' before a word anchors it at the start of the name. If several rules match, the first of
 * the table wins.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MATCH_NONE 0xffu

struct match_rule {
	const char *words;
	uint8_t value; /* the caller's */
};

struct match;

int match_new(struct match **out, const struct match_rule *rule, size_t rules);
void match_free(struct match *m); /* NULL is allowed */

/* The value of the first rule met, or `or_else`. */
uint8_t match_find(const struct match *m, const char *name, size_t len, uint8_t or_else);
