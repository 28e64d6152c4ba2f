/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql.h - SQL over a store: tables that are read from its blobs as a query needs them.
 *
 * Nothing can be written, attached or loaded: a query reads the store's tables (docs/sql.md) and
 * computes. Memory and time are bounded. This and the store are the only layers that use SQLite.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sql;
struct store;

struct sql_opts {
	uint64_t timeout_ns; /* for one sql_run(); 0: no limit */
	uint64_t
		memory_bytes; /* for events held at a time; 0: 256 MiB. A join may use twice that */
};

struct sql_why {
	char text[512];
	int at; /* position of the error in the statement; -1: not known */
};

enum sql_type { SQL_NULL, SQL_INT, SQL_REAL, SQL_TEXT, SQL_BYTES };

struct sql_value {
	enum sql_type type;
	int64_t i;
	double real;
	const char *text; /* SQL_TEXT: NUL-terminated, SQL_BYTES: not; borrowed for the call */
	size_t len;
};

/* If a callback returns other than 0, the query ends and sql_run() returns that value. */
struct sql_sink {
	int (*begin)(void *arg, const char *const *names, int cols);
	int (*row)(void *arg, const struct sql_value *v, int cols);
	int (*end)(void *arg);
	void *arg;
};

/* `st` is borrowed until sql_close(). */
int sql_open(struct sql **out, struct store *st, const struct sql_opts *o, struct sql_why *why);
void sql_close(struct sql *s); /* NULL is allowed */

/*
 * Runs the statement `text`. 0, or what a callback returned, or
 *	-EINVAL   not understood, or not allowed       -ETIME   out of time
 *	-EBADMSG  the store cannot be read on          -ENOMEM  out of memory
 */
int sql_run(struct sql *s, const char *text, const struct sql_sink *sink, struct sql_why *why);
