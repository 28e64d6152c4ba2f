/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - aond's command line. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/options.h"
#include "daemon/core/aond.h"

enum opt_id {
#define OPT(ID, letter, word, arg, help) OPT_##ID,
#include "daemon/core/opt.tbl.h"
	OPT_MAX,
};

static const struct option_row opts[OPT_MAX] = {
#define OPT(ID, letter, word, arg, help) [OPT_##ID] = { letter, word, arg, help },
#include "daemon/core/opt.tbl.h"
};

static void print_help(void)
{
	printf("usage: aond [options]\n");
	options_help(opts, OPT_MAX, 24);
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

static int take_option(struct aond_args *a, struct ask *ask, int id, const char *arg)
{
	switch (id) {
	case OPT_CONFIG:
		a->config = arg;
		return 0;
	case OPT_CHECK:
		ask->check = true;
		return 0;
	case OPT_FOREGROUND:
		return 0;
	case OPT_RUN_DIR:
		return add_set(a, "run_dir", arg);
	case OPT_STORE:
		return add_set(a, "store", arg);
	case OPT_SET:
		return strchr(arg, '=') ? add_set(a, arg, NULL) : misuse("--set takes KEY=VALUE");
	case OPT_PARENT_FD:
		a->parent_fd = (int)num_front_i64(arg, NULL);
		return 0;
	case OPT_READY_FD:
		a->ready_fd = (int)num_front_i64(arg, NULL);
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
	struct options s = { .row = opts, .rows = OPT_MAX, .argc = argc, .argv = argv };
	int id, err = 0;

	while (!err && (id = options_next(&s)) >= 0)
		err = take_option(a, ask, id, s.arg);
	if (err)
		return err;
	if (id == OPTIONS_WRONG) {
		options_complain(&s);
		return 2;
	}
	return s.operands ? misuse("it takes options only") : 0;
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
