/* SPDX-License-Identifier: Apache-2.0 */
/* live_json.h - a consumer's events and windows as JSON, one per line, for aon and its pages. */
#pragma once

#include <stdio.h>

#include <aon/consumer.h>

/*
 * Parse a request: "kernel,step" into bits of kinds, "71,72" into up to `cap` pids. 0, or -EINVAL
 * with the wrong word in `bad`.
 */
#define LIVE_WORD 32u
int live_kinds(const char *list, uint64_t *kinds, char bad[LIVE_WORD]);
int live_pids(const char *list, uint32_t *pid, size_t cap, size_t *n);

/* Names are looked up at aond. */
void live_event_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_event *e);
void live_window_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_window *w);
void live_lost_json(FILE *f, uint64_t events);
