/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netday.h - the daily limit of bytes sent: net_mib_day. A day is one of the machine's uptime, as
 * for aond's disk_mib_day. The bytes sent so far are in a file beside the spool, so that they
 * survive a restart:
 *
 *	BOOT<space>DAY<space>BYTES<space>STOPS
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NETDAY_NS   86400000000000ull
#define NETDAY_NAME "netday"

struct netday {
	char path[272];
	uint64_t boot[2];
	uint64_t limit; /* bytes; 0: none */
	uint64_t day, bytes;
	uint64_t stops; /* times that something had to wait for the next day */
	bool stopped;   /* today is one */
};

/* now_ns: CLOCK_MONOTONIC, here and below. */
void netday_init(struct netday *n, const char *spool, uint64_t limit, uint64_t now_ns);
/*
 * Whether so much may be sent. A batch larger than a day's limit goes as the first of a day. A
 * refusal is counted once.
 */
bool netday_fits(struct netday *n, uint64_t bytes, uint64_t now_ns);
void netday_add(struct netday *n, uint64_t bytes, uint64_t now_ns);
static inline uint64_t netday_end(const struct netday *n)
{
	return (n->day + 1) * NETDAY_NS;
}

/* Any text, of the file above: false: of another boot or day, or none at all. */
bool netday_parse(struct netday *n, const char *text);
