/* SPDX-License-Identifier: Apache-2.0 */
/* hw.h - telemetry as OpenTelemetry's conventions for hardware name it: hw.tbl.h, with identity. Pure. */
#pragma once

#include "model/telemetry.h"
#include "ship/source/meter.h"

/* The points of a series' value; none if no row has it. 0 or -ENOMEM. */
int hw_add(struct meter *m, const struct series *s, double value);

/* A unit of metric.tbl.h as UCUM writes it. */
const char *hw_unit(const char *unit);
