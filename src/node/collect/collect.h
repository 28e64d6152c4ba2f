/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - the interface of a collector: it measures a node or its devices, once every interval.
 *
 * aon-collect runs each collector in a process of its own, and kills and restarts it when a poll
 * exceeds its limit: a library or a device that hangs affects no other collector. Values go to aond
 * through emit.h. collector.tbl.h lists all collectors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct emit;

/* Borrowed for the life of the collector. */
struct collect_env {
	const char *root;     /* before /proc, /sys and /dev; "": none */
	const char *arg;      /* what stands behind NAME= on the command line; NULL: nothing */
	uint32_t interval_ms; /* between two polls */
	const char *run_dir;  /* of aond; NULL: nothing is sent to one */
	bool all;             /* measure everything at every poll, also what changes slowly */
};

struct collector_ops {
	/* -ENODEV: there is nothing to measure; it is tried again, ever more rarely. */
	int (*open)(void **self, const struct collect_env *env, struct emit *e);
	/* One value for each series that is there. An error closes the collector: it is opened again. */
	int (*poll)(void *self, struct emit *e);
	void (*close)(void *self);
};

struct collector {
	const char *name;
	uint32_t interval_ms; /* by default */
	uint32_t limit_ms;    /* that open or a poll may take, until the process is killed */
	bool always;          /* runs when no collector was named */
	const char *help;
	const struct collector_ops *ops;
};

#define COLLECTOR(name, interval, limit, always, help) \
	extern const struct collector_ops name##_collector;
#include "collect/collector.tbl.h"
