/* SPDX-License-Identifier: Apache-2.0 */
/* step_names.h - what names of kernels, calls, ranges, counters or collectives tell a step. */
#pragma once

#include "model/step_means.h"

struct names;

struct step_means means_of_text(const struct names *n, const char *text);
