/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - the tables of part.tbl.h. */
#include "names/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names/match.h"

const char *const host_part_word[HOST_PARTS] = {
#define PART(ID, word, people) [HOST_PART_##ID] = word,
#include "names/part.tbl.h"
};

const char *const host_part_people[HOST_PARTS] = {
#define PART(ID, word, people) [HOST_PART_##ID] = people,
#include "names/part.tbl.h"
};

static const struct match_rule by_range[] = {
#define BY_RANGE(ID, words) { words, HOST_PART_##ID },
#include "names/part.tbl.h"
};

enum {
#define ROW_(line)                   ROW_##line
#define ROW(line)                    ROW_(line)
#define BY_FILE(ID, words, function) ROW(__LINE__),
#include "names/part.tbl.h"
	ROWS,
};

static const struct match_rule by_file[ROWS] = {
#define BY_FILE(ID, words, function) { words, ROW(__LINE__) },
#include "names/part.tbl.h"
};

static const struct {
	enum host_part part;
	const char *function;
} row[ROWS] = {
#define BY_FILE(ID, words, function) { HOST_PART_##ID, function },
#include "names/part.tbl.h"
};

static const struct match_rule by_function[] = {
#define BY_FUNCTION(ID, words) { words, HOST_PART_##ID },
#include "names/part.tbl.h"
};

struct parts {
	struct match *range, *file, *function;
};

int parts_new(struct parts **out)
{
	struct parts *p = calloc(1, sizeof(*p));

	if (!p || match_new(&p->range, by_range, sizeof(by_range) / sizeof(by_range[0])) < 0 ||
	    match_new(&p->file, by_file, ROWS) < 0 ||
	    match_new(&p->function, by_function, sizeof(by_function) / sizeof(by_function[0])) <
		    0) {
		parts_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void parts_free(struct parts *p)
{
	if (!p)
		return;
	match_free(p->range);
	match_free(p->file);
	match_free(p->function);
	free(p);
}

enum host_part parts_range(const struct parts *p, const char *name)
{
	return match_find(p->range, name, strlen(name), HOST_PARTS);
}

enum host_part parts_frame(const struct parts *p, const char *file, const char *function)
{
	uint8_t at = match_find(p->file, file, strlen(file), ROWS);

	return at < ROWS && strstr(function, row[at].function) ? row[at].part : HOST_PARTS;
}

enum host_part parts_function(const struct parts *p, const char *function)
{
	return match_find(p->function, function, strlen(function), HOST_PARTS);
}
