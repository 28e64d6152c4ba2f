/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - what a node is to its cluster. Data only. */
#ifndef AON_MODEL_NODE_H
#define AON_MODEL_NODE_H

struct node_ident {
#define NODE(name, bytes, what, who) char name[bytes];
#include "model/ident.tbl.h"
};

#endif /* AON_MODEL_NODE_H */
