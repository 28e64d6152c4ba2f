/* SPDX-License-Identifier: Apache-2.0 */
/* validate.h - shared by the parts of aon validate. */
#pragma once

#include "cli/core/cli.h"
#include "validate/check.h"

struct validation {
	const struct opts *o;
	struct facts f;
	struct checks c;
};

/* Quick tests of this node's memory, device and links: facts "measured/...". */
int validate_measure(struct validation *v);

/* --json, --html, else text; --health is one line of text. */
int validate_save(const struct validation *v); /* the files that were asked for */
void validate_print(const struct validation *v);
