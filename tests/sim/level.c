/* SPDX-License-Identifier: Apache-2.0 */
/* level.c - the version of CUPTI that a library is. */
#include "cupti.h"

const int sim_level = SIM_LEVEL;
