/* SPDX-License-Identifier: Apache-2.0 */
/* fabric.h - the daemon that answers polling PyTorch processes of this node (abi/fabric.h). */
#pragma once

#include <limits.h>

#include "cli/node/doctor.h"

/*
 * The run directory of the aond that answers, at the place that the environment names. -ENOENT:
 * none answers; -EADDRINUSE: another daemon, such as dynolog; -errno.
 */
int fabric_who(char run_dir[PATH_MAX]);

/*
 * The run directory to ask at: $AON_RUN_DIR, else that of the aond which answers, if it is the
 * node's, root's or the user's own. 0, or an error of fabric_who(); -EPERM: somebody else's.
 */
int fabric_run_dir(char run_dir[PATH_MAX]);

/* What stands in the way and what to do, for an error of these. */
const char *fabric_trouble(int err);

void fabric_doctor(struct doctor *d);
