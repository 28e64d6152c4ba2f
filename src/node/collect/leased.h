/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leased.h - whether a lease holds the counters of the node's GPUs (aon lease): a file of aond's in
 * its run directory, "HW UNTIL_NS", CLOCK_MONOTONIC. Collectors that need these counters wait
 * meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEASED_NAME "counters.leased"

enum leased {
	LEASED_NO,
	LEASED_PM,   /* a tool needs the counters: DCGM has to leave them, too */
	LEASED_DCGM, /* DCGM needs them */
};

struct emit;

/*
 * Reads the file; true if the lease changed, which it reports as an event. run_dir NULL: no lease.
 * `what`: the collector that waits.
 */
bool leased_look(enum leased *now, const char *run_dir, const char *what, struct emit *e);
/* Any text. */
enum leased leased_parse(const char *text, uint64_t now_ns);
