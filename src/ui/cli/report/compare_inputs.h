/* SPDX-License-Identifier: Apache-2.0 */
/* compare_inputs.h - two runs, or two ranks or windows of one run, read and compared: diff and check. */
#pragma once

#include "cli/report/view.h"
#include "insight/diff.h"

struct sides {
	struct view v[2]; /* the second is empty if `one` */
	bool one;         /* both sides are parts of one run */
	struct profile p[2];
	struct diff d;
	char label[2][512];
};

/* b NULL: two parts of a, by --ranks A,B or --steps A-B,C-D. CLI_OK, or what to exit with. */
int sides_open(struct sides *s, const struct opts *o, char *a, char *b);
void sides_close(struct sides *s);

/* One input, read as view_open() does. */
int side_view(struct view *v, const struct opts *o, char *path);
