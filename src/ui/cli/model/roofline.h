/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.h - shared by the parts of aon roofline. */
#pragma once

#include "cli/core/cli.h"

int roofline_measure(const struct opts *o);
