/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry.h - the latest telemetry, for /metrics. Lines are formatted once; each scrape appends
 * the values. The caller (metrics.c) holds the lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct serve;
struct tele;

int tele_new(struct tele **out);
void tele_free(struct tele *t); /* NULL is allowed */

/* Reads what is new in the stores. 0 or -errno. */
int tele_gather(struct tele *t, struct serve *s);
/* Whether a metric (its number in model/metric.tbl.h) has a current value. */
bool tele_has(const struct tele *t, uint32_t metric);
void tele_write(struct tele *t, FILE *f);
