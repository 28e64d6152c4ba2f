/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmc.h - one BMC as the collector sees it: its latest values, its connection state, its events.
 *
 * Each BMC has a thread of its own that fills this; the collector's thread reads all of them once
 * an interval. So a slow or dead BMC delays no other. `lock` guards all but `conf` and `stop`.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/map.h"
#include "collect/bmc/bmc_conf.h"

struct emit;

#define BMC_VALUES (1u << 14) /* of one BMC */
#define BMC_EVENTS 32u
#define BMC_FACTS  2048u

/* A property that was met: what is measured, or (metric NULL) what is not. */
struct bmc_value {
	uint64_t key;
	const char *metric, *label; /* static; NULL: not measured */
	char *device, *what;        /* owned; what: the value of `label`, or NULL */
	double v;
	uint64_t
		until_ns; /* of CLOCK_MONOTONIC: not measured any more from then on; 0: never was */
	uint32_t id;      /* of emit, UINT32_MAX: not declared */
	uint32_t from;    /* which resource it was in */
	double factor;
	uint8_t flags;  /* of the row that it is of */
	bool by_report; /* metric reports have it: it need not be polled */
	bool reading;   /* that moves: an old one is worth nothing */
};

struct bmc {
	const struct bmc_conf *conf; /* borrowed */
	const _Atomic bool *stop;    /* borrowed; all threads end */
	pthread_mutex_t lock;
	pthread_t thread, listener;
	bool listens;

	struct bmc_value *value; /* owned */
	uint32_t values;
	uint64_t *
		from_until_ns; /* owned; by resource: what is in it holds until then, too. NULL: not used */
	uint64_t written_ns; /* when its state was last written, and whether it was complete */
	bool written_up;
	struct map by_key; /* place in value, + 1 */

	bool up;
	char why[512];    /* why not, in words */
	uint64_t seen_ns; /* when it last answered, CLOCK_MONOTONIC; 0: never */
	uint64_t look_ns; /* what the last round took */
	uint64_t requests, failed, unchanged, dropped;
	uint32_t resources, stale;
	bool discovered;
	char events_uri[256]; /* of its stream of events; "": it has none, as far as is known */

	struct {
		char what[16], text[240];
	} event[BMC_EVENTS];
	uint32_t events;
	uint64_t events_lost, told; /* told: reported by the BMC itself, as they happened */

	/* What it is made of: sorted words "firmware/BMC" and what they are. */
	struct bmc_fact {
		char *key, *value; /* owned */
	} * fact;
	uint32_t facts;
};

int bmc_init(struct bmc *b, const struct bmc_conf *conf, const _Atomic bool *stop);
void bmc_fini(struct bmc *b);

/* A flag alone: it orders nothing. */
static inline bool bmc_stops(const struct bmc *b)
{
	return atomic_load_explicit(b->stop, memory_order_relaxed);
}

uint64_t bmc_hash(const char *text, size_t n);
/* Sleeps, until *stop at most. False: stop. */
bool bmc_sleep(const struct bmc *b, uint64_t ns);
/* Sets what all of them look at, and wakes up who sleeps. */
void bmc_stop_all(_Atomic bool *stop);

/* With `lock` held: */
struct bmc_value *bmc_value_at(struct bmc *b, uint64_t key); /* NULL: not met before */
bool bmc_value_holds(const struct bmc *b, const struct bmc_value *v, uint64_t now_ns);
struct bmc_value *bmc_value_add(struct bmc *b, uint64_t key, const char *device, const char *what);
void bmc_event(struct bmc *b, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* How a look at it ended. */
void bmc_looked(struct bmc *b, bool fine, uint64_t began_ns);
void bmc_fact(struct bmc *b, const char *key, const char *value);

/* Emits all its values, and its connection state. */
void bmc_emit(struct bmc *b, struct emit *e);
/* Its state as an object of JSON into DIR/NAME.json, for aon rack. */
int bmc_write(struct bmc *b, const char *dir);

/* What a thread of each protocol does until it is asked to stop. */
void *redfish_thread(void *bmc);
void *redfish_listener(void *bmc);
void *ipmi_thread(void *bmc);
