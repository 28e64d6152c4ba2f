/* SPDX-License-Identifier: Apache-2.0 */
/* live_json.h - events and windows of a consumer as JSON, a line each, for aon and for its pages. */
#ifndef AON_READ_LIVE_JSON_H
#define AON_READ_LIVE_JSON_H

#include <stdio.h>

#include <aon/consumer.h>

/* Names are asked of aond. */
void live_event_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_event *e);
void live_window_json(FILE *f, struct aon_consumer *c, const struct aon_consumer_window *w);
void live_lost_json(FILE *f, uint64_t events);

#endif /* AON_READ_LIVE_JSON_H */
