/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - the probes of probe.tbl.h: where they are, and how a program loads them. */
#pragma once

#include <limits.h>

#include "cli/node/doctor.h"

enum probe_id {
#define PROBE(name, library, load, chain, what) PROBE_##name,
#include "cli/core/probe.tbl.h"
	PROBE_COUNT,
};

/* Sets the environment for the probes that --probe names. CLI_OK, or CLI_USAGE after an error
 * message. A missing probe is reported and skipped. */
int probe_setenv(const struct opts *o);

/*
 * The library's true path: beside aon, in the build tree, or where it was installed. -ENOENT, or
 * -EPERM when others than its owner, root and we could change what would run in our programs.
 */
int probe_find(enum probe_id id, char path[PATH_MAX]);

void probe_doctor(struct doctor *d);
