/* SPDX-License-Identifier: Apache-2.0 */
/* serve_inputs.h - opens a command's operands, stores or traces, as runs to be queried. */
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
