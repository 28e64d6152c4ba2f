/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - the user's file of devices: finds it, and makes its devices known. */
#pragma once

#include <limits.h>

#include "cli/core/cli.h"
#include "theory/devices.h"

/* What aon roofline measure writes: measured.json in the same directory of the user's. */
void devices_measured_path(char path[PATH_MAX]);

/* Makes the devices of a file known. How many, or -errno and why. */
int devices_read(const char *path, struct devices_why *why);

/* Makes the devices of both known, one's own last. CLI_OK, also
 * where there are none unless AON_DEVICES names one; or CLI_FAIL after an error message. */
int devices_load(void);
