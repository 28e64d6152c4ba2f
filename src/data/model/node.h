/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - the identity of a node in its cluster. Data only. */
#pragma once

struct node_ident {
#define NODE(name, bytes, what, who) char name[bytes];
#include "model/ident.tbl.h"
};
