/* SPDX-License-Identifier: Apache-2.0 */
/* aon - the command: finds the verb, reads its options, runs it. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "cli/core/cli.h"
#include "cli/model/devices.h"
#include "cli/cluster/fleet_ask.h"
#include "fleet/fleet.h"

/* Commands that judge or model: devices of one's own are known to them. */
#define B(ID) CMD_BIT(CMD_##ID)
static const uint64_t with_devices =
	B(ROOFLINE) | B(REPORT) | B(WHY) | B(SERVE) | B(OPEN) | B(MODEL) | B(SIM) | B(SQL) | B(RUN);

/* A result that could not be written is a failure, not a success that nobody saw. */
static int finish(int rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	if (errno == EPIPE)
		return rc ? rc : CLI_FAIL;
	return cli_say(CLI_FAIL, "cannot write the result: %s. Nothing else was changed.",
		       strerror(errno));
}

static int no_command(const char *word)
{
	char clean[256], title[CMD_TITLE];
	int like = cmd_like(word);

	fprintf(stderr, "aon: unknown command '%s'.", fmt_clean(clean, sizeof(clean), word, false));
	if (like >= 0)
		fprintf(stderr, " Did you mean: aon %s?", cmd_title(like, title));
	fprintf(stderr, " See: aon help\n");
	return CLI_USAGE;
}

/* What is no longer a command of aon. Its options are not either, so it is asked before they are. */
static bool is_lab(int cmd, int argc, char *argv[])
{
	return cmd == CMD_SIM && argc > 1 &&
	       (!strcmp(argv[1], "corpus") || !strcmp(argv[1], "score"));
}

int main(int argc, char *argv[])
{
	static char name[] = "aon", help[] = "help", version[] = "version";
	static char *alone[] = { name, help, NULL };
	char said[CMD_TITLE];
	struct opts o;
	int cmd, rc, fd, words;

	/* A closed stream's number must not be given to a pipe or a store. Close-on-exec, so that
	 * a program that is run finds it closed, as it was. */
	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		;
	close(fd);
	setlocale(LC_CTYPE, ""); /* only to know whether the terminal speaks UTF-8 */
	if (argc < 2) {
		argc = 2;
		argv = alone;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		argv[1] = help;
	else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		argv[1] = version;
	cmd = cmd_words(argc - 1, argv + 1, &words);
	if (cmd < 0)
		return no_command(argv[1]);
	snprintf(said, sizeof(said), words == 2 ? "%s %s" : "%s", argv[1], argv[2]);
	cli_speaker(said);
	argc -= words;
	argv += words;
	if (is_lab(cmd, argc, argv))
		return cli_say(CLI_USAGE,
			       "'%s' is now 'aon-lab %s', a tool of the source tree (docs/sim.md)",
			       argv[1], argv[1]);
	rc = opt_parse(&o, (enum cmd_id)cmd, argc, argv);
	if (rc != CLI_OK)
		return rc;
	if (o.val[OPT_HELP]) {
		help_print(cmd);
		return finish(CLI_OK);
	}
	rc = fleet_refused(&o);
	if (rc != CLI_OK)
		return rc;
	fleet_register(fleet_files(&o));
	/* A program is run all the same. */
	if (with_devices & CMD_BIT(cmd) && (rc = devices_load()) != CLI_OK && cmd != CMD_RUN)
		return rc;
	return finish(cmd_table[cmd].fn(&o));
}
