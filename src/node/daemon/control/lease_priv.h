/* SPDX-License-Identifier: Apache-2.0 */
/* lease_priv.h - shared by lease.c and lease_ask.c. */
#pragma once

#include "daemon/control/lease.h"

struct lease_row {
	const char *word, *source;
	bool node; /* one on the node; else one in each process */
};

extern const struct lease_row lease_table[LEASE_HW];

struct lease {
	struct lease *next;
	struct leases *leases; /* borrowed */
	struct lease_ask ask;
	struct watch holder; /* pidfd, owned; -1: none */
	uint64_t until_ns;
	uint64_t of_start, holder_start; /* of the processes, as proc_start(); 0: none */
};

enum lease_hw lease_hw(const char *word); /* LEASE_HW: none */

/* lease_kept.c */
void lease_known(struct lease *l); /* when its processes started */
void leases_keep(const struct leases *ls);

struct lease *lease_find(const struct leases *ls, enum lease_hw hw, pid_t of);
void lease_drop(struct leases *ls, struct lease *l);
/* -ENOENT: nobody has it; -EPERM: another user. */
int lease_release(struct leases *ls, const struct lease_ask *a);

/* As the aond before had it: its process knows already. */
int lease_again(struct leases *ls, const struct lease_ask *a);
