/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - facts of a node, from its files. */
#pragma once

#include "validate/facts.h"

/* `root` stands before /proc, /sys and /run; "": this node's own. What is not there is no fact. */
void node_facts(struct facts *f, const char *root);
