/* SPDX-License-Identifier: Apache-2.0 */
/* live_priv.h - what the files of this folder share. */
#pragma once

#include "insight/live/account_host.h"

/* host_cause.c: from parts and samples to causes. */
void host_causes(struct insight *in, struct host_account *a);

/* account_gap.c: does a sample wait for a device, by the names of its frames; while that works. */
bool gap_waits(const struct insight *in, const struct sample_row *r);
bool gap_is_each(const struct insight_device *d); /* a gap behind nearly each piece of work */
bool gap_waits_busy(const struct insight *in, const struct sample_row *r);
