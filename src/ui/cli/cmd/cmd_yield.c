/* SPDX-License-Identifier: Apache-2.0 */
/* aon yield - asks the probe of a process to leave what only one tool can have, for a while. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

#define ASK_MS      3000
#define SECONDS     60
#define SECONDS_MAX 3600

static void on_answer(void *arg, char *line)
{
	snprintf(arg, 256, "%s", line);
}

/* CLI_OK, or what to exit with after an error message. */
static int ask(long pid, long seconds)
{
	char dir[PATH_MAX], word[64], said[256] = "";
	int fd, err;

	locate_run_dir_of((pid_t)pid, dir);
	fd = ask_open(*dir ? dir : locate_run_dir(), ASK_MS);
	if (fd < 0)
		return cli_say(CLI_FAIL,
			       "no aond answers in %s: %s. Start one: systemctl start aond",
			       *dir ? dir : locate_run_dir(), strerror(-fd));
	snprintf(word, sizeof(word), "yield %ld %ld", pid, seconds * 1000);
	err = ask_on(fd, word, on_answer, said);
	close(fd);
	if (err < 0)
		return cli_say(CLI_FAIL, "aond does not answer: %s", strerror(-err));
	if (!strncmp(said, "error: no session", 17))
		return cli_say(CLI_FAIL,
			       "pid %ld: aond does not know it as a process of yours. See: aon ps",
			       pid);
	return strncmp(said, "number ", 7) ? cli_say(CLI_FAIL, "%s", said) : CLI_OK;
}

int cmd_yield(const struct opts *o)
{
	long pid, seconds = SECONDS;
	int rc;

	if (o->argc < 1 || o->argc > 2)
		return cli_misuse("takes PID and, if you like, SECONDS");
	if (num_i64(o->argv[0], 1, INT_MAX, &pid) < 0)
		return cli_misuse("takes a process id, not '%s'", o->argv[0]);
	if (o->argc == 2 && num_i64(o->argv[1], 1, SECONDS_MAX, &seconds) < 0)
		return cli_misuse("takes 1 to %d seconds, not '%s'", SECONDS_MAX, o->argv[1]);
	rc = ask(pid, seconds);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON]) {
		struct json j;

		json_begin(&j, stdout, "aon.yield/1");
		json_members(&j, J_U64("pid", (uint64_t)pid), J_U64("seconds", (uint64_t)seconds));
		json_end(&j);
	} else {
		printf("pid %ld: room for another profiler within a second, for %ld s\n", pid,
		       seconds);
	}
	return CLI_OK;
}
