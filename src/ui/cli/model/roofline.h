/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.h - what the parts of aon roofline share. */
#pragma once

#include "cli/core/cli.h"

int roofline_measure(const struct opts *o);
