/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - stops commands that run as services. */
#include <signal.h>
#include <sys/signalfd.h>

#include "cli/core/cli.h"

int cli_stop_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}
