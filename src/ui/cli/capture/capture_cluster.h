/* SPDX-License-Identifier: Apache-2.0 */
/* capture_cluster.h - aon capture --cluster: of a job on all of its nodes, through their relay. */
#ifndef AON_CLI_CAPTURE_CLUSTER_H
#define AON_CLI_CAPTURE_CLUSTER_H

#include "cli/capture/capture.h"

/* An exit status. */
int capture_cluster(const struct opts *o, const struct profiler_want *w);

#endif /* AON_CLI_CAPTURE_CLUSTER_H */
