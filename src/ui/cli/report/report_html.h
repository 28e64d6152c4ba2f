/* SPDX-License-Identifier: Apache-2.0 */
/* report_html.h - the page of aon serve in one file, with its answers inside. */
#pragma once

#include "cli/core/cli.h"

/* Of the operands of `o`, to `path` ("-": standard output). An exit code. */
int report_html(const struct opts *o, const char *path);
