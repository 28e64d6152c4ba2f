/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - aond's command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/aond.h"

enum opt_id {
#define OPT(ID, letter, word, arg, help) OPT_##ID,
#include "daemon/core/opt.tbl.h"
	OPT_MAX,
};

static const struct {
	char letter;
	const char *word, *arg, *help;
} opts[OPT_MAX] = {
#define OPT(ID, letter, word, arg, help) [OPT_##ID] = { letter, word, arg, help },
#include "daemon/core/opt.tbl.h"
};

#define FIRST_LONG 256 /* getopt's values: above every letter */

static void print_help(void)
{
	printf("usage: aond [options]\n");
	for (int i = 0; i < OPT_MAX; i++) {
		char left[40];

		if (!opts[i].help)
			continue;
		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", opts[i].letter ? '-' : ' ',
			 opts[i].letter ? opts[i].letter : ' ', opts[i].letter ? ',' : ' ',
			 opts[i].word, opts[i].arg ? " " : "", opts[i].arg ? opts[i].arg : "");
		printf("  %-24s %s\n", left, opts[i].help);
	}
	printf("\nSettings and their defaults:\n");
	param_help(stdout);
}

static int misuse(const char *what)
{
	fprintf(stderr, "aond: %s (see aond --help)\n", what);
	return 2;
}

/* What was asked for beside running. */
struct ask {
	bool check, help, version;
};

static int add_set(struct aond_args *a, const char *key, const char *value)
{
	if (a->sets == AOND_SETS)
		return misuse("too many settings");
	a->set[a->sets++] = (struct aond_set){ key, value };
	return 0;
}

static int take_option(struct aond_args *a, struct ask *ask, int id)
{
	switch (id) {
	case OPT_CONFIG:
		a->config = optarg;
		return 0;
	case OPT_CHECK:
		ask->check = true;
		return 0;
	case OPT_FOREGROUND:
		return 0;
	case OPT_RUN_DIR:
		return add_set(a, "run_dir", optarg);
	case OPT_STORE:
		return add_set(a, "store", optarg);
	case OPT_SET:
		return strchr(optarg, '=') ? add_set(a, optarg, NULL)
					   : misuse("--set takes KEY=VALUE");
	case OPT_PARENT_FD:
		a->parent_fd = atoi(optarg);
		return 0;
	case OPT_READY_FD:
		a->ready_fd = atoi(optarg);
		return 0;
	case OPT_VERSION:
		ask->version = true;
		return 0;
	case OPT_HELP:
		ask->help = true;
		return 0;
	default:
		return 2;
	}
}

static int parse(int argc, char *argv[], struct aond_args *a, struct ask *ask)
{
	struct option longopts[OPT_MAX + 1] = { 0 };
	char letters[3 * OPT_MAX + 1] = "";
	int got, err = 0;

	for (int i = 0; i < OPT_MAX; i++) {
		longopts[i] = (struct option){ opts[i].word,
					       opts[i].arg ? required_argument : no_argument, NULL,
					       FIRST_LONG + i };
		if (opts[i].letter)
			snprintf(letters + strlen(letters), 3, "%c%s", opts[i].letter,
				 opts[i].arg ? ":" : "");
	}
	while (!err && (got = getopt_long(argc, argv, letters, longopts, NULL)) != -1) {
		for (int i = 0; got < FIRST_LONG && i < OPT_MAX; i++)
			if (opts[i].letter && opts[i].letter == got)
				got = FIRST_LONG + i;
		err = got < FIRST_LONG ? 2 : take_option(a, ask, got - FIRST_LONG);
	}
	return err || optind == argc ? err : misuse("it takes options only");
}

int main(int argc, char *argv[])
{
	struct aond_args args = { .parent_fd = -1, .ready_fd = -1 };
	struct ask ask = { 0 };
	struct param_why why;
	struct param param;
	int err;

	err = parse(argc, argv, &args, &ask);
	if (err)
		return err;
	if (ask.help) {
		print_help();
		return 0;
	}
	if (ask.version) {
		printf("aond %s\n", AON_VERSION);
		return 0;
	}
	if (aond_settings(&args, &param, &why) < 0) {
		fprintf(stderr, "aond: %s\n", why.text);
		return 1;
	}
	return ask.check ? 0 : aond_run(&args, &param);
}
