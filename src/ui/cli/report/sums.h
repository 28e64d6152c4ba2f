/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - recordings that say how long kernels ran, but not when (model/trace_sum.h). */
#pragma once

#include "cli/report/view.h"
#include "model/trace_sum.h"

void sums_text(const struct view *v); /* aon report */
int sums_why(const struct view *v);   /* aon why: what sums permit to say; what to exit with */
void sums_json(struct json *j, const struct trace *t); /* member "sums" of both; none: nothing */
