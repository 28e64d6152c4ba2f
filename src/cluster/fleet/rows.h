/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - rows of any question, with the names and kinds of their columns: for people who write
 * SQL, and for lists that are shown as they come.
 *
 * The answer is ClickHouse's TabSeparatedWithNamesAndTypes, which all versions write. The bytes
 * come from the network: a row with more or fewer fields than the header, or with a wrong escape,
 * is an error.
 */
#pragma once

#include "fleet/fleet.h"
#include "fleet/question.h"

enum fleet_type { FLEET_NULL, FLEET_INT, FLEET_REAL, FLEET_TEXT };

struct fleet_value {
	enum fleet_type type; /* an integer that int64_t cannot hold becomes a text */
	int64_t i;
	double real;
	/* FLEET_TEXT: NUL-terminated, `len` bytes, valid until the function returns */
	const char *text;
	size_t len;
};

/* A result other than 0 ends the query. */
struct fleet_sink {
	int (*begin)(void *arg, const char *const *names, int cols);
	int (*row)(void *arg, const struct fleet_value *v, int cols);
	void *arg;
};

#define FLEET_COLUMNS 256

/* Parses the bytes of an answer, in place. 0, -EBADMSG, -ENOMEM or the sink's result. */
int fleet_tsv(char *text, size_t len, const struct fleet_sink *sink);

/*
 * Runs a user's SELECT: up to `most` rows, within `seconds`. It is wrapped in a SELECT of ours, so
 * that nothing else can run.
 */
int fleet_select(struct fleet *f, const char *query, uint64_t most, uint32_t seconds,
		 const struct fleet_sink *sink, struct store_why *why);
/* Lists the tables and their columns. */
int fleet_tables(struct fleet *f, const struct fleet_sink *sink, struct store_why *why);

/* --- lists --- */

enum fleet_list { FLEET_PROCESSES, FLEET_ALARMS, FLEET_OVERHEAD, FLEET_TELEMETRY };

struct fleet_list_ask {
	const char *job; /* NULL: any */
	struct fleet_span span;
	bool gone;                   /* processes: include those that have left */
	const char *metric, *device; /* telemetry: part of the name; NULL: any */
	const char *const *fidelity; /* overhead: words of the fidelity levels */
	size_t levels;
};
/* One row for each process, finding, process with a measured cost, or series. */
int fleet_list(struct fleet *f, enum fleet_list what, const struct fleet_list_ask *a,
	       const struct fleet_sink *sink, struct store_why *why);
#define FLEET_LIST 100000u /* limit on rows */
