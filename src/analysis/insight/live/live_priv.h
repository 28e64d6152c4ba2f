/* SPDX-License-Identifier: Apache-2.0 */
/* live_priv.h - what the files of this folder share. */
#pragma once

#include "insight/live/account_host.h"

/* host_cause.c: from parts and samples to causes. */
void host_causes(struct insight *in, struct host_account *a);

/* account_comm.c: the times in which the process only communicates, in order, into *bare (owned by the
 * caller); how much of from..to they are. */
int host_comm_take(struct insight *in, struct host_account *a, struct insight_span **bare,
		   size_t *bares);
uint64_t host_comm_between(const struct insight_span *bare, size_t bares, uint64_t from_ns,
			   uint64_t to_ns);

/* account_gap.c: does a sample wait for a device, by the names of its frames; while that works. */
bool gap_waits(const struct insight *in, const struct sample_row *r);
bool gap_is_each(const struct insight_device *d); /* a gap behind nearly each piece of work */
bool gap_waits_busy(const struct insight *in, const struct sample_row *r);
