/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - what a node is to its cluster. Data only. */
#pragma once

struct node_ident {
#define NODE(name, bytes, what, who) char name[bytes];
#include "model/ident.tbl.h"
};
