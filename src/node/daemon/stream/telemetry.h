/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry.h - collects the values of collectors (collect/wire.h) into blocks for the store.
 *
 * A collector is a connection at telemetry.sock. Its values form a block of up to a quarter of an
 * hour; new values go to the writer every few seconds, so that readers see them, and the complete
 * block replaces these at its end. When the collector disconnects, its series end.
 */
#pragma once

#include <stdint.h>

#include "daemon/core/loop.h"
#include "model/telemetry.h"

#define TELEMETRY_SOURCES 24u
#define TELEMETRY_TAIL_S  5u              /* between two pieces */
#define TELEMETRY_LONG_NS 900000000000ull /* of a block */
#define TELEMETRY_RATE    (4u << 20)      /* bytes that a collector may say in a second */
#define TELEMETRY_EVENTS  500u            /* lines of the journal in a day, of all of them */

struct aond;
struct cl_text;
struct wire_in;

struct telemetry {
	struct aond *aond; /* borrowed */
	struct watch listen;
	struct cl_text *source[TELEMETRY_SOURCES]; /* owned; NULL: vacant */
	uint32_t next;                             /* number of the next source */
	uint64_t day;                              /* and lines of the journal in it */
	uint32_t events;
};

/* Owns `listen_fd` from here on, unless it fails. */
int telemetry_init(struct telemetry *t, struct aond *d, int listen_fd);
void telemetry_fini(struct telemetry *t);  /* the last values are in the queue then */
void telemetry_tick(struct telemetry *t);  /* every second */
void telemetry_flush(struct telemetry *t); /* hands the values so far to the queue */
