/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_inputs.h - opens the operands of a command as runs that can be queried: stores, and traces
 * converted to stores.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "cli/core/cli.h"

struct serve;

struct served {
	struct serve *s;
	char folder[PATH_MAX]; /* of stores that were made of traces; "": none yet */
	size_t imported;
};

/* CLI_OK, or another after an error message. To be closed in either case. */
int served_open(struct served *v, const struct opts *o);
void served_close(struct served *v);

/* Makes v->folder, if it is not there: callers remove what they put into it. */
int served_folder(struct served *v);
