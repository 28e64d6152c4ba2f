/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift.h - reads Thrift's compact protocol, which Parquet's metadata is written in, from untrusted
 * bytes.
 *
 *	for (int id = 0; thrift_next(&in, &id, &type);)
 *		if (id == 3 && thrift_int(&in, type, &rows)) ... else thrift_skip(&in, type);
 *	if (in.bad) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE,
	THRIFT_I8,
	THRIFT_I16,
	THRIFT_I32,
	THRIFT_I64,
	THRIFT_DOUBLE,
	THRIFT_BINARY,
	THRIFT_LIST,
	THRIFT_SET,
	THRIFT_MAP,
	THRIFT_STRUCT,
};

struct thrift {
	const uint8_t *p, *end;
	bool bad;
};

/* The next field of a struct; *id holds the one before it, 0 at first. False at the struct's end. */
bool thrift_next(struct thrift *in, int *id, uint8_t *type);

/* Each reads a value of that type; false, and the value is skipped, if it has another one. */
bool thrift_int(struct thrift *in, uint8_t type, int64_t *v); /* an integer or a boolean */
bool thrift_text(struct thrift *in, uint8_t type, const char **s, size_t *len);
bool thrift_list(struct thrift *in, uint8_t type, uint8_t of, uint32_t *n); /* then n values */
bool thrift_struct(struct thrift *in, uint8_t type);                        /* then its fields */

void thrift_skip(struct thrift *in, uint8_t type);
