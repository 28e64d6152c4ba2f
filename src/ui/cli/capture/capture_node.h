/* SPDX-License-Identifier: Apache-2.0 */
/* capture_node.h - captures by aond itself (capture/node_capture.h), for the command line. */
#pragma once

#include "capture/node_capture.h"
#include "cli/core/cli.h"

struct cli_capture {
	const struct opts *o;
	struct node_capture c;
	char to[PATH_MAX]; /* file or folder */
};

/* aon capture of aond's own: an exit status. */
int capture_node(const struct opts *o, const struct node_want *w);
int capture_node_keep(const struct opts *o, const struct node_want *w);
int capture_raised(const struct opts *o);
int capture_node_list(const struct opts *o);
int capture_node_cancel(const struct opts *o);

/* capture_write.c: out of the store, into the file. An exit status. */
int capture_write(struct cli_capture *x);
