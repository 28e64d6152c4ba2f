/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - facts of a node, from its files. */
#pragma once

#include "validate/facts.h"

/* `root` is prepended to /proc, /sys and /run; "": this node's own. Missing files give no facts. */
void node_facts(struct facts *f, const char *root);
