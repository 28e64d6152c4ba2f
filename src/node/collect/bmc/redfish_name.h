/* SPDX-License-Identifier: Apache-2.0 */
/* redfish_name.h - the metric of a Redfish property, and the name of its device. */
#pragma once

#include "collect/bmc/redfish_body.h"

#define REDFISH_NO_ZERO 1u
#define REDFISH_QUIET   2u
#define REDFISH_DEVICE  96u /* bytes, as a series' device has */

struct redfish_row {
	const char *key, *metric, *label;
	double factor;
	unsigned flags;
	bool ends;
};

/* By the key of a property; NULL: it is not measured. */
const struct redfish_row *redfish_row_of(const char *key);
/* By what a reading is measured in, or what it is. */
const struct redfish_row *redfish_row_of_reading(const char *units, const char *kind);

/*
 * "/redfish/v1/Systems/B/Processors/GPU_0/Ports/NVLink_3/Metrics" is B/GPU_0/NVLink_3: members of
 * collections by their names, and `said` behind them for what is an element of an array.
 */
void redfish_device(char out[REDFISH_DEVICE], const char *path, const char *pointer,
		    const char *said);

/*
 * The value as the row has it: 0 or 1 for LinkStatus, 0 to 2 for Health, else a number times its
 * factor. False: it says that there is none, or nothing that can be understood.
 */
bool redfish_value(const struct redfish_row *row, struct json_tok value, double *out);
