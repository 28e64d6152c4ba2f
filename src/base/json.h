/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - writes JSON to a stream piece by piece, without a tree in memory.
 *
 *	json_open(&j, NULL, '{'); json_str(&j, "name", text); json_close(&j);
 *
 * `key` is NULL inside an array and at the top. Whatever the bytes of a string are, the output
 * is valid: control characters are escaped, bytes that are not UTF-8 become U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 16u

struct json {
	FILE *f; /* borrowed; no other thread writes to it */
	uint32_t depth;
	bool comma[JSON_DEPTH + 1];
	char close[JSON_DEPTH + 1];
	size_t used;
	char buf[1024]; /* of the open value; written to f when it is full or closed */
};

void json_init(struct json *j, FILE *f);
/* The same, and the object of an answer: its first member names its schema. */
void json_begin(struct json *j, FILE *f, const char *schema);
void json_open(struct json *j, const char *key, char kind); /* '{' or '[' */
void json_close(struct json *j);
void json_line(struct json *j); /* the next value is on a line of its own */
void json_end(struct json *j);  /* closes what is open, ends the line */

void json_str(struct json *j, const char *key, const char *s); /* NULL: null */
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_real(struct json *j, const char *key, double v);          /* not finite: null */
void json_double(struct json *j, const char *key, double v);        /* all its digits */
void json_token(struct json *j, const char *key, const char *text); /* of the caller: a number */
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);
void json_maybe(struct json *j, const char *key, bool is, int64_t v); /* is not: null */
/* A value that is JSON already: of a file, or of an answer. */
void json_raw(struct json *j, const char *key, const char *text, size_t len);

/*
 * Several members at once, and a whole object of them:
 *
 *	json_object(&j, NULL, J_STR("name", text), J_U64("pid", pid));
 *
 * All values are evaluated before the first is written: two of them cannot share a buffer.
 */
struct json_member {
	const char *key;
	enum {
		JSON_STR = 1,
		JSON_U64,
		JSON_I64,
		JSON_REAL,
		JSON_DOUBLE,
		JSON_BOOL,
		JSON_NULL
	} kind;
	union {
		const char *s;
		uint64_t u;
		int64_t i;
		double d;
		bool b;
	};
};

/* clang-format off */
#define J_STR(key, v)    { key, JSON_STR,    { .s = v } }
#define J_U64(key, v)    { key, JSON_U64,    { .u = (uint64_t)(v) } }
#define J_I64(key, v)    { key, JSON_I64,    { .i = v } }
#define J_REAL(key, v)   { key, JSON_REAL,   { .d = v } }
#define J_DOUBLE(key, v) { key, JSON_DOUBLE, { .d = v } }
#define J_BOOL(key, v)   { key, JSON_BOOL,   { .b = v } }
#define J_U64_IF(key, there, v)  { key, (there) ? JSON_U64 : JSON_NULL,  { .u = (uint64_t)(v) } }
#define J_I64_IF(key, there, v)  { key, (there) ? JSON_I64 : JSON_NULL,  { .i = v } }
#define J_BOOL_IF(key, there, v) { key, (there) ? JSON_BOOL : JSON_NULL, { .b = v } }
/* clang-format on */

void json_put(struct json *j, const struct json_member *m); /* up to one without a kind */
#define json_members(j, ...) json_put(j, (const struct json_member[]){ __VA_ARGS__, { 0 } })
#define json_object(j, key, ...)              \
	do {                                  \
		json_open(j, key, '{');       \
		json_members(j, __VA_ARGS__); \
		json_close(j);                \
	} while (0)
