/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - shared by all commands: exit codes, options, and the one-line error message. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FAIL = 1,
	CLI_USAGE = 2,
	CLI_UNSURE = 3, /* could not decide: too little data */
};

enum cmd_group {
#define GROUP(ID, heading) GROUP_##ID,
#include "cli/core/group.tbl.h"
	GROUP_COUNT,
};

enum cmd_id {
#define CMD(ID, name, group, parent, synopsis, help, more) CMD_##ID,
#include "cli/core/cmd.tbl.h"
	CMD_COUNT,
	CMD_NONE = -1,
};

#define CMD_BIT(cmd) (UINT64_C(1) << (cmd))
#define CMD_EVERY    (CMD_BIT(CMD_COUNT) - 1)

enum opt_id {
#define OPT(ID, letter, name, arg, cmds, help) OPT_##ID,
#include "cli/core/opt.tbl.h"
	OPT_COUNT,
};

struct opts {
	enum cmd_id cmd;
	const char *val[OPT_COUNT]; /* NULL: not given; "" for one without argument */
	int argc;                   /* operands */
	char **argv;
};

typedef int cmd_fn(const struct opts *o);

struct cmd {
	const char *name;
	cmd_fn *fn;
	enum cmd_group group;
	enum cmd_id parent; /* CMD_NONE: it is a first word */
	const char *synopsis, *help, *more;
};

extern const struct cmd cmd_table[CMD_COUNT];
extern const struct option_row opt_table[OPT_COUNT];
extern const uint64_t opt_cmds[OPT_COUNT]; /* CMD_BIT() of each that takes it */

/* Whether the help of a command has that option. */
bool opt_has(int cmd, int opt);

#define CMD(ID, name, group, parent, synopsis, help, more) int cmd_##name(const struct opts *o);
#include "cli/core/cmd.tbl.h"

/* The command of the words from argv[0] on, one or two; -1: none. *words: how many are its name. */
int cmd_words(int argc, char *argv[], int *words);
/* The option of a command, or the command, that a word may have been meant to be; or -1. */
int opt_like(int cmd, const char *word);
int cmd_like(const char *word);
#define CMD_TITLE 32u
/* Its name as people should type it: "node rack". */
const char *cmd_title(int cmd, char title[CMD_TITLE]);

/* Fills *o from argv[1..]. CLI_OK, or CLI_USAGE after an error message. */
int opt_parse(struct opts *o, enum cmd_id cmd, int argc, char *argv[]);

/* The number given for `id`, if one was: *out is untouched else. CLI_OK or CLI_USAGE. */
int opt_number(const struct opts *o, enum opt_id id, double lo, double hi, double *out);
int opt_u32(const struct opts *o, enum opt_id id, uint32_t *out);

/* The value given for `id` as its place in the argument's list; `or_else` if none was given;
 * -1 after an error message. */
int opt_choice(const struct opts *o, enum opt_id id, int or_else);

/* "aon report: <text>" and a new line on stderr: safe for any bytes. Returns `code`. */
int cli_say(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For a command that runs until it is stopped: a descriptor, readable from the first SIGTERM or SIGINT on, which end
 * nothing by themselves then, nor does a closed pipe. -1: errno says why. */
int cli_stop_fd(void);

/* Like cli_say(CLI_USAGE): adds where help is found. */
int cli_misuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Suppresses messages while a screen is drawn. */
void cli_mute(bool yes);

/* Sets the command's name in messages, by the words that were typed. */
void cli_speaker(const char *words);

/* Help of all commands (CMD_COUNT) or of one, on stdout. */
void help_print(int cmd);
void help_complete(int shell);
