/* SPDX-License-Identifier: Apache-2.0 */
/* capture_cluster.h - aon capture --cluster: a job on all of its nodes, through their relay. */
#pragma once

#include "cli/capture/capture.h"

/* An exit status. */
int capture_cluster(const struct opts *o, const struct profiler_want *w);
