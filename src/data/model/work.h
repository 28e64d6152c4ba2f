/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - the part of an event that a breakdown needs: time, track and kind of work. Data only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct work {
	uint64_t start_ns, dur_ns;
	uint32_t track, name; /* of the trace */
	uint32_t kind;        /* EVENT_* */
	bool comm;            /* a collective, whatever its name */
};
