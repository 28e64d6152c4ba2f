/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - facts of a node, from its files. */
#ifndef AON_VALIDATE_NODE_H
#define AON_VALIDATE_NODE_H

#include "validate/facts.h"

/* `root` stands before /proc, /sys and /run; "": this node's own. What is not there is no fact. */
void node_facts(struct facts *f, const char *root);

#endif /* AON_VALIDATE_NODE_H */
