/* SPDX-License-Identifier: Apache-2.0 */
/* live_priv.h - what the files of this folder share. */
#pragma once

#include "insight/live/account_host.h"

/* host_cause.c: from parts and samples to causes. */
void host_causes(struct insight *in, struct host_account *a);
