/* SPDX-License-Identifier: Apache-2.0 */
/* word.h - checks untrusted texts: valid names are accepted, anything else is dropped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Letters, digits and . _ : - ; with `list`, also commas and slashes between them. */
bool ident_char(char c, bool list);
/* Copies `len` bytes; "" if one is no ident_char() or they do not fit: half a name is another. */
void ident_word(char *out, size_t cap, const char *text, size_t len, bool list);
