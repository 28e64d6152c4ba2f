/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - the identity of this node and its processes in the cluster (docs/identity.md). */
#pragma once

#include "abi/msg.h"
#include "daemon/core/param.h"
#include "ident/gpus.h"
#include "model/node.h"
#include "model/process.h"

/* At the start: the machine, its GPUs, the site's file. */
void identity_node(struct node_ident *n, struct gpus *g, const struct param *p,
		   const uint64_t boot_id[2]);
/* Of a process that has joined, by its own words and the kernel's: job, node and identity. */
void identity_words(struct process *p, const struct aon_msg_hello *m, const struct node_ident *n);
void identity_kernel(struct process *p, const struct param *param, const struct gpus *g,
		     const struct node_ident *n);
