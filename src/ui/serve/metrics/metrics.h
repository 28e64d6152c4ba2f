/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - metrics for Prometheus: sums over all stores, without data about single users. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct metrics;
struct proc_usage;
struct serve;

int metrics_new(struct metrics **out);
void metrics_free(struct metrics *m); /* NULL is allowed */

/* In the text format of Prometheus. Unknown values are omitted. 0 or -errno. */
int metrics_write(struct metrics *m, struct serve *s, FILE *f);

/* The CPU time and memory of the node's aond. False: none answers. */
bool metrics_daemon(struct metrics *m, const struct serve *s, struct proc_usage *out);
