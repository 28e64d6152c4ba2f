/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - a command line, read by a table of its options.
 *
 *	struct options s = { .row = table, .rows = ROWS, .argc = argc, .argv = argv };
 *
 *	while ((id = options_next(&s)) >= 0)
 *		...				s.arg is its argument
 *	if (id == OPTIONS_WRONG)
 *		...				options_complain(&s), or a text of one's own from s.wrong
 *	s.argv[1] to s.argv[s.operands]		the operands, then NULL
 *
 * --name ARG, --name=ARG, an abbreviation of a name that fits no other, -l ARG, -lARG, several
 * letters behind one dash. Arguments behind -- are operands, and so is a dash alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct option_row {
	char letter;            /* 0: none */
	const char *name, *arg; /* arg NULL: it takes no argument. name NULL: no option at all */
	const char *help;       /* NULL: left out of the help */
};

enum options_end { OPTIONS_DONE = -1, OPTIONS_WRONG = -2 };

enum options_wrong {
	OPTIONS_UNKNOWN,
	OPTIONS_AMBIGUOUS,
	OPTIONS_LETTER,    /* an unknown one: s.letter */
	OPTIONS_LACKS_ARG, /* s.id takes an argument and has none */
	OPTIONS_EXTRA_ARG, /* s.id takes none and has one */
};

struct options {
	const struct option_row *row;
	size_t rows;
	int argc;
	char **argv;     /* operands are moved to its front as they are met */
	bool stop_early; /* the first operand ends the options: the rest belongs to another program */

	const char *arg; /* of the option at hand; NULL: it takes none */
	int operands;
	enum options_wrong wrong;
	const char *word; /* the one that is wrong */
	char letter;      /* of the option that is wrong; 0: it was given by its name */
	int id;           /* of the option that is wrong */

	int at;              /* the word before the next */
	const char *letters; /* of the word at hand: those that are left */
};

/* The row of the next option, or one of enum options_end. */
int options_next(struct options *s);

/*
 * Reads all options: val[row] becomes its last argument, or "" if it takes none; others are
 * unchanged. Returns how it ended.
 */
enum options_end options_all(struct options *s, const char *val[]);

/* The usual error message, on stderr. */
void options_complain(const struct options *s);

/* "-o, --output FILE". `letters`: leave room for a letter where there is none. Returns `left`. */
#define OPTIONS_LEFT 80u
const char *options_left(const struct option_row *row, bool letters, char left[OPTIONS_LEFT]);

/* A line for each row that has help, the names in `width` columns. */
void options_help(const struct option_row *row, size_t rows, int width);
