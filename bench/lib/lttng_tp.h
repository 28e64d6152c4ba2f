/* SPDX-License-Identifier: Apache-2.0 */
/* lttng_tp.h - the tracepoint that LTTng-UST is measured with: three integers, as AON_MARK(). */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER aon_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lib/lttng_tp.h"

#if !defined(AON_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define AON_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(aon_bench, mark,
	LTTNG_UST_TP_ARGS(uint32_t, x, uint64_t, a, uint64_t, b),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, x, x)
		lttng_ust_field_integer(uint64_t, a, a)
		lttng_ust_field_integer(uint64_t, b, b)))
/* clang-format on */

#endif
#include <lttng/tracepoint-event.h>
