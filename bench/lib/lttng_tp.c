/* SPDX-License-Identifier: Apache-2.0 */
/* lttng_tp.c - the probe behind lttng_tp.h. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
